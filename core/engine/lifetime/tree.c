/* SPDX-License-Identifier: Apache-2.0 */
#include "lifetime/tree.h"

/* Expected greatest depth of 2^28 slots is about 84; beyond this a link was damaged. */
#define DEPTH_MAX 1024u

enum side { ROOT, LEFT, RIGHT };

/* A place that holds a link: the root of a tree, or one side of a slot. */
struct place {
    uint32_t slot; /* ROOT: the tree's owner */
    enum side side;
};

static uint32_t left_of(const struct trib_extents *x, uint32_t slot) {
    return trib_slot_checked(x, trib_word(x, slot, 2) >> 8 & TRIB_LINK_MASK);
}

static uint32_t right_of(const struct trib_extents *x, uint32_t slot) {
    return trib_slot_checked(x, trib_word(x, slot, 2) >> 36);
}

static uint32_t get(const struct trib_extents *x, struct place place) {
    if (place.side == LEFT)
        return left_of(x, place.slot);
    if (place.side == RIGHT)
        return right_of(x, place.slot);
    uint64_t root =
        place.slot == TRIB_TREE_OF_FILES ? trib_count(x, TRIB_WORD_FILES) : (uint32_t)trib_word(x, place.slot, 1);
    return trib_slot_checked(x, root);
}

static void set(struct trib_extents *x, struct place place, uint32_t child) {
    const uint64_t mask = TRIB_LINK_MASK;

    if (place.side == LEFT)
        trib_word_set(x, place.slot, 2, (trib_word(x, place.slot, 2) & ~(mask << 8)) | (uint64_t)child << 8);
    else if (place.side == RIGHT)
        trib_word_set(x, place.slot, 2, (trib_word(x, place.slot, 2) & ~(mask << 36)) | (uint64_t)child << 36);
    else if (place.slot == TRIB_TREE_OF_FILES)
        trib_count_set(x, TRIB_WORD_FILES, child);
    else
        trib_word_set(x, place.slot, 1, child);
}

/* A bijection (the 32-bit finaliser of MurmurHash3), so that no two slots have the same priority.
 */
static uint32_t priority(uint32_t slot) {
    slot ^= slot >> 16;
    slot *= 0x85EBCA6Bu;
    slot ^= slot >> 13;
    slot *= 0xC2B2AE35u;
    return slot ^ slot >> 16;
}

static bool too_deep(struct trib_extents *x, uint32_t depth) {
    if (depth < DEPTH_MAX)
        return false;
    x->damaged = true;
    return true;
}

uint32_t trib_tree_root(struct trib_extents *x, uint32_t owner) {
    return get(x, (struct place){owner, ROOT});
}

/* Splits the tree under `n` around `key` into the two sides of `slot`. */
static void split_under(struct trib_extents *x, uint32_t n, uint64_t key, uint32_t slot) {
    struct place left = {slot, LEFT}, right = {slot, RIGHT};

    for (uint32_t depth = 0; n && !too_deep(x, depth); depth++) {
        if (trib_slot_key(x, n) < key) {
            set(x, left, n);
            left = (struct place){n, RIGHT};
            n = right_of(x, n);
        } else {
            set(x, right, n);
            right = (struct place){n, LEFT};
            n = left_of(x, n);
        }
    }
    set(x, left, 0);
    set(x, right, 0);
}

void trib_tree_insert(struct trib_extents *x, uint32_t owner, uint32_t slot) {
    struct place place = {owner, ROOT};
    uint64_t key = trib_slot_key(x, slot);
    uint32_t mine = priority(slot), n = get(x, place);

    for (uint32_t depth = 0; n && priority(n) > mine && !too_deep(x, depth); depth++) {
        place = (struct place){n, key < trib_slot_key(x, n) ? LEFT : RIGHT};
        n = get(x, place);
    }
    split_under(x, n, key, slot);
    set(x, place, slot);
}

/* Joins what hung under a slot that left: higher priority on top. */
static void join_at(struct trib_extents *x, struct place place, uint32_t left, uint32_t right) {
    for (uint32_t depth = 0; left && right && !too_deep(x, depth); depth++) {
        if (priority(left) > priority(right)) {
            set(x, place, left);
            place = (struct place){left, RIGHT};
            left = right_of(x, left);
        } else {
            set(x, place, right);
            place = (struct place){right, LEFT};
            right = left_of(x, right);
        }
    }
    set(x, place, left ? left : right);
}

void trib_tree_remove(struct trib_extents *x, uint32_t owner, uint32_t slot) {
    struct place place = {owner, ROOT};
    uint64_t key = trib_slot_key(x, slot);
    uint32_t n = get(x, place);

    for (uint32_t depth = 0; n && n != slot && !too_deep(x, depth); depth++) {
        place = (struct place){n, key < trib_slot_key(x, n) ? LEFT : RIGHT};
        n = get(x, place);
    }
    if (n != slot) {
        x->damaged = true;
        return;
    }
    join_at(x, place, left_of(x, slot), right_of(x, slot));
}

uint32_t trib_tree_around(struct trib_extents *x, uint32_t owner, uint64_t key, uint32_t *below, uint32_t *above) {
    uint32_t n = trib_tree_root(x, owner), depth = 0;

    *below = *above = 0;
    for (; n && !too_deep(x, depth); depth++) {
        if (trib_slot_key(x, n) < key) {
            *below = n;
            n = right_of(x, n);
        } else {
            *above = n;
            n = left_of(x, n);
        }
    }
    return depth;
}

uint32_t trib_tree_find(struct trib_extents *x, uint32_t owner, uint64_t key) {
    uint32_t n = trib_tree_root(x, owner);

    for (uint32_t depth = 0; n && !too_deep(x, depth); depth++) {
        uint64_t here = trib_slot_key(x, n);
        if (here == key)
            return n;
        n = key < here ? left_of(x, n) : right_of(x, n);
    }
    return 0;
}

/* Turns the tree right until its top has no left side, then takes the top: O(n) in all, no stack.
 */
void trib_tree_drain(struct trib_extents *x, uint32_t owner, void (*take)(void *arg, uint32_t slot), void *arg) {
    struct place root = {owner, ROOT};
    uint64_t turns = 0, turns_max = 2ull * x->capacity;

    for (uint32_t n = get(x, root); n && turns <= turns_max; turns++) {
        uint32_t left = left_of(x, n);
        if (left) {
            set(x, (struct place){n, LEFT}, right_of(x, left));
            set(x, (struct place){left, RIGHT}, n);
            n = left;
            continue;
        }
        uint32_t next = right_of(x, n);
        take(arg, n);
        n = next;
    }
    if (turns > turns_max)
        x->damaged = true;
    set(x, root, 0);
}
