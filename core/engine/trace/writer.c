/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/options.h"
#include "trace/codec.h"
#include "trace/output.h"

/* A reader can start at a restart block without the ones before it. Every 4 MiB, about a million
 * events, learning files and contexts anew costs nothing that could be measured. */
#define RESTART_EVERY_BYTES (4u << 20)

/* Modules are numbered densely from 0; beyond this many, duplicates in the file are the lesser
 * evil. */
#define MODULES_REMEMBERED 4096u

struct trib_trace_writer {
    int failed; /* first -errno; the writer is inert */
    struct trib_trace_output output;
    uint64_t file_bytes, since_restart_bytes;
    struct trib_trace_totals totals;
    uint32_t block_items;
    uint8_t block_flags;
    uint8_t *cursor; /* in block */
    uint64_t modules[MODULES_REMEMBERED / 64];
    struct trib_trace_encoder encoder;
    uint8_t block[TRIB_TRACE_BLOCK_HEADER_BYTES + TRIB_TRACE_PAYLOAD_BYTES];
};

static uint8_t *payload_of(struct trib_trace_writer *writer) {
    return writer->block + TRIB_TRACE_BLOCK_HEADER_BYTES;
}

static uint32_t room_bytes(const struct trib_trace_writer *writer) {
    return (uint32_t)(writer->block + sizeof writer->block - writer->cursor);
}

static int put_bytes(struct trib_trace_writer *writer, const void *bytes, size_t length_bytes) {
    writer->failed = trib_trace_output_write(&writer->output, bytes, length_bytes);
    if (!writer->failed)
        writer->file_bytes += length_bytes;
    return writer->failed;
}

/* Seals what is between the block's header and the cursor. */
static int put_block(struct trib_trace_writer *writer, enum trib_trace_block_type type) {
    const uint8_t *payload = payload_of(writer);
    struct trib_trace_block block = {
        .sequence = writer->totals.items - writer->block_items,
        .payload_bytes = (uint32_t)(writer->cursor - payload),
        .items = writer->block_items,
        .type = (uint8_t)type,
        .flags = writer->block_flags,
        .payload_hash = trib_hash(payload, (size_t)(writer->cursor - payload)),
    };
    trib_trace_block_pack(writer->block, &block);
    writer->totals.blocks++;
    writer->since_restart_bytes += block.payload_bytes;
    int rc = put_bytes(writer, writer->block, (size_t)(writer->cursor - writer->block));

    writer->cursor = payload_of(writer);
    writer->block_items = 0;
    writer->block_flags = 0;
    if (writer->since_restart_bytes >= RESTART_EVERY_BYTES) {
        writer->since_restart_bytes = 0;
        writer->block_flags = TRIB_TRACE_RESTART;
        trib_trace_encoder_reset(&writer->encoder);
    }
    return rc;
}

int trib_trace_flush(struct trib_trace_writer *writer) {
    if (writer->failed)
        return writer->failed;
    return writer->block_items ? put_block(writer, TRIB_TRACE_BLOCK_ITEMS) : 0;
}

int trib_trace_writer_open(struct trib_trace_writer **out, const char *path,
                           struct trib_error *error) {
    uint8_t header[TRIB_TRACE_HEADER_BYTES];
    struct trib_trace_writer *writer = calloc(1, sizeof *writer);
    int rc = writer ? trib_trace_encoder_init(&writer->encoder) : -ENOMEM;
    if (rc) {
        free(writer);
        return trib_fail(error, rc, "%s: not enough memory for a trace writer",
                         trib_trace_path_shown(path));
    }
    writer->cursor = payload_of(writer);
    writer->block_flags = TRIB_TRACE_RESTART;
    writer->output.fd = -1;
    rc = trib_trace_output_open(&writer->output, path, error);
    trib_trace_pack_header(header);
    if (rc == 0 && (rc = put_bytes(writer, header, sizeof header)) != 0)
        trib_fail(error, rc, "%s: cannot write: %s", trib_trace_path_shown(path), strerror(-rc));
    if (rc) {
        trib_trace_output_close(&writer->output);
        trib_trace_encoder_free(&writer->encoder);
        free(writer);
        return rc;
    }
    *out = writer;
    return 0;
}

int trib_trace_writer_close(struct trib_trace_writer *writer) {
    if (!writer)
        return 0;
    trib_trace_flush(writer);
    if (!writer->failed) {
        trib_trace_pack_totals(payload_of(writer), &writer->totals);
        writer->cursor = payload_of(writer) + TRIB_TRACE_END_BYTES;
        writer->block_flags = 0;
        put_block(writer, TRIB_TRACE_BLOCK_END);
    }
    int rc = trib_trace_output_close(&writer->output);
    if (writer->failed)
        rc = writer->failed;
    trib_trace_encoder_free(&writer->encoder);
    free(writer);
    return rc;
}

uint64_t trib_trace_writer_bytes(const struct trib_trace_writer *writer) {
    if (!writer->block_items)
        return writer->file_bytes;
    return writer->file_bytes + (uint64_t)(writer->cursor - writer->block);
}

/* ---- items ---- */

int trib_trace_write(struct trib_trace_writer *writer, const struct trib_event *event) {
    if (TRIB_UNLIKELY(writer->failed))
        return writer->failed;
    if (TRIB_UNLIKELY(event->kind < TRIB_EVENT_WRITE || event->kind > TRIB_EVENT_READ ||
                      event->kind == TRIB_TAG_KIND_RETIRED))
        return -EINVAL;
    if (TRIB_UNLIKELY(room_bytes(writer) < TRIB_TRACE_EVENT_BYTES_MAX) &&
        trib_trace_flush(writer) != 0)
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
static int begin_item(struct trib_trace_writer *writer, enum trib_trace_item_kind kind,
                      uint32_t body_bytes) {
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

int trib_trace_write_frames(struct trib_trace_writer *writer, uint64_t signature,
                            const struct trib_frame *frames, uint32_t count) {
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
    if (rc == 0)
        put_body(writer, body, (size_t)(end - body));
    return rc;
}

bool trib_trace_has_module(const struct trib_trace_writer *writer, uint32_t index) {
    return index < MODULES_REMEMBERED && writer->modules[index / 64] >> (index % 64) & 1;
}

int trib_trace_write_module(struct trib_trace_writer *writer, uint32_t index,
                            const struct trib_module *module) {
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
    put_body(writer, body, (size_t)(end - body));
    put_body(writer, module->path, path_bytes);
    if (index < MODULES_REMEMBERED)
        writer->modules[index / 64] |= 1ull << (index % 64);
    return 0;
}
