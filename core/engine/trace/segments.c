/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/segments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "trace/codec.h"

/* Rotation that goes on while we read moves a file up by one each time; a crash in the middle of it leaves one hole. */
#define LOOK_AHEAD 16u

/* ---- names ---- */

int trib_trace_name_split(struct trib_trace_name *out, const char *path) {
    size_t length_bytes = strlen(path), digits = 0;

    if (length_bytes >= sizeof out->base)
        return -ENAMETOOLONG;
    memcpy(out->base, path, length_bytes + 1);
    out->suffix = 0;
    while (digits < length_bytes && path[length_bytes - 1 - digits] >= '0' && path[length_bytes - 1 - digits] <= '9')
        digits++;
    if (digits == 0 || digits > 3 || digits + 1 >= length_bytes)
        return 0;
    char *dot = out->base + length_bytes - digits - 1;
    if (*dot != '.' || dot[1] == '0')
        return 0;
    out->suffix = (uint32_t)strtoul(dot + 1, NULL, 10);
    *dot = '\0';
    return 0;
}

int trib_trace_name_of(char path[TRIB_TRACE_PATH_BYTES], const char *base, uint32_t suffix) {
    int length_bytes = suffix ? snprintf(path, TRIB_TRACE_PATH_BYTES, "%s.%u", base, suffix)
                              : snprintf(path, TRIB_TRACE_PATH_BYTES, "%s", base);
    return length_bytes < (int)TRIB_TRACE_PATH_BYTES ? 0 : -ENAMETOOLONG;
}

/* ---- rotation ---- */

static bool exists(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0;
}

/* An old trace that nobody writes; everything else at its name is somebody's and stays. */
static int check_old(const char *path, struct trib_error *error) {
    uint8_t magic[TRIB_TRACE_MAGIC_BYTES];
    struct stat status;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY), rc = 0;

    if (fd < 0 && errno != ELOOP && errno != ENXIO)
        return trib_fail(error, -errno, "%s: cannot open an earlier trace: %s", trib_trace_path_shown(path),
                         strerror(errno));
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
        pread(fd, magic, sizeof magic, 0) != (ssize_t)sizeof magic || !trib_trace_is_magic(magic))
        rc = trib_fail(error, -EEXIST,
                       "%s: is in the way of an earlier trace and is none; move it away, or name another trace",
                       trib_trace_path_shown(path));
    else if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        rc = trib_fail(error, -EBUSY, "%s: another process is writing this trace", trib_trace_path_shown(path));
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Never over another file, where the file system can promise it. */
static int move(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (exists(to))
        return -EEXIST;
    return rename(from, to) == 0 ? 0 : -errno;
}

/* Makes `suffix` + 1 free by moving what has it; names up to there are known to be in use. */
static int shift(const char *path, uint32_t suffix, struct trib_error *error) {
    char from[TRIB_TRACE_PATH_BYTES], to[TRIB_TRACE_PATH_BYTES];
    int rc = trib_trace_name_of(from, path, suffix);

    if (rc == 0)
        rc = trib_trace_name_of(to, path, suffix + 1);
    if (rc == 0 && suffix && (rc = check_old(from, error)) != 0)
        return rc;
    if (rc == 0)
        rc = move(from, to);
    return rc ? trib_fail(error, rc, "%s: cannot keep the earlier trace: %s", trib_trace_path_shown(path),
                          strerror(-rc))
              : 0;
}

static int delete_oldest(const char *path, uint32_t suffix, struct trib_error *error) {
    char oldest[TRIB_TRACE_PATH_BYTES];
    int rc = trib_trace_name_of(oldest, path, suffix);

    if (rc == 0 && (rc = check_old(oldest, error)) != 0)
        return rc;
    if (rc == 0 && unlink(oldest) != 0)
        rc = -errno;
    return rc ? trib_fail(error, rc, "%s: cannot delete the oldest trace: %s", trib_trace_path_shown(path),
                          strerror(-rc))
              : 0;
}

/* What an earlier, larger trace_keep left behind names that are in use, the highest first: cut short, none is beyond a
 * hole that nobody looks across. What is no old trace there is somebody's and stays. */
static void delete_beyond(const char *path, uint32_t keep) {
    char name[TRIB_TRACE_PATH_BYTES];
    struct trib_error ignored;
    uint32_t last = keep;

    for (uint32_t at = keep + 1; at <= last + LOOK_AHEAD && trib_trace_name_of(name, path, at) == 0; at++)
        if (exists(name))
            last = at;
    for (uint32_t at = last; at > keep; at--)
        if (trib_trace_name_of(name, path, at) == 0 && exists(name) && check_old(name, &ignored) == 0)
            (void)unlink(name);
}

int trib_trace_segments_rotate(const char *path, uint32_t keep, struct trib_error *error) {
    char name[TRIB_TRACE_PATH_BYTES];
    uint32_t used = 0;

    if (keep == 0)
        return trib_fail(
            error, -EEXIST,
            "%s: a trace is there and trace_keep=0 keeps no earlier one; move it away, or raise trace_keep",
            trib_trace_path_shown(path));
    while (used < keep && trib_trace_name_of(name, path, used + 1) == 0 && exists(name))
        used++;
    int rc = used == keep ? delete_oldest(path, used--, error) : 0;
    for (uint32_t i = used + 1; rc == 0 && i-- > 0;)
        rc = shift(path, i, error);
    if (rc == 0)
        delete_beyond(path, keep);
    return rc;
}

int trib_trace_segments_return(const char *path) {
    char earlier[TRIB_TRACE_PATH_BYTES];
    int rc = trib_trace_name_of(earlier, path, 1);
    return rc ? rc : move(earlier, path);
}

/* ---- reading ---- */

static bool first_block_is_whole(int fd, off_t start, uint8_t *room, struct trib_trace_block *block) {
    uint8_t header[TRIB_TRACE_HEADER_BYTES];

    if (pread(fd, header, sizeof header, start) != (ssize_t)sizeof header || !trib_trace_is_magic(header) ||
        trib_trace_header_version(header) != TRIB_TRACE_VERSION || !trib_trace_header_intact(header))
        return false;
    start += (off_t)sizeof header;
    ssize_t got = pread(fd, room, TRIB_TRACE_BLOCK_HEADER_BYTES + TRIB_TRACE_PAYLOAD_BYTES, start);
    if (got < (ssize_t)TRIB_TRACE_BLOCK_HEADER_BYTES || trib_trace_block_unpack(block, room) || block->items == 0)
        return false;
    return (size_t)got >= TRIB_TRACE_BLOCK_HEADER_BYTES + (size_t)block->payload_bytes &&
           block->payload_hash == trib_hash(room + TRIB_TRACE_BLOCK_HEADER_BYTES, block->payload_bytes);
}

struct trib_trace_segment trib_trace_segment_of(int fd, off_t start, uint8_t *room) {
    struct trib_trace_block block;
    struct trib_trace_segment found = {0};
    const uint8_t *item = room + TRIB_TRACE_BLOCK_HEADER_BYTES;

    if (!first_block_is_whole(fd, start, room, &block) || block.payload_bytes < 2 + TRIB_TRACE_SEGMENT_BYTES ||
        item[0] != (uint8_t)(TRIB_TRACE_SEGMENT << 3) || item[1] != TRIB_TRACE_SEGMENT_BYTES)
        return found;
    found.recording = trib_load64(item + 2);
    found.number = trib_load64(item + 10);
    return found;
}

int trib_trace_segment_open(const char *base, uint32_t *suffix, const struct trib_trace_segment *wanted,
                            uint8_t *room) {
    char path[TRIB_TRACE_PATH_BYTES];

    for (uint32_t at = *suffix; at <= *suffix + LOOK_AHEAD; at++) {
        if (trib_trace_name_of(path, base, at) != 0)
            break;
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
            continue;
        struct trib_trace_segment found = trib_trace_segment_of(fd, 0, room);
        if (found.recording == wanted->recording && found.number == wanted->number) {
            *suffix = at;
            return fd;
        }
        close(fd);
    }
    return -ENOENT;
}
