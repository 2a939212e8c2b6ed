/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/tributary_past.h"

#include <math.h>
#include <stdbool.h>

#define COUNT_MAX     15u
#define MEAN_MASK     0xfffu
#define MANTISSA_BITS 7   /* steps of 0.8 %: finer than a mean of a few ages is */
#define REGION_MEMORY 32u /* overwrites after which a region's past weighs 1/e */

/* Linear between powers of two. */
static unsigned pack(double mean) {
    int octave;
    double fraction = frexp(fmax(1, mean), &octave); /* [0.5, 1) */
    unsigned code =
        (unsigned)((octave - 1) << MANTISSA_BITS) + (unsigned)lrint((2 * fraction - 1) * (1 << MANTISSA_BITS));
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

/* An arrival is counted when the next one begins: only then is its length known. */
static void count_arrival(struct trib_region_past *region, uint64_t clock) {
    double gap = (double)(uint32_t)((uint32_t)clock - region->run_began);
    double mean = gap * TRIB_REGION_BLOCKS / region->run_blocks;
    double weight = fmin(1, (double)region->run_blocks / REGION_MEMORY);
    region->mean += (float)(weight * (mean - (double)region->mean));
}

/* The first ages stand in for a rate that a few arrivals cannot tell. */
void trib_past_note_region(struct trib_region_past *region, uint64_t lba, uint64_t age, uint64_t clock) {
    uint8_t at = lba % TRIB_REGION_BLOCKS;
    bool is_again = region->run_blocks && at == region->run_end; /* a tail that grows */
    bool is_next = region->run_blocks && region->run_blocks < TRIB_REGION_BLOCKS &&
                   at == (region->run_end + 1) % TRIB_REGION_BLOCKS;
    if (region->overwrites < REGION_MEMORY)
        region->mean += ((float)age - region->mean) / (float)(region->overwrites + 1);
    else if (!is_again && !is_next)
        count_arrival(region, clock);
    if (is_next) {
        region->run_blocks++;
    } else if (!is_again) {
        region->run_began = (uint32_t)clock;
        region->run_blocks = 1;
    }
    region->run_end = at;
    region->overwrites += region->overwrites < UINT8_MAX;
}
