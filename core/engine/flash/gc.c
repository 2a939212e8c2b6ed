/* SPDX-License-Identifier: Apache-2.0 */
/* Garbage collection: where the survivors of a victim go, and moving them. */
#include <string.h>

#include "flash/internal.h"

uint32_t flash_destination(const struct trib_flash *f, uint32_t class) {
    bool internal = class >= f->external_streams;
    switch (f->config.gc) {
    case TRIB_GC_SAME:
        return class;
    case TRIB_GC_SHARED:
        return f->external_streams;
    case TRIB_GC_TWIN: /* no chaining: survivors of a twin stay in it */
    case TRIB_GC_PRESERVE:
        return internal ? class : class + f->external_streams;
    case TRIB_GC_SUBSTREAM:
    case TRIB_GC_CHAIN:
        return f->streams[class].substream ? f->streams[class].substream : class;
    case TRIB_GC_PSTREAM:
    case TRIB_GC_CLASS:
        break;
    }
    return FLASH_ASK;
}

bool flash_class_is_internal(const struct trib_flash *f, uint32_t class) {
    return class >= f->external_streams && f->config.gc != TRIB_GC_PRESERVE;
}

uint16_t flash_class_number(const struct trib_flash *f, uint32_t class) {
    return (uint16_t)(class >= f->external_streams ? class - f->external_streams : class);
}

/* Logical pages of the victim's survivors, into scratch. */
static uint32_t gather(struct trib_flash *f, uint32_t victim) {
    uint64_t first = (uint64_t)victim * f->superblock_pages, end = first + f->superblock_pages;
    uint32_t count = 0;
    for (uint64_t base = first & ~63ull; base < end; base += 64) {
        uint64_t bits = f->valid_bits[base >> 6];
        if (base < first)
            bits &= ~0ull << (first - base);
        if (end - base < 64)
            bits &= (1ull << (end - base)) - 1;
        const uint32_t *lbas = &f->physical_to_logical[base];
        for (; bits; bits &= bits - 1)
            f->scratch[count++] = lbas[__builtin_ctzll(bits)];
    }
    return count;
}

/* The table entries to change are scattered over the whole map: fetch them ahead. */
static void append(struct trib_flash *f, struct flash_stream *s, const uint32_t *lbas, uint32_t count) {
    uint32_t *map = f->logical_to_physical, page = s->next;
    memcpy(&f->physical_to_logical[page], lbas, count * sizeof *lbas);
    for (uint32_t i = 0; i < count; i++) {
        __builtin_prefetch(&map[lbas[i + FLASH_PREFETCH_PAGES]], 1);
        map[lbas[i]] = page + i;
    }
    s->next = page + count;
}

static void account(struct trib_flash *f, struct flash_stream *s, uint32_t wanted, uint32_t count) {
    s->traffic.gc_pages_in += count;
    if (TRIB_UNLIKELY(s != &f->streams[wanted]))
        f->counters.misplaced_pages += count;
    if (!flash_is_open(s))
        flash_superblock_close(f, s);
}

static uint32_t move_together(struct trib_flash *f, uint32_t victim, uint32_t class) {
    uint32_t count = gather(f, victim), done = 0;
    while (done < count) {
        struct flash_stream *s = flash_room_for_copy(f, class);
        uint32_t room = s->end - s->next, part = count - done < room ? count - done : room;
        append(f, s, f->scratch + done, part);
        account(f, s, class, part);
        done += part;
    }
    return count;
}

static uint32_t ask(struct trib_flash *f, uint32_t page, uint32_t lba, uint32_t victim_class) {
    const struct trib_flash_config *c = &f->config;
    uint16_t internal = c->relocate(c->gc_arg, lba, f->page_streams[page], flash_class_number(f, victim_class),
                                    flash_class_is_internal(f, victim_class));
    if (internal >= c->internal_streams) {
        f->counters.remapped_writes++;
        internal = 0;
    }
    return f->external_streams + internal;
}

/* Page by page: for a destination that differs by page, and for the latency model. */
static uint32_t move_each(struct trib_flash *f, uint32_t victim, uint32_t destination) {
    uint32_t from = victim * f->superblock_pages, end = from + f->superblock_pages, count = 0;
    uint32_t victim_class = f->superblock_class[victim];
    for (; from != end; from++) {
        if (!flash_bit(f, from))
            continue;
        uint32_t lba = f->physical_to_logical[from];
        uint32_t class = destination == FLASH_ASK ? ask(f, from, lba, victim_class) : destination;
        struct flash_stream *s = flash_room_for_copy(f, class);
        uint32_t to = s->next++;
        f->physical_to_logical[to] = lba;
        f->logical_to_physical[lba] = to;
        if (f->page_streams)
            f->page_streams[to] = f->page_streams[from];
        if (f->map)
            flash_map_moved(f, lba);
        if (f->latency)
            flash_latency_copy(f, from, to);
        account(f, s, class, 1);
        count++;
    }
    return count;
}

void flash_collect(struct trib_flash *f) {
    uint32_t victim = flash_victims_take(f);
    uint32_t valid = f->keys[victim] & ~FLASH_NOT_CLOSED;
    uint32_t class = f->superblock_class[victim];
    if (f->hands_out_numbers && valid > 0)
        flash_substream_consider(f, class, valid);
    uint32_t destination = flash_destination(f, class);
    uint32_t moved = 0;
    if (valid > 0)
        moved = destination == FLASH_ASK || f->latency || f->map ? move_each(f, victim, destination)
                                                                 : move_together(f, victim, destination);
    if (f->map)
        flash_map_collected(f);
    assert(moved == valid);
    f->streams[class].traffic.gc_pages_out += moved;
    f->counters.gc_pages += moved;
    f->copied_pages += moved;
    if (f->config.reclaimed)
        f->config.reclaimed(f->config.gc_arg, flash_class_number(f, class), flash_class_is_internal(f, class),
                            f->host_clock - f->opened_at[victim], f->host_clock - f->closed_at[victim]);
    flash_superblock_erase(f, victim);
}
