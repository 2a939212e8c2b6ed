/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "log/assert.h"
#include "trace/codec.h"
#include "trace/output.h"
#include "trace/segments.h"

/* A reader can start at a restart block without the ones before it. Every 4 MiB, about a million
 * events, learning files and contexts anew costs nothing that could be measured. */
#define RESTART_EVERY_BYTES (4u << 20)

/* Modules are numbered densely from 0; beyond this many, duplicates in the file are the lesser
 * evil. */
#define MODULES_REMEMBERED 4096u

/* Modules and frames are repeated at the head of each file, so that a recording whose first files are deleted still
 * says who wrote; at most this share of a file. */
#define CARRY_BYTES_MAX   (4u << 20)
#define CARRY_SHARE       4u

#define LAST_BLOCKS_BYTES (2 * TRIB_TRACE_BLOCK_HEADER_BYTES + 16u + TRIB_TRACE_REASON_BYTES + TRIB_TRACE_END_BYTES)

/* One file, up to its last whole block. */
struct trace_file {
    struct trib_trace_output output;
    uint64_t bytes;
    struct trib_trace_totals totals;
};

struct trib_trace_writer {
    int failed;                           /* first -errno; the writer is inert */
    char reason[TRIB_TRACE_REASON_BYTES]; /* with it */
    char *path;
    struct trib_trace_limits limits;
    struct trib_trace_segment segment;
    struct trace_file file;
    uint64_t earlier_bytes, since_restart_bytes; /* earlier: in files that are complete */
    struct trib_trace_totals totals;             /* with the open block */
    uint32_t block_items;
    uint8_t block_flags;
    uint8_t *cursor; /* in block */
    uint64_t modules[MODULES_REMEMBERED / 64];
    uint8_t *carry; /* items as encoded */
    uint32_t carry_bytes, carry_room;
    struct trib_trace_encoder encoder;
    uint8_t block[TRIB_TRACE_BLOCK_HEADER_BYTES + TRIB_TRACE_PAYLOAD_BYTES];
};

static uint8_t *payload_of(struct trib_trace_writer *writer) {
    return writer->block + TRIB_TRACE_BLOCK_HEADER_BYTES;
}

static uint32_t room_bytes(const struct trib_trace_writer *writer) {
    return (uint32_t)(writer->block + sizeof writer->block - writer->cursor);
}

/* ---- the end of a file ---- */

static uint8_t *seal_stop(uint8_t *bytes, enum trib_trace_stop why, const char *reason,
                          struct trib_trace_totals *totals) {
    const struct trib_trace_block block = {.sequence = totals->items, .items = 1, .type = TRIB_TRACE_BLOCK_ITEMS};
    uint8_t *payload = bytes + TRIB_TRACE_BLOCK_HEADER_BYTES, *at = payload;
    size_t text_bytes = strlen(reason);

    *at++ = (uint8_t)(TRIB_TRACE_STOP << 3);
    at = trib_varint_put(at, 1 + text_bytes);
    *at++ = (uint8_t)why;
    memcpy(at, reason, text_bytes);
    totals->items++;
    totals->blocks++;
    return trib_trace_seal(bytes, (uint32_t)(at + text_bytes - payload), block);
}

/* All or nothing, as far as the file system lets us: a block that is cut off is taken back. */
static int append(struct trace_file *file, const uint8_t *bytes, size_t length_bytes) {
    int rc = trib_trace_output_write(&file->output, bytes, length_bytes);

    if (rc == 0)
        file->bytes += length_bytes;
    else
        (void)trib_trace_output_cut(&file->output, file->bytes); /* else the reader finds the cut */
    return rc;
}

static int append_end(struct trace_file *file) {
    uint8_t bytes[TRIB_TRACE_BLOCK_HEADER_BYTES + TRIB_TRACE_END_BYTES];
    return append(file, bytes, (size_t)(trib_trace_seal_end(bytes, &file->totals) - bytes));
}

/* The last blocks say why, if there is still room for them: what failed may have been larger. */
static int stop(struct trib_trace_writer *writer, int code, enum trib_trace_stop why) {
    uint8_t bytes[LAST_BLOCKS_BYTES];
    struct trib_trace_totals totals = writer->file.totals;

    writer->failed = code;
    uint8_t *end = trib_trace_seal_end(seal_stop(bytes, why, writer->reason, &totals), &totals);
    if (writer->file.output.is_file)
        (void)append(&writer->file, bytes, (size_t)(end - bytes));
    return code;
}

static int stop_write(struct trib_trace_writer *writer, int code) {
    snprintf(writer->reason, sizeof writer->reason, "cannot write: %s", strerror(-code));
    return stop(writer, code, TRIB_TRACE_STOP_WRITE);
}

/* ---- blocks ---- */

static void start_block(struct trib_trace_writer *writer, uint8_t flags) {
    writer->cursor = payload_of(writer);
    writer->block_items = 0;
    writer->block_flags = flags;
}

/* Seals what is between the block's header and the cursor. */
static int put_block(struct trib_trace_writer *writer) {
    const struct trib_trace_block block = {
        .sequence = writer->totals.items - writer->block_items,
        .items = writer->block_items,
        .type = TRIB_TRACE_BLOCK_ITEMS,
        .flags = writer->block_flags,
    };
    uint32_t payload_bytes = (uint32_t)(writer->cursor - payload_of(writer));

    writer->totals.blocks++;
    writer->since_restart_bytes += payload_bytes;
    uint8_t *end = trib_trace_seal(writer->block, payload_bytes, block);
    int rc = append(&writer->file, writer->block, (size_t)(end - writer->block));
    if (rc)
        return stop_write(writer, rc);
    writer->file.totals = writer->totals;
    start_block(writer, 0);
    if (writer->since_restart_bytes >= RESTART_EVERY_BYTES) {
        writer->since_restart_bytes = 0;
        writer->block_flags = TRIB_TRACE_RESTART;
        trib_trace_encoder_reset(&writer->encoder);
    }
    return 0;
}

static uint32_t carried_item_bytes(const uint8_t *item) {
    uint64_t body_bytes = 0;
    const uint8_t *body = trib_varint_get(item + 1, &body_bytes);
    return (uint32_t)((uint64_t)(body - item) + body_bytes);
}

static int put_carried(struct trib_trace_writer *writer) {
    for (uint32_t at = 0, bytes; at < writer->carry_bytes; at += bytes) {
        bytes = carried_item_bytes(writer->carry + at);
        if (room_bytes(writer) < bytes && put_block(writer) != 0)
            return writer->failed;
        memcpy(writer->cursor, writer->carry + at, bytes);
        writer->cursor += bytes;
        writer->block_items++;
        writer->totals.items++;
    }
    return 0;
}

/* File header, and who we are; the first block goes out at once if other files lead to this one. */
static int begin_file(struct trib_trace_writer *writer) {
    uint8_t header[TRIB_TRACE_HEADER_BYTES];

    trib_trace_pack_header(header);
    int rc = append(&writer->file, header, sizeof header);
    if (rc)
        return stop_write(writer, rc);
    start_block(writer, TRIB_TRACE_RESTART);
    writer->since_restart_bytes = 0;
    if (!writer->file.output.is_file)
        return 0;
    *writer->cursor++ = (uint8_t)(TRIB_TRACE_SEGMENT << 3);
    *writer->cursor++ = TRIB_TRACE_SEGMENT_BYTES;
    trib_store64(writer->cursor, writer->segment.recording);
    trib_store64(writer->cursor + 8, writer->segment.number);
    writer->cursor += TRIB_TRACE_SEGMENT_BYTES;
    writer->block_items = 1;
    writer->totals.items = 1;
    if (writer->segment.number == 0)
        return 0;
    rc = put_carried(writer);
    return rc ? rc : put_block(writer);
}

/* ---- rotation ---- */

static int begin_next_file(struct trib_trace_writer *writer, struct trib_error *error) {
    bool is_there = trib_trace_output_is_at(&writer->file.output, writer->path);
    int rc = is_there ? trib_trace_segments_rotate(writer->path, writer->limits.keep, error) : 0;

    if (rc)
        return rc;
    struct trace_file finished = writer->file;
    writer->file = (struct trace_file){0};
    writer->totals = (struct trib_trace_totals){0};
    writer->segment.number++;
    rc = trib_trace_output_create(&writer->file.output, writer->path, error);
    if (rc == 0) {
        rc = begin_file(writer);
        if (rc == 0)
            rc = append_end(&finished);
        if (rc == 0) {
            writer->earlier_bytes += finished.bytes;
            return trib_trace_output_close(&finished.output);
        }
        trib_fail(error, rc, "cannot write: %s", strerror(-rc));
        trib_trace_output_close(&writer->file.output);
        unlink(writer->path);
    }
    writer->file = finished;
    if (is_there)
        (void)trib_trace_segments_return(writer->path); /* else the last file stays NAME.1 */
    return rc;
}

static int rotate(struct trib_trace_writer *writer) {
    struct trib_error error = {""};

    if (writer->limits.keep == 0) {
        snprintf(writer->reason, sizeof writer->reason, "trace_max=%" PRIu64 " bytes are written and trace_keep=0",
                 writer->limits.max_bytes);
        return stop(writer, -EFBIG, TRIB_TRACE_STOP_SIZE);
    }
    int rc = begin_next_file(writer, &error);
    if (rc == 0) {
        trib_trace_encoder_reset(&writer->encoder);
        return 0;
    }
    snprintf(writer->reason, sizeof writer->reason, "cannot go on in a new file: %.200s", error.text);
    return stop(writer, rc, TRIB_TRACE_STOP_ROTATE);
}

/* Rounded up, as what is free is rounded down: what is too little looks so. */
static uint64_t floor_mib(const struct trib_trace_limits *limits) {
    return (limits->floor_bytes + (1u << 20) - 1) >> 20;
}

/* After each block, so that a file ends within its limit: with room for one more block and the last ones. */
static int keep_limits(struct trib_trace_writer *writer) {
    const struct trib_trace_limits *limits = &writer->limits;

    if (!writer->file.output.is_file)
        return 0;
    if (limits->floor_bytes && trib_trace_output_free_bytes(&writer->file.output) < limits->floor_bytes) {
        snprintf(writer->reason, sizeof writer->reason,
                 "free space of the file system fell below disk_floor, %" PRIu64 " MiB", floor_mib(limits));
        return stop(writer, -ENOSPC, TRIB_TRACE_STOP_FLOOR);
    }
    if (limits->max_bytes && writer->file.bytes + sizeof writer->block + LAST_BLOCKS_BYTES > limits->max_bytes)
        return rotate(writer);
    return 0;
}

int trib_trace_flush(struct trib_trace_writer *writer) {
    if (writer->failed || !writer->block_items)
        return writer->failed;
    int rc = put_block(writer);
    return rc ? rc : keep_limits(writer);
}

/* ---- open, close ---- */

static void free_writer(struct trib_trace_writer *writer) {
    trib_trace_encoder_free(&writer->encoder);
    free(writer->carry);
    free(writer->path);
    free(writer);
}

static int open_first_file(struct trib_trace_writer *writer, struct trib_error *error) {
    const char *shown = trib_trace_path_shown(writer->path);
    const struct trib_trace_limits *limits = &writer->limits;

    if (limits->keep >= TRIB_TRACE_SUFFIX_MAX || (limits->max_bytes && limits->max_bytes < TRIB_TRACE_MAX_BYTES_MIN))
        return trib_fail(error, -EINVAL, "%s: limits out of range", shown);
    uint64_t free_bytes = trib_trace_output_free_at(writer->path); /* before anything is moved */
    if (free_bytes < limits->floor_bytes)
        return trib_fail(error, -ENOSPC,
                         "%s: %" PRIu64 " MiB are free on this file system, disk_floor is %" PRIu64
                         " MiB; free some, or lower it",
                         shown, free_bytes >> 20, floor_mib(limits));
    int rc = trib_trace_output_open(&writer->file.output, writer->path, limits->keep, error);
    if (rc)
        return rc;
    rc = begin_file(writer);
    if (rc && writer->file.output.is_file)
        unlink(writer->path); /* nothing is in it */
    return rc ? trib_fail(error, rc, "%s: %s", shown, writer->reason) : 0;
}

static uint64_t random_identity(void) {
    uint64_t identity = 0;
    if (getrandom(&identity, sizeof identity, GRND_NONBLOCK) < 0 || identity == 0)
        identity = (uint64_t)time(NULL) << 32 | (uint64_t)getpid();
    return identity;
}

int trib_trace_writer_open_within(struct trib_trace_writer **out, const char *path,
                                  const struct trib_trace_limits *limits, struct trib_error *error) {
    const struct trib_trace_limits by_default = TRIB_TRACE_LIMITS_DEFAULT;
    struct trib_trace_writer *writer = calloc(1, sizeof *writer);

    if (!writer || !(writer->path = strdup(path)) || trib_trace_encoder_init(&writer->encoder) != 0) {
        if (writer)
            free(writer->path);
        free(writer);
        return trib_fail(error, -ENOMEM, "%s: not enough memory for a trace writer", trib_trace_path_shown(path));
    }
    writer->limits = limits ? *limits : by_default;
    writer->file.output.fd = -1;
    writer->segment.recording = writer->limits.recording ? writer->limits.recording : random_identity();
    int rc = open_first_file(writer, error);
    if (rc) {
        trib_trace_output_close(&writer->file.output);
        free_writer(writer);
        return rc;
    }
    *out = writer;
    return 0;
}

int trib_trace_writer_open(struct trib_trace_writer **out, const char *path, struct trib_error *error) {
    return trib_trace_writer_open_within(out, path, NULL, error);
}

int trib_trace_writer_close(struct trib_trace_writer *writer) {
    if (!writer)
        return 0;
    if (!writer->failed && writer->block_items)
        put_block(writer);
    if (!writer->failed)
        writer->failed = append_end(&writer->file);
    int rc = trib_trace_output_close(&writer->file.output);
    if (writer->failed)
        rc = writer->failed;
    free_writer(writer);
    return rc;
}

const char *trib_trace_writer_stopped(const struct trib_trace_writer *writer) {
    return writer->reason;
}

uint64_t trib_trace_writer_bytes(const struct trib_trace_writer *writer) {
    uint64_t bytes = writer->earlier_bytes + writer->file.bytes;
    return writer->failed || !writer->block_items ? bytes : bytes + (uint64_t)(writer->cursor - writer->block);
}

/* ---- items ---- */

int trib_trace_write(struct trib_trace_writer *writer, const struct trib_event *event) {
    if (TRIB_UNLIKELY(writer->failed))
        return writer->failed;
    if (TRIB_UNLIKELY(event->kind < TRIB_EVENT_WRITE || event->kind > TRIB_EVENT_READ ||
                      event->kind == TRIB_TAG_KIND_RETIRED))
        return -EINVAL;
    if (TRIB_UNLIKELY(room_bytes(writer) < TRIB_TRACE_EVENT_BYTES_MAX) && trib_trace_flush(writer) != 0)
        return writer->failed;
    writer->cursor = trib_trace_encode_event(&writer->encoder, event, writer->cursor);
    writer->block_items++;
    writer->totals.items++;
    writer->totals.events++;
    if (event->kind == TRIB_EVENT_WRITE)
        writer->totals.written_bytes += event->length_bytes;
    return 0;
}

/* Begins an item that is no event and has `body_bytes` of body; the caller then fills exactly that
 * many. */
static int begin_item(struct trib_trace_writer *writer, enum trib_trace_item_kind kind, uint32_t body_bytes) {
    uint32_t item_bytes = body_bytes + 1 + 5; /* tag, length */
    assert(item_bytes <= TRIB_TRACE_PAYLOAD_BYTES);
    if (writer->failed)
        return writer->failed;
    if (room_bytes(writer) < item_bytes && trib_trace_flush(writer) != 0)
        return writer->failed;
    *writer->cursor++ = (uint8_t)(kind << 3);
    writer->cursor = trib_varint_put(writer->cursor, body_bytes);
    writer->block_items++;
    writer->totals.items++;
    return 0;
}

static void put_body(struct trib_trace_writer *writer, const void *bytes, size_t length_bytes) {
    memcpy(writer->cursor, bytes, length_bytes);
    writer->cursor += length_bytes;
}

/* Where the item begins whose body of so many bytes comes next. */
static const uint8_t *item_start(const struct trib_trace_writer *writer, uint32_t body_bytes) {
    uint8_t length[10];
    return writer->cursor - (trib_varint_put(length, body_bytes) - length) - 1;
}

/* Remembers the item that ends at the cursor, to be repeated in the next file. Without memory it is not: the loss is a
 * name. */
static void carry(struct trib_trace_writer *writer, const uint8_t *item) {
    uint32_t bytes = (uint32_t)(writer->cursor - item), room = writer->carry_room ? writer->carry_room : 4096;
    uint64_t share = writer->limits.max_bytes / CARRY_SHARE, most = share < CARRY_BYTES_MAX ? share : CARRY_BYTES_MAX;

    if (writer->limits.max_bytes == 0 || !writer->file.output.is_file || writer->carry_bytes + bytes > most)
        return;
    while (room < writer->carry_bytes + bytes)
        room *= 2;
    if (room > writer->carry_room) {
        uint8_t *larger = realloc(writer->carry, room);
        if (!larger)
            return;
        writer->carry = larger;
        writer->carry_room = room;
    }
    memcpy(writer->carry + writer->carry_bytes, item, bytes);
    writer->carry_bytes += bytes;
}

int trib_trace_write_name(struct trib_trace_writer *writer, uint64_t file, const char *path) {
    size_t length_bytes = strlen(path);
    if (length_bytes > TRIB_TRACE_TEXT_BYTES_MAX)
        return -E2BIG;
    int rc = begin_item(writer, TRIB_TRACE_NAME, 8 + (uint32_t)length_bytes);
    if (rc)
        return rc;
    trib_store64(writer->cursor, file);
    writer->cursor += 8;
    put_body(writer, path, length_bytes);
    return 0;
}

int trib_trace_write_note(struct trib_trace_writer *writer, const char *text) {
    size_t length_bytes = strlen(text);
    if (length_bytes > TRIB_TRACE_TEXT_BYTES_MAX)
        return -E2BIG;
    int rc = begin_item(writer, TRIB_TRACE_NOTE, (uint32_t)length_bytes);
    if (rc == 0)
        put_body(writer, text, length_bytes);
    return rc;
}

int trib_trace_write_gap(struct trib_trace_writer *writer, uint64_t events, uint64_t bytes) {
    uint8_t body[20];
    uint8_t *end = trib_varint_put(trib_varint_put(body, events), bytes);
    int rc = begin_item(writer, TRIB_TRACE_GAP, (uint32_t)(end - body));
    if (rc == 0)
        put_body(writer, body, (size_t)(end - body));
    return rc;
}

int trib_trace_write_frames(struct trib_trace_writer *writer, uint64_t signature, const struct trib_frame *frames,
                            uint32_t count) {
    uint8_t body[8 + 1 + TRIB_SIGNATURE_DEPTH_MAX * (8 + 5 + 10)], *end = body + 8;
    if (count > TRIB_SIGNATURE_DEPTH_MAX)
        return -EINVAL;
    trib_store64(body, signature);
    *end++ = (uint8_t)count;
    for (uint32_t i = 0; i < count; i++) {
        trib_store64(end, frames[i].build_id);
        end = trib_varint_put(end + 8, frames[i].module);
        end = trib_varint_put(end, frames[i].offset_bytes);
    }
    int rc = begin_item(writer, TRIB_TRACE_SIGNATURE, (uint32_t)(end - body));
    if (rc)
        return rc;
    const uint8_t *item = item_start(writer, (uint32_t)(end - body));
    put_body(writer, body, (size_t)(end - body));
    carry(writer, item);
    return 0;
}

bool trib_trace_has_module(const struct trib_trace_writer *writer, uint32_t index) {
    return index < MODULES_REMEMBERED && writer->modules[index / 64] >> (index % 64) & 1;
}

int trib_trace_write_module(struct trib_trace_writer *writer, uint32_t index, const struct trib_module *module) {
    uint8_t body[5 + 8 + 1 + sizeof module->build_id];
    size_t path_bytes = strnlen(module->path, sizeof module->path - 1);
    if (module->build_id_bytes > sizeof module->build_id)
        return -EINVAL;
    uint8_t *end = trib_varint_put(body, index);
    trib_store64(end, module->build_id_hash);
    end[8] = module->build_id_bytes;
    memcpy(end + 9, module->build_id, module->build_id_bytes);
    end += 9 + module->build_id_bytes;
    int rc = begin_item(writer, TRIB_TRACE_MODULE, (uint32_t)((size_t)(end - body) + path_bytes));
    if (rc)
        return rc;
    const uint8_t *item = item_start(writer, (uint32_t)((size_t)(end - body) + path_bytes));
    put_body(writer, body, (size_t)(end - body));
    put_body(writer, module->path, path_bytes);
    carry(writer, item);
    if (index < MODULES_REMEMBERED)
        writer->modules[index / 64] |= 1ull << (index % 64);
    return 0;
}
