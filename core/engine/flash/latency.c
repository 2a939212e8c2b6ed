/* SPDX-License-Identifier: Apache-2.0 */
/* When things happen, in virtual time. Channels x dies; host and garbage collection compete for
 * them. A die programs and erases in order of arrival and suspends either for a read.
 * docs/decisions/0003-flash-model.md says what is not modelled.
 *
 * A wordline is pages_per_program consecutive pages of a superblock; wordlines go round over the
 * dies. Its pages gather in the drive's buffer; the last one sends them over the channel to the
 * die, where one wordline may wait while another is programmed. A write is answered when its page
 * is in the buffer, or has left it if it was the last of its wordline: that is the back-pressure.
 * The host keeps queue_depth commands in flight: the next is issued when the first of them
 * completes.
 *
 * Channels are modelled by their backlog of transfers, not by a schedule: a transfer that has to
 * wait for its die does not keep the channel from others that are ready. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flash/internal.h"

#define PAGE_BYTES    4096.0
#define NS_PER_US     1000.0
#define US_PER_SECOND 1e6
/* Histogram: 32 steps per factor of two (3 % wide), values below 32 ns exactly. */
#define STEP_BITS 5u
#define BUCKETS   ((64u - STEP_BITS) << STEP_BITS)

struct flash_latency {
    struct trib_flash_latency config;
    uint32_t dies;
    double transfer_us;       /* one page over a channel */
    double *die_free_us;      /* end of the last program or erase queued, put off by the reads since */
    double *die_read_us;      /* end of the last read */
    double *register_free_us; /* start of the last program queued: the next wordline may be sent */
    double *channel_busy_us;  /* end of the backlog of transfers */
    double *in_flight_us;     /* min-heap of completion times */
    uint32_t in_flight;
    double issued_us, done_us, reset_us; /* last command issued; last completion; completion at reset */
    double latency_us_sum;
    uint64_t writes;
    uint64_t histogram[BUCKETS]; /* write latencies, ns */
};

static double later(double a, double b) {
    return a > b ? a : b;
}

static uint32_t bucket_of(uint64_t ns) {
    if (ns < 1u << STEP_BITS)
        return (uint32_t)ns;
    uint32_t octave = 63u - (uint32_t)__builtin_clzll(ns) - STEP_BITS;
    return ((octave + 1) << STEP_BITS) + (uint32_t)(ns >> octave & ((1u << STEP_BITS) - 1));
}

static double bucket_middle_ns(uint32_t bucket) {
    if (bucket < 1u << STEP_BITS)
        return bucket;
    uint32_t octave = (bucket >> STEP_BITS) - 1;
    uint64_t low = (uint64_t)((1u << STEP_BITS) + (bucket & ((1u << STEP_BITS) - 1))) << octave;
    return (double)low + (double)(1ull << octave) / 2;
}

int flash_latency_open(struct trib_flash *f) {
    const struct trib_flash_latency *c = &f->config.latency;
    if (c->channels == 0)
        return 0;
    struct flash_latency *l = f->latency = calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;
    l->config = *c;
    l->dies = c->channels * c->dies_per_channel;
    l->transfer_us = PAGE_BYTES / c->channel_mb_per_s; /* MB/s is bytes per microsecond */
    l->die_free_us = calloc(l->dies, sizeof(double));
    l->die_read_us = calloc(l->dies, sizeof(double));
    l->register_free_us = calloc(l->dies, sizeof(double));
    l->channel_busy_us = calloc(c->channels, sizeof(double));
    l->in_flight_us = calloc(c->queue_depth, sizeof(double));
    if (!l->die_free_us || !l->die_read_us || !l->register_free_us || !l->channel_busy_us || !l->in_flight_us)
        return -ENOMEM;
    f->memory_bytes += sizeof *l + (3u * l->dies + c->channels + c->queue_depth) * sizeof(double);
    return 0;
}

void flash_latency_close(struct trib_flash *f) {
    if (!f->latency)
        return;
    free(f->latency->die_free_us);
    free(f->latency->die_read_us);
    free(f->latency->register_free_us);
    free(f->latency->channel_busy_us);
    free(f->latency->in_flight_us);
    free(f->latency);
}

static double heap_take(struct flash_latency *l) {
    double *heap = l->in_flight_us, top = heap[0], moved = heap[--l->in_flight];
    uint32_t hole = 0, child;
    while ((child = 2 * hole + 1) < l->in_flight) {
        if (child + 1 < l->in_flight && heap[child + 1] < heap[child])
            child++;
        if (moved <= heap[child])
            break;
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = moved;
    return top;
}

static void heap_put(struct flash_latency *l, double value) {
    uint32_t hole = l->in_flight++;
    for (; hole > 0 && value < l->in_flight_us[(hole - 1) / 2]; hole = (hole - 1) / 2)
        l->in_flight_us[hole] = l->in_flight_us[(hole - 1) / 2];
    l->in_flight_us[hole] = value;
}

double flash_latency_begin(struct flash_latency *l) {
    if (l->in_flight == l->config.queue_depth)
        l->issued_us = later(l->issued_us, heap_take(l));
    return l->issued_us;
}

void flash_latency_end(struct flash_latency *l, double issued_us, double done_us, bool is_write) {
    heap_put(l, done_us);
    l->done_us = later(l->done_us, done_us);
    if (!is_write)
        return;
    l->latency_us_sum += done_us - issued_us;
    l->writes++;
    l->histogram[bucket_of((uint64_t)((done_us - issued_us) * NS_PER_US))]++;
}

struct place {
    uint32_t die, channel;
    uint32_t gathered; /* pages of the wordline in the buffer, this one included */
    bool last;         /* of the wordline or of the superblock */
};

static struct place place_of(const struct trib_flash *f, uint32_t page) {
    const struct trib_flash_latency *c = &f->latency->config;
    uint32_t offset = page - flash_superblock_of(f, page) * f->superblock_pages;
    uint32_t wordline = offset / c->pages_per_program;
    struct place p = {.die = wordline % f->latency->dies, .gathered = offset % c->pages_per_program + 1};
    p.channel = p.die % c->channels;
    p.last = p.gathered == c->pages_per_program || offset + 1 == f->superblock_pages;
    return p;
}

/* When `pages` are over the channel if their sender is ready at `ready_us` and asked for the
 * channel at `now_us`. */
static double transfer(struct flash_latency *l, struct place p, uint32_t pages, double now_us, double ready_us) {
    double us = pages * l->transfer_us;
    l->channel_busy_us[p.channel] = later(l->channel_busy_us[p.channel], now_us) + us;
    return later(ready_us + us, l->channel_busy_us[p.channel]);
}

/* Sends a wordline to its die and programs it; returns when the buffer is free again. */
static double program_wordline(struct flash_latency *l, struct place p, double now_us) {
    double sent = transfer(l, p, p.gathered, l->issued_us, later(now_us, l->register_free_us[p.die]));
    l->register_free_us[p.die] = later(sent, l->die_free_us[p.die]);
    l->die_free_us[p.die] = l->register_free_us[p.die] + l->config.program_us;
    return sent;
}

double flash_latency_program(struct trib_flash *f, uint32_t page, double now_us) {
    struct place p = place_of(f, page);
    double buffered_us = now_us + f->latency->transfer_us;
    return p.last ? later(buffered_us, program_wordline(f->latency, p, now_us)) : buffered_us;
}

static double read_page(struct flash_latency *l, struct place p, double now_us) {
    l->die_read_us[p.die] = later(now_us, l->die_read_us[p.die]) + l->config.read_us;
    l->die_free_us[p.die] = later(now_us, l->die_free_us[p.die]) + l->config.read_us;
    return transfer(l, p, 1, now_us, l->die_read_us[p.die]);
}

/* A page that was never written is answered from the map. */
double flash_latency_read(struct trib_flash *f, uint32_t page, double now_us) {
    if (page == FLASH_UNMAPPED)
        return now_us + f->latency->transfer_us;
    return read_page(f->latency, place_of(f, page), now_us);
}

void flash_latency_copy(struct trib_flash *f, uint32_t from, uint32_t to) {
    struct place target = place_of(f, to);
    double read_us = read_page(f->latency, place_of(f, from), f->latency->issued_us);
    if (target.last)
        (void)program_wordline(f->latency, target, read_us);
}

void flash_latency_pad(struct trib_flash *f, uint32_t first_unwritten) {
    struct place p = place_of(f, first_unwritten - 1);
    if (!p.last)
        (void)program_wordline(f->latency, p, f->latency->issued_us);
}

void flash_latency_erase(struct trib_flash *f, uint32_t superblock) {
    struct flash_latency *l = f->latency;
    (void)superblock; /* has a block on every die */
    for (uint32_t i = 0; i < l->dies; i++)
        l->die_free_us[i] = later(l->die_free_us[i], l->issued_us) + l->config.erase_us;
}

/* Translation pages lie on the dies in turn, each programmed alone. */
static struct place place_of_slot(const struct flash_latency *l, uint32_t slot) {
    struct place p = {.die = slot % l->dies, .gathered = 1, .last = true};
    p.channel = p.die % l->config.channels;
    return p;
}

double flash_latency_map_read(struct trib_flash *f, uint32_t slot, double now_us) {
    return read_page(f->latency, place_of_slot(f->latency, slot), now_us);
}

void flash_latency_map_program(struct trib_flash *f, uint32_t slot) {
    (void)program_wordline(f->latency, place_of_slot(f->latency, slot), f->latency->issued_us);
}

double flash_latency_now(const struct flash_latency *l) {
    return l->issued_us;
}

void flash_latency_reset(struct flash_latency *l) {
    l->reset_us = l->done_us;
    l->latency_us_sum = 0;
    l->writes = 0;
    memset(l->histogram, 0, sizeof l->histogram);
}

static double percentile_us(const struct flash_latency *l, double share) {
    uint64_t rank = (uint64_t)ceil(share * (double)l->writes), seen = 0;
    for (uint32_t i = 0; i < BUCKETS; i++) {
        seen += l->histogram[i];
        if (seen >= rank)
            return bucket_middle_ns(i) / NS_PER_US;
    }
    return 0;
}

void flash_latency_statistics(const struct flash_latency *l, struct trib_flash_stats *out) {
    out->virtual_seconds = (l->done_us - l->reset_us) / US_PER_SECOND;
    if (l->writes == 0)
        return;
    out->write_latency_us_mean = l->latency_us_sum / (double)l->writes;
    out->write_latency_us_p99 = percentile_us(l, 0.99);
}
