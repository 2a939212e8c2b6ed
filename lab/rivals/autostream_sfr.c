/* SPDX-License-Identifier: Apache-2.0 */
/* Paper       Yang et al., "AutoStream: Automatic Stream Management for Multi-streamed SSDs",
 *             SYSTOR'17: SFR (sequentiality, frequency, recency).
 * Idea        Data in a region that is written often die soon. Count the requests to each chunk of
 *             the address space, let the count decay with time, and give a write the stream of its
 *             count's logarithm: S0 the coldest, the last stream the hottest. A request that begins
 *             where the thread's last one ended gets that one's stream. The table is updated behind
 *             the request, so a request goes by what was counted before it.
 * Uses        Block address, submitting thread.
 * Constants   Chunk 1 MiB (TCE'21's account). The paper's periods are not public. decay: ours, 1 %
 * of the capacity written, which is what 30 s (PCStream's emulator) are on a 480 GB drive at 160
 * MB/s; aging: 30 decays, as in the tuning study that starts from 1200 s and 36000 s. Logarithm to
 * base 2, at most 32 threads followed: ours. Deviations  Time is what reached the drive, not
 * seconds: a replay has no seconds. What `aging` does is published nowhere; here, at the end of
 * each such period, the counts of chunks that were not written in it are halved. That is worked out
 * when a chunk is next looked at, with the same result as a sweep. Every chunk that a request
 * touches counts it, sequential or not. Trims are not looked at: nothing says that AutoStream sees
 *             them.
 * Cost        place: a division, a look into at most 32 trackers (the first, with one thread), 16
 *             bytes per chunk touched. Memory: 16 bytes per chunk. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rivals/autostream.h"
#include "rivals/rivals.h"

#define TRACKERS_MAX 32
#define SHIFT_MAX    63 /* halved that often, nothing is left of a count */

enum decay_exponent { DECAY_FLOOR, DECAY_REAL };

struct settings {
    uint64_t chunk_bytes;
    double decay_percent, aging_percent;
    int decay_exponent;
};

#define FIELD(name) offsetof(struct settings, name)

/* clang-format off */
static const struct trib_option_spec options[] = {
    {.key = "chunk", .fallback = TRIB_AUTOSTREAM_CHUNK_FALLBACK, .type = TRIB_OPTION_SIZE,
     .offset = FIELD(chunk_bytes), .minimum = TRIB_BLOCK_BYTES,
     .maximum = TRIB_AUTOSTREAM_CHUNK_MAX, .help = "bytes of the address space counted together"},
    {.key = "decay", .fallback = "1", .type = TRIB_OPTION_PERCENT, .offset = FIELD(decay_percent),
     .minimum = 0.0001, .maximum = 1000000,
     .help = "of the capacity written halves a count (paper: decay_sec)"},
    {.key = "decay_exponent", .fallback = "floor", .type = TRIB_OPTION_ENUM,
     .offset = FIELD(decay_exponent), .choices = "floor|real",
     .help = "whole decay periods only, or parts of them, too"},
    {.key = "aging", .fallback = "30", .type = TRIB_OPTION_PERCENT, .offset = FIELD(aging_percent),
     .minimum = 0, .maximum = 100000000,
     .help = "of the capacity written between halving unwritten chunks; 0: never (freq_aging_sec)"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

struct chunk {
    double count;        /* 0: never written */
    uint64_t last_block; /* block clock of the last request */
};

struct tracker { /* where a thread's last request ended, and its stream */
    uint64_t end_lba;
    uint32_t thread;
    uint16_t stream;
};

struct sfr {
    struct trib_autostream_chunks chunks;
    struct chunk *table;
    struct tracker trackers[TRACKERS_MAX]; /* last used first */
    uint32_t tracker_count;
    uint32_t streams;
    uint64_t decay_blocks, aging_blocks; /* aging 0: never */
    int decay_exponent;
};

static uint64_t share_of(uint64_t blocks, double percent) {
    double share = (double)blocks * percent / 100;
    return share < 1 ? 1 : (uint64_t)share;
}

static int sfr_open(void **self, const struct trib_policy_env *env, struct trib_options *given,
                    struct trib_error *error) {
    struct settings settings;
    struct trib_autostream_chunks chunks;
    int code = trib_options_take(given, options, &settings, error);
    if (!code)
        code = trib_autostream_chunks_open(&chunks, "autostream-sfr", settings.chunk_bytes, env, error);
    if (code)
        return code;
    struct sfr *sfr = calloc(1, sizeof *sfr);
    struct chunk *table = calloc(chunks.count, sizeof *table);
    if (!sfr || !table) {
        free(table);
        free(sfr);
        return trib_fail(error, -ENOMEM, "autostream-sfr: no memory for %u chunks", chunks.count);
    }
    sfr->chunks = chunks;
    sfr->table = table;
    sfr->streams = env->streams;
    sfr->decay_blocks = share_of(env->blocks, settings.decay_percent);
    if (settings.aging_percent > 0)
        sfr->aging_blocks = share_of(env->blocks, settings.aging_percent);
    sfr->decay_exponent = settings.decay_exponent;
    *self = sfr;
    return 0;
}

static void sfr_close(void *self) {
    struct sfr *sfr = self;
    free(sfr->table);
    free(sfr);
}

/* Periods that ended without a request to the chunk: not the one of its last request. */
static double aged(const struct sfr *sfr, const struct chunk *chunk, uint64_t now) {
    if (!sfr->aging_blocks)
        return chunk->count;
    uint64_t ends = now / sfr->aging_blocks - chunk->last_block / sfr->aging_blocks;
    if (ends <= 1)
        return chunk->count;
    return ends - 1 > SHIFT_MAX ? 0 : ldexp(chunk->count, -(int)(ends - 1));
}

static uint16_t stream_of(const struct sfr *sfr, uint32_t index, uint64_t now) {
    return trib_autostream_level((uint64_t)aged(sfr, &sfr->table[index], now), sfr->streams);
}

static double decayed(const struct sfr *sfr, double count, uint64_t elapsed) {
    uint64_t periods = elapsed / sfr->decay_blocks;
    if (periods >= SHIFT_MAX)
        return 0;
    if (sfr->decay_exponent == DECAY_FLOOR)
        return periods ? ldexp(count, -(int)periods) : count;
    return count * exp2(-(double)elapsed / (double)sfr->decay_blocks);
}

static void count_request(struct sfr *sfr, uint32_t index, uint64_t now) {
    struct chunk *chunk = &sfr->table[index];
    double count = decayed(sfr, aged(sfr, chunk, now) + 1, now - chunk->last_block);
    chunk->count = fmax(1, count); /* this request */
    chunk->last_block = now;
}

/* The thread's tracker, moved to the front; a new one (or the longest unused) ends nowhere. */
static struct tracker *tracker_of(struct sfr *sfr, uint32_t thread) {
    uint32_t i = 0;
    while (i < sfr->tracker_count && sfr->trackers[i].thread != thread)
        i++;
    if (i == 0 && sfr->tracker_count > 0)
        return sfr->trackers;
    struct tracker found = {.end_lba = TRIB_LBA_UNKNOWN, .thread = thread};
    if (i < sfr->tracker_count)
        found = sfr->trackers[i];
    else if (sfr->tracker_count < TRACKERS_MAX)
        sfr->tracker_count++;
    else
        i--;
    memmove(&sfr->trackers[1], sfr->trackers, i * sizeof *sfr->trackers);
    sfr->trackers[0] = found;
    return sfr->trackers;
}

static uint16_t sfr_place(void *self, const struct trib_placement *write) {
    struct sfr *sfr = self;
    struct trib_autostream_range touched = trib_autostream_range(&sfr->chunks, write);
    struct tracker *tracker = tracker_of(sfr, write->thread);
    if (write->lba != tracker->end_lba)
        tracker->stream = stream_of(sfr, touched.first, write->block_clock);
    tracker->end_lba = write->lba + write->length_bytes / TRIB_BLOCK_BYTES;
    for (uint32_t i = touched.first; i <= touched.last; i++)
        count_request(sfr, i, write->block_clock);
    return tracker->stream;
}

static uint64_t sfr_memory_bytes(void *self) {
    const struct sfr *sfr = self;
    return sizeof *sfr + (uint64_t)sfr->chunks.count * sizeof *sfr->table;
}

const struct trib_policy trib_policy_autostream_sfr = {
    .name = "autostream-sfr",
    .summary = "requests per chunk, decaying, and sequences (SYSTOR'17)",
    .options = options,
    .needs = TRIB_NEEDS_LBA,
    .open = sfr_open,
    .close = sfr_close,
    .place = sfr_place,
    .memory_bytes = sfr_memory_bytes,
};
