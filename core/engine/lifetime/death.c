/* SPDX-License-Identifier: Apache-2.0 */
#include "lifetime/request.h"

void trib_request_report(struct trib_request *r, const struct trib_run *run, uint64_t from, uint64_t to) {
    struct trib_attribute *row = trib_state_attribute(r->x->state, run->attribute);
    uint64_t born = run->birth * TRIB_BIRTH_BYTES;
    struct trib_death death = {
        .attribute = run->attribute,
        .file = r->file,
        .offset_bytes = from,
        .length_bytes = to - from,
        .age_bytes = r->clock_bytes > born ? r->clock_bytes - born : 0,
        .stream = trib_stream_reported(run->stream),
        .cause = r->cause,
    };

    r->overwrites = true;
    trib_account_gone(r->x, run, to - from);
    if (row)
        atomic_store_explicit(&row->died_bytes,
                              atomic_load_explicit(&row->died_bytes, memory_order_relaxed) + (to - from),
                              memory_order_relaxed);
    if (r->died)
        r->died(r->arg, &death);
}

/* What lies behind a hole becomes a run of its own, with the birth and writer it had. */
static void split_off(struct trib_request *r, uint32_t head, const struct trib_run *run, uint64_t from) {
    struct trib_run rest = *run;
    uint32_t slot = trib_slot_take(r->x);

    rest.offset_bytes = from;
    rest.length_bytes = (uint32_t)(run->offset_bytes + run->length_bytes - from);
    rest.file = head;
    if (slot == 0) {
        trib_account_gone(r->x, &rest, rest.length_bytes);
        trib_count_dropped(r->x);
        return;
    }
    trib_run_store(r->x, slot, &rest, 0);
    trib_tree_insert(r->x, head, slot);
}

/* The range begins inside this run; its front part stays. */
static void cut_behind(struct trib_request *r, uint32_t head, uint32_t slot) {
    struct trib_run run;

    trib_run_read(r->x, slot, &run);
    uint64_t run_end = run.offset_bytes + run.length_bytes;
    if (run_end > r->to)
        split_off(r, head, &run, r->to);
    trib_slot_set_length(r->x, slot, (uint32_t)(r->from - run.offset_bytes));
    trib_growth_cut(r->x, slot, run.length_bytes);
    trib_request_report(r, &run, r->from, trib_smaller(run_end, r->to));
}

/* The range ends inside this run. Its key changes in place: no other run lies between the old and
 * the new one. The length goes first, so that a kill in between leaves no overlap. */
static void cut_front(struct trib_request *r, uint32_t slot) {
    struct trib_run run;

    trib_run_read(r->x, slot, &run);
    trib_slot_set_length(r->x, slot, (uint32_t)(run.offset_bytes + run.length_bytes - r->to));
    trib_word_set(r->x, slot, 3, trib_run_key(r->to, run.file));
    trib_growth_cut(r->x, slot, run.length_bytes);
    trib_request_report(r, &run, run.offset_bytes, r->to);
}

static void remove_run(struct trib_request *r, uint32_t head, uint32_t slot) {
    struct trib_run run;

    trib_run_read(r->x, slot, &run);
    trib_tree_remove(r->x, head, slot);
    if (r->x->damaged)
        return;
    trib_slot_release(r->x, slot);
    trib_request_report(r, &run, run.offset_bytes, run.offset_bytes + run.length_bytes);
}

static void take_run(void *arg, uint32_t slot) {
    struct trib_request *r = arg;
    struct trib_run run;

    trib_run_read(r->x, slot, &run);
    trib_slot_release(r->x, slot);
    trib_request_report(r, &run, run.offset_bytes, run.offset_bytes + run.length_bytes);
}

static void clear_some(struct trib_request *r, uint32_t head) {
    uint64_t key = trib_run_key(r->from, head);
    uint32_t below, above;

    trib_tree_around(r->x, head, key, &below, &above);
    if (below && trib_run_end(r->x, below) > r->from)
        cut_behind(r, head, below);
    while (above && trib_run_offset(r->x, above) < r->to && !r->x->damaged) {
        if (trib_run_end(r->x, above) > r->to) {
            cut_front(r, above);
            break;
        }
        remove_run(r, head, above);
        trib_tree_around(r->x, head, key, &below, &above);
    }
}

/* Whether the range holds all runs of the file. */
static bool covers_file(struct trib_request *r, uint32_t head) {
    uint32_t last, none;

    if (r->from != 0)
        return false;
    trib_tree_around(r->x, head, UINT64_MAX, &last, &none);
    return last != 0 && trib_run_end(r->x, last) <= r->to;
}

static void clear_head(struct trib_request *r, uint32_t head) {
    if (covers_file(r, head))
        trib_tree_drain(r->x, head, take_run, r);
    else
        clear_some(r, head);
    if (trib_tree_root(r->x, head) == 0)
        trib_file_remove(r->x, head);
}

/* A SINGLE keeps its slot while its front part stays, or all of it goes. */
static void clear_single(struct trib_request *r, uint32_t slot) {
    struct trib_run run;

    trib_run_read(r->x, slot, &run);
    if (r->from >= run.length_bytes)
        return;
    if (r->to < run.length_bytes && trib_file_split(r->x, slot)) {
        clear_some(r, slot);
        return;
    }
    if (r->to < run.length_bytes) { /* no slot for the part behind the hole */
        struct trib_run rest = run;
        rest.length_bytes = (uint32_t)(run.length_bytes - r->to);
        trib_account_gone(r->x, &rest, rest.length_bytes);
        trib_count_dropped(r->x);
    }
    if (r->from == 0) {
        trib_file_remove(r->x, slot);
    } else {
        trib_slot_set_length(r->x, slot, (uint32_t)r->from);
        trib_growth_cut(r->x, slot, run.length_bytes);
    }
    trib_request_report(r, &run, r->from, trib_smaller(run.length_bytes, r->to));
}

void trib_request_clear(struct trib_request *r, uint32_t slot) {
    if (trib_slot_kind(r->x, slot) == TRIB_SLOT_SINGLE)
        clear_single(r, slot);
    else
        clear_head(r, slot);
}
