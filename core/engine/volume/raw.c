/* SPDX-License-Identifier: Apache-2.0 */
#include "volume/raw.h"

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

bool trib_raw_conflicts(const struct trib_blocks *taken, const struct trib_blocks *raw, struct trib_block_run run) {
    uint64_t end = run.lba + run.count;
    uint64_t lba = trib_blocks_next_taken(taken, run.lba, end);
    while (lba < end) {
        uint64_t stop = least(trib_blocks_next_free(taken, lba), end);
        if (!raw->words || trib_blocks_next_free(raw, lba) < stop)
            return true;
        lba = trib_blocks_next_taken(taken, stop, end);
    }
    return false;
}

uint64_t trib_raw_claim(struct trib_blocks *taken, struct trib_blocks *raw, struct trib_block_run run) {
    uint64_t end = run.lba + run.count, claimed = 0;
    uint64_t lba = trib_blocks_next_free(taken, run.lba);
    while (lba < end) {
        struct trib_block_run part = {lba, trib_blocks_next_taken(taken, lba, end) - lba};
        trib_blocks_take(taken, part);
        trib_blocks_take(raw, part);
        claimed += part.count;
        lba = trib_blocks_next_free(taken, lba + part.count);
    }
    return claimed;
}

uint64_t trib_raw_release(struct trib_blocks *taken, struct trib_blocks *raw, struct trib_block_run run) {
    uint64_t end = run.lba + run.count, released = 0;
    uint64_t lba = raw->words ? trib_blocks_next_taken(raw, run.lba, end) : end;
    while (lba < end) {
        struct trib_block_run part = {lba, least(trib_blocks_next_free(raw, lba), end) - lba};
        trib_blocks_release(taken, part);
        trib_blocks_release(raw, part);
        released += part.count;
        lba = trib_blocks_next_taken(raw, lba + part.count, end);
    }
    return released;
}
