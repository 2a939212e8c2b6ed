/* SPDX-License-Identifier: Apache-2.0 */
/* The byte-weighted mean birth of a growing run. Stored births have 64-byte units; rounding at each
 * of a million small appends would add up to more than a unit, so the rest of each division is kept
 * for runs that grew lately. A run that fell out of the cache (or came from another process) goes
 * on from the middle of its unit. */
#include "lifetime/slot.h"

static struct trib_growth *entry_of(struct trib_extents *x, uint32_t slot) {
    return &x->growth[slot % TRIB_GROWTH_CACHE];
}

static bool describes(const struct trib_growth *entry, uint32_t slot, uint32_t length, uint64_t birth) {
    return entry->slot == slot && entry->length == length && entry->birth == birth;
}

void trib_growth_note(struct trib_extents *x, uint32_t slot, uint64_t clock_bytes) {
    uint32_t length = trib_slot_length(x, slot);

    *entry_of(x, slot) = (struct trib_growth){
        .slot = slot,
        .length = length,
        .birth = trib_slot_birth(x, slot),
        .rest = (unsigned __int128)(clock_bytes % TRIB_BIRTH_BYTES) * length,
    };
}

void trib_growth_cut(struct trib_extents *x, uint32_t slot, uint32_t old_length) {
    struct trib_growth *entry = entry_of(x, slot);

    if (!describes(entry, slot, old_length, trib_slot_birth(x, slot)))
        return;
    entry->length = trib_slot_length(x, slot);
    entry->rest = entry->rest * entry->length / old_length;
}

/* Nearly always both fit 64 bits, and a 128-bit division costs ten times as much. */
static uint64_t divide(unsigned __int128 dividend, uint64_t divisor, unsigned __int128 *rest) {
    if (dividend >> 64 == 0) {
        *rest = (uint64_t)dividend % divisor;
        return (uint64_t)dividend / divisor;
    }
    *rest = dividend % divisor;
    return (uint64_t)(dividend / divisor);
}

void trib_run_grow(struct trib_extents *x, uint32_t slot, uint32_t bytes, uint64_t clock_bytes) {
    struct trib_growth *entry = entry_of(x, slot);
    struct trib_run run;

    trib_run_read(x, slot, &run);
    uint32_t old_length = run.length_bytes;
    uint64_t born = run.birth * TRIB_BIRTH_BYTES;
    unsigned __int128 rest = (unsigned __int128)old_length * (TRIB_BIRTH_BYTES / 2);
    if (describes(entry, slot, old_length, run.birth))
        rest = entry->rest;
    if (clock_bytes > born)
        rest += (unsigned __int128)bytes * (clock_bytes - born);
    trib_account_gone(x, &run, old_length);
    run.length_bytes += bytes;
    run.birth += divide(rest, (uint64_t)run.length_bytes * TRIB_BIRTH_BYTES, &rest);
    if (run.birth > TRIB_BIRTH_MAX)
        run.birth = TRIB_BIRTH_MAX;
    trib_slot_set_length(x, slot, run.length_bytes);
    trib_slot_set_birth(x, slot, run.birth);
    trib_account_born(x, &run, run.length_bytes);
    *entry = (struct trib_growth){slot, run.length_bytes, run.birth, rest};
}
