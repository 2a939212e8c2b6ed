/* SPDX-License-Identifier: Apache-2.0 */
/* How long something takes: durations in classes of an eighth of a power of two, for figures in a status. Thread
 * safety: noting from any thread, lock-free; quantiles are of what has been noted so far. */
#ifndef TRIB_BASE_DURATIONS_H
#define TRIB_BASE_DURATIONS_H

#include <stdatomic.h>
#include <stdint.h>

#define TRIB_DURATION_CLASSES (8u * 40u) /* up to 2^40 ns */

struct trib_durations {
    _Atomic(uint32_t) class[TRIB_DURATION_CLASSES];
};

static inline void trib_duration_note(struct trib_durations *durations, uint64_t ns) {
    unsigned octave = 63 - (unsigned)__builtin_clzll(ns | 1), eighth = (unsigned)((ns << 3) >> octave) & 7;
    unsigned class = octave * 8 + eighth;

    class = class < TRIB_DURATION_CLASSES ? class : TRIB_DURATION_CLASSES - 1;
    atomic_fetch_add_explicit(&durations->class[class], 1, memory_order_relaxed);
}

/* Middle of the class that holds this share of them; 0 without any. */
static inline double trib_duration_quantile_ns(const struct trib_durations *durations, double share) {
    double sum = 0, wanted = 0;

    for (unsigned i = 0; i < TRIB_DURATION_CLASSES; i++)
        wanted += share * durations->class[i];
    for (unsigned i = 0; i < TRIB_DURATION_CLASSES; i++) {
        sum += durations->class[i];
        if (durations->class[i] && sum >= wanted)
            return (double)((uint64_t)1 << i / 8) * (1 + (i % 8 + 0.5) / 8);
    }
    return 0;
}

#endif
