/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded random numbers for workloads: xoshiro256** (Blackman and Vigna, TOMS 2021) seeded through
 * splitmix64; unbiased ranges by Lemire's multiplication (TOMACS 2019). Integers only, so a seed
 * gives the same numbers everywhere. Thread safety: one owner. */
#ifndef TRIB_WORKLOAD_RANDOM_H
#define TRIB_WORKLOAD_RANDOM_H

#include <stdint.h>

struct trib_random {
    uint64_t state[4];
};

static inline uint64_t trib_random_splitmix(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static inline void trib_random_seed(struct trib_random *random, uint64_t seed) {
    for (int i = 0; i < 4; i++)
        random->state[i] = trib_random_splitmix(&seed);
}

static inline uint64_t trib_random_next(struct trib_random *random) {
    uint64_t *s = random->state;
    uint64_t product = s[1] * 5, result = ((product << 7) | (product >> 57)) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

/* 0..bound-1, bound > 0. */
static inline uint32_t trib_random_below(struct trib_random *random, uint32_t bound) {
    uint64_t product = (trib_random_next(random) >> 32) * bound;

    if ((uint32_t)product < bound) {
        uint32_t threshold = -bound % bound;
        while ((uint32_t)product < threshold)
            product = (trib_random_next(random) >> 32) * bound;
    }
    return (uint32_t)(product >> 32);
}

/* [0, 1), multiples of 2^-53. */
static inline double trib_random_unit(struct trib_random *random) {
    return (double)(trib_random_next(random) >> 11) * 0x1.0p-53;
}

#endif
