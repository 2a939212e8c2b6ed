/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include <tributary/client.h>
#include <tributary/event.h>

#include "sink.h"

static _Atomic(trib_shim_identify *) identify = trib_shim_identify_native;

void trib_shim_identify_with(trib_shim_identify *other) {
    atomic_store(&identify, other ? other : trib_shim_identify_native);
}

uint64_t trib_shim_identify_native(const struct trib_shim_write *write, struct trib_context *who) {
    who->signature =
        write->fd >= 0 ? trib_signature_capture(write->frame, TRIB_SIGNATURE_DEPTH_DEFAULT) : write->map_signature;
    return write->length_bytes;
}

/* ---- writes ---- */

/* The program's buffers from the first byte that has not been recorded. */
struct cursor {
    const struct iovec *parts;
    int count;
    uint64_t within; /* bytes of *parts that have been recorded */
};

static void advance(struct cursor *at, uint64_t bytes) {
    bytes += at->within;
    for (; at->count && bytes >= at->parts->iov_len; at->parts++, at->count--)
        bytes -= at->parts->iov_len;
    at->within = bytes;
}

/* Bytes of `rest` that one event records. The remainder of a part goes on its own: the program's array is not ours to
 * change. */
static uint64_t identify_piece(struct trib_shim_write rest, const struct cursor *at, struct trib_context *who) {
    trib_shim_identify *say_who = atomic_load_explicit(&identify, memory_order_relaxed);
    struct iovec remainder;

    rest.parts = at->parts;
    rest.part_count = at->count;
    if (at->count && at->within) {
        remainder.iov_base = (char *)at->parts->iov_base + at->within;
        remainder.iov_len = at->parts->iov_len - at->within;
        rest.parts = &remainder;
        rest.part_count = 1;
        if (rest.length_bytes > remainder.iov_len)
            rest.length_bytes = remainder.iov_len;
    }
    uint64_t taken = say_who(&rest, who);
    return taken && taken < rest.length_bytes ? taken : rest.length_bytes;
}

static void submit(struct trib_shim_write *rest, const struct trib_descriptor *known) {
    struct cursor at = {rest->parts, rest->parts ? rest->part_count : 0, 0};

    while (rest->length_bytes) {
        struct trib_event event = {.file = rest->file,
                                   .offset_bytes = rest->offset_bytes,
                                   .who = {.file_kind = rest->file_kind,
                                           .write_hint = rest->write_hint,
                                           .io_activity = TRIB_ACTIVITY_UNKNOWN,
                                           .level = TRIB_LEVEL_UNKNOWN},
                                   .stream = TRIB_STREAM_UNDECIDED,
                                   .kind = TRIB_EVENT_WRITE};
        event.length_bytes = identify_piece(*rest, &at, &event.who);
        if (event.length_bytes > TRIB_EVENT_BYTES_MAX) /* of a mapping; no call writes more */
            event.length_bytes = TRIB_EVENT_BYTES_MAX;
        /* Asked first: a session publishes streams from the first question on, this write's among them. */
        if (__builtin_expect(trib_sink_wants_hints(), 0) && known)
            trib_descriptor_hint(known, trib_sink_place(&event.who), event.length_bytes);
        trib_sink_submit(&event);
        rest->offset_bytes += event.length_bytes;
        rest->length_bytes -= event.length_bytes;
        advance(&at, event.length_bytes);
    }
}

void trib_record_write(struct trib_descriptor *known, struct trib_shim_write *write) {
    int kept = errno;

    trib_descriptor_name(known);
    write->fd = known->fd;
    write->file = known->file;
    write->file_kind = known->kind;
    write->write_hint = known->hint;
    submit(write, known);
    errno = kept;
}

void trib_record_append(struct trib_descriptor *known, struct trib_shim_write *write) {
    write->offset_bytes = trib_descriptor_advance(known, write->length_bytes);
    trib_record_write(known, write);
}

void trib_record_at_end(struct trib_descriptor *known, struct trib_shim_write *write) {
    write->offset_bytes = trib_descriptor_end(known, write->length_bytes);
    trib_record_write(known, write);
}

uint64_t trib_record_mapper(struct trib_descriptor *known, void *frame) {
    int kept = errno;

    trib_descriptor_name(known);
    struct trib_shim_write write = {
        .file = known->file, .length_bytes = 1, .fd = known->fd, .file_kind = known->kind, .frame = frame};
    struct trib_context who = {.file_kind = known->kind};
    (void)atomic_load_explicit(&identify, memory_order_relaxed)(&write, &who);
    errno = kept;
    return who.signature;
}

void trib_record_mapped(const struct trib_mapped *mapped, uint64_t offset_bytes, uint64_t length_bytes) {
    struct trib_shim_write write = {.file = mapped->file,
                                    .offset_bytes = offset_bytes,
                                    .length_bytes = length_bytes,
                                    .fd = -1,
                                    .file_kind = mapped->kind,
                                    .map_signature = mapped->signature};
    int kept = errno;

    submit(&write, NULL);
    errno = kept;
}

/* ---- deaths and syncs ---- */

static void record_range(uint64_t file, uint64_t offset_bytes, uint64_t length_bytes, uint8_t kind, uint8_t cause) {
    struct trib_event event = {.file = file,
                               .offset_bytes = offset_bytes,
                               .length_bytes = length_bytes,
                               .who = {.io_activity = TRIB_ACTIVITY_UNKNOWN, .level = TRIB_LEVEL_UNKNOWN},
                               .stream = TRIB_STREAM_UNDECIDED,
                               .kind = kind,
                               .cause = cause};
    int kept = errno;

    trib_sink_submit(&event);
    errno = kept;
}

void trib_record_death(uint64_t file, uint64_t offset_bytes, uint64_t length_bytes, uint8_t cause) {
    record_range(file, offset_bytes, length_bytes, TRIB_EVENT_DEATH, cause);
}

void trib_record_sync(uint64_t file, uint64_t offset_bytes, uint64_t length_bytes, uint8_t cause) {
    record_range(file, offset_bytes, length_bytes, TRIB_EVENT_SYNC, cause);
}
