/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of files: truncated, punched, synced. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/falloc.h>

#include <tributary/event.h>
#include <tributary/signature.h>

#include "calls/calls.h"
#include "files/mappings.h"
#include "files/ranges.h"
#include "libc/next.h"
#include "libc/raw.h"
#include "quiet.h"
#include "record.h"
#include "sink.h"

/* ---- truncated ---- */

/* Programs often grow a file this way, or empty a new one: nothing dies then. */
static bool will_shrink(int fd, off_t length) {
    struct stat stat;

    return TRIB_ASK(-1, trib_raw_fstat(fd, &stat)) == 0 && stat.st_size > length;
}

TRIB_CALL int ftruncate(int fd, off_t length) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(fd, TRIB_FRAME_HERE(), &known) && will_shrink(fd, length);
    int result = TRIB_NEXT(ftruncate)(fd, length);

    if (tracked && result == 0)
        trib_record_death(known.file, (uint64_t)length, TRIB_LENGTH_TO_END, TRIB_CAUSE_TRUNCATE);
    return result;
}
TRIB_SAME(ftruncate) int ftruncate64(int fd, off64_t length);

TRIB_CALL int truncate(const char *path, off_t length) {
    struct trib_named was;
    bool tracked = trib_named_look(AT_FDCWD, path, 0, &was);
    int result = TRIB_NEXT(truncate)(path, length);

    if (tracked && result == 0 && was.size_bytes > (uint64_t)length)
        trib_record_death(was.file, (uint64_t)length, TRIB_LENGTH_TO_END, TRIB_CAUSE_TRUNCATE);
    return result;
}
TRIB_SAME(truncate) int truncate64(const char *path, off64_t length);

/* ---- punched ---- */

void trib_record_fallocated(const struct trib_descriptor *known, int mode, int64_t offset, int64_t length) {
    if (offset < 0 || length <= 0 || length > INT64_MAX - offset) /* of a ring, whose kernel has yet to refuse it */
        return;
    if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE))
        trib_record_death(known->file, (uint64_t)offset, TRIB_LENGTH_TO_END, TRIB_CAUSE_TRIM);
    else if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        trib_record_death(known->file, (uint64_t)offset, (uint64_t)length, TRIB_CAUSE_TRIM);
}

TRIB_CALL int fallocate(int fd, int mode, off_t offset, off_t length) {
    struct trib_descriptor known;
    bool tracked = mode & ~FALLOC_FL_KEEP_SIZE && trib_descriptor_look(fd, TRIB_FRAME_HERE(), &known);
    int result = TRIB_NEXT(fallocate)(fd, mode, offset, length);

    if (tracked && result == 0)
        trib_record_fallocated(&known, mode, offset, length);
    return result;
}
TRIB_SAME(fallocate) int fallocate64(int fd, int mode, off64_t offset, off64_t length);

/* ---- synced ---- */

static void record_synced(bool tracked, const struct trib_descriptor *known) {
    if (tracked)
        trib_record_sync(known->file, 0, TRIB_LENGTH_TO_END, TRIB_CAUSE_FSYNC);
}

TRIB_CALL int fsync(int fd) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(fd, TRIB_FRAME_HERE(), &known);

    if (tracked && trib_mappings_exist())
        trib_mappings_sync_file(known.file);
    int result = TRIB_NEXT(fsync)(fd);
    record_synced(tracked && result == 0, &known);
    return result;
}

TRIB_CALL int fdatasync(int fd) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(fd, TRIB_FRAME_HERE(), &known);

    if (tracked && trib_mappings_exist())
        trib_mappings_sync_file(known.file);
    int result = TRIB_NEXT(fdatasync)(fd);
    record_synced(tracked && result == 0, &known);
    return result;
}

TRIB_CALL int sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags) {
    struct trib_descriptor known;
    bool tracked = flags & SYNC_FILE_RANGE_WRITE && trib_descriptor_look(fd, TRIB_FRAME_HERE(), &known);
    int result = TRIB_NEXT(sync_file_range)(fd, offset, length, flags);

    if (tracked && result == 0)
        trib_record_sync(known.file, (uint64_t)offset, length ? (uint64_t)length : TRIB_LENGTH_TO_END,
                         TRIB_CAUSE_RANGE_SYNC);
    return result;
}

/* ---- by number, where no call is a cancellation point: calls/raw.c ---- */

static long raw_sync(long number, int fd, const void *frame) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(fd, frame, &known);

    if (tracked && trib_mappings_exist())
        trib_mappings_sync_file(known.file);
    long result = trib_syscall(number, fd);
    record_synced(tracked && result == 0, &known);
    return result;
}

long trib_raw_fsync(int fd) {
    return raw_sync(SYS_fsync, fd, TRIB_FRAME_HERE());
}

long trib_raw_fdatasync(int fd) {
    return raw_sync(SYS_fdatasync, fd, TRIB_FRAME_HERE());
}

long trib_raw_ftruncate(int fd, off_t length) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(fd, TRIB_FRAME_HERE(), &known) && will_shrink(fd, length);
    long result = trib_syscall(SYS_ftruncate, fd, length);

    if (tracked && result == 0)
        trib_record_death(known.file, (uint64_t)length, TRIB_LENGTH_TO_END, TRIB_CAUSE_TRUNCATE);
    return result;
}

long trib_raw_fallocate(int fd, int mode, off_t offset, off_t length) {
    struct trib_descriptor known;
    bool tracked = mode & ~FALLOC_FL_KEEP_SIZE && trib_descriptor_look(fd, TRIB_FRAME_HERE(), &known);
    long result = trib_syscall(SYS_fallocate, fd, mode, offset, length);

    if (tracked && result == 0)
        trib_record_fallocated(&known, mode, offset, length);
    return result;
}
