/* SPDX-License-Identifier: Apache-2.0 */
/* Hashing: XXH3 (xxHash, header only) behind two names, so that the choice is made once. Pure functions. */
#ifndef TRIB_BASE_HASH_H
#define TRIB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t trib_hash(const void *bytes, size_t length_bytes) {
    return XXH3_64bits(bytes, length_bytes);
}

/* Ordered combination: mix(mix(h, a), b) differs from mix(mix(h, b), a). */
static inline uint64_t trib_hash_mix(uint64_t hash, uint64_t value) {
    hash ^= value;
    hash *= 0x9E3779B97F4A7C15ull;
    return hash ^ (hash >> 29);
}

#endif
