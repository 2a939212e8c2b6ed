/* SPDX-License-Identifier: Apache-2.0 */
/* What the header promises. A write first takes its range from whoever had it, then joins the run
 * before it or becomes a run: death.c, birth.c. */
#include "lifetime/extents.h"

#include <errno.h>
#include <stdlib.h>

#include "lifetime/request.h"
#include "log/assert.h"

/* A set mark here is a change that somebody did not live to finish. */
static void begin(struct trib_extents *x) {
    if (TRIB_UNLIKELY(trib_count(x, TRIB_ARENA_CHANGING) != 0))
        trib_extents_rebuild(x);
    trib_count_set(x, TRIB_ARENA_CHANGING, 1);
}

static void end(struct trib_extents *x) {
    if (TRIB_LIKELY(!x->damaged))
        trib_count_set(x, TRIB_ARENA_CHANGING, 0);
    x->damaged = false;
}

static uint8_t stored_stream(uint16_t stream) {
    return stream < TRIB_STREAM_OTHER ? (uint8_t)stream : TRIB_STREAM_OTHER;
}

int trib_extents_open(struct trib_extents **out, struct trib_state *state) {
    struct trib_state_arena arena;
    struct trib_extents *x = calloc(1, sizeof *x);

    if (!x)
        return -ENOMEM;
    trib_state_run_arena(state, &arena);
    x->slots = arena.slots;
    x->words = arena.words;
    x->capacity = arena.capacity;
    x->state = state;
    int rc = trib_hints_open(x);
    if (rc) {
        free(x);
        return rc;
    }
    *out = x;
    return 0;
}

void trib_extents_close(struct trib_extents *extents) {
    if (!extents)
        return;
    trib_hints_close(extents);
    free(extents);
}

static void note_write(struct trib_extents *x, const struct trib_request *r) {
    struct trib_attribute *row = trib_state_attribute(x->state, r->attribute);

    if (!row)
        return;
    uint64_t written = atomic_load_explicit(&row->written_bytes, memory_order_relaxed);
    atomic_store_explicit(&row->written_bytes, written + (r->to - r->from), memory_order_relaxed);
    if (r->clock_bytes > atomic_load_explicit(&row->last_write_bytes, memory_order_relaxed))
        atomic_store_explicit(&row->last_write_bytes, r->clock_bytes, memory_order_relaxed);
}

/* The write itself. False: the arena is full. */
static bool take_range(struct trib_request *r) {
    uint32_t slot = trib_file_find(r->x, r->file);
    bool stored = true;

    if (slot && trib_slot_kind(r->x, slot) == TRIB_SLOT_HEAD && r->to - r->from <= TRIB_RUN_BYTES_MAX &&
        trib_request_overwrite(r, slot))
        return true;
    if (slot)
        trib_request_clear(r, slot);
    for (uint64_t from = r->from; from < r->to && stored;) {
        uint32_t bytes = (uint32_t)trib_smaller(r->to - from, TRIB_RUN_BYTES_MAX);
        stored = trib_request_insert(r, from, bytes);
        from += bytes;
    }
    return stored;
}

int trib_extents_write(struct trib_extents *extents, const struct trib_event *write, trib_attribute_ref attribute,
                       uint64_t clock_bytes, trib_death_fn *died, void *arg) {
    if (write->length_bytes == 0 || write->offset_bytes > TRIB_EXTENTS_OFFSET_MAX ||
        write->length_bytes > TRIB_EXTENTS_OFFSET_MAX - write->offset_bytes)
        return -EINVAL;
    struct trib_request r = {.x = extents,
                             .file = write->file,
                             .from = write->offset_bytes,
                             .to = write->offset_bytes + write->length_bytes,
                             .clock_bytes = clock_bytes,
                             .died = died,
                             .arg = arg,
                             .cause = TRIB_CAUSE_OVERWRITE,
                             .stream = stored_stream(write->stream),
                             .attribute = attribute};
    begin(extents);
    note_write(extents, &r);
    bool stored = take_range(&r);
    if (!stored)
        trib_count_dropped(extents);
    end(extents);
    return stored ? 0 : -ENOSPC;
}

int trib_extents_kill(struct trib_extents *extents, const struct trib_event *death, uint64_t clock_bytes,
                      trib_death_fn *died, void *arg) {
    uint64_t from = death->offset_bytes, length = death->length_bytes;
    bool to_end = length == TRIB_LENGTH_TO_END;

    if (length == 0 || (!to_end && from + length < from))
        return -EINVAL;
    struct trib_request r = {.x = extents,
                             .file = death->file,
                             .from = from,
                             .to = to_end ? TRIB_EXTENTS_OFFSET_MAX
                                          : trib_smaller(from + length, TRIB_EXTENTS_OFFSET_MAX),
                             .clock_bytes = clock_bytes,
                             .died = died,
                             .arg = arg,
                             .cause = death->cause};
    if (r.from >= r.to)
        return 0;
    begin(extents);
    uint32_t slot = trib_file_find(extents, r.file);
    if (slot)
        trib_request_clear(&r, slot);
    end(extents);
    return 0;
}

/* The run as if it died now. */
static struct trib_death describe(const struct trib_extents *x, uint32_t slot, uint64_t clock_bytes) {
    struct trib_run run;

    trib_run_read(x, slot, &run);
    uint64_t born = run.birth * TRIB_BIRTH_BYTES;
    uint32_t head = run.file ? trib_slot_checked(x, run.file) : slot;
    return (struct trib_death){.attribute = run.attribute,
                               .file = head ? trib_slot_key(x, head) : 0,
                               .offset_bytes = run.offset_bytes,
                               .length_bytes = run.length_bytes,
                               .age_bytes = clock_bytes > born ? clock_bytes - born : 0,
                               .stream = trib_stream_reported(run.stream),
                               .cause = TRIB_CAUSE_NONE};
}

/* Both calls below are reads, but the first after a kill has to repair what it reads. */
static void repair(const struct trib_extents *extents) {
    struct trib_extents *x = (struct trib_extents *)extents;

    begin(x);
    end(x);
}

void trib_extents_visit(const struct trib_extents *extents, uint64_t clock_bytes, trib_death_fn *visit, void *arg) {
    repair(extents);
    uint64_t touched = trib_smaller(trib_count(extents, TRIB_WORD_SLOTS_TOUCHED), extents->capacity);

    for (uint32_t slot = 1; slot <= touched; slot++) {
        enum trib_slot_kind kind = trib_slot_kind(extents, slot);
        if (kind != TRIB_SLOT_RUN && kind != TRIB_SLOT_SINGLE)
            continue;
        struct trib_death live = describe(extents, slot, clock_bytes);
        visit(arg, &live);
    }
}

void trib_extents_statistics(const struct trib_extents *extents, struct trib_extents_stats *out) {
    repair(extents);
    *out = (struct trib_extents_stats){
        .runs = trib_count(extents, TRIB_WORD_RUNS),
        .runs_dropped = trib_count(extents, TRIB_WORD_RUNS_DROPPED),
        .live_bytes = trib_count(extents, TRIB_WORD_LIVE_BYTES),
        .slots = trib_count(extents, TRIB_WORD_SLOTS_USED),
    };
}
