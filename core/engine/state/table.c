/* SPDX-License-Identifier: Apache-2.0 */
/* The attribute table: rows that never move, hash chains through them, and a heap that knows which
 * row was written to longest ago.
 *
 * Chains rather than open addressing, because eviction takes a key out: that leaves tombstones to
 * an open table, or moves keys under the eyes of readers that take no lock. A reader that stands on
 * a row while it moves to another chain may miss its key; `unlinks` tells it to look again.
 *
 * Eviction is exact and costs the write path one store: last_write_bytes only grows, so the stamp
 * of a row in the heap is a lower bound, corrected when the row comes to the top. Each correction
 * pays for at least one write since the last: O(log n) amortised.
 *
 * Killed inside a change: rows are the truth. A row without a key is unfinished and goes first. */
#include "state/region.h"

#include "log/assert.h"

#define INDEX_BITS 20u
#define INDEX_MASK (TRIB_STATE_ATTRIBUTES_MAX - 1)
#define FIND_TRIES 8u
#define CHAIN_MAX  1024u /* far beyond any honest chain at half load; ends a walk over a damaged one */

static trib_attribute_ref reference(uint32_t index, uint32_t generation) {
    return generation << INDEX_BITS | index;
}

static _Atomic(uint32_t) *bucket_of(const struct trib_state *state, uint64_t key) {
    uint64_t hash = key * 0x9E3779B97F4A7C15ull; /* keys of adapters are hashes, keys of tests are not */
    return &state->buckets[(uint32_t)(hash >> 32) & state->bucket_mask];
}

/* ---- look-up ---- */

/* The reference of a row that holds `key`, or 0 if its key changed while we looked. */
static trib_attribute_ref row_reference(const struct trib_attribute *row, uint32_t index, uint64_t key) {
    uint32_t generation = atomic_load_explicit(&row->generation, memory_order_acquire);
    if (atomic_load_explicit(&row->key, memory_order_relaxed) != key)
        return 0;
    return reference(index, generation);
}

static trib_attribute_ref walk_chain(const struct trib_state *state, uint64_t key) {
    uint32_t link = atomic_load_explicit(bucket_of(state, key), memory_order_acquire);

    for (uint32_t steps = 0; link != 0 && steps < CHAIN_MAX; steps++) {
        uint32_t index = link - 1;
        if (index >= state->attributes)
            return 0;
        const struct trib_attribute *row = &state->rows[index];
        if (atomic_load_explicit(&row->key, memory_order_acquire) == key)
            return row_reference(row, index, key);
        link = atomic_load_explicit(&row->next, memory_order_acquire);
    }
    return 0;
}

trib_attribute_ref trib_state_find(const struct trib_state *state, uint64_t key) {
    if (key == 0)
        return 0;
    for (unsigned tries = 0; tries < FIND_TRIES; tries++) {
        uint64_t unlinks = atomic_load_explicit(&state->header->unlinks, memory_order_acquire);
        trib_attribute_ref ref = walk_chain(state, key);
        if (TRIB_LIKELY(ref != 0))
            return ref;
        /* A changed `next` was stored after its `unlinks`, so having followed one we see the other
         * here. */
        if (atomic_load_explicit(&state->header->unlinks, memory_order_acquire) == unlinks)
            return 0;
    }
    return 0;
}

struct trib_attribute *trib_state_attribute(const struct trib_state *state, trib_attribute_ref ref) {
    uint32_t index = ref & INDEX_MASK, generation = ref >> INDEX_BITS;

    if (generation == 0 || index >= state->attributes)
        return NULL;
    struct trib_attribute *row = &state->rows[index];
    if (atomic_load_explicit(&row->generation, memory_order_acquire) != generation)
        return NULL;
    return row;
}

uint32_t trib_state_next(const struct trib_state *state, uint32_t from, trib_attribute_ref *ref) {
    uint32_t used = atomic_load_explicit(&state->header->rows_used, memory_order_acquire);

    for (uint32_t i = from; i < used && i < state->attributes; i++) {
        const struct trib_attribute *row = &state->rows[i];
        uint64_t key = atomic_load_explicit(&row->key, memory_order_acquire);
        trib_attribute_ref found = key ? row_reference(row, i, key) : 0;
        if (found) {
            *ref = found;
            return i + 1;
        }
    }
    return 0;
}

/* ---- eviction order ---- */

/* The heap lies in a file that its owner may write to: an index out of it is not trusted. */
static struct trib_attribute *heap_row(const struct trib_state *state, uint32_t index) {
    return &state->rows[index < state->attributes ? index : 0];
}

static bool leaves_before(const struct trib_state *state, uint32_t a, uint32_t b) {
    const struct trib_attribute *x = heap_row(state, a), *y = heap_row(state, b);
    return x->stamp != y->stamp ? x->stamp < y->stamp : x->order < y->order;
}

static void sift_down(struct trib_state *state, uint32_t size, uint32_t position) {
    uint32_t *heap = state->heap, moving = heap[position];

    for (uint32_t child; (child = 2 * position + 1) < size; position = child) {
        if (child + 1 < size && leaves_before(state, heap[child + 1], heap[child]))
            child++;
        if (!leaves_before(state, heap[child], moving))
            break;
        heap[position] = heap[child];
    }
    heap[position] = moving;
}

static void sift_up(struct trib_state *state, uint32_t position) {
    uint32_t *heap = state->heap, moving = heap[position];

    while (position > 0) {
        uint32_t parent = (position - 1) / 2;
        if (!leaves_before(state, moving, heap[parent]))
            break;
        heap[position] = heap[parent];
        position = parent;
    }
    heap[position] = moving;
}

/* Brings the row written to longest ago to the top and returns it. */
static uint32_t oldest_row(struct trib_state *state, uint32_t size) {
    for (uint32_t corrected = 0; corrected <= size; corrected++) {
        struct trib_attribute *top = heap_row(state, state->heap[0]);
        uint64_t written = atomic_load_explicit(&top->last_write_bytes, memory_order_relaxed);
        if (atomic_load_explicit(&top->key, memory_order_relaxed) == 0 || written <= top->stamp)
            break;
        top->stamp = written;
        sift_down(state, size, 0);
    }
    return (uint32_t)(heap_row(state, state->heap[0]) - state->rows);
}

/* ---- change; the caller has the lock ---- */

static void unlink_row(struct trib_state *state, uint32_t index, uint64_t key) {
    _Atomic(uint32_t) *link = bucket_of(state, key);

    for (uint32_t steps = 0; steps < CHAIN_MAX; steps++) {
        uint32_t row = atomic_load_explicit(link, memory_order_relaxed);
        if (row == 0 || row > state->attributes)
            return;
        if (row - 1 == index) {
            uint32_t next = atomic_load_explicit(&state->rows[index].next, memory_order_relaxed);
            atomic_store_explicit(link, next, memory_order_release);
            return;
        }
        link = &state->rows[row - 1].next;
    }
}

static void link_row(struct trib_state *state, uint32_t index, uint64_t key) {
    _Atomic(uint32_t) *bucket = bucket_of(state, key);

    atomic_store_explicit(&state->rows[index].next, atomic_load_explicit(bucket, memory_order_relaxed),
                          memory_order_release);
    atomic_store_explicit(bucket, index + 1, memory_order_release);
}

static void evict(struct trib_state *state, uint32_t index) {
    struct trib_state_header *header = state->header;
    struct trib_attribute *row = &state->rows[index];
    uint64_t key = atomic_load_explicit(&row->key, memory_order_relaxed);

    if (key == 0)
        return; /* left unfinished by a process that was killed */
    unlink_row(state, index, key);
    /* Only now: who counts before the row is out of its chain may still come to it, and follow it into another. */
    atomic_fetch_add_explicit(&header->unlinks, 1, memory_order_release);
    atomic_store_explicit(&row->key, 0, memory_order_release);
    atomic_fetch_sub_explicit(&header->rows_keyed, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&header->evictions, 1, memory_order_relaxed);
}

/* Everything but key and place in the chains. The generation changes first: from here old
 * references fail. */
static void reset_row(struct trib_state *state, struct trib_attribute *row, const struct trib_context *who) {
    uint32_t generation = atomic_load_explicit(&row->generation, memory_order_relaxed);
    uint64_t clock = trib_state_clock(state);

    generation = generation % TRIB_STATE_GENERATION_MAX + 1;
    atomic_store_explicit(&row->generation, generation, memory_order_release);
    row->who = *who;
    atomic_store_explicit(&row->stream, 0, memory_order_relaxed);
    atomic_store_explicit(&row->flags, 0, memory_order_relaxed);
    atomic_store_explicit(&row->samples, 0, memory_order_relaxed);
    atomic_store_explicit(&row->lifetime_mean, 0, memory_order_relaxed);
    atomic_store_explicit(&row->lifetime_variance, 0, memory_order_relaxed);
    atomic_store_explicit(&row->lifetime_clustered, 0, memory_order_relaxed);
    atomic_store_explicit(&row->written_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&row->died_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&row->last_write_bytes, clock, memory_order_relaxed);
    atomic_store_explicit(&row->live_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&row->live_birth_sum, 0, memory_order_relaxed);
    row->stamp = clock;
    row->order = atomic_fetch_add_explicit(&state->header->interned, 1, memory_order_relaxed);
    row->reserved = 0;
}

/* A row without a key, in its right place in the heap for a row that is written to now. */
static uint32_t take_row(struct trib_state *state, const struct trib_context *who) {
    struct trib_state_header *header = state->header;
    uint32_t used = atomic_load_explicit(&header->rows_used, memory_order_relaxed);

    if (used < state->attributes) {
        reset_row(state, &state->rows[used], who);
        state->heap[used] = used;
        atomic_store_explicit(&header->rows_used, used + 1, memory_order_release);
        sift_up(state, used);
        return used;
    }
    uint32_t index = oldest_row(state, state->attributes);
    evict(state, index);
    reset_row(state, &state->rows[index], who);
    sift_down(state, state->attributes, 0);
    return index;
}

trib_attribute_ref trib_state_intern(struct trib_state *state, uint64_t key, const struct trib_context *who) {
    trib_attribute_ref ref = trib_state_find(state, key);

    if (TRIB_LIKELY(ref != 0) || key == 0)
        return ref;
    uint32_t index = take_row(state, who);
    struct trib_attribute *row = &state->rows[index];
    uint32_t generation = atomic_load_explicit(&row->generation, memory_order_relaxed);
    atomic_store_explicit(&row->key, key, memory_order_release);
    link_row(state, index, key);
    atomic_fetch_add_explicit(&state->header->rows_keyed, 1, memory_order_relaxed);
    return reference(index, generation);
}

/* ---- repair ---- */

static void rebuild_chains(struct trib_state *state, uint32_t used) {
    uint32_t keyed = 0;

    for (uint32_t i = 0; i <= state->bucket_mask; i++)
        atomic_store_explicit(&state->buckets[i], 0, memory_order_relaxed);
    for (uint32_t i = 0; i < used; i++) {
        uint64_t key = atomic_load_explicit(&state->rows[i].key, memory_order_relaxed);
        if (key == 0)
            continue;
        if (walk_chain(state, key)) { /* no writer leaves two rows of one key; damage might */
            atomic_store_explicit(&state->rows[i].key, 0, memory_order_release);
            continue;
        }
        link_row(state, i, key);
        keyed++;
    }
    atomic_store_explicit(&state->header->rows_keyed, keyed, memory_order_relaxed);
}

static void rebuild_heap(struct trib_state *state, uint32_t used) {
    uint64_t order = 0;

    for (uint32_t i = 0; i < used; i++) {
        struct trib_attribute *row = &state->rows[i];
        bool keyed = atomic_load_explicit(&row->key, memory_order_relaxed) != 0;
        row->stamp = keyed ? atomic_load_explicit(&row->last_write_bytes, memory_order_relaxed) : 0;
        if (!keyed)
            row->order = 0;
        if (row->order >= order)
            order = row->order + 1;
        state->heap[i] = i;
    }
    atomic_store_explicit(&state->header->interned, order, memory_order_relaxed);
    for (uint32_t i = used / 2; i-- > 0;)
        sift_down(state, used, i);
}

void trib_state_table_rebuild(struct trib_state *state) {
    uint32_t used = atomic_load_explicit(&state->header->rows_used, memory_order_relaxed);

    if (used > state->attributes) {
        used = state->attributes;
        atomic_store_explicit(&state->header->rows_used, used, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&state->header->unlinks, 1, memory_order_release);
    rebuild_chains(state, used);
    rebuild_heap(state, used);
}
