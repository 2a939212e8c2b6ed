/* SPDX-License-Identifier: Apache-2.0 */
#include "borrow.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tributary/event.h>

#include "raw.h"

static int open_to_read(const char *path) {
    return (int)trib_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

/* "7: POSIX  ADVISORY  WRITE 4242 fd:01:131074 0 EOF" (proc_locks(5)) */
static bool tells_of_lock(const char *line, const char *inode) {
    return strstr(line, " POSIX ") && strstr(line, inode);
}

/* Whether any process has a POSIX lock on a file of this number; so it seems where the kernel does not say. */
static bool is_locked(ino_t number) {
    char text[1024], inode[32];
    size_t kept = 0;
    bool found = false;
    long length;

    int fd = open_to_read("/proc/locks");
    if (fd < 0)
        return true;
    snprintf(inode, sizeof inode, ":%llu ", (unsigned long long)number);
    while (!found && (length = trib_syscall(SYS_read, fd, text + kept, sizeof text - 1 - kept)) > 0) {
        char *line = text, *end;
        text[kept + (size_t)length] = '\0';
        for (; !found && (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            found = tells_of_lock(line, inode);
        }
        kept = strlen(line); /* an incomplete last line */
        memmove(text, line, kept);
    }
    trib_syscall(SYS_close, fd);
    return found || length < 0;
}

int trib_borrow_descriptor(uintptr_t start, uintptr_t end, uint64_t file) {
    char link[64], path[PATH_MAX];
    struct stat named, opened;

    snprintf(link, sizeof link, "/proc/self/map_files/%lx-%lx", (unsigned long)start, (unsigned long)end);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0)
        return -1;
    path[length] = '\0';
    if (lstat(path, &named) != 0 || trib_file_identity(named.st_dev, named.st_ino) != file || is_locked(named.st_ino))
        return -1;
    int fd = open_to_read(path);
    if (fd < 0)
        return -1;
    if (trib_raw_fstat(fd, &opened) == 0 && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino)
        return fd;
    trib_return_descriptor(fd);
    return -1;
}

void trib_return_descriptor(int fd) {
    struct stat stat;

    if (trib_raw_fstat(fd, &stat) == 0 && !is_locked(stat.st_ino))
        trib_syscall(SYS_close, fd);
}
