/* SPDX-License-Identifier: Apache-2.0 */
/* What was said before: a table of non-zero keys that forgets the old ones when it is crowded, so that saying it twice
 * is the worst that can happen. Lock-free; the memory may be shared between processes; all zero is empty. */
#ifndef TRIB_BASE_SEEN_H
#define TRIB_BASE_SEEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TRIB_SEEN_SLOTS 65536u
#define TRIB_SEEN_WAYS  8u /* one line */

typedef _Atomic(uint64_t) trib_seen_table[TRIB_SEEN_SLOTS];

/* The line of a key; keys need not be spread. */
static inline _Atomic(uint64_t) *trib_seen_ways(trib_seen_table table, uint64_t key) {
    uint64_t spread = key * 0x9E3779B97F4A7C15ull >> 40;
    return &table[spread % (TRIB_SEEN_SLOTS / TRIB_SEEN_WAYS) * TRIB_SEEN_WAYS];
}

static inline bool trib_seen(trib_seen_table table, uint64_t key) {
    _Atomic(uint64_t) *ways = trib_seen_ways(table, key);

    for (unsigned i = 0; i < TRIB_SEEN_WAYS; i++)
        if (atomic_load_explicit(&ways[i], memory_order_relaxed) == key)
            return true;
    return false;
}

static inline void trib_seen_add(trib_seen_table table, uint64_t key) {
    _Atomic(uint64_t) *ways = trib_seen_ways(table, key);
    unsigned way = 0;

    while (way < TRIB_SEEN_WAYS && atomic_load_explicit(&ways[way], memory_order_relaxed) != 0)
        way++;
    if (way == TRIB_SEEN_WAYS)
        way = key % TRIB_SEEN_WAYS;
    atomic_store_explicit(&ways[way], key, memory_order_relaxed);
}

#endif
