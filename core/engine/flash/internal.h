/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the flash room share. Thread safety: one caller, as flash.h.
 *
 * A physical page is a number; page p belongs to superblock p / superblock_pages. A superblock is
 * free, open (a stream appends to it) or closed. A "class" is a stream number inside the room: the
 * external streams 0..E-1, then the internal ones. Every superblock belongs to the class that
 * opened it.
 *
 * Why it cannot wedge. N superblocks, of which the exported pages fill D; S = N - D are spare;
 * L = gc_free_low >= 2.
 *
 *   1. The host takes a free superblock only while free >= L, so free >= L - 1 >= 1 whenever
 *      collection starts.
 *
 *   2. Collecting one victim never ends with fewer than one free superblock: it takes at most what
 *      is free and gives the victim back. Survivors fit in one superblock, so once one was taken
 *      there is room somewhere for all of them.
 *
 *   3. At most S - L superblocks are open (open_max); open refuses S < L + 1. So while free < L at
 *      least D + 1 superblocks are closed, which cannot all be full of valid pages: a victim with
 *      garbage exists.
 *
 *   4. Collecting it lowers the garbage on the drive, which 3 keeps above zero: free reaches L in
 *      the end. (FIFO and chance may collect full superblocks in between, but not for ever: the
 *      queue comes round, and chance has FRUITLESS_CHOICES_MAX.)
 *
 * What does not fit under open_max shares another stream's open superblock: shared_pages,
 * misplaced_pages. */
#ifndef TRIB_FLASH_INTERNAL_H
#define TRIB_FLASH_INTERNAL_H

#include <stddef.h>

#include "flash/flash.h"
#include "log/assert.h"

#define FLASH_UNMAPPED       UINT32_MAX
#define FLASH_NO_SUPERBLOCK  UINT32_MAX
#define FLASH_FREE_LOW_MIN   2u
#define FLASH_GROUP_SHIFT    6u  /* superblocks per group of the victim index: 64 */
#define FLASH_PREFETCH_PAGES 24u /* how far copies and batches look ahead */

/* Superblock key: valid pages, plus this while it is free or open. While open, pages not yet
 * written count as valid, so that a write changes nothing here and only deaths do. */
#define FLASH_NOT_CLOSED 0x80000000u

struct flash_traffic { /* over the drive's life; see trib_flash_stream_stats */
    uint64_t host_pages, gc_pages_out, gc_pages_in;
};

struct flash_stream {
    uint32_t next, end;          /* physical pages to write next; equal: no superblock is open */
    uint32_t superblock;         /* the open one */
    uint32_t idle_next;          /* `next` when last looked at, */
    uint64_t idle_since;         /* and host_clock when it was first seen there */
    uint64_t opened;             /* sequence number */
    uint16_t group;              /* classes whose data mix by collection are one group (spare quotas) */
    uint16_t substream;          /* class of its survivors; 0: none was given. SUBSTREAM and CHAIN only */
    bool is_substream, is_named; /* never both; named: by the host */
    struct flash_traffic traffic, traffic_at_reset;
};

struct flash_counters { /* reset by precondition if asked */
    uint64_t gc_pages, erases, discarded_pages, read_pages, remapped_writes;
    uint64_t shared_pages, misplaced_pages, early_closes, padded_pages;
    uint32_t open_superblocks_peak;
};

struct flash_map_counters {
    uint64_t lookups, misses, reads, programs, evictions, gc_updates, copies;
};

struct flash_latency; /* latency.c */
struct flash_map;     /* map_cache.c */
struct flash_quota;   /* victim.c */

struct trib_flash {
    /* Touched by every write. */
    uint32_t *logical_to_physical; /* FLASH_UNMAPPED, or the live copy */
    uint32_t *physical_to_logical; /* of written pages; stale once dead */
    uint64_t *valid_bits;          /* per physical page; set for the unwritten pages of open superblocks */
    uint32_t *keys;                /* per superblock, FLASH_NOT_CLOSED */
    uint32_t *group_keys_min;      /* per group: smallest key of its closed superblocks, if it has any */
    uint64_t superblock_inverse;   /* ceil(2^64 / superblock_pages) */
    uint64_t logical_pages, mapped_pages;
    uint64_t host_clock;           /* host pages written in the drive's life */
    struct flash_stream *streams;  /* classes */
    uint8_t *page_streams;         /* external stream per physical page; PSTREAM and CLASS only */
    struct flash_latency *latency; /* NULL: off */
    struct flash_map *map;         /* NULL: the whole map is in memory */
    bool keeps_records;            /* any of the last three */
    bool hands_out_numbers;        /* gc SUBSTREAM and CHAIN */
    bool is_slow;                  /* either: no shortcut for single pages */

    uint32_t superblock_pages, superblocks, groups;
    uint32_t external_streams, classes; /* S0 counts as one */
    uint32_t free_low, open_max, open_count;
    uint32_t *free_ring, free_head, free_count; /* first in, first out: erases rotate over the whole drive */
    uint32_t *erase_counts;
    uint16_t *superblock_class;
    uint64_t *opened_at, *closed_at; /* host_clock then */
    uint64_t *closed_sequence;       /* order of closing, unique */
    uint64_t sequence, copied_pages;
    uint32_t *closed_list, *closed_place; /* FIFO: ring. D_CHOICES: set, and where in it a superblock is */
    uint32_t closed_head, closed_count;
    uint32_t fruitless_choices; /* D_CHOICES: full superblocks chosen in a row */
    uint32_t *scratch;          /* survivors of a victim, and slack that may be prefetched */
    struct flash_quota *quota;  /* SPARE_QUOTA only */
    uint64_t random_state;
    uint64_t physical_pages;
    uint64_t host_clock_at_reset;
    size_t memory_bytes;
    struct flash_counters counters;
    struct trib_flash_config config;
};

static inline uint32_t flash_superblock_of(const struct trib_flash *f, uint32_t page) {
    __extension__ typedef unsigned __int128 wide;
    return (uint32_t)(((wide)f->superblock_inverse * page) >> 64); /* exact for 32-bit operands */
}

static inline bool flash_is_open(const struct flash_stream *s) {
    return s->next != s->end;
}

static inline bool flash_is_closed(const struct trib_flash *f, uint32_t superblock) {
    return !(f->keys[superblock] & FLASH_NOT_CLOSED);
}

/* Does the callback choose where survivors go? */
static inline bool flash_asks(const struct trib_flash *f) {
    return trib_gc_rules[f->config.gc].internal == TRIB_GC_ASKED;
}

static inline bool flash_bit(const struct trib_flash *f, uint32_t page) {
    return f->valid_bits[page >> 6] >> (page & 63) & 1;
}

/* Uniform in 0..bound-1 (SplitMix64, Steele, Lea & Flood, OOPSLA'14; bias below 2^-32). */
static inline uint32_t flash_random(struct trib_flash *f, uint32_t bound) {
    uint64_t z = f->random_state += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    return (uint32_t)(((z >> 32) * bound) >> 32);
}

/* A written page dies. */
static inline void flash_invalidate(struct trib_flash *f, uint32_t page) {
    uint32_t superblock = flash_superblock_of(f, page);
    TRIB_HOT_ASSERT(flash_bit(f, page));
    f->valid_bits[page >> 6] &= ~(1ull << (page & 63));
    uint32_t key = --f->keys[superblock];
    uint32_t *group_min = &f->group_keys_min[superblock >> FLASH_GROUP_SHIFT];
    if (TRIB_UNLIKELY(key < *group_min))
        *group_min = key;
}

/* The host writes a logical page into the stream's open superblock. */
static inline void flash_program(struct trib_flash *f, struct flash_stream *s, uint32_t lba) {
    uint32_t old = f->logical_to_physical[lba];
    uint32_t page = s->next++;
    f->logical_to_physical[lba] = page;
    f->physical_to_logical[page] = lba;
    if (TRIB_LIKELY(old != FLASH_UNMAPPED))
        flash_invalidate(f, old);
    else
        f->mapped_pages++;
}

/* tables.c */
int flash_tables_open(struct trib_flash *f);
void flash_tables_close(struct trib_flash *f);

/* superblock.c. The two room_for_* return a stream with room for at least one page: `class` or, if
 * too many superblocks are open, another. */
struct flash_stream *flash_room_for_host(struct trib_flash *f, uint32_t class);
struct flash_stream *flash_room_for_copy(struct trib_flash *f, uint32_t class);
void flash_superblock_close(struct trib_flash *f, struct flash_stream *s); /* full */
void flash_superblock_erase(struct trib_flash *f, uint32_t superblock);    /* taken as victim, no valid page left */

/* gc.c: moves the survivors of one victim and erases it. */
void flash_collect(struct trib_flash *f);
#define FLASH_ASK UINT32_MAX
/* Class of the survivors of a victim of `class`; FLASH_ASK if it is decided page by page. */
uint32_t flash_destination(const struct trib_flash *f, uint32_t class);
bool flash_class_is_internal(const struct trib_flash *f, uint32_t class);
/* Number that users know the class by. */
uint16_t flash_class_number(const struct trib_flash *f, uint32_t class);

/* substream.c. Before `valid` survivors of a victim of `class` move: does it get a substream? */
void flash_substream_consider(struct trib_flash *f, uint32_t class, uint32_t valid);
/* Class for a host that names `stream`, which is a substream's by now or the host's from now on. */
uint32_t flash_substream_name(struct trib_flash *f, uint16_t stream, uint32_t pages);

/* victim.c: the index of closed superblocks. */
int flash_victims_open(struct trib_flash *f);
void flash_victims_close(struct trib_flash *f);
void flash_victims_add(struct trib_flash *f, uint32_t superblock); /* its key has just become that of a closed one */
uint32_t flash_victims_take(struct trib_flash *f);                 /* picks and removes */

/* latency.c. Times in microseconds of virtual time. A command: issue = begin(), done = max of its
 * pages, end(). */
int flash_latency_open(struct trib_flash *f);
void flash_latency_close(struct trib_flash *f);
double flash_latency_begin(struct flash_latency *l);
void flash_latency_end(struct flash_latency *l, double issued_us, double done_us, bool is_write);
double flash_latency_program(struct trib_flash *f, uint32_t page, double now_us); /* when the host has its answer */
double flash_latency_read(struct trib_flash *f, uint32_t page, double now_us);
void flash_latency_copy(struct trib_flash *f, uint32_t from, uint32_t to);
void flash_latency_pad(struct trib_flash *f, uint32_t first_unwritten);
void flash_latency_erase(struct trib_flash *f, uint32_t superblock);
double flash_latency_map_read(struct trib_flash *f, uint32_t slot, double now_us);
void flash_latency_map_program(struct trib_flash *f, uint32_t slot);
double flash_latency_now(const struct flash_latency *l); /* when the current command was issued */
void flash_latency_reset(struct flash_latency *l);
void flash_latency_statistics(const struct flash_latency *l, struct trib_flash_stats *out);

/* map_cache.c. All but open, close need f->map. access: the host needs the entry of a page, and
 * `changes` it; returns when it is there. discard: before the pages are unmapped. moved: a copy was
 * made; collected: of all survivors of a victim. */
int flash_map_open(struct trib_flash *f);
void flash_map_close(struct trib_flash *f);
double flash_map_access(struct trib_flash *f, uint32_t lba, bool changes, double now_us);
void flash_map_discard(struct trib_flash *f, uint64_t lba, uint64_t pages);
void flash_map_moved(struct trib_flash *f, uint32_t lba);
void flash_map_collected(struct trib_flash *f);
void flash_map_reset(struct flash_map *m);
void flash_map_statistics(const struct flash_map *m, struct trib_flash_stats *out);
int flash_map_check(const struct trib_flash *f, struct trib_error *error);

/* statistics.c */
uint32_t flash_valid_pages(const struct trib_flash *f, uint32_t superblock);
const struct flash_stream *flash_open_stream(const struct trib_flash *f, uint32_t superblock); /* NULL: not open */

#endif
