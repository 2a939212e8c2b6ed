/* SPDX-License-Identifier: Apache-2.0 */
/* After a kill, or on opening a file: the runs are the truth, all else is made from them. A kill
 * can leave a RUN whose HEAD is gone or not yet one (dropped), a HEAD without runs (dropped), and a
 * run that reaches into the next one because it was about to be cut (cut now). Damage can leave
 * anything else; what makes no sense is dropped. */
#include "lifetime/tree.h"

static void drop(struct trib_extents *x, uint32_t slot) {
    trib_word_set(x, slot, 0, TRIB_SLOT_FREE);
}

static void forget_sums(struct trib_extents *x) {
    trib_attribute_ref ref;

    for (uint32_t next = 0; (next = trib_state_next(x->state, next, &ref));) {
        struct trib_attribute *row = trib_state_attribute(x->state, ref);
        if (!row)
            continue;
        atomic_store_explicit(&row->live_bytes, 0, memory_order_relaxed);
        atomic_store_explicit(&row->live_birth_sum, 0, memory_order_relaxed);
    }
}

static void insert_file(struct trib_extents *x, uint32_t slot) {
    bool single = trib_slot_kind(x, slot) == TRIB_SLOT_SINGLE;

    if ((single && trib_slot_length(x, slot) == 0) || trib_tree_find(x, TRIB_TREE_OF_FILES, trib_slot_key(x, slot))) {
        drop(x, slot);
        return;
    }
    if (!single)
        trib_word_set(x, slot, 1, 0);
    trib_tree_insert(x, TRIB_TREE_OF_FILES, slot);
}

/* Cuts what overlaps: the run that begins earlier is the one that was about to be cut. */
static void insert_run(struct trib_extents *x, uint32_t slot) {
    struct trib_run run;
    uint32_t below, above;

    trib_run_read(x, slot, &run);
    uint32_t head = trib_slot_checked(x, run.file);
    if (head == 0 || trib_slot_kind(x, head) != TRIB_SLOT_HEAD || run.length_bytes == 0 ||
        run.offset_bytes + run.length_bytes > TRIB_EXTENTS_OFFSET_MAX) {
        drop(x, slot);
        return;
    }
    trib_tree_around(x, head, trib_slot_key(x, slot), &below, &above);
    if (above && trib_run_offset(x, above) == run.offset_bytes) {
        drop(x, slot);
        return;
    }
    if (below && trib_run_end(x, below) > run.offset_bytes)
        trib_slot_set_length(x, below, (uint32_t)(run.offset_bytes - trib_run_offset(x, below)));
    if (above && trib_run_offset(x, above) < run.offset_bytes + run.length_bytes)
        trib_slot_set_length(x, slot, (uint32_t)(trib_run_offset(x, above) - run.offset_bytes));
    trib_tree_insert(x, head, slot);
}

static void insert_kinds(struct trib_extents *x, uint32_t touched, bool runs) {
    for (uint32_t slot = 1; slot <= touched; slot++) {
        enum trib_slot_kind kind = trib_slot_kind(x, slot);
        if (kind == TRIB_SLOT_FREE || (kind == TRIB_SLOT_RUN) != runs)
            continue;
        if (runs)
            insert_run(x, slot);
        else
            insert_file(x, slot);
    }
}

/* Sums of what is live; returns whether the slot is. */
static bool count_slot(struct trib_extents *x, uint32_t slot) {
    enum trib_slot_kind kind = trib_slot_kind(x, slot);
    struct trib_run run;

    if (kind == TRIB_SLOT_HEAD && trib_tree_root(x, slot) == 0) {
        trib_tree_remove(x, TRIB_TREE_OF_FILES, slot);
        drop(x, slot);
        return false;
    }
    if (kind == TRIB_SLOT_RUN || kind == TRIB_SLOT_SINGLE) {
        trib_run_read(x, slot, &run);
        trib_account_born(x, &run, run.length_bytes);
        trib_count_set(x, TRIB_WORD_RUNS, trib_count(x, TRIB_WORD_RUNS) + 1);
    }
    return kind != TRIB_SLOT_FREE;
}

static void count_and_chain(struct trib_extents *x, uint32_t touched) {
    uint64_t used = 0, free_slot = 0;

    for (uint32_t slot = touched; slot > 0; slot--) {
        if (count_slot(x, slot)) {
            used++;
            continue;
        }
        trib_word_set(x, slot, 2, free_slot << 8);
        free_slot = slot;
    }
    trib_count_set(x, TRIB_WORD_FREE, free_slot);
    trib_count_set(x, TRIB_WORD_SLOTS_USED, used);
}

void trib_extents_rebuild(struct trib_extents *x) {
    uint64_t touched = trib_count(x, TRIB_WORD_SLOTS_TOUCHED);

    if (touched > x->capacity)
        touched = x->capacity;
    trib_count_set(x, TRIB_WORD_SLOTS_TOUCHED, touched);
    trib_count_set(x, TRIB_WORD_FILES, 0);
    trib_count_set(x, TRIB_WORD_RUNS, 0);
    trib_count_set(x, TRIB_WORD_LIVE_BYTES, 0);
    forget_sums(x);
    insert_kinds(x, (uint32_t)touched, false);
    insert_kinds(x, (uint32_t)touched, true);
    count_and_chain(x, (uint32_t)touched);
}
