/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns a block when files and the bare address space (file 0) meet on one drive: `taken` knows
 * all blocks in use or reserved, `raw` those written through file 0 (not allocated until the
 * first). Thread safety: one owner. Invariant: raw is a subset of taken. */
#ifndef TRIB_VOLUME_RAW_H
#define TRIB_VOLUME_RAW_H

#include "volume/blocks.h"

TRIB_C_BEGIN

/* True if a block of the run is taken, but not through file 0. */
bool trib_raw_conflicts(const struct trib_blocks *taken, const struct trib_blocks *raw, struct trib_block_run run);

/* Marks the run, which must not conflict. Return how many blocks changed. */
uint64_t trib_raw_claim(struct trib_blocks *taken, struct trib_blocks *raw, struct trib_block_run run);
uint64_t trib_raw_release(struct trib_blocks *taken, struct trib_blocks *raw, struct trib_block_run run);

TRIB_C_END
#endif
