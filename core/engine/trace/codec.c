/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/codec.h"

#include <string.h>

#include "log/assert.h"

_Static_assert(sizeof(struct trib_trace_slot) == 64, "a file's slot is one cache line");

/* Below this a difference takes two bytes anyway, which a flag byte would not beat. */
#define BLOCK_UNITS_FROM (1u << 14)

/* Kept out of line: most events are appends that need none of it. */
#define RARE __attribute__((noinline))

void trib_trace_state_reset(struct trib_trace_state *state) {
    memset(state, 0, sizeof *state);
}

static inline bool names_a_range(unsigned kind) {
    return kind != TRIB_EVENT_DEATH && kind != TRIB_EVENT_SYNC;
}

/* Ranges go on where the last one ended and are as long; deaths and syncs take the whole file.
 * Differences of the latter are counted from 0, which is nearer to real lengths than
 * TRIB_LENGTH_TO_END. */
struct prediction {
    uint64_t offset_bytes, length_bytes, length_base_bytes;
};

static inline struct prediction predict(const struct trib_trace_lane *lane, unsigned kind) {
    if (TRIB_LIKELY(names_a_range(kind)))
        return (struct prediction){lane->end_bytes, lane->length_bytes, lane->length_bytes};
    return (struct prediction){0, TRIB_LENGTH_TO_END, 0};
}

static inline unsigned lane_of(unsigned kind) {
    return kind != TRIB_EVENT_WRITE;
}

static inline struct trib_trace_lane *current_lane(struct trib_trace_state *state, unsigned kind) {
    return &state->slots[state->slot].lanes[lane_of(kind)];
}

static inline uint64_t clock_after(const struct trib_event *event) {
    return event->clock_bytes + (event->kind == TRIB_EVENT_WRITE ? event->length_bytes : 0);
}

/* Gives a slot to a file and makes it the current one; newcomers look like the previous event. */
static void open_slot(struct trib_trace_state *state, uint32_t index, uint64_t file) {
    struct trib_trace_lane fresh = state->slots[state->slot].lanes[state->lane];
    fresh.end_bytes = fresh.length_bytes = 0;
    state->slots[index] = (struct trib_trace_slot){.file = file, .lanes = {fresh, fresh}};
    state->slot = index;
}

/* Both sides call this with the same event; lane->context is already the event's. */
static inline void remember(struct trib_trace_state *state, struct trib_trace_lane *lane,
                            const struct trib_event *event) {
    if (names_a_range(event->kind)) {
        lane->end_bytes = event->offset_bytes + event->length_bytes;
        lane->length_bytes = event->length_bytes;
    }
    lane->thread = event->thread;
    lane->stream = event->stream;
    state->lane = lane_of(event->kind);
    state->causes[event->kind] = event->cause;
    state->clock_bytes = clock_after(event);
    state->wall_ns = event->wall_ns;
}

/* ---- encoding ---- */

int trib_trace_encoder_init(struct trib_trace_encoder *encoder) {
    int rc = trib_trace_dictionary_init(&encoder->files, TRIB_TRACE_FILE_SLOTS);
    if (rc == 0)
        rc = trib_trace_dictionary_init(&encoder->contexts, TRIB_TRACE_CONTEXT_SLOTS);
    if (rc)
        trib_trace_encoder_free(encoder);
    return rc;
}

void trib_trace_encoder_free(struct trib_trace_encoder *encoder) {
    trib_trace_dictionary_free(&encoder->files);
    trib_trace_dictionary_free(&encoder->contexts);
}

void trib_trace_encoder_reset(struct trib_trace_encoder *encoder) {
    trib_trace_state_reset(&encoder->state);
    trib_trace_dictionary_clear(&encoder->files);
    trib_trace_dictionary_clear(&encoder->contexts);
}

static struct trib_trace_dictionary_key context_key(const struct trib_context *who) {
    struct trib_trace_dictionary_key key;
    memcpy(&key, who, sizeof key);
    return key;
}

static uint8_t *put_context(struct trib_trace_encoder *encoder, const struct trib_context *who,
                            struct trib_trace_lane *lane, uint8_t *out) {
    struct trib_trace_dictionary_key key = context_key(who);
    uint32_t index = trib_trace_dictionary_find(&encoder->contexts, key);
    if (index != TRIB_TRACE_DICTIONARY_NONE) {
        lane->context = (uint16_t)index;
        return trib_varint_put(out, index + 1);
    }
    index = trib_trace_dictionary_add(&encoder->contexts, key);
    lane->context = (uint16_t)index;
    encoder->state.contexts[index] = *who;
    *out++ = 0;
    out = trib_varint_put(out, index);
    trib_store64(out, who->signature);
    trib_store16(out + 8, who->column_family);
    trib_store16(out + 10, who->tenant);
    out[12] = who->file_kind;
    out[13] = who->write_hint;
    out[14] = who->io_activity;
    out[15] = (uint8_t)who->level;
    return out + 16;
}

/* Makes the event's file the current slot; true if the slot is newly given to it. */
RARE static bool find_slot(struct trib_trace_encoder *encoder, uint64_t file) {
    struct trib_trace_dictionary_key key = {file, 0};
    uint32_t index = trib_trace_dictionary_find(&encoder->files, key);
    bool fresh = index == TRIB_TRACE_DICTIONARY_NONE;
    if (fresh)
        open_slot(&encoder->state, trib_trace_dictionary_add(&encoder->files, key), file);
    else
        encoder->state.slot = index;
    return fresh;
}

RARE static uint8_t *put_file(const struct trib_trace_state *state, bool fresh, uint8_t *out) {
    if (!fresh)
        return trib_varint_put(out, state->slot + 1);
    *out++ = 0;
    out = trib_varint_put(out, state->slot);
    trib_store64(out, state->slots[state->slot].file);
    return out + 8;
}

static inline bool counts_blocks(uint64_t difference) {
    return difference % TRIB_BLOCK_BYTES == 0 && trib_zigzag(difference) >= BLOCK_UNITS_FROM;
}

static inline uint8_t *put_difference(uint8_t *out, uint64_t difference, bool in_blocks) {
    uint64_t value = trib_zigzag(difference);
    if (in_blocks) /* a multiple of the block: shift the magnitude, keep the sign in bit 0 */
        value = trib_zigzag(difference / TRIB_BLOCK_BYTES | (0 - (difference >> 63)) << 52);
    return trib_varint_put(out, value);
}

static inline unsigned more_flags(const struct trib_trace_state *state, const struct trib_trace_lane *lane,
                                  const struct trib_event *event) {
    unsigned more = 0;
    if (memcmp(&state->contexts[lane->context], &event->who, sizeof event->who) != 0)
        more |= TRIB_MORE_CONTEXT;
    if (lane->thread != event->thread)
        more |= TRIB_MORE_THREAD;
    if (lane->stream != event->stream)
        more |= TRIB_MORE_STREAM;
    if (state->causes[event->kind] != event->cause)
        more |= TRIB_MORE_CAUSE;
    if (state->clock_bytes != event->clock_bytes)
        more |= TRIB_MORE_CLOCK;
    if ((int64_t)(event->wall_ns - state->wall_ns) < 0)
        more |= TRIB_MORE_WALL_BACK;
    return more;
}

RARE static uint8_t *put_more(struct trib_trace_encoder *encoder, const struct trib_event *event, unsigned more,
                              uint8_t *out) {
    struct trib_trace_state *state = &encoder->state;
    if (more & TRIB_MORE_CONTEXT)
        out = put_context(encoder, &event->who, current_lane(state, event->kind), out);
    if (more & TRIB_MORE_THREAD)
        out = trib_varint_put(out, event->thread);
    if (more & TRIB_MORE_STREAM) /* so that TRIB_STREAM_UNDECIDED is one byte */
        out = trib_varint_put(out, (uint16_t)(event->stream + 1));
    if (more & TRIB_MORE_CAUSE)
        *out++ = event->cause;
    if (more & TRIB_MORE_CLOCK)
        out = trib_varint_put(out, trib_zigzag(event->clock_bytes - state->clock_bytes));
    return out;
}

static bool ends_file(const struct trib_event *event) {
    return event->kind == TRIB_EVENT_DEATH &&
           (event->cause == TRIB_CAUSE_UNLINK || event->cause == TRIB_CAUSE_RENAME_OVER);
}

uint8_t *trib_trace_encode_event(struct trib_trace_encoder *restrict encoder, const struct trib_event *restrict event,
                                 uint8_t *restrict out) {
    struct trib_trace_state *state = &encoder->state;
    bool other_file = state->slots[state->slot].file != event->file;
    bool fresh = other_file && find_slot(encoder, event->file);
    struct trib_trace_lane *lane = current_lane(state, event->kind);
    struct prediction expected = predict(lane, event->kind);
    uint64_t offset_difference = event->offset_bytes - expected.offset_bytes;
    uint64_t length_difference = event->length_bytes - expected.length_base_bytes;
    uint64_t wall_difference = event->wall_ns - state->wall_ns;
    unsigned tag = event->kind, more = more_flags(state, lane, event);

    if (other_file)
        tag |= TRIB_TAG_FILE;
    if (offset_difference)
        tag |= TRIB_TAG_OFFSET;
    if (event->length_bytes != expected.length_bytes)
        tag |= TRIB_TAG_LENGTH;
    if (wall_difference)
        tag |= TRIB_TAG_WALL;
    if (counts_blocks(offset_difference))
        more |= TRIB_MORE_OFFSET_BLOCK;
    if ((tag & TRIB_TAG_LENGTH) && counts_blocks(length_difference))
        more |= TRIB_MORE_LENGTH_BLOCK;

    *out++ = (uint8_t)(tag | (more ? TRIB_TAG_MORE : 0));
    if (more)
        *out++ = (uint8_t)more;
    if (other_file)
        out = put_file(state, fresh, out);
    if (tag & TRIB_TAG_OFFSET)
        out = put_difference(out, offset_difference, more & TRIB_MORE_OFFSET_BLOCK);
    if (tag & TRIB_TAG_LENGTH)
        out = put_difference(out, length_difference, more & TRIB_MORE_LENGTH_BLOCK);
    if (tag & TRIB_TAG_WALL)
        out = trib_varint_put(out, more & TRIB_MORE_WALL_BACK ? 0 - wall_difference : wall_difference);
    if (more)
        out = put_more(encoder, event, more, out);
    remember(state, lane, event);
    if (TRIB_UNLIKELY(ends_file(event)))
        trib_trace_dictionary_remove(&encoder->files, (struct trib_trace_dictionary_key){event->file, 0});
    return out;
}

/* ---- decoding ---- */

static const uint8_t *get_context(struct trib_trace_state *state, const uint8_t *in, struct trib_trace_lane *lane) {
    uint64_t reference, index;
    in = trib_varint_get(in, &reference);
    if (!in || reference > TRIB_TRACE_CONTEXT_SLOTS)
        return NULL;
    if (reference) {
        lane->context = (uint16_t)(reference - 1);
        return in;
    }
    in = trib_varint_get(in, &index);
    if (!in || index >= TRIB_TRACE_CONTEXT_SLOTS)
        return NULL;
    lane->context = (uint16_t)index;
    state->contexts[index] = (struct trib_context){
        .signature = trib_load64(in),
        .column_family = trib_load16(in + 8),
        .tenant = trib_load16(in + 10),
        .file_kind = in[12],
        .write_hint = in[13],
        .io_activity = in[14],
        .level = (int8_t)in[15],
    };
    return in + 16;
}

RARE static const uint8_t *get_file(struct trib_trace_state *state, const uint8_t *in) {
    uint64_t reference, index;
    in = trib_varint_get(in, &reference);
    if (!in || reference > TRIB_TRACE_FILE_SLOTS)
        return NULL;
    if (reference) {
        state->slot = (uint32_t)(reference - 1);
        return in;
    }
    in = trib_varint_get(in, &index);
    if (!in || index >= TRIB_TRACE_FILE_SLOTS)
        return NULL;
    open_slot(state, (uint32_t)index, trib_load64(in));
    return in + 8;
}

static inline const uint8_t *get_difference(const uint8_t *in, bool in_blocks, uint64_t base, uint64_t *out) {
    uint64_t value;
    in = trib_varint_get(in, &value);
    if (in)
        *out = base + (in_blocks ? trib_unzigzag(value) * TRIB_BLOCK_BYTES : trib_unzigzag(value));
    return in;
}

RARE static const uint8_t *get_more(struct trib_trace_state *state, const uint8_t *in, unsigned more,
                                    struct trib_event *event) {
    struct trib_trace_lane *lane = current_lane(state, event->kind);
    uint64_t value;
    if ((more & TRIB_MORE_CONTEXT) && !(in = get_context(state, in, lane)))
        return NULL;
    if (more & TRIB_MORE_THREAD) {
        if (!(in = trib_varint_get(in, &value)) || value > UINT32_MAX)
            return NULL;
        event->thread = (uint32_t)value;
    }
    if (more & TRIB_MORE_STREAM) {
        if (!(in = trib_varint_get(in, &value)) || value > UINT16_MAX)
            return NULL;
        event->stream = (uint16_t)(value - 1);
    }
    if (more & TRIB_MORE_CAUSE)
        event->cause = *in++;
    if (more & TRIB_MORE_CLOCK) {
        if (!(in = trib_varint_get(in, &value)))
            return NULL;
        event->clock_bytes += trib_unzigzag(value);
    }
    return in;
}

static inline const uint8_t *get_ranges(const uint8_t *in, unsigned tag, unsigned more, struct prediction expected,
                                        struct trib_event *event) {
    event->offset_bytes = expected.offset_bytes;
    event->length_bytes = expected.length_bytes;
    if ((tag & TRIB_TAG_OFFSET) &&
        !(in = get_difference(in, more & TRIB_MORE_OFFSET_BLOCK, expected.offset_bytes, &event->offset_bytes)))
        return NULL;
    if (tag & TRIB_TAG_LENGTH)
        in = get_difference(in, more & TRIB_MORE_LENGTH_BLOCK, expected.length_base_bytes, &event->length_bytes);
    return in;
}

static const uint8_t *refuse(const char **reason, const char *why) {
    *reason = why;
    return NULL;
}

const uint8_t *trib_trace_decode_event(struct trib_trace_state *restrict state, const uint8_t *restrict in,
                                       struct trib_event *restrict event, const char **reason) {
    unsigned tag = *in++, kind = tag & TRIB_TAG_KIND;
    if (kind < TRIB_EVENT_WRITE || kind > TRIB_EVENT_READ)
        return refuse(reason, "event has an unknown kind");
    unsigned more = tag & TRIB_TAG_MORE ? *in++ : 0;
    if ((tag & TRIB_TAG_FILE) && !(in = get_file(state, in)))
        return refuse(reason, "event names a file slot that does not exist");
    struct trib_trace_lane *lane = current_lane(state, kind);
    if (!(in = get_ranges(in, tag, more, predict(lane, kind), event)))
        return refuse(reason, "event has a number beyond 64 bits");

    uint64_t wall_difference = 0;
    if ((tag & TRIB_TAG_WALL) && !(in = trib_varint_get(in, &wall_difference)))
        return refuse(reason, "event has a number beyond 64 bits");
    event->wall_ns = more & TRIB_MORE_WALL_BACK ? state->wall_ns - wall_difference : state->wall_ns + wall_difference;
    event->clock_bytes = state->clock_bytes;
    event->file = state->slots[state->slot].file;
    event->thread = lane->thread;
    event->stream = lane->stream;
    event->kind = (uint8_t)kind;
    event->cause = state->causes[kind];
    if (more && !(in = get_more(state, in, more, event)))
        return refuse(reason, "event has a number out of range");
    event->who = state->contexts[lane->context];
    remember(state, lane, event);
    return in;
}
