/* SPDX-License-Identifier: Apache-2.0 */
#include "mappings.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tributary/event.h>

#include "borrow.h"
#include "raw.h"
#include "sink.h"
#include "record.h"

#define MAPPINGS      1024u
#define LOCK_TURNS    1000u
#define PAGE_BYTES    4096u
#define QUESTIONS_MAX 4096u /* of one sync; about 0.4 us each */

struct mapping {
    uintptr_t start, end; /* 0, 0: free */
    uint64_t offset_bytes; /* of start, in the file */
    struct trib_mapped mapped;
    int fd; /* at the mmap */
};

static struct mapping mappings[MAPPINGS];
static _Atomic(unsigned) used; /* entries below were in use at some time */
static atomic_flag busy = ATOMIC_FLAG_INIT;

static bool lock(void) {
    for (unsigned turn = 0; turn < LOCK_TURNS; turn++) {
        if (!atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
            return true;
        sched_yield();
    }
    return false;
}

static void unlock(void) {
    atomic_flag_clear_explicit(&busy, memory_order_release);
}

bool trib_mappings_exist(void) {
    return atomic_load_explicit(&used, memory_order_acquire) > 0;
}

/* ---- which pages are dirty ---- */

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

struct dirty_pages {
    const struct trib_mapped *mapped;
    int fd;
    unsigned questions;
    uint64_t start, end; /* a run that has been found and may grow */
};

/* Dirty pages of the file in [offset, offset + length), or -1. */
static int64_t count_dirty(int fd, uint64_t offset_bytes, uint64_t length_bytes) {
    uint64_t range[2] = {offset_bytes, length_bytes};
    uint64_t counts[5]; /* struct cachestat: cached, dirty, written back, evicted, recently evicted */

    return trib_syscall(SYS_cachestat, fd, range, counts, 0) == 0 ? (int64_t)counts[1] : -1;
}

static void record_run(struct dirty_pages *pages) {
    if (pages->end > pages->start)
        trib_record_mapped(pages->mapped, pages->start, pages->end - pages->start);
}

static void add_run(struct dirty_pages *pages, uint64_t start, uint64_t end) {
    if (start != pages->end) {
        record_run(pages);
        pages->start = start;
    }
    pages->end = end;
}

/* Halves what is neither clean nor all dirty. `start` is page-aligned. */
static void find_dirty(struct dirty_pages *pages, uint64_t start, uint64_t end) {
    bool asks = pages->fd >= 0 && pages->questions++ < QUESTIONS_MAX;
    uint64_t count = (end - start + PAGE_BYTES - 1) / PAGE_BYTES;
    int64_t dirty = asks ? count_dirty(pages->fd, start, end - start) : (int64_t)count;

    if (dirty == 0)
        return;
    if (dirty < 0 || (uint64_t)dirty >= count) {
        add_run(pages, start, end);
        return;
    }
    uint64_t middle = start + count / 2 * PAGE_BYTES;
    find_dirty(pages, start, middle);
    find_dirty(pages, middle, end);
}

/* A pause forgets descriptors, and nothing but mmap has used this one. -1: none. */
static int descriptor_of(const struct mapping *mapping) {
    int fd = trib_descriptor_of(mapping->mapped.file);
    struct stat stat;

    if (fd >= 0)
        return fd;
    bool is_same = trib_raw_fstat(mapping->fd, &stat) == 0 && trib_file_identity(stat.st_dev, stat.st_ino) == mapping->mapped.file;
    return is_same ? mapping->fd : -1;
}

static int borrow(const struct mapping *mapping) {
    uintptr_t whole_pages_end = (mapping->end + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;

    return trib_borrow_descriptor(mapping->start, whole_pages_end, mapping->mapped.file);
}

/* [from, to) of the memory, inside the mapping. */
static void record_dirty(const struct mapping *mapping, uintptr_t from, uintptr_t to) {
    struct dirty_pages pages = {.mapped = &mapping->mapped, .fd = descriptor_of(mapping)};
    uint64_t offset = mapping->offset_bytes + (from - mapping->start);
    int borrowed = pages.fd < 0 ? borrow(mapping) : -1;

    if (borrowed >= 0)
        pages.fd = borrowed;
    find_dirty(&pages, offset, offset + (to - from));
    record_run(&pages);
    if (borrowed >= 0)
        trib_return_descriptor(borrowed);
}

/* ---- the table ---- */

void trib_mapping_add(struct trib_descriptor *known, void *start, size_t length_bytes, uint64_t offset_bytes,
                      uint64_t signature) {
    struct mapping mapping = {.start = (uintptr_t)start,
                              .end = (uintptr_t)start + length_bytes,
                              .offset_bytes = offset_bytes,
                              .fd = known->fd};

    if (known->in_memory)
        return;
    trib_descriptor_name(known);
    mapping.mapped = (struct trib_mapped){.file = known->file, .signature = signature, .kind = known->kind};
    if (!lock())
        return;
    for (unsigned i = 0; i < MAPPINGS; i++) {
        if (mappings[i].end)
            continue;
        mappings[i] = mapping;
        if (i >= atomic_load_explicit(&used, memory_order_relaxed))
            atomic_store_explicit(&used, i + 1, memory_order_release);
        break;
    }
    unlock();
}

static bool take(unsigned i, struct mapping *out) {
    if (i >= atomic_load_explicit(&used, memory_order_acquire) || !lock())
        return false;
    *out = mappings[i];
    unlock();
    return out->end != 0;
}

void trib_mappings_sync(const void *start, size_t length_bytes) {
    uintptr_t from = (uintptr_t)start, to = from + length_bytes;
    struct mapping mapping;
    int kept = errno;

    for (unsigned i = 0; i < atomic_load_explicit(&used, memory_order_acquire); i++) {
        if (!take(i, &mapping) || mapping.start >= to || mapping.end <= from)
            continue;
        record_dirty(&mapping, mapping.start > from ? mapping.start : from, mapping.end < to ? mapping.end : to);
    }
    errno = kept;
}

static void sync_those_of(uint64_t file) {
    struct mapping mapping;
    int kept = errno;

    for (unsigned i = 0; i < atomic_load_explicit(&used, memory_order_acquire); i++)
        if (take(i, &mapping) && (file == 0 || mapping.mapped.file == file))
            record_dirty(&mapping, mapping.start, mapping.end);
    errno = kept;
}

void trib_mappings_sync_file(uint64_t file) {
    sync_those_of(file);
}

void trib_mappings_sync_all(void) {
    sync_those_of(0);
}

/* Of a mapping that loses its middle, the end is forgotten as well: it was told of just now. */
static void cut(struct mapping *mapping, uintptr_t from, uintptr_t to) {
    if (mapping->start >= to || mapping->end <= from)
        return;
    if (mapping->start < from) {
        mapping->end = from;
    } else if (mapping->end > to) {
        mapping->offset_bytes += to - mapping->start;
        mapping->start = to;
    } else {
        mapping->start = mapping->end = 0;
    }
}

void trib_mappings_remove(const void *start, size_t length_bytes) {
    if (!lock())
        return;
    for (unsigned i = 0; i < used; i++)
        cut(&mappings[i], (uintptr_t)start, (uintptr_t)start + length_bytes);
    unlock();
}

void trib_mappings_move(const void *start, void *to, size_t length_bytes) {
    if (!lock())
        return;
    for (unsigned i = 0; i < used; i++)
        if (mappings[i].end && mappings[i].start == (uintptr_t)start) {
            mappings[i].start = (uintptr_t)to;
            mappings[i].end = (uintptr_t)to + length_bytes;
        }
    unlock();
}

void trib_mappings_clear(void) {
    atomic_store(&used, 0);
    for (unsigned i = 0; i < MAPPINGS; i++)
        mappings[i].start = mappings[i].end = 0;
    atomic_flag_clear(&busy);
}
