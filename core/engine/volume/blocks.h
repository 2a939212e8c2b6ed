/* SPDX-License-Identifier: Apache-2.0 */
/* Which logical blocks are taken: one bit per block, and one bit per word of those that says
 * "full", so that finding space on a nearly full drive of 480 GB skips 16 MiB per look. Knows no
 * files. A block is taken when data lie in it or when it is reserved for a growing file; who of the
 * two is the caller's business. Thread safety: one owner. Invariant: a summary bit is set exactly
 * when its word has no free block. */
#ifndef TRIB_VOLUME_BLOCKS_H
#define TRIB_VOLUME_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

struct trib_blocks {
    uint64_t *words, *full_words;
    uint64_t count; /* blocks, 1..2^32 - 1 */
    uint64_t free_count;
};

struct trib_block_run {
    uint64_t lba, count;
};

int trib_blocks_open(struct trib_blocks *blocks, uint64_t count); /* 0 or -ENOMEM */
void trib_blocks_close(struct trib_blocks *blocks);

bool trib_blocks_is_taken(const struct trib_blocks *blocks, uint64_t lba);
/* The run must be free (take) or taken (release) as a whole. */
void trib_blocks_take(struct trib_blocks *blocks, struct trib_block_run run);
void trib_blocks_release(struct trib_blocks *blocks, struct trib_block_run run);

/* First free (taken) block at or after `from`, or `count`. */
uint64_t trib_blocks_next_free(const struct trib_blocks *blocks, uint64_t from);
uint64_t trib_blocks_next_taken(const struct trib_blocks *blocks, uint64_t from, uint64_t limit);

/* Free run for `want` blocks, cut to `want`; count 0 when nothing is free.
 * lowest: the one that begins at the lowest free block, however short.
 * near: the first at or after `goal` (wrapping) that holds all of it; after a bounded search the
 * longest one seen. */
struct trib_block_run trib_blocks_find_lowest(const struct trib_blocks *blocks, uint64_t want);
struct trib_block_run trib_blocks_find_near(const struct trib_blocks *blocks, uint64_t goal, uint64_t want);

TRIB_C_END
#endif
