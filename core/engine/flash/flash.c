/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of flash.h that change the drive, except open. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "flash/internal.h"

#define PRECONDITION_BATCH 256u

static bool in_range(const struct trib_flash *f, uint64_t lba, uint64_t pages) {
    return pages > 0 && lba < f->logical_pages && pages <= f->logical_pages - lba;
}

static uint32_t host_class(struct trib_flash *f, uint16_t stream, uint32_t pages) {
    if (TRIB_LIKELY(stream < f->external_streams))
        return f->hands_out_numbers ? flash_substream_name(f, stream, pages) : stream;
    f->counters.remapped_writes += pages;
    return 0;
}

static void after_host_pages(struct trib_flash *f, struct flash_stream *s, uint32_t class, uint32_t pages) {
    if (TRIB_UNLIKELY(s != &f->streams[class]))
        f->counters.shared_pages += pages;
    if (TRIB_UNLIKELY(!flash_is_open(s)))
        flash_superblock_close(f, s);
}

/* `part` pages that fit into the open superblock of s. */
static inline void write_part(struct trib_flash *f, struct flash_stream *s, uint32_t class, uint32_t lba,
                              uint32_t part) {
    f->host_clock += part;
    f->streams[class].traffic.host_pages += part;
    for (uint32_t i = 0; i < part; i++)
        flash_program(f, s, lba + i);
    after_host_pages(f, s, class, part);
}

static void write_plain(struct trib_flash *f, uint32_t lba, uint32_t pages, uint32_t class) {
    while (pages > 0) {
        struct flash_stream *s = flash_room_for_host(f, class);
        uint32_t room = s->end - s->next, part = pages < room ? pages : room;
        write_part(f, s, class, lba, part);
        lba += part;
        pages -= part;
    }
}

/* One page at a time, for what is kept per page. Returns when the host has its answer, in
 * microseconds. */
static double write_recorded(struct trib_flash *f, uint32_t lba, uint32_t class, double now_us) {
    if (f->map)
        now_us = flash_map_access(f, lba, true, now_us);
    struct flash_stream *s = flash_room_for_host(f, class);
    uint32_t page = s->next;
    double done_us = now_us;
    f->host_clock++;
    f->streams[class].traffic.host_pages++;
    flash_program(f, s, lba);
    if (f->page_streams)
        f->page_streams[page] = (uint8_t) class;
    if (f->latency)
        done_us = flash_latency_program(f, page, now_us);
    after_host_pages(f, s, class, 1);
    return done_us;
}

static void write_command(struct trib_flash *f, uint32_t lba, uint32_t pages, uint32_t class) {
    if (!f->keeps_records) {
        write_plain(f, lba, pages, class);
        return;
    }
    double issued_us = f->latency ? flash_latency_begin(f->latency) : 0, done_us = issued_us;
    for (uint32_t i = 0; i < pages; i++) {
        double page_us = write_recorded(f, lba + i, class, issued_us);
        done_us = page_us > done_us ? page_us : done_us;
    }
    if (f->latency)
        flash_latency_end(f->latency, issued_us, done_us, true);
}

/* The one case that is worth its own path: few instructions between two cache misses let the
 * processor overlap the misses of several calls. */
static inline bool write_one(struct trib_flash *f, uint32_t lba, uint16_t stream) {
    struct flash_stream *s = &f->streams[stream];
    if (TRIB_UNLIKELY(stream >= f->external_streams || f->is_slow || !flash_is_open(s)))
        return false;
    write_part(f, s, stream, lba, 1);
    return true;
}

/* Not inlined: it would make the shortcut save registers that only this path needs. */
static __attribute__((noinline)) int write_any(struct trib_flash *f, uint64_t lba, uint32_t pages, uint16_t stream) {
    if (TRIB_UNLIKELY(!in_range(f, lba, pages)))
        return -EINVAL;
    write_command(f, (uint32_t)lba, pages, host_class(f, stream, pages));
    return 0;
}

int trib_flash_write(struct trib_flash *f, uint64_t lba, uint32_t pages, uint16_t stream) {
    if (TRIB_LIKELY(pages == 1 && lba < f->logical_pages) && write_one(f, (uint32_t)lba, stream))
        return 0;
    return write_any(f, lba, pages, stream);
}

int trib_flash_write_batch(struct trib_flash *f, const uint32_t *lbas, uint32_t count, uint16_t stream) {
    for (uint32_t i = 0; i < count; i++)
        if (lbas[i] >= f->logical_pages)
            return -EINVAL;
    for (uint32_t i = 0; i < count; i++) {
        if (i + FLASH_PREFETCH_PAGES < count)
            __builtin_prefetch(&f->logical_to_physical[lbas[i + FLASH_PREFETCH_PAGES]], 1);
        if (!write_one(f, lbas[i], stream))
            write_any(f, lbas[i], 1, stream);
    }
    return 0;
}

int trib_flash_discard(struct trib_flash *f, uint64_t lba, uint64_t pages) {
    if (!in_range(f, lba, pages))
        return -EINVAL;
    uint64_t mapped_before = f->mapped_pages;
    if (f->map)
        flash_map_discard(f, lba, pages);
    for (uint64_t i = lba; i < lba + pages; i++) {
        uint32_t page = f->logical_to_physical[i];
        if (page == FLASH_UNMAPPED)
            continue;
        f->logical_to_physical[i] = FLASH_UNMAPPED;
        f->mapped_pages--;
        flash_invalidate(f, page);
    }
    f->counters.discarded_pages += mapped_before - f->mapped_pages;
    return 0;
}

int trib_flash_read(struct trib_flash *f, uint64_t lba, uint32_t pages) {
    if (!in_range(f, lba, pages))
        return -EINVAL;
    f->counters.read_pages += pages;
    for (uint32_t i = 0; f->map && !f->latency && i < pages; i++)
        (void)flash_map_access(f, (uint32_t)lba + i, false, 0);
    if (!f->latency)
        return 0;
    double issued_us = flash_latency_begin(f->latency), done_us = issued_us;
    for (uint32_t i = 0; i < pages; i++) {
        double known_us = f->map ? flash_map_access(f, (uint32_t)lba + i, false, issued_us) : issued_us;
        double page_us = flash_latency_read(f, f->logical_to_physical[lba + i], known_us);
        done_us = page_us > done_us ? page_us : done_us;
    }
    flash_latency_end(f->latency, issued_us, done_us, false);
    return 0;
}

uint64_t trib_flash_mapped_pages(const struct trib_flash *f) {
    return f->mapped_pages;
}

uint32_t trib_flash_lookup(const struct trib_flash *f, uint64_t lba) {
    return lba < f->logical_pages ? f->logical_to_physical[lba] : FLASH_UNMAPPED;
}

void trib_flash_reset_counters(struct trib_flash *f) {
    memset(&f->counters, 0, sizeof f->counters);
    f->counters.open_superblocks_peak = f->open_count;
    f->host_clock_at_reset = f->host_clock;
    for (uint32_t i = 0; i < f->classes; i++)
        f->streams[i].traffic_at_reset = f->streams[i].traffic;
    if (f->latency)
        flash_latency_reset(f->latency);
    if (f->map)
        flash_map_reset(f->map);
}

int trib_flash_precondition(struct trib_flash *f, double random_rounds, bool reset) {
    if (!(random_rounds >= 0 && random_rounds <= 1e6))
        return -EINVAL;
    uint64_t random_pages = (uint64_t)(random_rounds * (double)f->logical_pages);
    for (uint64_t lba = 0; lba < f->logical_pages; lba++)
        write_command(f, (uint32_t)lba, 1, 0);
    while (random_pages > 0) {
        uint32_t lbas[PRECONDITION_BATCH];
        uint32_t count = random_pages < PRECONDITION_BATCH ? (uint32_t)random_pages : PRECONDITION_BATCH;
        for (uint32_t i = 0; i < count; i++)
            lbas[i] = flash_random(f, (uint32_t)f->logical_pages);
        (void)trib_flash_write_batch(f, lbas, count, 0); /* all in range */
        random_pages -= count;
    }
    if (reset)
        trib_flash_reset_counters(f);
    return 0;
}
