/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of descriptors that are passed on, marked, copied onto themselves, and of what a child shares. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/close_range.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>

#include "preload_story.h"

extern char **environ;

static void put(int fd, size_t length) {
    check(write(fd, data, length) == (ssize_t)length);
}

static void story_kept(void) {
    int fd = make("marked", O_WRONLY), same = make("same", O_WRONLY);

    put(fd, 10);
    check(close_range((unsigned)fd, (unsigned)fd, CLOSE_RANGE_CLOEXEC) == 0);
    put(fd, 20);
    put(same, 10);
    check(dup2(same, same) == same);
    put(same, 20);
    int early = make("early", O_WRONLY); /* before its first write, when its name has yet to be sent */
    check(dup2(early, early) == early && dup3(early, early, 0) == -1);
    put(early, 10);
    struct iovec parts[2] = {{data, 100}, {data, 50}};
    int by_number = make("number", O_WRONLY);
    check(syscall(SYS_writev, by_number, parts, 2) == 150);
}

static void story_appends(void) {
    int fd = make("a", O_RDWR);

    put(fd, 100);
    check(fcntl(fd, F_SETFL, O_APPEND) == 0);
    check(pwrite(fd, data, 10, 0) == 10); /* to the end */
    check(fcntl(fd, F_SETFL, 0) == 0);
    check(pwrite(fd, data, 7, 5) == 7);
}

static int send_by(int how, int socket, struct msghdr *message) {
    struct mmsghdr one = {.msg_hdr = *message};

    if (how == 0)
        return (int)sendmsg(socket, message, 0);
    return how == 1 ? sendmmsg(socket, &one, 1, 0) : (int)syscall(SYS_sendmsg, socket, message, 0);
}

/* The one who receives it moves the offset that it shares with the sender. */
static void pass(const char *name, int how) {
    int fd = make(name, O_WRONLY), ends[2], received;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))}};
    struct iovec part = {"x", 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};

    put(fd, 10);
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && send_by(how, ends[0], &message) == 1);
    char byte;
    part.iov_base = &byte;
    message.msg_controllen = sizeof control;
    check(recvmsg(ends[1], &message, 0) == 1);
    memcpy(&received, CMSG_DATA(&control.head), sizeof received);
    put(received, 20);
    put(fd, 30);
}

static void story_passed(void) {
    pass("a", 0);
    pass("b", 1);
    pass("c", 2);
}

static void story_spawned(void) {
    char *list[] = {"sh", "-c", "printf 123456", NULL};
    posix_spawn_file_actions_t actions;
    int fd = make("a", O_WRONLY), other, status;
    pid_t child;

    put(fd, 10);
    check(posix_spawn_file_actions_init(&actions) == 0 && posix_spawn_file_actions_adddup2(&actions, fd, 1) == 0);
    errno = 77;
    check(posix_spawn(&child, "/bin/sh", &actions, NULL, list, environ) == 0 && errno == 77);
    check(waitpid(child, &status, 0) == child && status == 0);
    put(fd, 20);
    other = make("b", O_WRONLY); /* which no child has had so far */
    put(other, 10);
    check(posix_spawn_file_actions_adddup2(&actions, other, 1) == 0);
    check(posix_spawnp(&child, "sh", &actions, NULL, list, environ) == 0); /* libc tries PATH, and errno says so */
    check(waitpid(child, &status, 0) == child && status == 0);
    put(other, 30);
}

/* Calls that fail, or only ask, lock nothing in: what is opened later can be asked about. */
static void story_not_locked(void) {
    unsigned action = SECCOMP_RET_KILL_PROCESS;

    check(prctl(PR_SET_SECCOMP, 99, NULL) == -1);
    check(syscall(SYS_seccomp, 99, 0, NULL) == -1);
    check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0xffff, NULL) == -1);
    check(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0);
    check(prctl(PR_GET_SECCOMP) == 0);
    put(make("a", O_RDWR), 10);
}

/* The child of a vfork writes before its parent does, and ends. */
static void story_vfork_first(void) {
    static volatile int written;
    int fd = make("parent", O_WRONLY), own = make("child", O_WRONLY), status;

    pid_t child = vfork();
    if (child == 0) {
        written = write(own, data, 20) == 20;
        _exit(0);
    }
    check(waitpid(child, &status, 0) == child && status == 0 && written);
    usleep(300000); /* a daemon that took the child for the process has seen it end */
    for (int i = 0; i < 10; i++)
        put(fd, 10);
}

/* libc's daemon() forks and gives the standard streams other files; nobody sees it do so. */
static void story_daemon_of_libc(void) {
    if (fork() == 0) {
        close(1);
        int fd = make("a", O_WRONLY);
        check(fd == 1);
        put(fd, 10);
        check(daemon(1, 0) == 0);
        put(1, 20); /* to /dev/null */
        put(make("b", O_WRONLY), 10);
        close(open("done", O_CREAT | O_RDONLY, 0600));
        _exit(0);
    }
    wait(NULL);
    for (int i = 0; i < 5000 && access("done", F_OK) != 0; i++)
        usleep(1000);
    check(access("done", F_OK) == 0);
}

/* The memory of a ring is given to something else while the kernel still has its own view of it. */
static void story_ring_replaced(void) {
    struct io_uring_params params = {.flags = 0};
    char *queue[2];

    for (int i = 0; i < 2; i++) {
        int ring = (int)syscall(SYS_io_uring_setup, 4, &params);
        if (ring < 0)
            exit(77);
        size_t length = params.sq_off.array + params.sq_entries * sizeof(unsigned);
        queue[i] = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
        char *entries = mmap(NULL, params.sq_entries * 64, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
        check(queue[i] != MAP_FAILED && (void *)entries != MAP_FAILED);
        char *other =
            mmap(i ? NULL : queue[i], length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | (i ? 0 : MAP_FIXED), -1, 0);
        check(other != MAP_FAILED);
        if (i)
            check(mremap(other, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, queue[i]) == queue[i]);
        check(syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) == 0); /* it finds nothing to submit */
    }
    put(make("a", O_WRONLY), 10);
}

/* Entries of 128 bytes. */
static void story_wide_ring(void) {
    struct io_uring_params params = {.flags = IORING_SETUP_SQE128};
    int fd = make("a", O_RDWR), ring = (int)syscall(SYS_io_uring_setup, 4, &params);

    if (ring < 0)
        exit(77);
    char *queue = mmap(NULL, params.sq_off.array + params.sq_entries * sizeof(unsigned), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
    char *entries =
        mmap(NULL, params.sq_entries * 128, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
    check(queue != MAP_FAILED && (void *)entries != MAP_FAILED);
    for (unsigned i = 0; i < 3; i++) {
        struct io_uring_sqe *entry = (struct io_uring_sqe *)(void *)(entries + (size_t)i * 128);
        *entry = (struct io_uring_sqe){
            .opcode = IORING_OP_WRITE, .fd = fd, .addr = (uintptr_t)data, .len = 100 + i, .off = (uint64_t)i * 1000};
        ((unsigned *)(void *)(queue + params.sq_off.array))[i] = i;
    }
    __atomic_store_n((unsigned *)(void *)(queue + params.sq_off.tail), 3, __ATOMIC_RELEASE);
    check(syscall(SYS_io_uring_enter, ring, 3, 3, IORING_ENTER_GETEVENTS, NULL, 0) == 3);
}

const struct story stories_of_descriptors[] = {
    {"kept", story_kept},
    {"appends", story_appends},
    {"passed", story_passed},
    {"spawned", story_spawned},
    {"not_locked", story_not_locked},
    {"vfork_first", story_vfork_first},
    {"daemon_of_libc", story_daemon_of_libc},
    {"ring_replaced", story_ring_replaced},
    {"wide_ring", story_wide_ring},
    {NULL, NULL},
};
