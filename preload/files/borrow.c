/* SPDX-License-Identifier: Apache-2.0 */
#include "files/borrow.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include <tributary/event.h>

#include "libc/raw.h"

#define LOCKS_BYTES_MAX 65536u /* of /proc/locks */
#define KEPT_MAX        16u    /* descriptors that were not closed again; then nothing is borrowed any more */

static _Atomic(unsigned) kept_open;

/* Behind `text`, which needs room for 16 digits. */
static char *put_number(char *text, uint64_t number, unsigned base) {
    uint64_t rest = number;

    do
        text++;
    while ((rest /= base) > 0);
    for (char *at = text; at == text || number; number /= base)
        *--at = "0123456789abcdef"[number % base];
    return text;
}

static int open_to_read(const char *path) {
    return (int)TRIB_RAW(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

/* "7: POSIX  ADVISORY  WRITE 4242 fd:01:131074 0 EOF" (proc_locks(5)) */
static bool tells_of_lock(const char *line, const char *inode) {
    return strstr(line, " POSIX ") && strstr(line, inode);
}

/* Whether any process has a POSIX lock on a file of this number; so it seems where the kernel does not say, and where
 * it says too much: anybody may hold locks by the hundred thousand, and each read counts through those before it. */
static bool is_locked(ino_t number) {
    char text[1024], inode[32] = "";
    size_t kept = 0, read_bytes = 0;
    bool found = false;
    long length;

    int fd = open_to_read("/proc/locks");
    if (fd < 0)
        return true;
    inode[0] = ':';
    *put_number(inode + 1, number, 10) = ' ';
    while (!found && (length = TRIB_RAW(SYS_read, fd, text + kept, sizeof text - 1 - kept)) > 0) {
        char *line = text, *end;
        read_bytes += (size_t)length;
        text[kept + (size_t)length] = '\0';
        for (; !found && (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            found = tells_of_lock(line, inode);
        }
        found = found || read_bytes >= LOCKS_BYTES_MAX;
        kept = strlen(line); /* an incomplete last line */
        memmove(text, line, kept);
    }
    TRIB_RAW(SYS_close, fd);
    return found || length < 0;
}

/* The path of what is mapped at [start, end); false: nothing, or the path does not fit. */
static bool find_path(uintptr_t start, uintptr_t end, char path[PATH_MAX]) {
    static const char folder[] = "/proc/self/map_files/";
    char link[sizeof folder + 2 * 16 + 2];

    memcpy(link, folder, sizeof folder);
    char *at = put_number(link + sizeof folder - 1, start, 16);
    *at++ = '-';
    *put_number(at, end, 16) = '\0';
    long length = TRIB_RAW(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return length > 0 && length < PATH_MAX - 1;
}

static int open_file(const char *path, uint64_t file) {
    struct stat named, opened;

    if (TRIB_RAW(SYS_newfstatat, AT_FDCWD, path, &named, AT_SYMLINK_NOFOLLOW) != 0 ||
        trib_file_identity(named.st_dev, named.st_ino) != file || is_locked(named.st_ino))
        return -1;
    int fd = open_to_read(path);
    if (fd < 0)
        return -1;
    if (trib_raw_fstat(fd, &opened) == 0 && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino)
        return fd;
    trib_return_descriptor(fd);
    return -1;
}

int trib_borrow_descriptor(uintptr_t start, uintptr_t end, uint64_t file) {
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    static char path[PATH_MAX]; /* no stack of the program's has to hold it */

    if (atomic_load_explicit(&kept_open, memory_order_relaxed) >= KEPT_MAX ||
        atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        return -1;
    int fd = find_path(start, end, path) ? open_file(path, file) : -1;
    atomic_flag_clear_explicit(&busy, memory_order_release);
    return fd;
}

/* By this file alone, whatever others lock: an open file's question tells this process's POSIX locks too. */
static bool may_close(int fd) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat stat;

    if (TRIB_RAW(SYS_fcntl, fd, F_OFD_GETLK, &lock) == 0)
        return lock.l_type == F_UNLCK;
    return trib_raw_fstat(fd, &stat) == 0 && !is_locked(stat.st_ino);
}

void trib_return_descriptor(int fd) {
    if (may_close(fd))
        TRIB_RAW(SYS_close, fd);
    else
        atomic_fetch_add_explicit(&kept_open, 1, memory_order_relaxed);
}
