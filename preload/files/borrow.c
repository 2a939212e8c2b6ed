/* SPDX-License-Identifier: Apache-2.0 */
#include "files/borrow.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include <tributary/event.h>

#include "base/memory.h"
#include "libc/raw.h"
#include "producer/aside.h"

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

struct errand {
    uintptr_t start, end;
    uint64_t file;
    trib_borrower *ask;
    void *arg;
    char path[PATH_MAX];
};

static int run(void *arg) {
    struct errand *errand = arg;
    struct stat status;

    if (!find_path(errand->start, errand->end, errand->path))
        return -ENOENT;
    int fd = open_to_read(errand->path);
    if (fd < 0)
        return fd;
    bool is_it = trib_raw_fstat(fd, &status) == 0 && trib_file_identity(status.st_dev, status.st_ino) == errand->file;
    if (is_it)
        errand->ask(fd, errand->arg);
    TRIB_RAW(SYS_close, fd);
    return is_it ? 0 : -ENOENT;
}

int trib_borrow(const struct trib_borrowed *what, trib_borrower *ask, void *arg) {
    const size_t bytes = TRIB_ASIDE_STACK_BYTES + sizeof(struct errand);
    char *memory = trib_memory_map(bytes);

    if (!memory)
        return -ENOMEM;
    struct errand *errand = (struct errand *)(void *)(memory + TRIB_ASIDE_STACK_BYTES);
    *errand = (struct errand){.start = what->start, .end = what->end, .file = what->file, .ask = ask, .arg = arg};
    uint64_t before = trib_aside_block();
    int code = trib_aside_in_thread(run, errand, memory);
    trib_aside_unblock(before);
    TRIB_RAW(SYS_munmap, memory, bytes);
    return code;
}
