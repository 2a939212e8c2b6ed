/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/options.h"
#include "trace/codec.h"

struct trib_trace_reader {
    char *path;
    int fd;
    bool regular; /* a file, which may grow and can be rewound; else its end is final */
    struct trib_trace_read_options options;
    bool header_read, ended, truncated;
    int failed; /* repeated, with the sentence in error */
    struct trib_error error;
    off_t start; /* of the trace; not 0 if standard input was handed over in the middle of a file */

    uint64_t offset_bytes; /* of bytes[0] in the trace */
    uint32_t filled_bytes;
    uint32_t items_left;         /* in the block */
    const uint8_t *cursor, *end; /* in the block */
    struct trib_trace_totals seen;
    struct trib_trace_state state;
    char text[TRIB_TRACE_TEXT_BYTES_MAX + 1];
    /* A decoder may look past the block; what is there does not matter, only that it may be read.
     */
    uint8_t bytes[TRIB_TRACE_BLOCK_HEADER_BYTES + TRIB_TRACE_PAYLOAD_BYTES +
                  TRIB_TRACE_LOOKAHEAD_BYTES];
};

static int fail(struct trib_trace_reader *reader, int code, uint64_t offset_bytes,
                const char *reason) {
    reader->failed = code;
    return trib_fail(&reader->error, code, "%s: offset %" PRIu64 ": %s",
                     trib_trace_path_shown(reader->path), offset_bytes, reason);
}

static int corrupt(struct trib_trace_reader *reader, const char *reason) {
    return fail(reader, -EBADMSG, reader->offset_bytes, reason);
}

/* Damage inside a block whose checksum is right: a faulty or hostile writer. */
static int corrupt_item(struct trib_trace_reader *reader, const uint8_t *at, const char *reason) {
    return fail(reader, -EBADMSG, reader->offset_bytes + (uint64_t)(at - reader->bytes), reason);
}

/* ---- bytes ---- */

/* Reads until `want_bytes` are there. 1; 0 at the end of the file; -EAGAIN; -errno. */
static int fill(struct trib_trace_reader *reader, uint32_t want_bytes) {
    TRIB_HOT_ASSERT(want_bytes <= sizeof reader->bytes);
    while (reader->filled_bytes < want_bytes) {
        ssize_t got = read(reader->fd, reader->bytes + reader->filled_bytes,
                           want_bytes - reader->filled_bytes);
        if (got > 0)
            reader->filled_bytes += (uint32_t)got;
        else if (got == 0)
            return 0;
        else if (errno == EAGAIN && reader->options.follow)
            return -EAGAIN;
        else if (errno == EAGAIN)
            poll(&(struct pollfd){.fd = reader->fd, .events = POLLIN}, 1, -1);
        else if (errno != EINTR)
            return fail(reader, -errno, reader->offset_bytes + reader->filled_bytes,
                        strerror(errno));
    }
    return 1;
}

static void drop(struct trib_trace_reader *reader) {
    reader->offset_bytes += reader->filled_bytes;
    reader->filled_bytes = 0;
}

/* Not while following: a live file has no torn end. */
static bool forgives_cut(const struct trib_trace_reader *reader) {
    return reader->options.allow_truncated && !reader->options.follow;
}

/* The bytes end before the trace does. 0 (the caller asked to stop here quietly), -EAGAIN or
 * -EBADMSG. */
static int cut(struct trib_trace_reader *reader, const char *reason) {
    struct stat status;
    if (reader->options.follow && reader->regular) {
        if (fstat(reader->fd, &status) == 0 && (uint64_t)(status.st_size - reader->start) <
                                                   reader->offset_bytes + reader->filled_bytes)
            return corrupt(reader, "the file has shrunk since it was read (overwritten?)");
        return -EAGAIN;
    }
    if (!reader->options.allow_truncated)
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

/* The end block says what must have been read, and nothing may follow it. */
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
    reader->ended = true;
    return 0;
}

/* 1 a block of items is ready, 0 the end, or a failure. */
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
        return corrupt_item(reader, reader->cursor, "block has bytes after its last item");
    reader->cursor = reader->end = NULL;
    drop(reader);
    return 0;
}

/* ---- items ---- */

/* The body of an item; each getter moves `at` on. */
struct body {
    const uint8_t *at, *end;
};

static bool body_number(struct body *body, uint64_t *value, uint64_t maximum) {
    const uint8_t *next = trib_varint_get(body->at, value);
    if (!next || next > body->end || *value > maximum)
        return false;
    body->at = next;
    return true;
}

static bool body_u64(struct body *body, uint64_t *value) {
    if (body->end - body->at < 8)
        return false;
    *value = trib_load64(body->at);
    body->at += 8;
    return true;
}

static bool body_text(struct body *body, char *text, size_t room_bytes) {
    size_t length_bytes = (size_t)(body->end - body->at);
    if (length_bytes >= room_bytes || memchr(body->at, 0, length_bytes))
        return false;
    memcpy(text, body->at, length_bytes);
    text[length_bytes] = '\0';
    body->at = body->end;
    return true;
}

static bool get_module(struct body *body, struct trib_trace_item *item) {
    struct trib_module *module = &item->module;
    uint64_t index;
    if (!body_number(body, &index, UINT32_MAX) || !body_u64(body, &module->build_id_hash) ||
        body->at == body->end)
        return false;
    item->module_index = (uint32_t)index;
    module->build_id_bytes = *body->at++;
    if (module->build_id_bytes > sizeof module->build_id ||
        body->end - body->at < module->build_id_bytes)
        return false;
    memset(module->build_id, 0, sizeof module->build_id);
    memcpy(module->build_id, body->at, module->build_id_bytes);
    body->at += module->build_id_bytes;
    return body_text(body, module->path, sizeof module->path);
}

static bool get_signature(struct body *body, struct trib_trace_item *item) {
    uint64_t count, module;
    if (!body_u64(body, &item->id) || !body_number(body, &count, TRIB_SIGNATURE_DEPTH_MAX))
        return false;
    item->frame_count = (uint32_t)count;
    for (uint32_t i = 0; i < item->frame_count; i++) {
        struct trib_frame *frame = &item->frames[i];
        if (!body_u64(body, &frame->build_id) || !body_number(body, &module, UINT32_MAX) ||
            !body_number(body, &frame->offset_bytes, UINT64_MAX))
            return false;
        frame->module = (uint32_t)module;
    }
    return true;
}

static bool get_body(struct trib_trace_reader *reader, struct body *body,
                     struct trib_trace_item *item) {
    switch (item->kind) {
    case TRIB_TRACE_NAME:
        item->text = reader->text;
        return body_u64(body, &item->id) && body_text(body, reader->text, sizeof reader->text);
    case TRIB_TRACE_NOTE:
        item->text = reader->text;
        return body_text(body, reader->text, sizeof reader->text);
    case TRIB_TRACE_MODULE:
        return get_module(body, item);
    case TRIB_TRACE_SIGNATURE:
        return get_signature(body, item);
    case TRIB_TRACE_GAP:
        return body_number(body, &item->gap_events, UINT64_MAX) &&
               body_number(body, &item->gap_bytes, UINT64_MAX);
    default:
        return false;
    }
}

/* 1 an item, 0 one to be skipped, -EBADMSG. */
static int read_item(struct trib_trace_reader *reader, struct trib_trace_item *item) {
    struct body body = {reader->cursor + 1, reader->end};
    unsigned kind = *reader->cursor >> 3;
    uint64_t length_bytes;
    if (!body_number(&body, &length_bytes, (uint64_t)TRIB_TRACE_PAYLOAD_BYTES) ||
        length_bytes > (uint64_t)(body.end - body.at))
        return corrupt_item(reader, reader->cursor, "item is longer than its block");
    const uint8_t *next = body.at + length_bytes;
    if (kind < TRIB_TRACE_OPTIONAL_ITEMS) {
        body.end = next;
        item->kind = (enum trib_trace_item_kind)kind;
        if (!get_body(reader, &body, item) || body.at != body.end)
            return corrupt_item(reader, reader->cursor, "item is of unknown kind or malformed");
    }
    reader->cursor = next;
    return kind < TRIB_TRACE_OPTIONAL_ITEMS;
}

static int read_event(struct trib_trace_reader *reader, struct trib_trace_item *item) {
    const char *reason = "event is longer than its block";
    const uint8_t *next =
        trib_trace_decode_event(&reader->state, reader->cursor, &item->event, &reason);
    if (TRIB_UNLIKELY(!next || next > reader->end))
        return corrupt_item(reader, reader->cursor, reason);
    reader->cursor = next;
    reader->seen.events++;
    if (TRIB_UNLIKELY(item->event.kind == TRIB_TAG_KIND_RETIRED))
        return 0;
    if (item->event.kind == TRIB_EVENT_WRITE)
        reader->seen.written_bytes += item->event.length_bytes;
    item->kind = TRIB_TRACE_EVENT;
    return 1;
}

static int next_item(struct trib_trace_reader *reader, struct trib_trace_item *item) {
    for (;;) {
        int rc = 1;
        if (TRIB_LIKELY(reader->items_left)) {
            reader->items_left--;
            reader->seen.items++;
            rc = *reader->cursor & TRIB_TAG_KIND ? read_event(reader, item)
                                                 : read_item(reader, item);
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

int trib_trace_next(struct trib_trace_reader *reader, struct trib_trace_item *item,
                    struct trib_error *error) {
    int rc = 0;
    if (TRIB_LIKELY(!reader->failed && !reader->ended))
        rc = next_item(reader, item);
    if (TRIB_LIKELY(rc == 1))
        return rc;
    if (reader->failed && error)
        *error = reader->error;
    return reader->failed ? reader->failed : rc;
}

/* ---- open, rewind, close ---- */

static void reset(struct trib_trace_reader *reader) {
    reader->header_read = reader->ended = reader->truncated = false;
    reader->failed = 0;
    reader->offset_bytes = 0;
    reader->filled_bytes = reader->items_left = 0;
    reader->cursor = reader->end = NULL;
    reader->seen = (struct trib_trace_totals){0};
    trib_trace_state_reset(&reader->state);
}

static int open_input(struct trib_trace_reader *reader) {
    struct stat status;
    reader->fd = strcmp(reader->path, "-") == 0
                     ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                     : open(reader->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (reader->fd < 0 || fstat(reader->fd, &status) != 0)
        return trib_fail(&reader->error, -errno, "%s: cannot open: %s",
                         trib_trace_path_shown(reader->path), strerror(errno));
    reader->regular = S_ISREG(status.st_mode);
    if (reader->regular)
        reader->start = lseek(reader->fd, 0, SEEK_CUR);
    int rc = read_header(reader);
    return rc == 1 || rc == -EAGAIN ? 0 : rc;
}

int trib_trace_reader_open(struct trib_trace_reader **out, const char *path,
                           const struct trib_trace_read_options *options,
                           struct trib_error *error) {
    struct trib_trace_reader *reader = calloc(1, sizeof *reader);
    char *own_path = strdup(path);
    if (!reader || !own_path) {
        free(reader);
        free(own_path);
        return trib_fail(error, -ENOMEM, "%s: not enough memory for a trace reader",
                         trib_trace_path_shown(path));
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
    if (lseek(reader->fd, reader->start, SEEK_SET) < 0)
        return -errno;
    reset(reader);
    return 0;
}

void trib_trace_progress(const struct trib_trace_reader *reader, uint64_t *position,
                         uint64_t *size) {
    struct stat status;
    const uint8_t *at = reader->cursor;
    *position = reader->offset_bytes + (at ? (uint64_t)(at - reader->bytes) : 0);
    *size = reader->regular && fstat(reader->fd, &status) == 0
                ? (uint64_t)(status.st_size - reader->start)
                : 0;
}

bool trib_trace_was_truncated(const struct trib_trace_reader *reader) {
    return reader->truncated;
}

void trib_trace_reader_close(struct trib_trace_reader *reader) {
    if (!reader)
        return;
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader->path);
    free(reader);
}
