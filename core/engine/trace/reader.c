/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "log/assert.h"
#include "trace/reader.h"

int trib_trace_reader_fail(struct trib_trace_reader *reader, int code, uint64_t offset_bytes, const char *reason) {
    reader->failed = code;
    return trib_fail(&reader->error, code, "%s: offset %" PRIu64 ": %s", trib_trace_path_shown(reader->path),
                     offset_bytes, reason);
}

static int fail(struct trib_trace_reader *reader, int code, uint64_t offset_bytes, const char *reason) {
    return trib_trace_reader_fail(reader, code, offset_bytes, reason);
}

static int corrupt(struct trib_trace_reader *reader, const char *reason) {
    return fail(reader, -EBADMSG, reader->offset_bytes, reason);
}

/* ---- bytes ---- */

/* Reads until `want_bytes` are there. 1; 0 at the end of the file; -EAGAIN; -errno. */
static int fill(struct trib_trace_reader *reader, uint32_t want_bytes) {
    TRIB_HOT_ASSERT(want_bytes <= sizeof reader->bytes);
    while (reader->filled_bytes < want_bytes) {
        ssize_t got = read(reader->fd, reader->bytes + reader->filled_bytes, want_bytes - reader->filled_bytes);
        if (got > 0)
            reader->filled_bytes += (uint32_t)got;
        else if (got == 0)
            return 0;
        else if (errno == EAGAIN && reader->options.follow)
            return -EAGAIN;
        else if (errno == EAGAIN)
            poll(&(struct pollfd){.fd = reader->fd, .events = POLLIN}, 1, -1);
        else if (errno != EINTR)
            return fail(reader, -errno, reader->offset_bytes + reader->filled_bytes, strerror(errno));
    }
    return 1;
}

static void drop(struct trib_trace_reader *reader) {
    reader->offset_bytes += reader->filled_bytes;
    reader->filled_bytes = 0;
}

/* Not while following: a live file has no torn end; nor a file that another one follows. */
static bool forgives_cut(const struct trib_trace_reader *reader) {
    return reader->options.allow_truncated && !reader->options.follow && trib_trace_reader_is_last(reader);
}

/* The bytes end before the trace does. 0 (the caller asked to stop here quietly), -EAGAIN or
 * -EBADMSG. */
static int cut(struct trib_trace_reader *reader, const char *reason) {
    struct stat status;
    if (reader->options.follow && reader->regular) {
        if (fstat(reader->fd, &status) == 0 &&
            (uint64_t)(status.st_size - reader->start) < reader->offset_bytes + reader->filled_bytes)
            return corrupt(reader, "the file has shrunk since it was read (overwritten?)");
        return -EAGAIN;
    }
    if (!reader->options.allow_truncated || !trib_trace_reader_is_last(reader))
        return fail(reader, -EBADMSG, reader->offset_bytes + reader->filled_bytes, reason);
    reader->truncated = reader->ended = true;
    return 0;
}

/* ---- header ---- */

static int short_header(struct trib_trace_reader *reader) {
    uint32_t magic_bytes = reader->filled_bytes;
    if (magic_bytes > TRIB_TRACE_MAGIC_BYTES)
        magic_bytes = TRIB_TRACE_MAGIC_BYTES;
    if (memcmp(reader->bytes, TRIB_TRACE_MAGIC, magic_bytes) != 0)
        return fail(reader, -EPROTO, 0, "not a Tributary trace");
    if (reader->options.follow && reader->regular)
        return -EAGAIN;
    if (reader->filled_bytes == 0)
        return fail(reader, -EBADMSG, 0, "the file is empty");
    return fail(reader, -EBADMSG, reader->filled_bytes, "the file header is cut off");
}

/* 1, -EAGAIN, or a failure. Without its header nothing can be salvaged, so allow_truncated does not
 * count here. */
static int read_header(struct trib_trace_reader *reader) {
    int rc = fill(reader, TRIB_TRACE_HEADER_BYTES);
    if (rc <= 0)
        return rc ? rc : short_header(reader);
    if (!trib_trace_is_magic(reader->bytes))
        return fail(reader, -EPROTO, 0, "not a Tributary trace");
    /* Version first: the place of the checksum is only known for versions that are. */
    uint16_t version = trib_trace_header_version(reader->bytes);
    if (version != TRIB_TRACE_VERSION) {
        reader->failed = -EPROTO;
        return trib_fail(&reader->error, -EPROTO,
                         "%s: offset 8: trace format version %u, but this build reads version %u",
                         trib_trace_path_shown(reader->path), version, TRIB_TRACE_VERSION);
    }
    if (!trib_trace_header_intact(reader->bytes))
        return fail(reader, -EBADMSG, 0, "the file header is damaged (checksum differs)");
    drop(reader);
    reader->header_read = true;
    return 1;
}

/* ---- blocks ---- */

static bool is_zero(const uint8_t *bytes, size_t length_bytes) {
    return length_bytes == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length_bytes - 1) == 0);
}

/* Nothing but zeros up to the end of the file is space that the file system gave and a crash of the
 * machine left unwritten. */
static int damaged_header(struct trib_trace_reader *reader, const char *reason) {
    uint64_t offset_bytes = reader->offset_bytes;
    bool zeros = forgives_cut(reader);
    int rc = 1;
    while (zeros && rc == 1) {
        rc = fill(reader, TRIB_TRACE_PAYLOAD_BYTES);
        if (rc < 0)
            return rc;
        zeros = is_zero(reader->bytes, reader->filled_bytes);
        drop(reader);
    }
    return zeros ? cut(reader, reason) : fail(reader, -EBADMSG, offset_bytes, reason);
}

/* A checksum that differs in the very last block is what a crash of the machine leaves behind. */
static int damaged_payload(struct trib_trace_reader *reader) {
    const char *reason = "block is damaged (checksum of its payload differs)";
    int rc = fill(reader, reader->filled_bytes + 1);
    if (rc == 0 && forgives_cut(reader))
        return cut(reader, reason);
    return rc < 0 && rc != -EAGAIN ? rc : corrupt(reader, reason);
}

/* The end block says what must have been read, and nothing may follow it. 1 if another file does. */
static int read_end(struct trib_trace_reader *reader, const struct trib_trace_block *block) {
    struct trib_trace_totals totals;
    if (block->payload_bytes != TRIB_TRACE_END_BYTES || block->items)
        return corrupt(reader, "end block has a wrong size");
    trib_trace_unpack_totals(&totals, reader->cursor);
    reader->cursor = reader->end = NULL;
    if (totals.items != reader->seen.items || totals.events != reader->seen.events ||
        totals.written_bytes != reader->seen.written_bytes || totals.blocks != reader->seen.blocks)
        return corrupt(reader, "end block counts other items than the trace holds");
    int rc = fill(reader, reader->filled_bytes + 1);
    if (rc < 0 && rc != -EAGAIN)
        return rc;
    if (rc == 1) {
        reader->filled_bytes--;
        drop(reader);
        return corrupt(reader, "data follow the end of the trace (concatenated files?)");
    }
    drop(reader);
    return trib_trace_reader_next_file(reader);
}

/* 1 a block of items is ready, or the next file is open; 0 the end, or a failure. */
static int read_block(struct trib_trace_reader *reader) {
    struct trib_trace_block block;
    int rc = fill(reader, TRIB_TRACE_BLOCK_HEADER_BYTES);
    if (rc <= 0)
        return rc ? rc : cut(reader, "the trace ends without an end block (truncated?)");
    const char *reason = trib_trace_block_unpack(&block, reader->bytes);
    if (reason)
        return damaged_header(reader, reason);
    if (block.sequence != reader->seen.items)
        return corrupt(reader, "block is out of order (one is missing or there twice)");
    rc = fill(reader, TRIB_TRACE_BLOCK_HEADER_BYTES + block.payload_bytes);
    if (rc <= 0)
        return rc ? rc : cut(reader, "the trace ends inside a block (truncated?)");
    reader->cursor = reader->bytes + TRIB_TRACE_BLOCK_HEADER_BYTES;
    reader->end = reader->cursor + block.payload_bytes;
    if (trib_hash(reader->cursor, block.payload_bytes) != block.payload_hash)
        return damaged_payload(reader);
    if (block.type == TRIB_TRACE_BLOCK_END)
        return read_end(reader, &block);
    if ((block.flags & TRIB_TRACE_RESTART) && reader->seen.blocks) /* else it is as allocated */
        trib_trace_state_reset(&reader->state);
    reader->items_left = block.items;
    reader->seen.blocks++;
    return 1;
}

static int finish_block(struct trib_trace_reader *reader) {
    if (reader->cursor != reader->end)
        return trib_trace_reader_corrupt(reader, reader->cursor, "block has bytes after its last item");
    reader->cursor = reader->end = NULL;
    drop(reader);
    return 0;
}

/* ---- next, open, rewind, close ---- */

static int next_item(struct trib_trace_reader *reader, struct trib_trace_item *item) {
    for (;;) {
        int rc = 1;
        if (TRIB_LIKELY(reader->items_left)) {
            reader->items_left--;
            reader->seen.items++;
            rc = trib_trace_reader_item(reader, item);
            if (TRIB_LIKELY(rc))
                return rc;
            continue;
        }
        if (!reader->header_read)
            rc = read_header(reader);
        else if (reader->end)
            rc = finish_block(reader);
        if (rc >= 0 && !reader->end)
            rc = read_block(reader);
        if (rc <= 0)
            return rc;
    }
}

int trib_trace_next(struct trib_trace_reader *reader, struct trib_trace_item *item, struct trib_error *error) {
    int rc = 0;
    if (TRIB_LIKELY(!reader->failed && !reader->ended))
        rc = next_item(reader, item);
    if (TRIB_LIKELY(rc == 1))
        return rc;
    if (reader->failed && error)
        *error = reader->error;
    return reader->failed ? reader->failed : rc;
}

static void reset(struct trib_trace_reader *reader) {
    reader->ended = reader->truncated = false;
    reader->failed = 0;
    reader->stop_reason[0] = '\0';
    trib_trace_reader_reset(reader);
}

static int open_input(struct trib_trace_reader *reader) {
    struct stat status;
    reader->fd = strcmp(reader->path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                                : open(reader->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (reader->fd < 0 || fstat(reader->fd, &status) != 0)
        return trib_fail(&reader->error, -errno, "%s: cannot open: %s", trib_trace_path_shown(reader->path),
                         strerror(errno));
    reader->regular = S_ISREG(status.st_mode);
    if (reader->regular)
        reader->start = lseek(reader->fd, 0, SEEK_CUR);
    trib_trace_reader_first_file(reader);
    int rc = read_header(reader);
    return rc == 1 || rc == -EAGAIN ? 0 : rc;
}

int trib_trace_reader_open(struct trib_trace_reader **out, const char *path,
                           const struct trib_trace_read_options *options, struct trib_error *error) {
    struct trib_trace_reader *reader = calloc(1, sizeof *reader);
    char *own_path = strdup(path);
    if (!reader || !own_path) {
        free(reader);
        free(own_path);
        return trib_fail(error, -ENOMEM, "%s: not enough memory for a trace reader", trib_trace_path_shown(path));
    }
    reader->path = own_path;
    if (options)
        reader->options = *options;
    int rc = open_input(reader);
    if (rc) {
        if (error)
            *error = reader->error;
        trib_trace_reader_close(reader);
        return rc;
    }
    *out = reader;
    return 0;
}

int trib_trace_rewind(struct trib_trace_reader *reader) {
    if (!reader->regular)
        return -ESPIPE;
    int rc = trib_trace_reader_return(reader);
    if (rc)
        return rc;
    if (lseek(reader->fd, reader->start, SEEK_SET) < 0)
        return -errno;
    reset(reader);
    return 0;
}

void trib_trace_progress(const struct trib_trace_reader *reader, uint64_t *position, uint64_t *size) {
    struct stat status;
    const uint8_t *at = reader->cursor;
    *position = reader->passed_bytes + reader->offset_bytes + (at ? (uint64_t)(at - reader->bytes) : 0);
    *size = reader->regular && fstat(reader->fd, &status) == 0
                ? reader->passed_bytes + (uint64_t)(status.st_size - reader->start) + reader->rest_bytes
                : 0;
}

bool trib_trace_was_truncated(const struct trib_trace_reader *reader) {
    return reader->truncated;
}

const char *trib_trace_stop_reason(const struct trib_trace_reader *reader) {
    return reader->stop_reason;
}

uint64_t trib_trace_files_missing(const struct trib_trace_reader *reader) {
    return reader->first_number;
}

void trib_trace_reader_close(struct trib_trace_reader *reader) {
    if (!reader)
        return;
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader->path);
    free(reader);
}
