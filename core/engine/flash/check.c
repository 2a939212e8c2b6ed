/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of flash.h and internal.h from first principles: recounts everything, trusts no
 * running count. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/options.h"
#include "flash/internal.h"

static uint32_t written_pages(const struct trib_flash *f, uint32_t superblock) {
    const struct flash_stream *s = flash_open_stream(f, superblock);
    return s ? f->superblock_pages - (s->end - s->next) : f->superblock_pages;
}

static bool is_free(const struct trib_flash *f, uint32_t superblock) {
    return !flash_is_closed(f, superblock) && !flash_open_stream(f, superblock);
}

/* Every mapped page has one copy, in a written place that knows it. Counts live pages per
 * superblock. */
static int check_map(const struct trib_flash *f, uint32_t *live, struct trib_error *error) {
    uint64_t mapped = 0;
    for (uint64_t lba = 0; lba < f->logical_pages; lba++) {
        uint32_t page = f->logical_to_physical[lba];
        if (page == FLASH_UNMAPPED)
            continue;
        mapped++;
        if (page >= f->physical_pages)
            return trib_fail(error, -EBADMSG, "page %" PRIu64 " maps beyond the drive, to %u", lba, page);
        uint32_t superblock = page / f->superblock_pages;
        if (is_free(f, superblock))
            return trib_fail(error, -EBADMSG, "page %" PRIu64 " maps into free superblock %u", lba, superblock);
        if (page % f->superblock_pages >= written_pages(f, superblock))
            return trib_fail(error, -EBADMSG, "page %" PRIu64 " maps to unwritten page %u", lba, page);
        if (f->physical_to_logical[page] != lba)
            return trib_fail(error, -EBADMSG, "physical page %u belongs to %u, not to %" PRIu64, page,
                             f->physical_to_logical[page], lba);
        if (!flash_bit(f, page))
            return trib_fail(error, -EBADMSG, "live physical page %u is not marked valid", page);
        live[superblock]++;
    }
    if (mapped != f->mapped_pages)
        return trib_fail(error, -EBADMSG, "%" PRIu64 " pages are mapped, not %" PRIu64, mapped, f->mapped_pages);
    return 0;
}

static int check_superblock(const struct trib_flash *f, uint32_t i, uint32_t live, struct trib_error *error) {
    uint32_t marked = 0, unwritten = is_free(f, i) ? 0 : f->superblock_pages - written_pages(f, i);
    for (uint32_t page = 0; page < f->superblock_pages; page++)
        marked += flash_bit(f, i * f->superblock_pages + page);
    if (marked != live + unwritten)
        return trib_fail(error, -EBADMSG, "superblock %u has %u live and %u unwritten pages but %u marks", i, live,
                         unwritten, marked);
    if ((f->keys[i] & ~FLASH_NOT_CLOSED) != marked)
        return trib_fail(error, -EBADMSG, "superblock %u counts %u valid pages, not %u", i,
                         f->keys[i] & ~FLASH_NOT_CLOSED, marked);
    if (flash_is_closed(f, i) && flash_open_stream(f, i))
        return trib_fail(error, -EBADMSG, "superblock %u is open and closed", i);
    return 0;
}

static int check_groups(const struct trib_flash *f, struct trib_error *error) {
    for (uint32_t g = 0; g < f->groups; g++) {
        uint32_t fewest = FLASH_NOT_CLOSED;
        for (uint32_t i = g << FLASH_GROUP_SHIFT; i < f->superblocks && i >> FLASH_GROUP_SHIFT == g; i++)
            if (f->keys[i] < fewest)
                fewest = f->keys[i];
        uint32_t kept = f->group_keys_min[g] < FLASH_NOT_CLOSED ? f->group_keys_min[g] : FLASH_NOT_CLOSED;
        if (kept != fewest)
            return trib_fail(error, -EBADMSG, "group %u says its emptiest has %u valid pages, not %u", g, kept, fewest);
    }
    return 0;
}

static int check_states(const struct trib_flash *f, struct trib_error *error) {
    uint32_t free_count = 0, open_count = 0, closed_count = 0, owned = 0;
    for (uint32_t i = 0; i < f->superblocks; i++) {
        free_count += is_free(f, i);
        open_count += flash_open_stream(f, i) != NULL;
        closed_count += flash_is_closed(f, i);
    }
    for (uint32_t c = 0; c < f->classes; c++)
        owned += flash_is_open(&f->streams[c]);
    if (free_count != f->free_count || open_count != f->open_count || closed_count != f->closed_count ||
        owned != open_count)
        return trib_fail(error, -EBADMSG,
                         "%u free, %u open (%u by stream), %u closed superblocks, counted as %u, %u, %u", free_count,
                         open_count, owned, closed_count, f->free_count, f->open_count, f->closed_count);
    if (free_count < f->free_low - 1 && !flash_asks(f))
        return trib_fail(error, -EBADMSG, "%u free superblocks, fewer than the reserve of %u", free_count,
                         f->free_low - 1);
    if (free_count < 1 || open_count > f->open_max)
        return trib_fail(error, -EBADMSG, "%u free and %u open superblocks: collection could wedge", free_count,
                         open_count);
    return 0;
}

/* The lists name each free (closed) superblock once. */
static int check_lists(const struct trib_flash *f, uint32_t *seen, struct trib_error *error) {
    for (uint32_t n = 0; n < f->free_count; n++) {
        uint32_t i = f->free_ring[(f->free_head + n) % f->superblocks];
        if (i >= f->superblocks || !is_free(f, i) || seen[i]++)
            return trib_fail(error, -EBADMSG, "free list entry %u (superblock %u) is not free or listed twice", n, i);
    }
    if (!f->closed_list)
        return 0;
    bool is_ring = f->config.victim == TRIB_VICTIM_FIFO;
    uint64_t previous = 0;
    for (uint32_t n = 0; n < f->closed_count; n++) {
        uint32_t i = f->closed_list[is_ring ? (f->closed_head + n) % f->superblocks : n];
        if (i >= f->superblocks || !flash_is_closed(f, i) || seen[i]++)
            return trib_fail(error, -EBADMSG, "closed list entry %u (superblock %u) is not closed or listed twice", n,
                             i);
        if (is_ring && n > 0 && f->closed_sequence[i] <= previous)
            return trib_fail(error, -EBADMSG, "closed list entry %u is out of order", n);
        previous = f->closed_sequence[i];
    }
    return 0;
}

static int check_counters(const struct trib_flash *f, struct trib_error *error) {
    uint64_t host = 0, in = 0, out = 0, erases = 0;
    for (uint32_t c = 0; c < f->classes; c++) {
        host += f->streams[c].traffic.host_pages;
        in += f->streams[c].traffic.gc_pages_in;
        out += f->streams[c].traffic.gc_pages_out;
    }
    for (uint32_t i = 0; i < f->superblocks; i++)
        erases += f->erase_counts[i];
    if (host != f->host_clock || in != f->copied_pages || out != f->copied_pages)
        return trib_fail(error, -EBADMSG,
                         "streams sum to %" PRIu64 " host pages, %" PRIu64 " copies in, %" PRIu64
                         " out; the drive has %" PRIu64 " and %" PRIu64,
                         host, in, out, f->host_clock, f->copied_pages);
    if (erases < f->counters.erases || f->counters.gc_pages > f->copied_pages)
        return trib_fail(error, -EBADMSG, "counters since reset exceed those of the drive's life");
    return 0;
}

/* A substream belongs to one stream and never to the host. */
static int check_substreams(const struct trib_flash *f, struct trib_error *error) {
    uint32_t given = 0, owned = 0;
    for (uint32_t c = 0; c < f->classes; c++) {
        const struct flash_stream *s = &f->streams[c];
        given += s->is_substream;
        owned += s->substream != 0;
        if (s->is_substream && (c == 0 || s->is_named || s->traffic.host_pages > 0))
            return trib_fail(error, -EBADMSG, "substream %u is the host's, too", c);
        if (s->substream && !f->streams[s->substream].is_substream)
            return trib_fail(error, -EBADMSG, "the survivors of stream %u go to stream %u", c, s->substream);
    }
    if (given != owned)
        return trib_fail(error, -EBADMSG, "%u substreams of %u streams", given, owned);
    return 0;
}

static int check_all(const struct trib_flash *f, uint32_t *counts, struct trib_error *error) {
    int rc = check_states(f, error);
    rc = rc ? rc : check_map(f, counts, error);
    for (uint32_t i = 0; !rc && i < f->superblocks; i++)
        rc = check_superblock(f, i, counts[i], error);
    for (uint32_t i = 0; i < f->superblocks; i++)
        counts[i] = 0;
    rc = rc ? rc : check_lists(f, counts, error);
    rc = rc ? rc : check_groups(f, error);
    if (f->map)
        rc = rc ? rc : flash_map_check(f, error);
    rc = rc ? rc : check_substreams(f, error);
    return rc ? rc : check_counters(f, error);
}

int trib_flash_check(const struct trib_flash *f, struct trib_error *error) {
    uint32_t *counts = calloc(f->superblocks, sizeof *counts);
    if (!counts)
        return trib_fail(error, -ENOMEM, "no memory to check the drive");
    int rc = check_all(f, counts, error);
    free(counts);
    return rc;
}
