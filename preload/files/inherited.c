/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors that are open when the shim starts: standard output that a shell has sent into a file, the files
 * of a server into which the library comes late. Their names are read from /proc now, because nobody will see them
 * opened. */
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>

#include "files/descriptors.h"
#include "libc/raw.h"
#include "quiet.h"

struct entry { /* struct linux_dirent64 */
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

/* -1: "." and "..". */
static int number_of(const char *text) {
    int number = 0;

    if (*text == '.')
        return -1;
    for (; *text; text++)
        number = number * 10 + (*text - '0');
    return number;
}

static void __attribute__((noinline)) find_name(int folder, const struct entry *entry) {
    int fd = number_of(entry->name);
    char path[1024];
    struct stat stat;

    if (fd < 0 || fd == folder || trib_raw_fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode))
        return;
    long flags = TRIB_RAW(SYS_fcntl, fd, F_GETFL);
    long length = TRIB_RAW(SYS_readlinkat, folder, entry->name, path, sizeof path);
    if (flags < 0 || length <= 0 || length == sizeof path || stat.st_nlink == 0)
        return;
    path[length] = '\0';
    struct trib_opened how = {.flags = (int)flags, .folder = AT_FDCWD, .path = path, .moves_unseen = true};
    trib_descriptor_opened(fd, &how);
}

void trib_descriptors_start(void) {
    _Alignas(struct entry) char entries[1024];
    long bytes;

    if (!trib_may_ask())
        return;
    int folder = (int)TRIB_RAW(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (folder >= 0 && (bytes = TRIB_RAW(SYS_getdents64, folder, entries, sizeof entries)) > 0)
        for (long at = 0; at < bytes;) {
            const struct entry *entry = (const struct entry *)(const void *)(entries + at);
            find_name(folder, entry);
            at += entry->bytes;
        }
    if (folder >= 0)
        TRIB_RAW(SYS_close, folder);
}
