/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "lifetime/request.h"

static bool is_file(const struct trib_extents *x, uint32_t slot, uint64_t file) {
    if (slot == 0 || trib_slot_key(x, slot) != file)
        return false;
    enum trib_slot_kind kind = trib_slot_kind(x, slot);
    return kind == TRIB_SLOT_HEAD || kind == TRIB_SLOT_SINGLE;
}

static uint32_t *cache_of(struct trib_extents *x, uint64_t file) {
    return &x->file_cache[trib_hash_mix(0, file) >> 32 & (TRIB_FILE_CACHE - 1)];
}

uint32_t trib_file_find(struct trib_extents *x, uint64_t file) {
    uint32_t *cached = cache_of(x, file);

    if (!is_file(x, *cached, file))
        *cached = trib_tree_find(x, TRIB_TREE_OF_FILES, file);
    return *cached;
}

void trib_file_add(struct trib_extents *x, uint32_t slot, uint64_t file) {
    trib_tree_insert(x, TRIB_TREE_OF_FILES, slot);
    *cache_of(x, file) = slot;
}

void trib_file_remove(struct trib_extents *x, uint32_t slot) {
    trib_tree_remove(x, TRIB_TREE_OF_FILES, slot);
    trib_slot_release(x, slot);
}

/* A SINGLE that needs a second run hands its run to a slot of its own and becomes the HEAD. Killed
 * before the kind changes, the SINGLE stands; after, the HEAD has its run. */
bool trib_file_split(struct trib_extents *x, uint32_t slot) {
    struct trib_run run;
    uint32_t own = trib_slot_take(x);

    if (own == 0)
        return false;
    trib_run_read(x, slot, &run);
    run.file = slot;
    trib_run_store(x, own, &run, 0);
    trib_word_set(x, slot, 0, TRIB_SLOT_HEAD);
    trib_word_set(x, slot, 1, 0);
    trib_count_set(x, TRIB_WORD_RUNS, trib_count(x, TRIB_WORD_RUNS) - 1);
    trib_tree_insert(x, slot, own);
    return true;
}
