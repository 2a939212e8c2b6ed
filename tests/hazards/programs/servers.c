/* SPDX-License-Identifier: Apache-2.0 */
/* A file whose server does not answer, as of a network that is gone: whoever asks it anything waits for ever. This
 * process holds it open, and writes elsewhere. */
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "hazard.h"

#define ROOT_INODE 1
#define FILE_INODE 2

static void answer(int device, uint64_t unique, int error, const void *data, size_t bytes) {
    struct fuse_out_header head = {.len = (uint32_t)(sizeof head + bytes), .error = -error, .unique = unique};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)(uintptr_t)data, bytes}};

    (void)!writev(device, parts, bytes ? 2 : 1);
}

static struct fuse_attr attributes_of(uint64_t inode) {
    return (struct fuse_attr){.ino = inode, .mode = inode == ROOT_INODE ? S_IFDIR | 0755 : S_IFREG | 0644, .nlink = 1};
}

static void serve(int device) {
    static char request[1 << 17];

    while (read(device, request, sizeof request) >= (ssize_t)sizeof(struct fuse_in_header)) {
        const struct fuse_in_header *head = (const void *)request;
        switch (head->opcode) {
        case FUSE_INIT: {
            struct fuse_init_out out = {.major = 7, .minor = 31, .max_write = 65536, .max_background = 4};
            answer(device, head->unique, 0, &out, sizeof out);
            break;
        }
        case FUSE_LOOKUP: {
            struct fuse_entry_out out = {.nodeid = FILE_INODE, .attr = attributes_of(FILE_INODE)};
            answer(device, head->unique, 0, &out, sizeof out);
            break;
        }
        case FUSE_GETATTR: {
            struct fuse_attr_out out = {.attr = attributes_of(head->nodeid)};
            answer(device, head->unique, 0, &out, sizeof out);
            break;
        }
        case FUSE_OPEN: {
            struct fuse_open_out out = {.fh = 1};
            answer(device, head->unique, 0, &out, sizeof out);
            break;
        }
        case FUSE_FLUSH:
        case FUSE_RELEASE:
            answer(device, head->unique, 0, NULL, 0);
            break;
        case FUSE_FORGET:
            break;
        default:
            answer(device, head->unique, ENOSYS, NULL, 0);
        }
    }
    _exit(0);
}

static void *sleep_on(void *unused) {
    pause();
    return unused;
}

/* A mount of our own that ends with us. The server is no child of a hooked program's: it writes its device by itself.
 */
static int silent(void) {
    char options[80];
    int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    pthread_t thread;

    if (device < 0 || syscall(457 /* statmount: before Linux 6.8 nobody can tell without asking the server */) != -1 ||
        errno == ENOSYS)
        return not_possible("no /dev/fuse, or a kernel that does not tell a mount's type");
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return not_possible(strerror(errno));
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
    if (mkdir("mount", 0700) != 0 || mount("silent", "mount", "fuse", 0, options) != 0)
        return not_possible(strerror(errno));
    pid_t server = fork();
    if (server == 0)
        serve(device);
    int file = open("mount/f", O_RDONLY);
    pthread_create(&thread, NULL, sleep_on, NULL);
    kill(server, SIGSTOP); /* nothing has been written yet */
    double before_us = now_us();
    bool good = write_one("a");
    say("opened: %d, written: %d, %s\n", file >= 0, good, now_us() - before_us < 2e6 ? "at once" : "late");
    kill(server, SIGCONT);
    close(file);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    umount2("mount", MNT_DETACH);
    rmdir("mount");
    return 0;
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"silent", silent}, {NULL, NULL}};

    return run_hazard(hazards, count, values);
}
