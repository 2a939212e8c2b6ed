/* SPDX-License-Identifier: Apache-2.0 */
/* The per-page and per-superblock tables: sized and allocated once. Large ones come from mmap with
 * huge pages, because every random write touches three places that a 4 KiB TLB does not reach. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "flash/internal.h"

#define HUGE_PAGE_BYTES (2u << 20)

static size_t huge_round(size_t bytes) {
    return (bytes + HUGE_PAGE_BYTES - 1) & ~(size_t)(HUGE_PAGE_BYTES - 1);
}

/* Zeroed. Maps one huge page more than needed and gives the unaligned ends back. */
static void *huge_alloc(size_t bytes) {
    size_t want = huge_round(bytes), map = want + HUGE_PAGE_BYTES;
    char *base = mmap(NULL, map, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    size_t head = (HUGE_PAGE_BYTES - ((uintptr_t)base & (HUGE_PAGE_BYTES - 1))) & (HUGE_PAGE_BYTES - 1);
    if (head)
        munmap(base, head);
    munmap(base + head + want, map - head - want);
    (void)madvise(base + head, want, MADV_HUGEPAGE); /* a wish: without it only slower */
    return base + head;
}

static void *table_alloc(struct trib_flash *f, uint64_t count, size_t each_bytes) {
    size_t bytes = (size_t)count * each_bytes;
    void *table = bytes >= HUGE_PAGE_BYTES ? huge_alloc(bytes) : calloc(1, bytes);
    if (table)
        f->memory_bytes += bytes;
    return table;
}

static void table_free(void *table, uint64_t count, size_t each_bytes) {
    size_t bytes = (size_t)count * each_bytes;
    if (!table)
        return;
    if (bytes >= HUGE_PAGE_BYTES)
        munmap(table, huge_round(bytes));
    else
        free(table);
}

static uint64_t bit_words(const struct trib_flash *f) {
    return (f->physical_pages + 63) / 64;
}

static uint64_t scratch_pages(const struct trib_flash *f) {
    return (uint64_t)f->superblock_pages + FLASH_PREFETCH_PAGES;
}

/* One row per table, so that opening and closing cannot disagree. */
#define FOR_EACH_TABLE(X)                                                                                              \
    X(logical_to_physical, f->logical_pages, true)                                                                     \
    X(physical_to_logical, f->physical_pages, true)                                                                    \
    X(valid_bits, bit_words(f), true)                                                                                  \
    X(keys, f->superblocks, true)                                                                                      \
    X(group_keys_min, f->groups, true)                                                                                 \
    X(streams, f->classes, true)                                                                                       \
    X(page_streams, f->physical_pages, flash_asks(f))                                                                  \
    X(free_ring, f->superblocks, true)                                                                                 \
    X(erase_counts, f->superblocks, true)                                                                              \
    X(superblock_class, f->superblocks, true)                                                                          \
    X(opened_at, f->superblocks, true)                                                                                 \
    X(closed_at, f->superblocks, true)                                                                                 \
    X(closed_sequence, f->superblocks, true)                                                                           \
    X(scratch, scratch_pages(f), true)

int flash_tables_open(struct trib_flash *f) {
#define ALLOCATE(name, count, wanted)                                                                                  \
    if ((wanted) && !(f->name = table_alloc(f, count, sizeof *f->name)))                                               \
        return -ENOMEM;
    FOR_EACH_TABLE(ALLOCATE)
#undef ALLOCATE
    memset(f->logical_to_physical, 0xff, (size_t)f->logical_pages * sizeof *f->logical_to_physical);
    memset(f->group_keys_min, 0xff, f->groups * sizeof *f->group_keys_min);
    for (uint32_t i = 0; i < f->superblocks; i++) {
        f->keys[i] = FLASH_NOT_CLOSED;
        f->free_ring[i] = i;
    }
    f->free_count = f->superblocks;
    return 0;
}

void flash_tables_close(struct trib_flash *f) {
#define RELEASE(name, count, wanted) table_free(f->name, count, sizeof *f->name);
    FOR_EACH_TABLE(RELEASE)
#undef RELEASE
}
