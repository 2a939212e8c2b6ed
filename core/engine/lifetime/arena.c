/* SPDX-License-Identifier: Apache-2.0 */
#include "lifetime/slot.h"

#define BIRTHS_PER_SUM_UNIT 64.0 /* live_birth_sum counts in 4096 bytes, runs in 64 */

/* Slots that were never used come last, so that memory the arena does not need is never touched. */
uint32_t trib_slot_take(struct trib_extents *x) {
    uint32_t slot = trib_slot_checked(x, trib_count(x, TRIB_WORD_FREE));
    uint64_t touched = trib_count(x, TRIB_WORD_SLOTS_TOUCHED);

    if (slot && trib_slot_kind(x, slot) != TRIB_SLOT_FREE) {
        x->damaged = true;
        return 0;
    }
    if (slot)
        trib_count_set(x, TRIB_WORD_FREE, trib_word(x, slot, 2) >> 8 & TRIB_LINK_MASK);
    else if (touched < x->capacity)
        trib_count_set(x, TRIB_WORD_SLOTS_TOUCHED, slot = (uint32_t)touched + 1);
    else
        return 0;
    trib_count_set(x, TRIB_WORD_SLOTS_USED, trib_count(x, TRIB_WORD_SLOTS_USED) + 1);
    return slot;
}

void trib_slot_release(struct trib_extents *x, uint32_t slot) {
    enum trib_slot_kind kind = trib_slot_kind(x, slot);

    if (kind == TRIB_SLOT_RUN || kind == TRIB_SLOT_SINGLE)
        trib_count_set(x, TRIB_WORD_RUNS, trib_count(x, TRIB_WORD_RUNS) - 1);
    trib_word_set(x, slot, 0, TRIB_SLOT_FREE);
    trib_word_set(x, slot, 2, trib_count(x, TRIB_WORD_FREE) << 8);
    trib_count_set(x, TRIB_WORD_FREE, slot);
    trib_count_set(x, TRIB_WORD_SLOTS_USED, trib_count(x, TRIB_WORD_SLOTS_USED) - 1);
}

void trib_run_read(const struct trib_extents *x, uint32_t slot, struct trib_run *run) {
    uint64_t word0 = trib_word(x, slot, 0), word1 = trib_word(x, slot, 1);
    uint64_t key = trib_word(x, slot, 3);
    bool single = (word0 & 3) == TRIB_SLOT_SINGLE;

    run->birth = word0 >> 14;
    run->attribute = (uint32_t)(word1 >> 32);
    run->length_bytes = (uint32_t)word1;
    run->stream = (uint8_t)trib_word(x, slot, 2);
    run->offset_bytes = single ? 0 : key >> 16;
    run->file = single ? 0 : (uint32_t)((word0 >> 2 & 0xFFF) << 16 | (key & 0xFFFF));
}

void trib_run_store(struct trib_extents *x, uint32_t slot, const struct trib_run *run, uint64_t identity) {
    uint64_t links = trib_word(x, slot, 2) & ~0xFFull;
    bool single = run->file == 0;

    trib_word_set(x, slot, 1, (uint64_t)run->attribute << 32 | run->length_bytes);
    trib_word_set(x, slot, 2, links | run->stream);
    trib_word_set(x, slot, 3, single ? identity : trib_run_key(run->offset_bytes, run->file));
    trib_word_set(x, slot, 0,
                  run->birth << 14 | (uint64_t)(run->file >> 16) << 2 | (single ? TRIB_SLOT_SINGLE : TRIB_SLOT_RUN));
    trib_count_set(x, TRIB_WORD_RUNS, trib_count(x, TRIB_WORD_RUNS) + 1);
}

void trib_head_store(struct trib_extents *x, uint32_t slot, uint64_t identity) {
    trib_word_set(x, slot, 1, 0);
    trib_word_set(x, slot, 3, identity);
    trib_word_set(x, slot, 0, TRIB_SLOT_HEAD);
}

void trib_account_born(struct trib_extents *x, const struct trib_run *run, uint64_t bytes) {
    struct trib_attribute *row = trib_state_attribute(x->state, run->attribute);

    trib_count_set(x, TRIB_WORD_LIVE_BYTES, trib_count(x, TRIB_WORD_LIVE_BYTES) + bytes);
    if (!row)
        return;
    uint64_t live = atomic_load_explicit(&row->live_bytes, memory_order_relaxed);
    double sum = atomic_load_explicit(&row->live_birth_sum, memory_order_relaxed);
    sum += (double)bytes * ((double)run->birth / BIRTHS_PER_SUM_UNIT);
    atomic_store_explicit(&row->live_bytes, live + bytes, memory_order_relaxed);
    atomic_store_explicit(&row->live_birth_sum, sum, memory_order_relaxed);
}

/* Rounding must not survive the data it came from, nor push the sum below what is possible. */
void trib_account_gone(struct trib_extents *x, const struct trib_run *run, uint64_t bytes) {
    struct trib_attribute *row = trib_state_attribute(x->state, run->attribute);

    trib_count_set(x, TRIB_WORD_LIVE_BYTES, trib_count(x, TRIB_WORD_LIVE_BYTES) - bytes);
    if (!row)
        return;
    uint64_t live = atomic_load_explicit(&row->live_bytes, memory_order_relaxed);
    double sum = atomic_load_explicit(&row->live_birth_sum, memory_order_relaxed);
    live = live > bytes ? live - bytes : 0;
    sum -= (double)bytes * ((double)run->birth / BIRTHS_PER_SUM_UNIT);
    atomic_store_explicit(&row->live_bytes, live, memory_order_relaxed);
    atomic_store_explicit(&row->live_birth_sum, live && sum > 0 ? sum : 0, memory_order_relaxed);
}
