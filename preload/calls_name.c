/* SPDX-License-Identifier: Apache-2.0 */
/* Names: files that are deleted, replaced, or opened empty. A file's data die with its last name, or, if this process
 * has written it through a descriptor that is still open, when that is closed. Only readers, or another process,
 * holding it open is not known here: then the data die with the name. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tributary/event.h>

#include "calls.h"
#include "descriptors.h"
#include "libc_entry.h"
#include "next.h"
#include "sink.h"
#include "record.h"

bool trib_named_look(int folder, const char *path, int flags, struct trib_named *out) {
    struct stat stat;
    int kept = errno;
    bool found = trib_sink_wanted() && fstatat(folder, path, &stat, flags) == 0 && S_ISREG(stat.st_mode);

    errno = kept;
    if (found)
        *out = (struct trib_named){.file = trib_file_identity(stat.st_dev, stat.st_ino),
                                   .size_bytes = (uint64_t)stat.st_size,
                                   .links = stat.st_nlink};
    return found;
}

static void record_name_gone(const struct trib_named *was, uint8_t cause) {
    if (was->links == 1 && !trib_descriptors_unnamed(was->file))
        trib_record_death(was->file, 0, TRIB_LENGTH_TO_END, cause);
}

/* ---- deleted ---- */

TRIB_CALL int unlink(const char *path) {
    struct trib_named was = {0};
    bool told = trib_named_look(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &was);
    int result = TRIB_NEXT(unlink)(path);

    if (told && result == 0)
        record_name_gone(&was, TRIB_CAUSE_UNLINK);
    return result;
}

TRIB_CALL int unlinkat(int folder, const char *path, int flags) {
    struct trib_named was = {0};
    bool told = !(flags & AT_REMOVEDIR) && trib_named_look(folder, path, AT_SYMLINK_NOFOLLOW, &was);
    int result = TRIB_NEXT(unlinkat)(folder, path, flags);

    if (told && result == 0)
        record_name_gone(&was, TRIB_CAUSE_UNLINK);
    return result;
}

TRIB_CALL int remove(const char *path) {
    struct trib_named was = {0};
    bool told = trib_named_look(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &was);
    int result = TRIB_NEXT(remove)(path);

    if (told && result == 0)
        record_name_gone(&was, TRIB_CAUSE_UNLINK);
    return result;
}

/* ---- replaced ---- */

/* What renaming over `path` ends: nothing if both names are of one file, for then the kernel leaves them both. */
static bool look_replaced(int old_folder, const char *old_path, int folder, const char *path, struct trib_named *was) {
    struct trib_named moved;

    return trib_named_look(folder, path, AT_SYMLINK_NOFOLLOW, was) &&
           trib_named_look(old_folder, old_path, AT_SYMLINK_NOFOLLOW, &moved) && moved.file != was->file;
}

TRIB_CALL int rename(const char *old_path, const char *path) {
    struct trib_named was = {0};
    bool told = look_replaced(AT_FDCWD, old_path, AT_FDCWD, path, &was);
    int result = TRIB_NEXT(rename)(old_path, path);

    if (told && result == 0)
        record_name_gone(&was, TRIB_CAUSE_RENAME_OVER);
    return result;
}

TRIB_CALL int renameat(int old_folder, const char *old_path, int folder, const char *path) {
    struct trib_named was = {0};
    bool told = look_replaced(old_folder, old_path, folder, path, &was);
    int result = TRIB_NEXT(renameat)(old_folder, old_path, folder, path);

    if (told && result == 0)
        record_name_gone(&was, TRIB_CAUSE_RENAME_OVER);
    return result;
}

TRIB_CALL int renameat2(int old_folder, const char *old_path, int folder, const char *path, unsigned flags) {
    struct trib_named was = {0};
    bool told = !(flags & (RENAME_EXCHANGE | RENAME_NOREPLACE)) &&
                look_replaced(old_folder, old_path, folder, path, &was);
    int result = TRIB_NEXT(renameat2)(old_folder, old_path, folder, path, flags);

    if (told && result == 0)
        record_name_gone(&was, TRIB_CAUSE_RENAME_OVER);
    return result;
}

/* ---- opened ---- */

struct opening {
    struct trib_named was;
    bool empties;
};

static void begin_open(struct opening *opening, int folder, const char *path, int flags) {
    opening->empties = flags & O_TRUNC && trib_named_look(folder, path, 0, &opening->was) &&
                       opening->was.size_bytes > 0;
}

static int end_open(const struct opening *opening, int fd, int flags) {
    if (fd < 0)
        return fd;
    trib_descriptor_opened(fd, flags);
    if (opening->empties)
        trib_record_death(opening->was.file, 0, TRIB_LENGTH_TO_END, TRIB_CAUSE_TRUNCATE);
    return fd;
}

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
    return end_open(&opening, TRIB_NEXT(open)(path, flags, mode), flags);
}
TRIB_SAME(open) int open64(const char *path, int flags, ...);

TRIB_CALL int openat(int folder, const char *path, int flags, ...) {
    struct opening opening;
    va_list rest;

    va_start(rest, flags);
    mode_t mode = mode_of(flags, &rest);
    va_end(rest);
    begin_open(&opening, folder, path, flags);
    return end_open(&opening, TRIB_NEXT(openat)(folder, path, flags, mode), flags);
}
TRIB_SAME(openat) int openat64(int folder, const char *path, int flags, ...);

TRIB_CALL int creat(const char *path, mode_t mode) {
    struct opening opening;

    begin_open(&opening, AT_FDCWD, path, O_TRUNC);
    return end_open(&opening, TRIB_NEXT(creat)(path, mode), O_WRONLY | O_CREAT | O_TRUNC);
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
    return end_open(&opening, TRIB_NEXT(__open_2)(path, flags), flags);
}
TRIB_SAME(__open_2) int __open64_2(const char *path, int flags);

TRIB_CALL int __openat_2(int folder, const char *path, int flags) {
    struct opening opening;

    begin_open(&opening, folder, path, flags);
    return end_open(&opening, TRIB_NEXT(__openat_2)(folder, path, flags), flags);
}
TRIB_SAME(__openat_2) int __openat64_2(int folder, const char *path, int flags);

/* ---- opened by stdio, which calls open and close inside libc and moves the offset there ---- */

/* What it reads goes by unseen. */
static bool only_writes(const char *mode) {
    return mode && *mode == 'w' && !mode[strcspn(mode, "+,")];
}

static FILE *end_stream(const struct opening *opening, FILE *stream, const char *mode) {
    int fd = stream ? fileno(stream) : -1;

    if (fd < 0)
        return stream;
    trib_descriptor_forget(fd);
    if (trib_entry_sees_moves() && only_writes(mode))
        trib_descriptor_opened(fd, O_WRONLY);
    if (opening->empties)
        trib_record_death(opening->was.file, 0, TRIB_LENGTH_TO_END, TRIB_CAUSE_TRUNCATE);
    return stream;
}

TRIB_CALL FILE *fopen(const char *path, const char *mode) {
    struct opening opening;

    begin_open(&opening, AT_FDCWD, path, mode && *mode == 'w' ? O_TRUNC : 0);
    return end_stream(&opening, TRIB_NEXT(fopen)(path, mode), mode);
}
TRIB_SAME(fopen) FILE *fopen64(const char *path, const char *mode);

TRIB_CALL FILE *freopen(const char *path, const char *mode, FILE *stream) {
    struct opening opening = {.empties = false};
    int before = stream ? fileno(stream) : -1;

    trib_descriptor_ending(before);
    if (path)
        begin_open(&opening, AT_FDCWD, path, mode && *mode == 'w' ? O_TRUNC : 0);
    stream = TRIB_NEXT(freopen)(path, mode, stream);
    if (before >= 0)
        trib_descriptor_forget(before);
    return end_stream(&opening, stream, mode);
}
TRIB_SAME(freopen) FILE *freopen64(const char *path, const char *mode, FILE *stream);

TRIB_CALL FILE *fdopen(int fd, const char *mode) {
    if (!trib_entry_sees_moves())
        trib_descriptor_shared(fd);
    if (mode && *mode == 'a') /* sets O_APPEND */
        trib_descriptor_forget(fd);
    return TRIB_NEXT(fdopen)(fd, mode);
}

/* Made inside libc under a new number. */
TRIB_CALL FILE *tmpfile(void) {
    struct opening nothing = {.empties = false};

    return end_stream(&nothing, TRIB_NEXT(tmpfile)(), "w+");
}
TRIB_SAME(tmpfile) FILE *tmpfile64(void);
