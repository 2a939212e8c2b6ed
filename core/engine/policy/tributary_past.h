/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the policy `tributary`: what blocks that are written in place went through. A block
 * keeps the mean age at which what it held was overwritten; a region of neighbours, how fast it is
 * overwritten. A block's own mean is the better predictor where heat lies scattered, the region's
 * where it lies together: it has 64 times the evidence, and the time between two overwrites changes
 * at once when heat moves, an age only when the old data die. What is trimmed has no past.
 *
 * Ages and clocks count host blocks that reached the drive. Thread safety: one caller. */
#ifndef TRIB_POLICY_TRIBUTARY_PAST_H
#define TRIB_POLICY_TRIBUTARY_PAST_H

#include <stdint.h>

#include <tributary/policy.h>

TRIB_C_BEGIN

#define TRIB_PAST_MEAN_BITS 12
#define TRIB_REGION_BLOCKS  64u /* 256 KiB */
#define TRIB_PLANS          7u  /* ways of grouping that are simulated, tributary_miniature.h */

/* What is known of one logical block; 8 bytes. */
struct trib_block_past {
    uint32_t born;    /* low half of the clock: exact while no block lives 16 TiB */
    uint16_t context; /* 0: not alive, or written before we looked */
    uint16_t mean;    /* overwrites (4 bits, saturating), logarithm of their mean age (12 bits) */
};

/* Overwrites of adjacent blocks, one after the other, are one arrival: a log that passes is no
 * heat. */
struct trib_region_past {
    float mean;                 /* blocks between two overwrites of a block; 0 = none was */
    uint32_t run_began;         /* low half of the clock */
    uint8_t run_blocks;         /* of the arrival that came last; 0 = none */
    uint8_t run_end;            /* its last block, counted within the region */
    uint8_t overwrites;         /* saturating */
    uint8_t stream[TRIB_PLANS]; /* where its data went last */
};

static inline uint64_t trib_past_age(const struct trib_block_past *block, uint64_t clock) {
    return (uint32_t)((uint32_t)clock - block->born);
}

/* Saturates at 15. */
static inline unsigned trib_past_overwrites(const struct trib_block_past *block) {
    return block->mean >> TRIB_PAST_MEAN_BITS;
}

/* Mean age at overwriting, blocks; 0 = never overwritten. */
double trib_past_mean(const struct trib_block_past *block);

/* What the block holds is overwritten at this age. `weight`, (0, 1], of the newest age in a block's
 * mean, once there are so many that a plain mean would weigh it less. */
void trib_past_note(struct trib_block_past *block, uint64_t age, double weight);
void trib_past_note_region(struct trib_region_past *region, uint64_t lba, uint64_t age, uint64_t clock);

TRIB_C_END
#endif
