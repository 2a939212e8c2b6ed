/* SPDX-License-Identifier: Apache-2.0 */
/* What FIOS notes of a workload while it watches (its paper takes a block trace): per chunk how
 * often, how and when it was written, and of the whole the five attributes that select features.
 * The only clock is blocks that reached the drive. Of the five, lambda (GB a day) cannot be known
 * on it and is left to the caller. Thread safety: one owner. Memory is allocated at open: 4 bytes
 * per 4-KiB block and 32 per chunk. */
#ifndef TRIB_POLICY_FIOS_TRACE_H
#define TRIB_POLICY_FIOS_TRACE_H

#include "rivals/fios/fios_select.h"
#include <tributary/policy.h>

TRIB_C_BEGIN

#define TRIB_FIOS_WINDOWS 64 /* of coherency, within one trace */

struct trib_fios_chunk {
    uint32_t writes;     /* requests that touched it; stops at the largest number */
    uint32_t sequential; /* of them, those that began where the request before had ended */
    uint32_t last_write; /* blocks since the trace began */
    uint32_t deaths;     /* pages that were overwritten or trimmed while watched */
    uint64_t windows;    /* bit w: written in window w; later: the number of its friend groups */
    uint64_t lifetimes;  /* sum over these deaths, blocks */
};

struct trib_fios_trace {
    uint32_t blocks, chunk_blocks, chunks;
    struct trib_fios_chunk *chunk;
    uint32_t *birth; /* block clock of each page's last write, 0 = none: wraps after 16 TiB */

    bool watching;
    uint32_t sample; /* one 1-MiB region in `sample` is watched, by hash of it and the seed */
    uint64_t seed;
    uint64_t begin, length; /* of the trace on the block clock */

    /* The request that is going on, page by page. */
    struct {
        uint64_t next_lba, clock_bytes, file, offset_bytes;
        uint32_t chunk; /* counted last */
        bool sequential;
    } request;

    /* Sums for the attributes, over all requests while watching. */
    uint64_t requests, sequential, written_blocks, distinct_blocks;
    uint64_t last_start; /* block clock when the newest request began */
    uint64_t gaps;       /* between starts of requests, blocks */
    double gap_first, gap_last, gap_sum, gap_squares, gap_products;
    double lifetime_squares; /* over the deaths of all chunks */
};

/* blocks, chunk_blocks >= 1. 0 or -ENOMEM. */
int trib_fios_trace_open(struct trib_fios_trace *trace, uint32_t blocks, uint32_t chunk_blocks);
void trib_fios_trace_close(struct trib_fios_trace *trace); /* a zeroed one is fine */

/* Watches from now on; the chunks must be blank (trib_fios_trace_wipe). */
void trib_fios_trace_begin(struct trib_fios_trace *trace, uint64_t block_clock, uint64_t length_blocks, uint64_t seed);
/* Forgets chunks [from, to), so that the caller may spread it. */
void trib_fios_trace_wipe(struct trib_fios_trace *trace, uint32_t from, uint32_t to);

/* One page of a write, lba < blocks; the pages of a request come in order. */
void trib_fios_trace_write(struct trib_fios_trace *trace, const struct trib_placement *page);
void trib_fios_trace_discard(struct trib_fios_trace *trace, uint64_t lba, uint64_t blocks, uint64_t block_clock);

bool trib_fios_trace_samples(const struct trib_fios_trace *trace, uint32_t chunk);

/* All but gb_per_day, which is set to 0. Writes that come at even distances (no variance) count as
 * perfectly correlated. */
struct trib_fios_attributes trib_fios_trace_attributes(const struct trib_fios_trace *trace);

TRIB_C_END
#endif
