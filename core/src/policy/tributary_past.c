/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/tributary_past.h"

#include <math.h>

#define COUNT_MAX     15u
#define MEAN_MASK     0xfffu
#define MANTISSA_BITS 7 /* steps of 0.8 %: finer than a mean of a few ages is */
#define REGION_WEIGHT (1.0 / 32)

/* Linear between powers of two. */
static unsigned pack(double mean) {
    int octave;
    double fraction = frexp(fmax(1, mean), &octave); /* [0.5, 1) */
    unsigned code = (unsigned)((octave - 1) << MANTISSA_BITS) +
                    (unsigned)lrint((2 * fraction - 1) * (1 << MANTISSA_BITS));
    return code < MEAN_MASK ? code : MEAN_MASK;
}

static double unpack(unsigned code) {
    double mantissa = 1 + (double)(code & ((1u << MANTISSA_BITS) - 1)) / (1 << MANTISSA_BITS);
    return ldexp(mantissa, (int)(code >> MANTISSA_BITS));
}

double trib_past_mean(const struct trib_block_past *block) {
    return trib_past_overwrites(block) ? unpack(block->mean & MEAN_MASK) : 0;
}

void trib_past_note(struct trib_block_past *block, uint64_t age, double weight) {
    unsigned count = trib_past_overwrites(block);
    double mean = trib_past_mean(block);
    mean += fmax(weight, 1.0 / (count + 1)) * ((double)age - mean);
    count += count < COUNT_MAX;
    block->mean = (uint16_t)(count << TRIB_PAST_MEAN_BITS | pack(mean));
}

void trib_past_note_region(struct trib_region_past *region, uint64_t age) {
    double weight = fmax(REGION_WEIGHT, 1.0 / (region->overwrites + 1));
    region->mean += (float)(weight * ((double)age - (double)region->mean));
    region->overwrites += region->overwrites < UINT8_MAX;
}
