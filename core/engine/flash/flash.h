/* SPDX-License-Identifier: Apache-2.0 */
/* The emulated multi-stream drive: superblock page mapping with external (host) and internal
 * (garbage collection) streams. Knows no policy, no NVMe, no files. Deterministic for a seed.
 * Thread safety: one caller. Invariants after every call: one live copy per mapped logical page;
 * valid counts add up to the mapped pages; a free superblock holds no data; host writes never fail
 * for lack of space while lba < exported pages. */
#ifndef TRIB_FLASH_FLASH_H
#define TRIB_FLASH_FLASH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tributary/error.h>

#include "flash/rules.h"

TRIB_C_BEGIN

struct trib_flash;

/* Destination of a page under collection: internal stream 0..internal_streams-1. `stream` is the
 * external stream the host wrote the page to; `victim_class` the victim's internal stream, or its
 * external one. Asked only by PSTREAM and CLASS. A number out of range is taken as internal stream
 * 0 and counted in remapped_writes. Must not call the drive. */
typedef uint16_t trib_flash_relocate_fn(void *arg, uint64_t lba, uint16_t stream, uint16_t victim_class,
                                        bool victim_internal);

/* A victim's survivors have been moved. stream: external or internal number of the victim; ages in
 * host pages since it was opened and closed. Must not call the drive. */
typedef void trib_flash_reclaimed_fn(void *arg, uint16_t stream, bool internal, uint64_t opened_age,
                                     uint64_t closed_age);

struct trib_flash_latency { /* microseconds; 0 channels = model off */
    uint32_t channels, dies_per_channel;
    double read_us, program_us, erase_us; /* per NAND page (program: per wordline of pages_per_program) */
    double channel_mb_per_s;
    uint32_t pages_per_program; /* logical pages programmed at once on a die */
    uint32_t queue_depth;       /* host commands in flight, closed loop */
};

struct trib_flash_config {
    uint64_t logical_pages;    /* exported, 4 KiB each; 1.. ; physical pages stay below 2^32 */
    double over_provisioning;  /* physical / logical - 1, e.g. 0.07; rounded up to whole superblocks */
    uint32_t superblock_pages; /* 2..2^24; striped over all dies */
    uint32_t streams;          /* external streams besides S0: host may name 0..streams; 0..254 */
    uint32_t internal_streams; /* for PSTREAM and CLASS, 1..255; TWIN and PRESERVE use streams + 1 */
    enum trib_gc_destination gc;
    enum trib_victim victim;
    uint32_t substream_pages; /* for SUBSTREAM, below superblock_pages */
    uint32_t victim_choices;  /* d of D_CHOICES, 1..64 */
    uint32_t gc_free_low;     /* collect while free superblocks < this; 0 = 2, the smallest number that
                                 cannot wedge */
    uint64_t seed;
    uint64_t map_cache_bytes; /* of the mapping table in memory; 0 = all of it, nothing modelled */
    uint32_t map_entry_bytes; /* per logical page, 1..4096; 0 = 4 */
    trib_flash_relocate_fn *relocate;
    trib_flash_reclaimed_fn *reclaimed; /* may be NULL */
    void *gc_arg;                       /* of both */
    struct trib_flash_latency latency;
};

struct trib_flash_stats {
    uint64_t host_pages, gc_pages, erases, read_pages;
    uint64_t discarded_pages; /* mapped pages that a discard unmapped */
    uint64_t remapped_writes; /* pages written (or relocated) to a stream that the drive does not have */
    uint64_t shared_pages;    /* host pages that had to go to another stream's open superblock: too
                                 many were open */
    uint64_t misplaced_pages; /* copies that had to go to another destination's open superblock */
    uint64_t early_closes;    /* superblocks closed before they were full, because idle while space was
                                 short */
    uint64_t padded_pages;    /* pages that these closes left unwritten; not programmed, not in gc_pages */
    uint64_t mapped_pages, physical_pages;
    uint64_t closed_superblocks, free_superblocks, open_superblocks, open_superblocks_peak;
    uint32_t streams_used;
    uint32_t erase_count_min, erase_count_max; /* wear: over the drive's life, a counter reset leaves it alone */
    double erase_count_mean;
    double virtual_seconds;
    double write_latency_us_mean, write_latency_us_p99;
    /* Translation pages of the mapping cache; all 0 without one. reads = misses + gc_updates +
     * copies, programs = evictions + gc_updates + copies. */
    uint64_t map_lookups; /* by the host: one per page written or read, one per translation page of
                             a discard */
    uint64_t map_misses;  /* of them, that had to read flash */
    uint64_t map_reads, map_programs;
    uint64_t map_evictions;  /* of dirty pages */
    uint64_t map_gc_updates; /* copied pages whose entries were not cached, once per victim */
    uint64_t map_copies;     /* by collection of the pool's own blocks */
    uint64_t map_cache_bytes;
    uint64_t memory_bytes; /* all tables of the model */
};

struct trib_flash_stream_stats {
    uint64_t host_pages;   /* the host named this stream */
    uint64_t gc_pages_out; /* copied out of its superblocks */
    uint64_t gc_pages_in;  /* copied into its superblocks */
    uint64_t superblocks;  /* closed and open now */
    uint64_t valid_pages;  /* in them */
};

int trib_flash_open(struct trib_flash **out, const struct trib_flash_config *config, struct trib_error *error);
void trib_flash_close(struct trib_flash *flash);

/* 0; -EINVAL (zero pages, beyond the exported range). stream > streams: S0, counted as remapped
 * (real drives). */
int trib_flash_write(struct trib_flash *flash, uint64_t lba, uint32_t pages, uint16_t stream);
/* The same as `count` single-page writes in that order, but the cache misses of neighbours overlap.
 * On -EINVAL none was written. */
int trib_flash_write_batch(struct trib_flash *flash, const uint32_t *lbas, uint32_t count, uint16_t stream);
int trib_flash_discard(struct trib_flash *flash, uint64_t lba, uint64_t pages);
int trib_flash_read(struct trib_flash *flash, uint64_t lba, uint32_t pages); /* time only */

/* Pages that hold data now; O(1), unlike the statistics. */
uint64_t trib_flash_mapped_pages(const struct trib_flash *flash);

/* Physical page of a logical one, or UINT32_MAX: lets a block store keep data per physical or
 * logical page. */
uint32_t trib_flash_lookup(const struct trib_flash *flash, uint64_t lba);

/* How much of the mapping table is cached from now on, at least one translation page; what does
 * not fit any more is evicted. Nothing happens on a drive without a mapping cache. */
void trib_flash_resize_map_cache(struct trib_flash *flash, uint64_t bytes);

/* Writes every logical page once, sequentially, then `random_rounds` times the exported size
 * uniformly, so that a test starts from a full drive in steady state (all of it in S0); counters
 * are reset afterwards if asked. 0 or -EINVAL (negative or not a number). */
int trib_flash_precondition(struct trib_flash *flash, double random_rounds, bool reset_counters);
/* What was written so far no longer counts; wear does. */
void trib_flash_reset_counters(struct trib_flash *flash);

void trib_flash_statistics(const struct trib_flash *flash, struct trib_flash_stats *out);
/* stream: 0..streams, or with `internal` 0..internal_streams-1. 0 or -EINVAL. */
int trib_flash_stream_statistics(const struct trib_flash *flash, uint16_t stream, bool internal,
                                 struct trib_flash_stream_stats *out);

/* Checks every invariant from first principles, O(pages). 0; -EBADMSG with the first broken one;
 * -ENOMEM. */
int trib_flash_check(const struct trib_flash *flash, struct trib_error *error);

/* JSON for plots: geometry, counters, per superblock {state, stream, internal, valid, erases, age}.
 * 0 or -EIO. */
int trib_flash_dump(const struct trib_flash *flash, FILE *out);

TRIB_C_END
#endif
