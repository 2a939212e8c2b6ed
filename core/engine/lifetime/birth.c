/* SPDX-License-Identifier: Apache-2.0 */
#include "lifetime/request.h"

#define HINT_DEPTH 12u /* levels: about a thousand runs */

static uint64_t stored_birth(uint64_t clock_bytes) {
    uint64_t birth = clock_bytes / TRIB_BIRTH_BYTES;
    return birth < TRIB_BIRTH_MAX ? birth : TRIB_BIRTH_MAX;
}

static struct trib_run born_run(const struct trib_request *r, uint64_t from, uint32_t bytes, uint32_t head) {
    return (struct trib_run){.offset_bytes = from,
                             .birth = stored_birth(r->clock_bytes),
                             .length_bytes = bytes,
                             .attribute = r->attribute,
                             .file = head,
                             .stream = r->stream};
}

/* Whether `bytes` at `from` may go on in this run (extents.h, "What grows"). */
static bool may_grow(const struct trib_request *r, uint32_t slot, uint64_t from, uint32_t bytes, bool last) {
    struct trib_run run;

    trib_run_read(r->x, slot, &run);
    if (run.offset_bytes + run.length_bytes != from || run.attribute != r->attribute || run.stream != r->stream ||
        bytes > TRIB_RUN_BYTES_MAX - trib_smaller(run.length_bytes, TRIB_RUN_BYTES_MAX))
        return false;
    if (last && !r->overwrites)
        return true;
    uint64_t born = run.birth * TRIB_BIRTH_BYTES;
    return r->clock_bytes <= born + TRIB_EXTENTS_MERGE_BYTES;
}

/* Of a HEAD's runs if run->file names one, else a new SINGLE. */
static bool store_born(struct trib_request *r, const struct trib_run *run) {
    uint32_t slot = trib_slot_take(r->x);

    if (slot == 0)
        return false;
    trib_run_store(r->x, slot, run, r->file);
    if (run->file)
        trib_tree_insert(r->x, run->file, slot);
    else
        trib_file_add(r->x, slot, r->file);
    trib_growth_note(r->x, slot, r->clock_bytes);
    trib_account_born(r->x, run, run->length_bytes);
    return true;
}

static bool insert_new_file(struct trib_request *r, uint64_t from, uint32_t bytes) {
    struct trib_run run = born_run(r, from, bytes, 0);

    if (from == 0)
        return store_born(r, &run);
    uint32_t head = trib_slot_take(r->x);
    if (head == 0)
        return false;
    trib_head_store(r->x, head, r->file);
    trib_file_add(r->x, head, r->file);
    run.file = head;
    if (store_born(r, &run))
        return true;
    trib_file_remove(r->x, head);
    return false;
}

static bool insert_run(struct trib_request *r, uint32_t head, uint64_t from, uint32_t bytes) {
    struct trib_run run = born_run(r, from, bytes, head);
    uint32_t below, above;

    trib_tree_around(r->x, head, trib_run_key(from, head), &below, &above);
    if (below && may_grow(r, below, from, bytes, above == 0)) {
        trib_run_grow(r->x, below, bytes, r->clock_bytes);
        return true;
    }
    return store_born(r, &run);
}

/* The range is free now. False: the arena is full. */
bool trib_request_insert(struct trib_request *r, uint64_t from, uint32_t bytes) {
    uint32_t slot = trib_file_find(r->x, r->file);

    if (slot == 0)
        return insert_new_file(r, from, bytes);
    if (trib_slot_kind(r->x, slot) == TRIB_SLOT_SINGLE) {
        if (may_grow(r, slot, from, bytes, true)) {
            trib_run_grow(r->x, slot, bytes, r->clock_bytes);
            return true;
        }
        if (!trib_file_split(r->x, slot))
            return false;
    }
    return insert_run(r, slot, from, bytes);
}

/* The run that is exactly the range, or 0; and the run before it. Runs do not overlap, so when the
 * hints know both there is nothing else to learn from the tree. */
static uint32_t find_exact(struct trib_request *r, uint32_t head, uint32_t *below) {
    uint32_t bytes = (uint32_t)(r->to - r->from);
    uint32_t slot = trib_hint_starting(r->x, head, r->from);

    *below = slot ? trib_hint_ending(r->x, head, r->from, bytes) : 0;
    if (slot && *below)
        return trib_run_end(r->x, slot) == r->to ? slot : 0;
    uint32_t depth = trib_tree_around(r->x, head, trib_run_key(r->from, head), below, &slot);
    if (!slot || trib_run_offset(r->x, slot) != r->from || trib_run_end(r->x, slot) != r->to)
        return 0;
    if (depth >= HINT_DEPTH)
        trib_hint_set(r->x, head, slot);
    return slot;
}

/* The commonest write to a drive without files: exactly one run, overwritten. The slot stays where
 * it is in the tree; it is free while its words change, so that a kill in between never marries the
 * new writer to the old birth. */
bool trib_request_overwrite(struct trib_request *r, uint32_t head) {
    struct trib_run old, run = born_run(r, r->from, (uint32_t)(r->to - r->from), head);
    uint32_t below, slot = find_exact(r, head, &below);

    if (slot == 0)
        return false;
    r->overwrites = true;
    if (below && may_grow(r, below, r->from, run.length_bytes, false))
        return false;
    trib_run_read(r->x, slot, &old);
    trib_word_set(r->x, slot, 0, TRIB_SLOT_FREE);
    trib_count_set(r->x, TRIB_WORD_RUNS, trib_count(r->x, TRIB_WORD_RUNS) - 1);
    trib_run_store(r->x, slot, &run, 0);
    trib_growth_note(r->x, slot, r->clock_bytes);
    trib_request_report(r, &old, r->from, r->to);
    trib_account_born(r->x, &run, run.length_bytes);
    return true;
}
