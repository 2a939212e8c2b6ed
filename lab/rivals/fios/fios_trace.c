/* SPDX-License-Identifier: Apache-2.0 */
#include "rivals/fios/fios_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "log/assert.h"

#define REGION_BLOCKS 256 /* of sampling: 1 MiB */
#define NO_CHUNK      UINT32_MAX

int trib_fios_trace_open(struct trib_fios_trace *trace, uint32_t blocks, uint32_t chunk_blocks) {
    *trace = (struct trib_fios_trace){.blocks = blocks, .chunk_blocks = chunk_blocks, .sample = 1};
    trace->chunks = (uint32_t)(((uint64_t)blocks + chunk_blocks - 1) / chunk_blocks);
    trace->request.next_lba = UINT64_MAX;
    trace->chunk = calloc(trace->chunks, sizeof *trace->chunk);
    trace->birth = calloc(blocks, sizeof *trace->birth);
    if (trace->chunk && trace->birth)
        return 0;
    trib_fios_trace_close(trace);
    return -ENOMEM;
}

void trib_fios_trace_close(struct trib_fios_trace *trace) {
    free(trace->chunk);
    free(trace->birth);
    *trace = (struct trib_fios_trace){0};
}

void trib_fios_trace_begin(struct trib_fios_trace *trace, uint64_t block_clock, uint64_t length_blocks, uint64_t seed) {
    trace->watching = true;
    trace->begin = block_clock;
    trace->length = length_blocks ? length_blocks : 1;
    trace->seed = seed;
    trace->request.chunk = NO_CHUNK;
    trace->requests = trace->sequential = trace->written_blocks = trace->distinct_blocks = 0;
    trace->gaps = 0;
    trace->gap_first = trace->gap_last = 0;
    trace->gap_sum = trace->gap_squares = trace->gap_products = 0;
    trace->lifetime_squares = 0;
}

void trib_fios_trace_wipe(struct trib_fios_trace *trace, uint32_t from, uint32_t to) {
    memset(trace->chunk + from, 0, (size_t)(to - from) * sizeof *trace->chunk);
}

bool trib_fios_trace_samples(const struct trib_fios_trace *trace, uint32_t chunk) {
    if (trace->sample <= 1)
        return true;
    uint64_t region = (uint64_t)chunk * trace->chunk_blocks / REGION_BLOCKS;
    uint64_t hash = trib_hash_mix(trib_hash_mix(trace->seed, region + 1), region);
    return (hash >> 32) % trace->sample == 0;
}

/* Time between two writes, on the clock of blocks: sums from which lag 1 follows. */
static void note_gap(struct trib_fios_trace *trace, uint64_t start) {
    double gap = (double)(start - trace->last_start);
    if (trace->requests > 0) {
        if (trace->gaps++ == 0)
            trace->gap_first = gap;
        else
            trace->gap_products += trace->gap_last * gap;
        trace->gap_last = gap;
        trace->gap_sum += gap;
        trace->gap_squares += gap * gap;
    }
    trace->last_start = start;
}

/* A page goes on with the request before if it is the next one of the same write of the host. */
static bool goes_on(const struct trib_fios_trace *trace, const struct trib_placement *page) {
    return page->lba == trace->request.next_lba && page->file == trace->request.file &&
           page->offset_bytes == trace->request.offset_bytes && page->clock_bytes == trace->request.clock_bytes;
}

static void begin_request(struct trib_fios_trace *trace, const struct trib_placement *page) {
    trace->request.sequential = page->lba == trace->request.next_lba;
    trace->request.file = page->file;
    trace->request.offset_bytes = page->offset_bytes;
    trace->request.clock_bytes = page->clock_bytes;
    trace->request.chunk = NO_CHUNK;
    if (!trace->watching)
        return;
    note_gap(trace, page->block_clock);
    trace->requests++;
    trace->sequential += trace->request.sequential;
}

static void touch_chunk(struct trib_fios_trace *trace, uint32_t index, uint64_t block_clock) {
    struct trib_fios_chunk *chunk = &trace->chunk[index];
    uint64_t since = block_clock - trace->begin;
    uint64_t window = since * TRIB_FIOS_WINDOWS / trace->length;
    trace->request.chunk = index;
    if (!trib_fios_trace_samples(trace, index))
        return;
    chunk->writes += chunk->writes < UINT32_MAX;
    chunk->sequential += trace->request.sequential && chunk->sequential < UINT32_MAX;
    chunk->last_write = since < UINT32_MAX ? (uint32_t)since : UINT32_MAX;
    chunk->windows |= 1ull << (window < TRIB_FIOS_WINDOWS ? window : TRIB_FIOS_WINDOWS - 1);
}

static uint32_t age_of(const struct trib_fios_trace *trace, uint64_t lba, uint64_t block_clock) {
    return (uint32_t)(block_clock + 1) - trace->birth[lba];
}

static void note_death(struct trib_fios_trace *trace, uint64_t lba, uint64_t block_clock) {
    uint32_t index = (uint32_t)(lba / trace->chunk_blocks);
    struct trib_fios_chunk *chunk = &trace->chunk[index];
    double age = age_of(trace, lba, block_clock);
    if (!trib_fios_trace_samples(trace, index) || chunk->deaths == UINT32_MAX)
        return;
    chunk->deaths++;
    chunk->lifetimes += age_of(trace, lba, block_clock);
    trace->lifetime_squares += age * age;
}

void trib_fios_trace_write(struct trib_fios_trace *trace, const struct trib_placement *page) {
    uint32_t index = (uint32_t)(page->lba / trace->chunk_blocks);
    TRIB_HOT_ASSERT(page->lba < trace->blocks);
    if (!goes_on(trace, page))
        begin_request(trace, page);
    trace->request.next_lba = page->lba + 1;
    uint32_t birth = trace->birth[page->lba];
    if (trace->watching) {
        uint64_t since = page->block_clock - trace->begin;
        trace->written_blocks++;
        trace->distinct_blocks += birth == 0 || age_of(trace, page->lba, page->block_clock) > since;
        if (index != trace->request.chunk)
            touch_chunk(trace, index, page->block_clock);
        if (birth)
            note_death(trace, page->lba, page->block_clock);
    }
    birth = (uint32_t)(page->block_clock + 1);
    trace->birth[page->lba] = birth ? birth : 1; /* 0 says never; once in 16 TiB one block off */
}

void trib_fios_trace_discard(struct trib_fios_trace *trace, uint64_t lba, uint64_t blocks, uint64_t block_clock) {
    for (uint64_t page = lba; page - lba < blocks && page < trace->blocks; page++) {
        if (trace->birth[page] && trace->watching)
            note_death(trace, page, block_clock);
        trace->birth[page] = 0;
    }
}

/* Lag-1 autocorrelation from sums: of (x_i - mean)(x_i+1 - mean) over the variance. */
static double autocorrelation(const struct trib_fios_trace *trace) {
    double count = (double)trace->gaps;
    if (trace->gaps < 2)
        return 0;
    double mean = trace->gap_sum / count;
    double variance = trace->gap_squares - count * mean * mean;
    if (variance <= 1e-9 * trace->gap_squares)
        return 1; /* a clockwork */
    double products = trace->gap_products - mean * (2 * trace->gap_sum - trace->gap_first - trace->gap_last) +
                      (count - 1) * mean * mean;
    return products / variance;
}

struct trib_fios_attributes trib_fios_trace_attributes(const struct trib_fios_trace *trace) {
    struct trib_fios_attributes found = {.autocorrelation = autocorrelation(trace)};
    double requests = (double)trace->requests, written = (double)trace->written_blocks;
    if (!trace->requests)
        return found;
    found.random_percent = 100 * (requests - (double)trace->sequential) / requests;
    found.write_kib = written * (TRIB_BLOCK_BYTES / 1024.0) / requests;
    found.reuse = trace->distinct_blocks ? written / (double)trace->distinct_blocks : 0;
    return found;
}
