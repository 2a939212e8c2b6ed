/* SPDX-License-Identifier: Apache-2.0 */
/* The mapping table when the drive's memory does not hold all of it: demand-based caching after
 * DFTL (Gupta, Kim, Urgaonkar, ASPLOS'09), as DStream's simulator does. The table lies on flash in
 * translation pages of 4 KiB; some of them are cached, least recently used first out.
 *
 *   host write, trim  the translation page is fetched if it is not cached, and is dirty from then
 * on host read         fetched eviction          a dirty page is programmed collection        a
 * copied page's entry changes in the cache if it is there; else its translation page is read and
 * programmed, once per victim for all its entries
 *
 * The unit of caching is the translation page, not DFTL's single entry: DStream's Table 1 has miss
 * rates below 1 %, which a cache that fetches entries one by one cannot have on sequential writes.
 * DFTL's batched update is thereby implied. Translation pages live in blocks of their own, a pool
 * over-provisioned as the drive is, with greedy collection: the data blocks' proof that collection
 * cannot wedge (internal.h) stays as it is. A page of the table that was never written needs no
 * reading. Where each translation page lies (DFTL's directory) is in memory.
 *
 * Why the pool cannot wedge: it has at least two blocks more than the translation pages fill. When
 * one is left free, all others are full and hold garbage worth a block, so the emptiest has some;
 * its survivors leave room in the free one. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "flash/internal.h"

#define PAGE_BYTES          4096u
#define ENTRY_BYTES_DEFAULT 4u
#define POOL_BLOCKS         32u /* that the translation pages fill, about: a block is no superblock */
#define BLOCK_PAGES_MIN     8u
#define NOWHERE             UINT32_MAX

enum state { CACHED = 1, DIRTY = 2, PENDING = 4 };

/* A translation page. next, prev: least recently used list, closed by the element after the last
 * page. */
struct page {
    uint32_t next, prev;
    uint32_t at; /* slot of the pool, or NOWHERE */
    uint8_t state;
};

struct flash_map {
    struct page *pages;
    uint32_t count, entries_per_page;
    uint32_t cached, cached_max;
    uint32_t *pending, pending_count; /* to be updated on flash when the victim is done */
    uint32_t *owner;                  /* per slot of the pool: translation page, stale once dead */
    uint32_t *valid;                  /* per block */
    uint32_t *free_blocks, free_count;
    uint32_t blocks, block_pages;
    uint32_t next_slot, end_slot; /* of the open block; equal: none */
    uint64_t erases, programmed;  /* of the pool's life */
    struct flash_map_counters counters;
};

static size_t table_bytes(const struct flash_map *m) {
    size_t slots = (size_t)m->blocks * m->block_pages;
    return ((size_t)m->count + 1) * sizeof *m->pages + m->count * sizeof *m->pending + slots * sizeof *m->owner +
           m->blocks * (sizeof *m->valid + sizeof *m->free_blocks);
}

static void size_pool(struct flash_map *m, double over_provisioning) {
    uint32_t size = (m->count + POOL_BLOCKS - 1) / POOL_BLOCKS;
    m->block_pages = size < BLOCK_PAGES_MIN ? BLOCK_PAGES_MIN : size;
    uint32_t full = (m->count + m->block_pages - 1) / m->block_pages;
    uint32_t spare = (uint32_t)(over_provisioning * m->count / m->block_pages);
    m->blocks = full + (spare < 2 ? 2 : spare);
}

static uint32_t cached_max(const struct flash_map *m, uint64_t bytes) {
    uint64_t pages = bytes / PAGE_BYTES;
    return pages < 1 ? 1 : pages > m->count ? m->count : (uint32_t)pages;
}

int flash_map_open(struct trib_flash *f) {
    const struct trib_flash_config *c = &f->config;
    if (c->map_cache_bytes == 0)
        return 0;
    struct flash_map *m = f->map = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    m->entries_per_page = PAGE_BYTES / (c->map_entry_bytes ? c->map_entry_bytes : ENTRY_BYTES_DEFAULT);
    m->count = (uint32_t)((f->logical_pages + m->entries_per_page - 1) / m->entries_per_page);
    m->cached_max = cached_max(m, c->map_cache_bytes);
    size_pool(m, c->over_provisioning);
    m->pages = calloc((size_t)m->count + 1, sizeof *m->pages);
    m->pending = calloc(m->count, sizeof *m->pending);
    m->owner = calloc((size_t)m->blocks * m->block_pages, sizeof *m->owner);
    m->valid = calloc(m->blocks, sizeof *m->valid);
    m->free_blocks = calloc(m->blocks, sizeof *m->free_blocks);
    if (!m->pages || !m->pending || !m->owner || !m->valid || !m->free_blocks)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->count; i++)
        m->pages[i].at = NOWHERE;
    m->pages[m->count].next = m->pages[m->count].prev = m->count;
    for (uint32_t i = 0; i < m->blocks; i++)
        m->free_blocks[m->free_count++] = m->blocks - 1 - i;
    f->memory_bytes += sizeof *m + table_bytes(m);
    return 0;
}

void flash_map_close(struct trib_flash *f) {
    if (!f->map)
        return;
    free(f->map->pages);
    free(f->map->pending);
    free(f->map->owner);
    free(f->map->valid);
    free(f->map->free_blocks);
    free(f->map);
}

/* ---- on flash ---- */

static void append(struct trib_flash *f, uint32_t t) {
    struct flash_map *m = f->map;
    uint32_t slot = m->next_slot++;
    if (m->pages[t].at != NOWHERE)
        m->valid[m->pages[t].at / m->block_pages]--;
    m->valid[slot / m->block_pages]++;
    m->owner[slot] = t;
    m->pages[t].at = slot;
    m->programmed++;
    m->counters.programs++;
    if (f->latency)
        flash_latency_map_program(f, slot);
}

static double fetch(struct trib_flash *f, uint32_t t, double now_us) {
    f->map->counters.reads++;
    return f->latency ? flash_latency_map_read(f, f->map->pages[t].at, now_us) : now_us;
}

static bool is_full(const struct flash_map *m, uint32_t block) {
    for (uint32_t i = 0; i < m->free_count; i++)
        if (m->free_blocks[i] == block)
            return false;
    return m->next_slot == m->end_slot || block != (m->end_slot - 1) / m->block_pages;
}

static uint32_t emptiest(const struct flash_map *m) {
    uint32_t best = NOWHERE;
    for (uint32_t i = 0; i < m->blocks; i++)
        if ((best == NOWHERE || m->valid[i] < m->valid[best]) && is_full(m, i))
            best = i;
    return best;
}

static void open_block(struct flash_map *m) {
    m->next_slot = m->free_blocks[--m->free_count] * m->block_pages;
    m->end_slot = m->next_slot + m->block_pages;
}

static void collect(struct trib_flash *f) {
    struct flash_map *m = f->map;
    uint32_t victim = emptiest(m);
    open_block(m);
    for (uint32_t i = 0; i < m->block_pages && m->valid[victim] > 0; i++) {
        uint32_t slot = victim * m->block_pages + i, t = m->owner[slot];
        if (m->pages[t].at != slot)
            continue;
        (void)fetch(f, t, f->latency ? flash_latency_now(f->latency) : 0);
        m->counters.copies++;
        append(f, t);
    }
    assert(m->valid[victim] == 0 && m->next_slot < m->end_slot);
    m->free_blocks[m->free_count++] = victim;
    m->erases++;
}

static void program(struct trib_flash *f, uint32_t t) {
    struct flash_map *m = f->map;
    if (m->next_slot == m->end_slot && m->free_count > 1)
        open_block(m);
    else if (m->next_slot == m->end_slot)
        collect(f);
    append(f, t);
}

/* ---- in memory ---- */

static void unlink_page(struct flash_map *m, uint32_t t) {
    m->pages[m->pages[t].prev].next = m->pages[t].next;
    m->pages[m->pages[t].next].prev = m->pages[t].prev;
}

static void link_first(struct flash_map *m, uint32_t t) {
    struct page *head = &m->pages[m->count];
    m->pages[t].prev = m->count;
    m->pages[t].next = head->next;
    m->pages[head->next].prev = t;
    head->next = t;
}

static void evict(struct trib_flash *f) {
    struct flash_map *m = f->map;
    uint32_t last = m->pages[m->count].prev;
    unlink_page(m, last);
    m->cached--;
    if (m->pages[last].state & DIRTY) {
        m->counters.evictions++;
        program(f, last);
    }
    m->pages[last].state = 0;
}

double flash_map_access(struct trib_flash *f, uint32_t lba, bool changes, double now_us) {
    struct flash_map *m = f->map;
    uint32_t t = lba / m->entries_per_page;
    m->counters.lookups++;
    if (m->pages[t].state & CACHED) {
        unlink_page(m, t);
    } else {
        if (m->cached == m->cached_max)
            evict(f);
        if (m->pages[t].at != NOWHERE) {
            m->counters.misses++;
            now_us = fetch(f, t, now_us);
        }
        m->cached++;
    }
    link_first(m, t);
    m->pages[t].state |= (uint8_t)(changes ? CACHED | DIRTY : CACHED);
    return now_us;
}

void flash_map_discard(struct trib_flash *f, uint64_t lba, uint64_t pages) {
    double now_us = f->latency ? flash_latency_now(f->latency) : 0;
    uint64_t per = f->map->entries_per_page;
    for (uint64_t t = lba / per; t <= (lba + pages - 1) / per; t++) {
        uint64_t from = t * per < lba ? lba : t * per;
        uint64_t end = (t + 1) * per < lba + pages ? (t + 1) * per : lba + pages;
        while (from < end && f->logical_to_physical[from] == FLASH_UNMAPPED)
            from++;
        if (from < end)
            (void)flash_map_access(f, (uint32_t)from, true, now_us);
    }
}

void flash_map_moved(struct trib_flash *f, uint32_t lba) {
    struct flash_map *m = f->map;
    uint32_t t = lba / m->entries_per_page;
    struct page *page = &m->pages[t];
    if (page->state & CACHED) {
        page->state |= DIRTY;
    } else if (!(page->state & PENDING)) {
        page->state = PENDING;
        m->pending[m->pending_count++] = t;
    }
}

void flash_map_collected(struct trib_flash *f) {
    struct flash_map *m = f->map;
    for (uint32_t i = 0; i < m->pending_count; i++) {
        m->counters.gc_updates++;
        (void)fetch(f, m->pending[i], f->latency ? flash_latency_now(f->latency) : 0);
        program(f, m->pending[i]);
        m->pages[m->pending[i]].state = 0;
    }
    m->pending_count = 0;
}

void trib_flash_resize_map_cache(struct trib_flash *f, uint64_t bytes) {
    if (!f->map)
        return;
    f->map->cached_max = cached_max(f->map, bytes);
    while (f->map->cached > f->map->cached_max)
        evict(f);
}

/* ---- what it says of itself ---- */

void flash_map_reset(struct flash_map *m) {
    m->counters = (struct flash_map_counters){0};
}

void flash_map_statistics(const struct flash_map *m, struct trib_flash_stats *out) {
    out->map_lookups = m->counters.lookups;
    out->map_misses = m->counters.misses;
    out->map_reads = m->counters.reads;
    out->map_programs = m->counters.programs;
    out->map_evictions = m->counters.evictions;
    out->map_gc_updates = m->counters.gc_updates;
    out->map_copies = m->counters.copies;
    out->map_cache_bytes = (uint64_t)m->cached_max * PAGE_BYTES;
}

static int check_cache(const struct trib_flash *f, struct trib_error *error) {
    const struct flash_map *m = f->map;
    uint32_t listed = 0, cached = 0;
    for (uint32_t t = m->pages[m->count].next; t != m->count; t = m->pages[t].next) {
        if (t > m->count || ++listed > m->cached || !(m->pages[t].state & CACHED) ||
            m->pages[m->pages[t].next].prev != t)
            return trib_fail(error, -EBADMSG, "the list of cached translation pages breaks at %u", t);
    }
    for (uint32_t t = 0; t < m->count; t++)
        cached += m->pages[t].state & CACHED;
    if (listed != cached || cached != m->cached || cached > m->cached_max)
        return trib_fail(error, -EBADMSG, "%u translation pages are cached, %u listed, %u counted, %u allowed", cached,
                         listed, m->cached, m->cached_max);
    for (uint64_t lba = 0; lba < f->logical_pages; lba++) {
        const struct page *page = &m->pages[lba / m->entries_per_page];
        if (f->logical_to_physical[lba] != FLASH_UNMAPPED && !(page->state & CACHED) && page->at == NOWHERE)
            return trib_fail(error, -EBADMSG, "the entry of page %" PRIu64 " is lost", lba);
    }
    return 0;
}

static int check_pool(const struct flash_map *m, struct trib_error *error) {
    uint64_t full = 0, live = 0, counted = 0;
    for (uint32_t t = 0; t < m->count; t++) {
        if (m->pages[t].at == NOWHERE)
            continue;
        live++;
        if (m->pages[t].at >= m->blocks * m->block_pages || m->owner[m->pages[t].at] != t)
            return trib_fail(error, -EBADMSG, "translation page %u is not where it should be", t);
    }
    for (uint32_t i = 0; i < m->blocks; i++) {
        counted += m->valid[i];
        full += is_full(m, i);
    }
    uint64_t open = m->next_slot == m->end_slot ? 0 : m->block_pages - (m->end_slot - m->next_slot);
    if (live != counted || (m->erases + full) * m->block_pages + open != m->programmed)
        return trib_fail(error, -EBADMSG,
                         "%" PRIu64 " live translation pages, %" PRIu64 " counted; %" PRIu64
                         " programmed do not fill %" PRIu64 " blocks and %" PRIu64 " pages",
                         live, counted, m->programmed, m->erases + full, open);
    return 0;
}

int flash_map_check(const struct trib_flash *f, struct trib_error *error) {
    const struct flash_map_counters *c = &f->map->counters;
    int rc = check_cache(f, error);
    rc = rc ? rc : check_pool(f->map, error);
    if (!rc &&
        (c->reads != c->misses + c->gc_updates + c->copies || c->programs != c->evictions + c->gc_updates + c->copies))
        return trib_fail(error, -EBADMSG,
                         "%" PRIu64 " reads and %" PRIu64 " programs of translation pages lack a "
                         "reason",
                         c->reads, c->programs);
    return rc;
}
