/* SPDX-License-Identifier: Apache-2.0 */
/* Events to bytes and back (docs/formats/trace.md, "Events"). Writer and reader hold the same
 * state: what was last seen per file, a table of files and one of contexts. An event is stored as
 * its differences from what that state predicts, so that an append costs a tag, a length and a
 * time. The writer alone decides which slot of a table a newcomer takes and says so in the file; a
 * reader needs no eviction rule.
 *
 * Invariant: after trib_trace_encode_event and trib_trace_decode_event of the same event from equal
 * states the states are equal. Thread safety: one owner. Private to the trace room. */
#ifndef TRIB_TRACE_CODEC_H
#define TRIB_TRACE_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/event.h>

#include "trace/dictionary.h"
#include "trace/format.h"

#define TRIB_TRACE_FILE_SLOTS    4096u
#define TRIB_TRACE_CONTEXT_SLOTS 1024u

/* No event that we write is longer: 2 flag bytes, a new file (1 + 2 + 8), a new context (1 + 2 +
 * 16), thread 5, stream 3, cause 1, and offset, length, time, clock of at most 10 each. */
#define TRIB_TRACE_EVENT_BYTES_MAX 96u

/* A decoder checks for the end of its block once per event, not per field, so it may look this far
 * beyond: the same with every number padded to 10 bytes, as a hostile writer might. */
#define TRIB_TRACE_LOOKAHEAD_BYTES 128u

/* Tag: bits 0-2 the kind (0 = an item that is no event, whose kind is in bits 3-7), then what is
 * stored. */
enum trib_trace_tag {
    TRIB_TAG_KIND = 0x07,
    TRIB_TAG_FILE = 0x08,   /* another file than the previous event's */
    TRIB_TAG_OFFSET = 0x10, /* not where predicted */
    TRIB_TAG_LENGTH = 0x20, /* not as long as predicted */
    TRIB_TAG_WALL = 0x40,   /* not at the previous event's time */
    TRIB_TAG_MORE = 0x80,   /* a second flag byte follows */
};

#define TRIB_TAG_KIND_RETIRED 3u /* a relocation: decoded as a write is, and skipped by the reader */

enum trib_trace_more {
    TRIB_MORE_CONTEXT = 0x01,
    TRIB_MORE_THREAD = 0x02,
    TRIB_MORE_STREAM = 0x04,
    TRIB_MORE_CAUSE = 0x08,
    TRIB_MORE_CLOCK = 0x10,        /* not the sum of all lengths written */
    TRIB_MORE_WALL_BACK = 0x20,    /* time ran backwards */
    TRIB_MORE_OFFSET_BLOCK = 0x40, /* the offset's difference counts TRIB_BLOCK_BYTES */
    TRIB_MORE_LENGTH_BLOCK = 0x80,
};

/* What the next event of a file is expected to look like; writes and all other kinds apart, because
 * the one who syncs or deletes is seldom the one who writes. */
struct trib_trace_lane {
    uint64_t end_bytes, length_bytes;
    uint32_t thread;
    uint16_t context, stream;
};

struct trib_trace_slot {
    uint64_t file;
    struct trib_trace_lane lanes[2];
    uint64_t unused; /* to one cache line */
};

struct trib_trace_state {
    uint64_t clock_bytes, wall_ns;
    uint32_t slot, lane; /* of the previous event */
    uint8_t causes[8];   /* last per kind */
    struct trib_trace_slot slots[TRIB_TRACE_FILE_SLOTS];
    struct trib_context contexts[TRIB_TRACE_CONTEXT_SLOTS];
};

/* As at a restart block: all zero. */
void trib_trace_state_reset(struct trib_trace_state *state);

struct trib_trace_encoder {
    struct trib_trace_state state;
    struct trib_trace_dictionary files, contexts;
};

/* The memory is zeroed already: pages that no trace needs stay untouched. 0 or -ENOMEM. */
int trib_trace_encoder_init(struct trib_trace_encoder *encoder);
void trib_trace_encoder_free(struct trib_trace_encoder *encoder);
void trib_trace_encoder_reset(struct trib_trace_encoder *encoder);

/* `out` has room for TRIB_TRACE_EVENT_BYTES_MAX; event->kind is valid. Returns the end of what was
 * written. */
uint8_t *trib_trace_encode_event(struct trib_trace_encoder *encoder, const struct trib_event *event, uint8_t *out);

/* TRIB_TRACE_LOOKAHEAD_BYTES are readable at `in`; whether the event ended inside its block
 * is for the caller to check. Returns the end of what was read, or NULL and a reason; the state is
 * then good for nothing. */
const uint8_t *trib_trace_decode_event(struct trib_trace_state *state, const uint8_t *in, struct trib_event *event,
                                       const char **reason);

/* LEB128, as in DWARF and protocol buffers: 7 bits a byte, least significant first, at most 10
 * bytes. */
static inline uint8_t *trib_varint_put(uint8_t *out, uint64_t value) {
    while (value >= 0x80) {
        *out++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *out++ = (uint8_t)value;
    return out;
}

/* Reads at most 10 bytes. NULL if the number does not end or does not fit 64 bits. */
static inline const uint8_t *trib_varint_get(const uint8_t *in, uint64_t *value) {
    uint64_t v = *in & 0x7F;
    if (*in++ < 0x80) {
        *value = v;
        return in;
    }
    for (unsigned shift = 7; shift < 63; shift += 7) {
        v |= (uint64_t)(*in & 0x7F) << shift;
        if (*in++ < 0x80) {
            *value = v;
            return in;
        }
    }
    if (*in > 1)
        return NULL;
    *value = v | (uint64_t)*in << 63;
    return in + 1;
}

/* Small differences of either sign become small numbers: 0, -1, 1, -2, ... to 0, 1, 2, 3, ... */
static inline uint64_t trib_zigzag(uint64_t difference) {
    return (difference << 1) ^ (0 - (difference >> 63));
}

static inline uint64_t trib_unzigzag(uint64_t value) {
    return (value >> 1) ^ (0 - (value & 1));
}

#endif
