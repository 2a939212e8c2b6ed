/* SPDX-License-Identifier: Apache-2.0 */
/* The socket's path. A daemon that was killed leaves its socket behind, and the next one replaces it; several may try
 * at once (the processes of one server that all start a private daemon), so the one that looks, unlinks and binds holds
 * a lock file beside the socket meanwhile. No state. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "recorder/listener.h"

#define BACKLOG            128
#define LOCK_TRIES         200
#define LOCK_TRY_NS        10000000
#define LOCK_SUFFIX        ".lock"
#define LOCK_PATH_CAPACITY (sizeof((struct sockaddr_un *)0)->sun_path + sizeof LOCK_SUFFIX)

static int address_of(struct sockaddr_un *out, const char *path, struct trib_error *error) {
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof out->sun_path)
        return trib_fail(error, -ENAMETOOLONG, "socket %.64s...: a path has at most %zu bytes", path,
                         sizeof out->sun_path - 1);
    memcpy(out->sun_path, path, strlen(path) + 1);
    return 0;
}

/* Is the file that was locked still the one at the path? Its last holder takes it away. */
static bool is_at(int fd, const char *path) {
    struct stat mine, there;

    return fstat(fd, &mine) == 0 && lstat(path, &there) == 0 && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev;
}

static bool is_mine(int fd) {
    struct stat status;

    return fstat(fd, &status) == 0 && status.st_uid == geteuid();
}

/* -1: somebody else's file is there, or it stays locked: then chance decides between two that start at once. Only the
 * daemon's own user can open a file of the daemon's, so nobody else can hold it. */
static int lock(const char *path) {
    const struct timespec pause = {.tv_nsec = LOCK_TRY_NS};

    for (int i = 0; i < LOCK_TRIES; i++) {
        int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
        if (fd < 0)
            return -1;
        if (!is_mine(fd)) {
            close(fd);
            return -1;
        }
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_at(fd, path))
            return fd;
        close(fd);
        nanosleep(&pause, NULL);
    }
    return -1;
}

static void unlock(int fd, const char *path) {
    if (fd < 0)
        return;
    unlink(path);
    close(fd);
}

/* Nobody answers at a socket that is there: its daemon was killed. */
static bool is_stale(const struct sockaddr_un *address) {
    struct stat status;
    int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool refused =
        probe >= 0 && connect(probe, (const struct sockaddr *)address, sizeof *address) != 0 && errno == ECONNREFUSED;

    if (probe >= 0)
        close(probe);
    return refused && lstat(address->sun_path, &status) == 0 && S_ISSOCK(status.st_mode);
}

static int bind_and_listen(int fd, const struct sockaddr_un *address, bool has_others) {
    const struct sockaddr *where = (const struct sockaddr *)address;
    mode_t before = umask(has_others ? 0111 : 0177);
    int code = bind(fd, where, sizeof *address) ? -errno : 0;

    if (code == -EADDRINUSE && is_stale(address) && unlink(address->sun_path) == 0)
        code = bind(fd, where, sizeof *address) ? -errno : 0;
    umask(before);
    if (code == 0 && listen(fd, BACKLOG) != 0) {
        code = -errno;
        unlink(address->sun_path);
    }
    return code;
}

int trib_address_listen(const char *path, bool has_others, int *out, struct trib_error *error) {
    char lock_path[LOCK_PATH_CAPACITY];
    struct sockaddr_un address;
    int code = address_of(&address, path, error);

    if (code)
        return code;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return trib_fail(error, -errno, "no socket: %s", strerror(errno));
    snprintf(lock_path, sizeof lock_path, "%s" LOCK_SUFFIX, path);
    int held = lock(lock_path);
    code = bind_and_listen(fd, &address, has_others);
    unlock(held, lock_path);
    if (code) {
        close(fd);
        return trib_fail(error, code, "socket %s: %s", path,
                         code == -EADDRINUSE ? "another daemon has it" : strerror(-code));
    }
    *out = fd;
    return 0;
}
