/* SPDX-License-Identifier: Apache-2.0 */
/* What the drive can say about itself. Everything that can be derived is derived here, not kept on
 * the write path. */
#include <errno.h>

#include "flash/internal.h"

const struct flash_stream *flash_open_stream(const struct trib_flash *f, uint32_t superblock) {
    const struct flash_stream *s = &f->streams[f->superblock_class[superblock]];
    return flash_is_open(s) && s->superblock == superblock ? s : NULL;
}

uint32_t flash_valid_pages(const struct trib_flash *f, uint32_t superblock) {
    const struct flash_stream *s = flash_open_stream(f, superblock);
    return (f->keys[superblock] & ~FLASH_NOT_CLOSED) - (s ? s->end - s->next : 0);
}

static void wear_statistics(const struct trib_flash *f, struct trib_flash_stats *out) {
    uint64_t sum = 0;
    out->erase_count_min = UINT32_MAX;
    for (uint32_t i = 0; i < f->superblocks; i++) {
        uint32_t erases = f->erase_counts[i];
        sum += erases;
        out->erase_count_min = erases < out->erase_count_min ? erases : out->erase_count_min;
        out->erase_count_max = erases > out->erase_count_max ? erases : out->erase_count_max;
    }
    out->erase_count_mean = (double)sum / f->superblocks;
}

void trib_flash_statistics(const struct trib_flash *f, struct trib_flash_stats *out) {
    const struct flash_counters *c = &f->counters;
    *out = (struct trib_flash_stats){
        .host_pages = f->host_clock - f->host_clock_at_reset,
        .gc_pages = c->gc_pages,
        .erases = c->erases,
        .read_pages = c->read_pages,
        .discarded_pages = c->discarded_pages,
        .remapped_writes = c->remapped_writes,
        .shared_pages = c->shared_pages,
        .misplaced_pages = c->misplaced_pages,
        .early_closes = c->early_closes,
        .padded_pages = c->padded_pages,
        .mapped_pages = f->mapped_pages,
        .physical_pages = f->physical_pages,
        .closed_superblocks = f->closed_count,
        .free_superblocks = f->free_count,
        .open_superblocks = f->open_count,
        .open_superblocks_peak = c->open_superblocks_peak,
        .memory_bytes = f->memory_bytes,
    };
    for (uint32_t i = 0; i < f->external_streams; i++)
        out->streams_used += f->streams[i].traffic.host_pages > f->streams[i].traffic_at_reset.host_pages;
    wear_statistics(f, out);
    if (f->latency)
        flash_latency_statistics(f->latency, out);
    if (f->map)
        flash_map_statistics(f->map, out);
}

static bool known_as(const struct trib_flash *f, uint32_t class, uint16_t stream, bool internal) {
    return flash_class_is_internal(f, class) == internal && flash_class_number(f, class) == stream;
}

int trib_flash_stream_statistics(const struct trib_flash *f, uint16_t stream, bool internal,
                                 struct trib_flash_stream_stats *out) {
    struct trib_flash_stream_stats sum = {0};
    bool found = false;
    for (uint32_t c = 0; c < f->classes; c++) {
        const struct flash_stream *s = &f->streams[c];
        if (!known_as(f, c, stream, internal))
            continue;
        found = true;
        sum.host_pages += s->traffic.host_pages - s->traffic_at_reset.host_pages;
        sum.gc_pages_out += s->traffic.gc_pages_out - s->traffic_at_reset.gc_pages_out;
        sum.gc_pages_in += s->traffic.gc_pages_in - s->traffic_at_reset.gc_pages_in;
    }
    if (!found)
        return -EINVAL;
    for (uint32_t i = 0; i < f->superblocks; i++) {
        bool is_used = flash_is_closed(f, i) || flash_open_stream(f, i);
        if (!is_used || !known_as(f, f->superblock_class[i], stream, internal))
            continue;
        sum.superblocks++;
        sum.valid_pages += flash_valid_pages(f, i);
    }
    *out = sum;
    return 0;
}
