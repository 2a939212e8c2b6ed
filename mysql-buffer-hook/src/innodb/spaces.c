/* SPDX-License-Identifier: Apache-2.0 */
#include "innodb/spaces.h"

#include <stdatomic.h>

#define SLOTS 4096u

/* 32 bits of the file's identity, then the space: one word, so that nobody sees halves. 0 = free. */
static _Atomic(uint64_t) known[SLOTS];

bool trib_space_matches(uint64_t file, uint32_t space, bool first_page) {
    uint64_t mine = (file | 1ull << 63) & 0xffffffff00000000ull;
    _Atomic(uint64_t) *slot = &known[(uint32_t)file % SLOTS];
    uint64_t there = atomic_load_explicit(slot, memory_order_relaxed);

    if (there == (mine | space))
        return true;
    if (there >> 32 == mine >> 32 && !first_page)
        return false;
    atomic_store_explicit(slot, mine | space, memory_order_relaxed);
    return true;
}
