/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "log/assert.h"
#include "trace/reader.h"

int trib_trace_reader_corrupt(struct trib_trace_reader *reader, const uint8_t *at, const char *reason) {
    return trib_trace_reader_fail(reader, -EBADMSG, reader->offset_bytes + (uint64_t)(at - reader->bytes), reason);
}

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
    if (!body_number(body, &index, UINT32_MAX) || !body_u64(body, &module->build_id_hash) || body->at == body->end)
        return false;
    item->module_index = (uint32_t)index;
    module->build_id_bytes = *body->at++;
    if (module->build_id_bytes > sizeof module->build_id || body->end - body->at < module->build_id_bytes)
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

/* A reader that follows may have been opened before this was written. */
static bool get_segment(struct trib_trace_reader *reader, struct body *body) {
    struct trib_trace_segment found;
    if (!body_u64(body, &found.recording) || !body_u64(body, &found.number))
        return false;
    if (reader->options.follow && reader->segment.recording == 0) {
        reader->segment = found;
        reader->first_number = reader->last_number = found.number;
    }
    return true;
}

static bool get_stop(struct trib_trace_reader *reader, struct body *body) {
    if (body->at == body->end)
        return false;
    body->at++; /* which enum trib_trace_stop: for other readers; people read the text */
    if (!body_text(body, reader->text, sizeof reader->text))
        return false;
    snprintf(reader->stop_reason, sizeof reader->stop_reason, "%.*s", (int)sizeof reader->stop_reason - 1,
             reader->text);
    return true;
}

static bool get_body(struct trib_trace_reader *reader, struct body *body, struct trib_trace_item *item) {
    switch ((unsigned)item->kind) {
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
        return body_number(body, &item->gap_events, UINT64_MAX) && body_number(body, &item->gap_bytes, UINT64_MAX);
    case TRIB_TRACE_SEGMENT:
        return get_segment(reader, body);
    case TRIB_TRACE_STOP:
        return get_stop(reader, body);
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
        return trib_trace_reader_corrupt(reader, reader->cursor, "item is longer than its block");
    const uint8_t *next = body.at + length_bytes;
    if (kind < TRIB_TRACE_OPTIONAL_ITEMS || kind == TRIB_TRACE_SEGMENT || kind == TRIB_TRACE_STOP) {
        body.end = next;
        item->kind = (enum trib_trace_item_kind)kind;
        if (!get_body(reader, &body, item) || body.at != body.end)
            return trib_trace_reader_corrupt(reader, reader->cursor, "item is of unknown kind or malformed");
    }
    reader->cursor = next;
    return kind < TRIB_TRACE_OPTIONAL_ITEMS;
}

static int read_event(struct trib_trace_reader *reader, struct trib_trace_item *item) {
    const char *reason = "event is longer than its block";
    const uint8_t *next = trib_trace_decode_event(&reader->state, reader->cursor, &item->event, &reason);
    if (TRIB_UNLIKELY(!next || next > reader->end))
        return trib_trace_reader_corrupt(reader, reader->cursor, reason);
    reader->cursor = next;
    reader->seen.events++;
    if (TRIB_UNLIKELY(item->event.kind == TRIB_TAG_KIND_RETIRED))
        return 0;
    if (item->event.kind == TRIB_EVENT_WRITE)
        reader->seen.written_bytes += item->event.length_bytes;
    item->kind = TRIB_TRACE_EVENT;
    return 1;
}

int trib_trace_reader_item(struct trib_trace_reader *reader, struct trib_trace_item *item) {
    return *reader->cursor & TRIB_TAG_KIND ? read_event(reader, item) : read_item(reader, item);
}
