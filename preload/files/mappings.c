/* SPDX-License-Identifier: Apache-2.0 */
#include "files/mappings.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <tributary/event.h>

#include "base/memory.h"
#include "files/borrow.h"
#include "libc/raw.h"
#include "quiet.h"
#include "record.h"
#include "sink.h"

#define MAPPINGS      1024u
#define PAGE_BYTES    4096u
#define QUESTIONS_MAX 4096u /* of one sync; about 0.4 us each */
#define HALVINGS_MAX  64u

struct mapping {
    uintptr_t start, end;
    uint64_t offset_bytes; /* of start, in the file */
    uint64_t number;       /* in the order in which memory was mapped or moved */
    struct trib_mapped mapped;
    int fd; /* at the mmap */
};

/* Nobody changes an entry that is in use: it is taken back, and what is left of it put elsewhere. So nobody waits. */
enum { FREE, TAKEN, IN_USE, STATE_MASK = 3, ONE_MORE = 4 };
#define WORDS ((sizeof(struct mapping) + 7) / 8)
enum { START_WORD = offsetof(struct mapping, start) / 8, END_WORD = offsetof(struct mapping, end) / 8 };

struct entry {
    _Atomic(uint64_t) state; /* how often it changed, then one of the above */
    _Atomic(uint64_t) words[WORDS];
};

static struct entry entries[MAPPINGS];
static _Atomic(unsigned) used; /* entries below were in use at some time */
static _Atomic(uint64_t) newest;

uint64_t trib_mappings_newest(void) {
    return atomic_load(&newest);
}

bool trib_mappings_exist(void) {
    return atomic_load_explicit(&used, memory_order_acquire) > 0;
}

static uintptr_t page_end(uintptr_t at) {
    return (at + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

/* ---- which pages are dirty ---- */

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

#define RUNS_MAX 1024u

/* Where they cannot be recorded at once. */
struct runs {
    uint64_t start, end; /* what is asked about, in the file */
    unsigned count;
    struct {
        uint64_t start, end;
    } run[RUNS_MAX];
};

struct dirty_pages {
    const struct trib_mapped *mapped;
    int fd;
    unsigned questions;
    uint64_t start, end; /* a run that has been found and may grow */
    struct runs *kept;   /* NULL: recorded at once */
};

/* Dirty pages of the file in [offset, offset + length), or -1. */
static int64_t count_dirty(int fd, uint64_t offset_bytes, uint64_t length_bytes) {
    uint64_t range[2] = {offset_bytes, length_bytes};
    uint64_t counts[5]; /* struct cachestat: cached, dirty, written back, evicted, recently evicted */

    return TRIB_RAW(SYS_cachestat, fd, range, counts, 0) == 0 ? (int64_t)counts[1] : -1;
}

/* With too many the last takes in what lies between. */
static void keep_run(struct runs *kept, uint64_t start, uint64_t end) {
    if (kept->count < RUNS_MAX) {
        kept->run[kept->count].start = start;
        kept->run[kept->count++].end = end;
    } else {
        kept->run[RUNS_MAX - 1].end = end;
    }
}

static void record_run(struct dirty_pages *pages) {
    if (pages->end <= pages->start)
        return;
    if (pages->kept)
        keep_run(pages->kept, pages->start, pages->end);
    else
        trib_record_mapped(pages->mapped, pages->start, pages->end - pages->start);
}

static void add_run(struct dirty_pages *pages, uint64_t start, uint64_t end) {
    if (start != pages->end) {
        record_run(pages);
        pages->start = start;
    }
    pages->end = end;
}

/* -1: nobody can say. */
static int64_t ask_dirty(struct dirty_pages *pages, uint64_t start, uint64_t end) {
    bool asks = pages->fd >= 0 && pages->questions++ < QUESTIONS_MAX;

    return asks ? count_dirty(pages->fd, start, end - start) : -1;
}

/* Halves what is neither clean nor all dirty. `start` is page-aligned. */
static void find_dirty(struct dirty_pages *pages, uint64_t start, uint64_t end) {
    uint64_t ends[HALVINGS_MAX] = {end}; /* of the ranges behind the one that is looked at, the nearest last */
    unsigned waiting = 1;

    while (waiting) {
        uint64_t until = ends[waiting - 1], count = (until - start + PAGE_BYTES - 1) / PAGE_BYTES;
        int64_t dirty = ask_dirty(pages, start, until);
        if (dirty > 0 && (uint64_t)dirty < count && waiting < HALVINGS_MAX) {
            ends[waiting++] = start + count / 2 * PAGE_BYTES;
            continue;
        }
        if (dirty != 0)
            add_run(pages, start, until);
        start = until;
        waiting--;
    }
}

/* A pause forgets descriptors, and nothing but mmap has used this one. -1: none. */
static int descriptor_of(const struct mapping *mapping) {
    int fd = trib_descriptor_of(mapping->mapped.file);
    struct stat stat;

    if (fd >= 0)
        return fd;
    bool is_same =
        trib_raw_fstat(mapping->fd, &stat) == 0 && trib_file_identity(stat.st_dev, stat.st_ino) == mapping->mapped.file;
    return is_same ? mapping->fd : -1;
}

/* By `fd`; negative: nobody can say, and all of it counts as dirty. */
static void record_by(int fd, const struct trib_mapped *mapped, uint64_t start, uint64_t end) {
    struct dirty_pages pages = {.mapped = mapped, .fd = fd};

    find_dirty(&pages, start, end);
    record_run(&pages);
}

static void ask_borrowed(int fd, void *arg) {
    struct runs *runs = arg;
    struct dirty_pages pages = {.fd = fd, .kept = runs};

    find_dirty(&pages, runs->start, runs->end);
    record_run(&pages);
}

/* False: it was not to be had. */
static bool record_borrowed(const struct mapping *mapping, uint64_t start, uint64_t end) {
    const struct trib_borrowed what = {mapping->start, page_end(mapping->end), mapping->mapped.file};
    struct runs *runs = trib_memory_map(sizeof *runs);

    if (!runs)
        return false;
    runs->start = start;
    runs->end = end;
    int code = trib_borrow(&what, ask_borrowed, runs);
    for (unsigned i = 0; code == 0 && i < runs->count; i++)
        trib_record_mapped(&mapping->mapped, runs->run[i].start, runs->run[i].end - runs->run[i].start);
    TRIB_RAW(SYS_munmap, runs, sizeof *runs);
    return code == 0;
}

/* [from, to) of the memory, inside the mapping. */
static void record_dirty(const struct mapping *mapping, uintptr_t from, uintptr_t to) {
    uint64_t start = mapping->offset_bytes + (from - mapping->start), end = start + (to - from);
    bool asks = trib_ask_begin();
    int fd = asks ? descriptor_of(mapping) : -1;

    if (fd >= 0 || !asks || !record_borrowed(mapping, start, end))
        record_by(fd, &mapping->mapped, start, end);
    if (asks)
        trib_ask_end();
}

/* ---- the table ---- */

static void note_used(unsigned count) {
    unsigned known = atomic_load_explicit(&used, memory_order_relaxed);

    while (known < count && !atomic_compare_exchange_weak(&used, &known, count))
        ;
}

static bool claim(struct entry *entry, uint64_t *state) {
    *state = atomic_load_explicit(&entry->state, memory_order_relaxed);
    return (*state & STATE_MASK) == FREE &&
           atomic_compare_exchange_strong(&entry->state, state, *state + ONE_MORE + TAKEN);
}

/* Beyond 1,024 a mapping goes unseen. */
static void put(const struct mapping *mapping) {
    uint64_t words[WORDS] = {0}, state;
    unsigned i = 0;

    memcpy(words, mapping, sizeof *mapping);
    while (i < MAPPINGS && !claim(&entries[i], &state))
        i++;
    if (i == MAPPINGS)
        return;
    for (unsigned word = 0; word < WORDS; word++)
        atomic_store_explicit(&entries[i].words[word], words[word], memory_order_relaxed);
    note_used(i + 1);
    atomic_store_explicit(&entries[i].state, state + ONE_MORE + IN_USE, memory_order_release);
}

/* False: not in use, or taken back meanwhile. */
static bool read_entry(struct entry *entry, struct mapping *out, uint64_t *state) {
    uint64_t words[WORDS];

    *state = atomic_load_explicit(&entry->state, memory_order_acquire);
    if ((*state & STATE_MASK) != IN_USE)
        return false;
    for (unsigned word = 0; word < WORDS; word++)
        words[word] = atomic_load_explicit(&entry->words[word], memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    memcpy(out, words, sizeof *out);
    return atomic_load_explicit(&entry->state, memory_order_relaxed) == *state;
}

/* Whether it surely has nothing in the range: most have not, and need not be read whole. One that is put or moved
   meanwhile may be missed, as if it came later. */
static bool lies_outside(struct entry *entry, uintptr_t from, uintptr_t to) {
    return atomic_load_explicit(&entry->words[START_WORD], memory_order_relaxed) >= to ||
           atomic_load_explicit(&entry->words[END_WORD], memory_order_relaxed) <= from;
}

static bool take_back(struct entry *entry, uint64_t state) {
    return atomic_compare_exchange_strong(&entry->state, &state, (state & ~(uint64_t)STATE_MASK) + ONE_MORE);
}

void trib_mapping_add(struct trib_descriptor *known, void *start, size_t length_bytes, uint64_t offset_bytes,
                      uint64_t signature) {
    struct mapping mapping = {.start = (uintptr_t)start,
                              .end = (uintptr_t)start + length_bytes,
                              .offset_bytes = offset_bytes,
                              .number = atomic_fetch_add(&newest, 1) + 1,
                              .fd = known->fd};

    if (known->in_memory)
        return;
    trib_descriptor_name(known);
    mapping.mapped = (struct trib_mapped){.file = known->file, .signature = signature, .kind = known->kind};
    put(&mapping);
}

void trib_mappings_sync(const void *start, size_t length_bytes) {
    uintptr_t from = (uintptr_t)start, to = from + length_bytes;
    struct mapping mapping;
    uint64_t state;

    for (unsigned i = 0; i < atomic_load_explicit(&used, memory_order_acquire); i++) {
        if (lies_outside(&entries[i], from, to) || !read_entry(&entries[i], &mapping, &state) || mapping.start >= to ||
            mapping.end <= from)
            continue;
        record_dirty(&mapping, mapping.start > from ? mapping.start : from, mapping.end < to ? mapping.end : to);
    }
}

static void sync_those_of(uint64_t file) {
    struct mapping mapping;
    uint64_t state;

    for (unsigned i = 0; i < atomic_load_explicit(&used, memory_order_acquire); i++)
        if (read_entry(&entries[i], &mapping, &state) && (file == 0 || mapping.mapped.file == file))
            record_dirty(&mapping, mapping.start, mapping.end);
}

void trib_mappings_sync_file(uint64_t file) {
    sync_those_of(file);
}

void trib_mappings_sync_all(void) {
    sync_those_of(0);
}

/* A range of memory, and the number of the newest mapping that may be meant by it. */
struct range {
    uintptr_t start, end;
    uint64_t last;
};

/* What of the entry lies in the range. False: nothing, or it was taken back meanwhile. */
static bool find_part(struct entry *entry, const struct range *range, struct mapping *whole, struct mapping *part,
                      uint64_t *state) {
    if (lies_outside(entry, range->start, range->end) || !read_entry(entry, whole, state) ||
        whole->start >= range->end || whole->end <= range->start || whole->number > range->last)
        return false;
    *part = *whole;
    if (part->start < range->start) {
        part->offset_bytes += range->start - part->start;
        part->start = range->start;
    }
    if (part->end > range->end)
        part->end = range->end;
    return true;
}

/* The part goes; what is left before and behind it is put anew. */
static bool cut(struct entry *entry, const struct range *range, struct mapping *part) {
    struct mapping whole, left;
    uint64_t state;

    if (!find_part(entry, range, &whole, part, &state) || !take_back(entry, state))
        return false;
    if (whole.start < part->start) {
        left = whole;
        left.end = part->start;
        put(&left);
    }
    if (whole.end > part->end) {
        left = whole;
        left.offset_bytes += part->end - whole.start;
        left.start = part->end;
        put(&left);
    }
    return true;
}

void trib_mappings_remove(const void *start, size_t length_bytes, uint64_t last) {
    struct range range = {(uintptr_t)start, page_end((uintptr_t)start + length_bytes), last};
    struct mapping part;

    for (unsigned i = 0; i < atomic_load_explicit(&used, memory_order_acquire); i++)
        (void)cut(&entries[i], &range, &part);
}

static void put_moved(struct mapping *part, const struct trib_moved *moved) {
    uintptr_t from = (uintptr_t)moved->from, to = (uintptr_t)moved->to, end = to + moved->to_bytes;
    bool is_last = page_end(part->end) >= page_end(from + moved->from_bytes);

    part->start = part->start - from + to;
    part->end = is_last || part->end - from + to > end ? end : part->end - from + to;
    if (part->start >= end)
        return;
    part->number = atomic_fetch_add(&newest, 1) + 1;
    put(part);
}

void trib_mappings_move(const struct trib_moved *moved, uint64_t last) {
    struct range range = {(uintptr_t)moved->from, page_end((uintptr_t)moved->from + moved->from_bytes), last};
    struct mapping whole, part;
    uint64_t state;

    for (unsigned i = 0; i < atomic_load_explicit(&used, memory_order_acquire); i++)
        if (moved->stays ? find_part(&entries[i], &range, &whole, &part, &state) : cut(&entries[i], &range, &part))
            put_moved(&part, moved);
}

void trib_mappings_clear(void) {
    unsigned end = atomic_load_explicit(&used, memory_order_relaxed);

    for (unsigned i = 0; i < MAPPINGS && i <= end; i++) { /* and one that was being put */
        uint64_t state = atomic_load_explicit(&entries[i].state, memory_order_relaxed);
        if (state & STATE_MASK) /* a store copies the page */
            atomic_store_explicit(&entries[i].state, (state & ~(uint64_t)STATE_MASK) + ONE_MORE, memory_order_relaxed);
    }
    if (end)
        atomic_store_explicit(&used, 0, memory_order_relaxed);
}
