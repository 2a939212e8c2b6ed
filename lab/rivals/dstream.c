/* SPDX-License-Identifier: Apache-2.0 */
/* Paper       Lim, Shin, "DStream: Dynamic Memory Resizing for Multi-Streamed SSDs".
 * Idea        Every open stream takes buffer memory that the drive's mapping cache could use. Split
 *             the address space into partitions, count the overwrites in each, group them by
 *             k-means into as many streams as the counts call for, and give the memory of the
 *             others to the mapping cache (the drive's map_cache).
 * Uses        Block addresses.
 * Constants   Theirs: at most 200 partitions and 16 streams, k starts at 16, one timestamp is a
 *             block's worth of writes, 192 KB per stream out of 4 MB on a drive of 16 GB whose map
 *             is 16 MB. Ours: a superblock for "a block" (one is the drive's unit here), pool and
 *             buffers scaled with the map (a quarter of it, 3/64 of that), three rounds of k-means
 *             per timestamp, no split within four timestamps of a merge, no clustering while
 *             nothing was overwritten.
 * Deviations  mode=executable decides once per timestamp, by the farthest partition (see
 *             dstream_cluster.c; mode=literal: per partition, as printed). Streams are S1.., S1
 *             the coldest at first; a stream keeps its number when others merge or split. S0 until
 *             the first clustering. Trims clear a page without counting. A range of pages goes
 *             where its first page belongs. budget=growing is the other reading of the memory: the
 *             cache has its 4 MB at 16 streams and grows from there.
 * Cost        place: one bit per page. Clustering: O(N k) per timestamp, plus N k per merge.
 *             Memory: one bit per logical page. */
#include <errno.h>
#include <stdlib.h>

#include "rivals/dstream_cluster.h"
#include "rivals/rivals.h"

#define POOL_SHARE_OF_MAP   4  /* 4 MB of 16 MB */
#define MAP_BYTES_PER_BLOCK 4  /* 16 MB for 16 GB */
#define BUFFERS_PER_3_POOLS 64 /* 192 KB = 3/64 of 4 MB */
#define FALLBACK_UNIT_PAGES 1024

struct settings {
    int k, mode, budget;
    uint32_t lstreams, timestamp_pages, quiet_timestamps;
    uint64_t pool_bytes, buffer_bytes;
    double ewma;
};

#define FIELD(name) offsetof(struct settings, name)

/* clang-format off */
static const struct trib_option_spec options[] = {
    {.key = "k", .fallback = "adaptive", .type = TRIB_OPTION_ENUM, .offset = FIELD(k),
     .choices = "adaptive|1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16",
     .help = "number of streams; a number keeps it, for comparison"},
    {.key = "mode", .fallback = "executable", .type = TRIB_OPTION_ENUM, .offset = FIELD(mode),
     .choices = "executable|literal",
     .help = "merge or split once per timestamp, or per partition as printed"},
    {.key = "lstreams", .fallback = "200", .type = TRIB_OPTION_U32, .offset = FIELD(lstreams),
     .minimum = 1, .maximum = TRIB_DSTREAM_ELEMENTS_MAX,
     .help = "equal partitions of the address space (DStream: up to 200)"},
    {.key = "timestamp", .fallback = "0", .type = TRIB_OPTION_U32,
     .offset = FIELD(timestamp_pages), .minimum = 0, .maximum = 1 << 30,
     .help = "pages written between two clusterings; 0: a superblock"},
    {.key = "quiet", .fallback = "4", .type = TRIB_OPTION_U32, .offset = FIELD(quiet_timestamps),
     .minimum = 0, .maximum = 1 << 20, .help = "timestamps after a merge without a split"},
    {.key = "ewma", .fallback = "1", .type = TRIB_OPTION_DOUBLE, .offset = FIELD(ewma),
     .minimum = 0.001, .maximum = 1,
     .help = "weight of the last timestamp in the counts (DStream: 1)"},
    {.key = "pool", .fallback = "0", .type = TRIB_OPTION_SIZE, .offset = FIELD(pool_bytes),
     .minimum = 0, .maximum = 1099511627776.0,
     .help = "memory of cache and buffers; 0: a quarter of the map (DStream: 4M)"},
    {.key = "buffer", .fallback = "0", .type = TRIB_OPTION_SIZE, .offset = FIELD(buffer_bytes),
     .minimum = 0, .maximum = 1099511627776.0,
     .help = "of each stream; 0: 3/64 of the pool (DStream: 192K)"},
    {.key = "budget", .fallback = "shared", .type = TRIB_OPTION_ENUM, .offset = FIELD(budget),
     .choices = "shared|growing",
     .help = "the pool holds cache and buffers, or the cache alone at 16 streams"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

struct dstream {
    struct trib_dstream_clusters clusters;
    uint64_t *written; /* bit per logical page: holds data */
    uint64_t blocks, partition_blocks, timestamp_pages, written_pages;
    uint64_t pool_bytes, buffer_bytes;
    uint32_t moves; /* timestamps in which a partition changed stream */
    bool growing, overwritten;
    double ewma;
    double counts[TRIB_DSTREAM_ELEMENTS_MAX]; /* E_i so far in this timestamp */
    double values[TRIB_DSTREAM_ELEMENTS_MAX]; /* E_i as clustered */
};

static uint64_t words(const struct dstream *policy) {
    return (policy->blocks + 63) / 64;
}

static void dstream_close(void *self) {
    struct dstream *policy = self;
    free(policy->written);
    free(policy);
}

static void configure(struct dstream *policy, const struct settings *s, const struct trib_policy_env *env) {
    struct trib_dstream_clusters *k = &policy->clusters;
    uint32_t wanted = s->k ? (uint32_t)s->k : TRIB_DSTREAM_CLUSTERS_MAX;
    k->mode = s->k ? TRIB_DSTREAM_FIXED : (enum trib_dstream_mode)s->mode;
    k->clusters_max = k->used = wanted < env->streams ? wanted : env->streams;
    k->quiet_timestamps = s->quiet_timestamps;
    policy->blocks = env->blocks;
    policy->partition_blocks = (env->blocks + s->lstreams - 1) / s->lstreams;
    k->elements = (uint32_t)((env->blocks + policy->partition_blocks - 1) / policy->partition_blocks);
    policy->timestamp_pages = s->timestamp_pages        ? s->timestamp_pages
                              : env->reclaim_unit_bytes ? env->reclaim_unit_bytes / TRIB_BLOCK_BYTES
                                                        : FALLBACK_UNIT_PAGES;
    policy->pool_bytes = s->pool_bytes ? s->pool_bytes : env->blocks * MAP_BYTES_PER_BLOCK / POOL_SHARE_OF_MAP;
    policy->buffer_bytes = s->buffer_bytes ? s->buffer_bytes : 3 * policy->pool_bytes / BUFFERS_PER_3_POOLS;
    policy->growing = s->budget;
    policy->ewma = s->ewma;
}

static int dstream_open(void **self, const struct trib_policy_env *env, struct trib_options *given,
                        struct trib_error *error) {
    struct settings s;
    int code = trib_options_take(given, options, &s, error);
    if (code)
        return code;
    if (env->blocks == 0)
        return trib_fail(error, -EINVAL, "dstream: needs a drive, to partition its addresses");
    struct dstream *policy = calloc(1, sizeof *policy);
    if (!policy)
        return trib_fail(error, -ENOMEM, "dstream: out of memory");
    configure(policy, &s, env);
    policy->written = calloc(words(policy), sizeof *policy->written);
    if (!policy->written) {
        dstream_close(policy);
        return trib_fail(error, -ENOMEM, "dstream: no memory for a bitmap of %llu pages",
                         (unsigned long long)env->blocks);
    }
    *self = policy;
    return 0;
}

static void end_timestamp(struct dstream *policy) {
    struct trib_dstream_clusters *k = &policy->clusters;
    uint8_t before[TRIB_DSTREAM_ELEMENTS_MAX];
    bool was_seeded = k->seeded, moved = false;
    policy->written_pages = 0;
    if (k->clusters_max == 0 || !policy->overwritten)
        return;
    for (uint32_t i = 0; i < k->elements; i++) {
        policy->values[i] = (1 - policy->ewma) * policy->values[i] + policy->ewma * policy->counts[i];
        policy->counts[i] = 0;
        before[i] = k->label[i];
    }
    trib_dstream_step(k, policy->values);
    for (uint32_t i = 0; i < k->elements; i++)
        moved = moved || before[i] != k->label[i];
    policy->moves += was_seeded && moved;
}

static uint16_t dstream_place(void *self, const struct trib_placement *write) {
    struct dstream *policy = self;
    uint64_t end = write->lba + write->length_bytes / TRIB_BLOCK_BYTES;
    if (policy->written_pages >= policy->timestamp_pages)
        end_timestamp(policy);
    for (uint64_t lba = write->lba; lba < end && lba < policy->blocks; lba++) {
        uint64_t bit = 1ull << (lba & 63), *word = &policy->written[lba >> 6];
        if (*word & bit) {
            policy->counts[lba / policy->partition_blocks]++;
            policy->overwritten = true;
        }
        *word |= bit;
        policy->written_pages++;
    }
    if (!policy->clusters.seeded || write->lba >= policy->blocks)
        return 0;
    return 1u + policy->clusters.label[write->lba / policy->partition_blocks];
}

static void dstream_discarded(void *self, uint64_t lba, uint64_t blocks, uint64_t clock_bytes) {
    struct dstream *policy = self;
    (void)clock_bytes;
    for (uint64_t end = lba + blocks; lba < end && lba < policy->blocks; lba++)
        policy->written[lba >> 6] &= ~(1ull << (lba & 63));
}

static uint64_t dstream_map_cache_bytes(void *self) {
    const struct dstream *policy = self;
    uint64_t used = policy->clusters.used;
    if (policy->growing)
        return policy->pool_bytes + policy->buffer_bytes * (TRIB_DSTREAM_CLUSTERS_MAX - used);
    uint64_t buffers = policy->buffer_bytes * used;
    return policy->pool_bytes > buffers ? policy->pool_bytes - buffers : 0;
}

static uint32_t dstream_reclusterings(void *self) {
    return ((const struct dstream *)self)->moves;
}

static uint64_t dstream_memory_bytes(void *self) {
    const struct dstream *policy = self;
    return sizeof *policy + words(policy) * sizeof *policy->written;
}

const struct trib_policy trib_policy_dstream = {
    .name = "dstream",
    .summary = "as many streams as the update counts call for (DStream)",
    .options = options,
    .needs = TRIB_NEEDS_LBA,
    .open = dstream_open,
    .close = dstream_close,
    .place = dstream_place,
    .blocks = {.discarded = dstream_discarded, .map_cache_bytes = dstream_map_cache_bytes},
    .reclusterings = dstream_reclusterings,
    .memory_bytes = dstream_memory_bytes,
};
