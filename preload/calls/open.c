/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are opened, perhaps emptied by that: here a descriptor gets its name (descriptors.h). What is opened to
 * be read alone costs nothing. Emptied by O_TRUNC, data die as in calls/name.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/openat2.h>

#include <tributary/event.h>

#include "calls/calls.h"
#include "files/descriptors.h"
#include "files/names.h"
#include "libc/libc_entry.h"
#include "libc/next.h"
#include "libc/raw.h"
#include "record.h"
#include "sink.h"

struct opening {
    struct trib_named was;
    bool empties;
};

static void begin_open(struct opening *opening, int folder, const char *path, int flags) {
    opening->empties =
        flags & O_TRUNC && trib_named_look(folder, path, 0, &opening->was) && opening->was.size_bytes > 0;
}

static int end_open(const struct opening *opening, int fd, const struct trib_opened *how) {
    if (fd < 0)
        return fd;
    trib_descriptor_opened(fd, how);
    if (opening->empties)
        trib_record_death(opening->was.file, 0, TRIB_LENGTH_TO_END, TRIB_CAUSE_TRUNCATE);
    return fd;
}

#define OPENED(folder_, path_, flags_) (&(struct trib_opened){.flags = (flags_), .folder = (folder_), .path = (path_)})

/* libc, too, reads the mode only when one is due. */
static mode_t mode_of(int flags, va_list *rest) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(*rest, mode_t) : 0;
}

TRIB_CALL int open(const char *path, int flags, ...) {
    struct opening opening;
    va_list rest;

    va_start(rest, flags);
    mode_t mode = mode_of(flags, &rest);
    va_end(rest);
    begin_open(&opening, AT_FDCWD, path, flags);
    return end_open(&opening, TRIB_NEXT(open)(path, flags, mode), OPENED(AT_FDCWD, path, flags));
}
TRIB_SAME(open) int open64(const char *path, int flags, ...);

TRIB_CALL int openat(int folder, const char *path, int flags, ...) {
    struct opening opening;
    va_list rest;

    va_start(rest, flags);
    mode_t mode = mode_of(flags, &rest);
    va_end(rest);
    begin_open(&opening, folder, path, flags);
    return end_open(&opening, TRIB_NEXT(openat)(folder, path, flags, mode), OPENED(folder, path, flags));
}
TRIB_SAME(openat) int openat64(int folder, const char *path, int flags, ...);

#define CREAT (O_WRONLY | O_CREAT | O_TRUNC)

TRIB_CALL int creat(const char *path, mode_t mode) {
    struct opening opening;

    begin_open(&opening, AT_FDCWD, path, CREAT);
    return end_open(&opening, TRIB_NEXT(creat)(path, mode), OPENED(AT_FDCWD, path, CREAT));
}
TRIB_SAME(creat) int creat64(const char *path, mode_t mode);

/* What fortified headers call when the flags are no constant. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
int __openat64_2(int folder, const char *path, int flags);

TRIB_CALL int __open_2(const char *path, int flags) {
    struct opening opening;

    begin_open(&opening, AT_FDCWD, path, flags);
    return end_open(&opening, TRIB_NEXT(__open_2)(path, flags), OPENED(AT_FDCWD, path, flags));
}
TRIB_SAME(__open_2) int __open64_2(const char *path, int flags);

TRIB_CALL int __openat_2(int folder, const char *path, int flags) {
    struct opening opening;

    begin_open(&opening, folder, path, flags);
    return end_open(&opening, TRIB_NEXT(__openat_2)(folder, path, flags), OPENED(folder, path, flags));
}
TRIB_SAME(__openat_2) int __openat64_2(int folder, const char *path, int flags);

/* ---- by number: calls/raw.c ---- */

long trib_raw_openat(int folder, const char *path, int flags, mode_t mode) {
    struct opening opening;

    begin_open(&opening, folder, path, flags);
    long fd = trib_syscall(SYS_openat, folder, path, flags, mode);
    end_open(&opening, (int)fd, OPENED(folder, path, flags));
    return fd;
}

long trib_raw_open(const char *path, int flags, mode_t mode) {
    return trib_raw_openat(AT_FDCWD, path, flags, mode);
}

long trib_raw_creat(const char *path, mode_t mode) {
    return trib_raw_openat(AT_FDCWD, path, CREAT, mode);
}

/* Its flags are the program's memory, which the kernel has read once it succeeds: what O_TRUNC empties is not known
 * then. */
long trib_raw_openat2(int folder, const char *path, const struct open_how *how, size_t how_bytes) {
    long fd = trib_syscall(SYS_openat2, folder, path, how, how_bytes);

    if (fd >= 0)
        trib_descriptor_opened((int)fd, OPENED(folder, path, (int)how->flags));
    return fd;
}

/* ---- by libc under names of its own ---- */

static int end_template(int fd, const char *path, int flags) {
    if (fd >= 0)
        trib_descriptor_opened(fd, OPENED(AT_FDCWD, path, O_RDWR | flags));
    return fd;
}

TRIB_CALL int mkstemp(char *path) {
    return end_template(TRIB_NEXT(mkstemp)(path), path, 0);
}
TRIB_SAME(mkstemp) int mkstemp64(char *path);

TRIB_CALL int mkostemp(char *path, int flags) {
    return end_template(TRIB_NEXT(mkostemp)(path, flags), path, flags & ~O_ACCMODE);
}
TRIB_SAME(mkostemp) int mkostemp64(char *path, int flags);

TRIB_CALL int mkstemps(char *path, int suffix_length) {
    return end_template(TRIB_NEXT(mkstemps)(path, suffix_length), path, 0);
}
TRIB_SAME(mkstemps) int mkstemps64(char *path, int suffix_length);

TRIB_CALL int mkostemps(char *path, int suffix_length, int flags) {
    return end_template(TRIB_NEXT(mkostemps)(path, suffix_length, flags), path, flags & ~O_ACCMODE);
}
TRIB_SAME(mkostemps) int mkostemps64(char *path, int suffix_length, int flags);

/* ---- by stdio, which calls open and close inside libc and moves the offset there ---- */

/* As libc reads it: the first letter, then '+' up to a comma. */
static int flags_of(const char *mode) {
    bool both = mode[strcspn(mode, "+,")] == '+';

    switch (*mode) {
    case 'w':
        return both ? O_RDWR | O_TRUNC : O_WRONLY | O_TRUNC;
    case 'a':
        return (both ? O_RDWR : O_WRONLY) | O_APPEND;
    default:
        return both ? O_RDWR : O_RDONLY;
    }
}

static FILE *end_stream(const struct opening *opening, FILE *stream, const char *path, int flags) {
    int fd = stream ? fileno(stream) : -1;

    if (fd >= 0)
        end_open(opening, fd,
                 &(struct trib_opened){
                     .flags = flags, .folder = AT_FDCWD, .path = path, .moves_unseen = !trib_entry_sees_moves()});
    return stream;
}

TRIB_CALL FILE *fopen(const char *path, const char *mode) {
    struct opening opening;
    int flags = mode ? flags_of(mode) : 0;

    begin_open(&opening, AT_FDCWD, path, flags);
    return end_stream(&opening, TRIB_NEXT(fopen)(path, mode), path, flags);
}
TRIB_SAME(fopen) FILE *fopen64(const char *path, const char *mode);

TRIB_CALL FILE *freopen(const char *path, const char *mode, FILE *stream) {
    struct opening opening = {.empties = false};
    int kept = errno, before = stream ? fileno(stream) : -1, flags = mode ? flags_of(mode) : 0;

    errno = kept; /* a stream in memory has no number */
    trib_descriptor_ending(before);
    if (path)
        begin_open(&opening, AT_FDCWD, path, flags);
    stream = TRIB_NEXT(freopen)(path, mode, stream);
    if (before >= 0)
        trib_descriptor_forget(before);
    return end_stream(&opening, stream, path, flags);
}
TRIB_SAME(freopen) FILE *freopen64(const char *path, const char *mode, FILE *stream);

TRIB_CALL FILE *fdopen(int fd, const char *mode) {
    if (!trib_entry_sees_moves())
        trib_descriptor_shared(fd);
    FILE *stream = TRIB_NEXT(fdopen)(fd, mode);
    if (stream && *mode == 'a') /* sets O_APPEND */
        trib_descriptor_appends(fd, true);
    return stream;
}

/* Made inside libc under a new number, without a name. */
TRIB_CALL FILE *tmpfile(void) {
    struct opening nothing = {.empties = false};

    return end_stream(&nothing, TRIB_NEXT(tmpfile)(), NULL, O_RDWR);
}
TRIB_SAME(tmpfile) FILE *tmpfile64(void);

/* ---- the current folder ---- */

TRIB_CALL int chdir(const char *path) {
    int result = TRIB_NEXT(chdir)(path);

    if (result == 0 && !trib_in_vfork) /* the child's own */
        trib_folder_changed(path);
    return result;
}

TRIB_CALL int fchdir(int fd) {
    int result = TRIB_NEXT(fchdir)(fd);

    if (result == 0 && !trib_in_vfork)
        trib_folder_changed(NULL);
    return result;
}
