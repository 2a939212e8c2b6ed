/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a superblock: free -> open (appended to by one stream) -> closed -> collected -> free.
 * Decides who may open one and what happens when too many are open; internal.h says why that never
 * wedges. */
#include "flash/internal.h"

static void bits_fill(uint64_t *words, uint64_t first, uint64_t end, bool set) {
    while (first < end) {
        uint64_t below = first & 63, upto = end - (first - below) < 64 ? end - (first - below) : 64;
        uint64_t mask = ~0ull << below & (upto == 64 ? ~0ull : (1ull << upto) - 1);
        if (set)
            words[first >> 6] |= mask;
        else
            words[first >> 6] &= ~mask;
        first += upto - below;
    }
}

static void superblock_bits(struct trib_flash *f, uint32_t superblock, bool set) {
    uint64_t first = (uint64_t)superblock * f->superblock_pages;
    bits_fill(f->valid_bits, first, first + f->superblock_pages, set);
}

static void superblock_open(struct trib_flash *f, uint32_t class) {
    struct flash_stream *s = &f->streams[class];
    uint32_t superblock = f->free_ring[f->free_head];
    f->free_head = f->free_head + 1 == f->superblocks ? 0 : f->free_head + 1;
    f->free_count--;
    f->open_count++;
    if (f->open_count > f->counters.open_superblocks_peak)
        f->counters.open_superblocks_peak = f->open_count;
    f->superblock_class[superblock] = (uint16_t) class;
    f->keys[superblock] = FLASH_NOT_CLOSED | f->superblock_pages;
    superblock_bits(f, superblock, true);
    s->superblock = superblock;
    s->next = superblock * f->superblock_pages;
    s->end = s->next + f->superblock_pages;
    s->opened = f->sequence++;
    f->opened_at[superblock] = f->host_clock;
    s->idle_next = s->next;
    s->idle_since = f->host_clock;
}

void flash_superblock_close(struct trib_flash *f, struct flash_stream *s) {
    f->keys[s->superblock] &= ~FLASH_NOT_CLOSED;
    f->closed_at[s->superblock] = f->host_clock;
    f->closed_sequence[s->superblock] = f->sequence++;
    f->open_count--;
    s->next = s->end = 0;
    flash_victims_add(f, s->superblock);
}

static void close_early(struct trib_flash *f, struct flash_stream *s) {
    uint32_t unwritten = s->end - s->next;
    if (f->latency)
        flash_latency_pad(f, s->next);
    bits_fill(f->valid_bits, s->next, s->end, false);
    f->keys[s->superblock] -= unwritten;
    f->counters.early_closes++;
    f->counters.padded_pages += unwritten;
    flash_superblock_close(f, s);
}

void flash_superblock_erase(struct trib_flash *f, uint32_t superblock) {
    uint32_t tail = f->free_head + f->free_count;
    superblock_bits(f, superblock, false);
    f->keys[superblock] = FLASH_NOT_CLOSED;
    f->erase_counts[superblock]++;
    f->counters.erases++;
    f->free_ring[tail >= f->superblocks ? tail - f->superblocks : tail] = superblock;
    f->free_count++;
    if (f->latency)
        flash_latency_erase(f, superblock);
}

/* The open stream that was not appended to for longest, and for how many host pages: as seen at
 * these calls, so never too long. Copies do not count: a nearly full drive copies so much that next
 * to it every stream would look idle, and closing those costs more room than it wins. NULL if none
 * is open. Ties go to the superblock opened first: a stream's number must not matter. */
static struct flash_stream *idlest(struct trib_flash *f, uint64_t *idle_pages) {
    uint64_t now = f->host_clock;
    struct flash_stream *best = NULL;
    for (uint32_t i = 0; i < f->classes; i++) {
        struct flash_stream *s = &f->streams[i];
        if (!flash_is_open(s))
            continue;
        if (s->next != s->idle_next) {
            s->idle_next = s->next;
            s->idle_since = now;
        }
        if (!best || s->idle_since < best->idle_since ||
            (s->idle_since == best->idle_since && s->opened < best->opened))
            best = s;
    }
    *idle_pages = best ? now - best->idle_since : 0;
    return best;
}

static bool close_idle(struct trib_flash *f, uint64_t idle_pages_min) {
    uint64_t idle_pages;
    struct flash_stream *s = idlest(f, &idle_pages);
    if (!s || idle_pages < idle_pages_min)
        return false;
    close_early(f, s);
    return true;
}

static struct flash_stream *share_idlest(struct trib_flash *f) {
    uint64_t idle_pages;
    struct flash_stream *s = idlest(f, &idle_pages);
    assert(s); /* open_max >= 1, and a full superblock is closed at once */
    return s;
}

struct flash_stream *flash_room_for_host(struct trib_flash *f, uint32_t class) {
    struct flash_stream *s = &f->streams[class];
    if (flash_is_open(s))
        return s;
    /* Space is short: an open superblock that did not move while the host wrote as much as the
     * whole spare area would be garbage-collected by now if it were closed. */
    if (f->free_count < f->free_low)
        while (close_idle(f, f->physical_pages - f->logical_pages))
            continue;
    while (f->free_count < f->free_low && !flash_is_open(s)) /* GC_SAME opens one for us */
        flash_collect(f);
    if (flash_is_open(s))
        return s;
    if (f->open_count >= f->open_max && !close_idle(f, f->superblock_pages))
        return share_idlest(f);
    superblock_open(f, class);
    return s;
}

struct flash_stream *flash_room_for_copy(struct trib_flash *f, uint32_t class) {
    struct flash_stream *s = &f->streams[class];
    if (flash_is_open(s))
        return s;
    if (f->free_count == 0 || f->open_count >= f->open_max)
        return share_idlest(f);
    superblock_open(f, class);
    return s;
}
