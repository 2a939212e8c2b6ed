/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes -> a drive and a sequence of operations on it. The first bytes choose geometry, streams,
 * destination and victim selection; the rest is operations. After every 16 of them and at the end
 * the drive checks itself and a map of what is written agrees. A drive that wedges is a time-out.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flash/flash.h"

#define PAGES_MAX 2048u
#define WORK_MAX  4000u /* pages written per input: collection multiplies them */

struct input {
    const uint8_t *at;
    size_t left;
};

struct run {
    struct trib_flash *flash;
    uint32_t pages;
    uint32_t work;
    uint64_t random;
    uint8_t mapped[PAGES_MAX];
    uint16_t streams[PAGES_MAX]; /* of the last write; what relocate must be told */
    uint32_t external;           /* streams that exist besides S0 */
    uint32_t answers;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t next(struct input *in) {
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

static uint16_t next16(struct input *in) {
    uint16_t high = next(in);
    return (uint16_t)(high << 8 | next(in));
}

static uint32_t scatter(struct run *r, uint32_t bound) {
    r->random = r->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((r->random >> 33) % bound);
}

static uint16_t relocate(void *arg, uint64_t lba, uint16_t stream, uint16_t victim_class, bool victim_internal) {
    struct run *r = arg;
    assert(lba < r->pages && r->mapped[lba]);
    assert(r->streams[lba] == stream);
    assert(victim_internal || victim_class <= r->external);
    return (uint16_t)(scatter(r, r->answers));
}

static struct trib_flash_config config_of(struct input *in, struct run *r) {
    struct trib_flash_config c = {0};
    c.superblock_pages = 2 + next(in) % 32;
    uint32_t full = 1 + next(in) % 60;
    c.logical_pages = (uint64_t)full * c.superblock_pages - next(in) % c.superblock_pages;
    c.over_provisioning = (1 + next(in) % 50) / 100.0;
    c.streams = next(in) % 20;
    c.gc = (enum trib_gc_destination)(next(in) % 8);
    c.victim = (enum trib_victim)(next(in) % 5);
    c.victim_choices = 1 + next(in) % 8;
    c.internal_streams = 1 + next(in) % 8;
    c.substream_pages = c.superblock_pages / 3;
    c.gc_free_low = next(in) % 8;
    c.seed = next(in);
    if (c.seed & 8) {
        c.map_cache_bytes = (1 + (c.seed >> 4)) * 4096;
        c.map_entry_bytes = 64;
    }
    uint8_t flags = next(in);
    c.relocate = relocate;
    c.gc_arg = r;
    if (flags & 2) {
        struct trib_flash_latency timed = {.channels = 1 + (flags >> 2) % 4,
                                           .dies_per_channel = 1 + (flags >> 4) % 4,
                                           .read_us = 60,
                                           .program_us = 700,
                                           .erase_us = 3500,
                                           .channel_mb_per_s = 400,
                                           .pages_per_program = 1 + (flags >> 6),
                                           .queue_depth = 8};
        c.latency = timed;
    }
    r->pages = (uint32_t)c.logical_pages;
    r->external = c.streams;
    r->answers = c.internal_streams + (flags >> 7); /* sometimes out of range */
    return c;
}

static void written(struct run *r, uint32_t lba, uint32_t pages, uint16_t stream) {
    for (uint32_t i = lba; i < lba + pages; i++) {
        r->mapped[i] = 1;
        r->streams[i] = stream <= r->external ? stream : 0;
    }
    r->work += pages;
}

/* Page by page where relocate is asked: collection inside a call sees the pages before it as the
 * host left them. */
static void do_write(struct run *r, uint32_t lba, uint32_t pages, uint16_t stream) {
    if (lba >= r->pages || pages == 0 || pages > r->pages - lba) {
        assert(trib_flash_write(r->flash, lba, pages, stream) == -EINVAL);
        return;
    }
    for (uint32_t i = 0; i < pages; i++) {
        assert(trib_flash_write(r->flash, lba + i, 1, stream) == 0);
        written(r, lba + i, 1, stream);
    }
}

static void do_long_write(struct run *r, uint32_t lba, uint16_t stream) {
    uint32_t pages = r->pages - lba;
    for (uint32_t i = lba; i < r->pages; i++)
        if (!r->mapped[i] || r->streams[i] != (stream <= r->external ? stream : 0))
            pages = 1; /* relocate could be told the old or the new stream */
    assert(trib_flash_write(r->flash, lba, pages, stream) == 0);
    written(r, lba, pages, stream);
}

static void do_discard(struct run *r, uint32_t lba, uint32_t pages) {
    int rc = trib_flash_discard(r->flash, lba, pages);
    bool valid = lba < r->pages && pages > 0 && pages <= r->pages - lba;
    assert(rc == (valid ? 0 : -EINVAL));
    if (valid)
        memset(&r->mapped[lba], 0, pages);
}

static void do_batch(struct run *r, uint32_t lba, uint32_t count, uint16_t stream) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t one = (lba + i * 7) % r->pages;
        assert(trib_flash_write_batch(r->flash, &one, 1, stream) == 0);
        written(r, one, 1, stream);
    }
}

static void do_scattered(struct run *r, uint32_t count, uint32_t streams) {
    for (uint32_t i = 0; i < count; i++)
        do_write(r, scatter(r, r->pages), 1, (uint16_t)scatter(r, streams));
}

static void check(const struct run *r) {
    struct trib_error error = {{0}};
    struct trib_flash_stats stats;
    uint64_t mapped = 0;
    if (trib_flash_check(r->flash, &error)) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    for (uint32_t lba = 0; lba < r->pages; lba++) {
        assert((trib_flash_lookup(r->flash, lba) != UINT32_MAX) == r->mapped[lba]);
        mapped += r->mapped[lba];
    }
    trib_flash_statistics(r->flash, &stats);
    assert(stats.mapped_pages == mapped);
}

static void step(struct run *r, struct input *in) {
    uint8_t what = next(in);
    uint32_t lba = next16(in) % (r->pages + 2); /* now and then out of range */
    uint8_t arg = next(in);
    switch (what % 8) {
    case 0:
    case 1:
        do_write(r, lba, arg % 40, what >> 3);
        break;
    case 2:
        do_scattered(r, 1 + arg * 4u, 1 + (what >> 3));
        break;
    case 3:
        do_discard(r, lba, arg);
        break;
    case 4:
        (void)trib_flash_read(r->flash, lba, arg);
        trib_flash_resize_map_cache(r->flash, (what >> 3) * 4096ull);
        break;
    case 5:
        do_batch(r, lba, arg, what >> 3);
        break;
    case 6:
        do_long_write(r, lba % r->pages, what >> 3);
        break;
    default:
        do_discard(r, lba, r->pages);
        do_write(r, lba, 1, arg);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {data, size};
    static struct run r;
    struct trib_error error = {{0}};
    memset(&r, 0, sizeof r);
    struct trib_flash_config config = config_of(&in, &r);
    int rc = trib_flash_open(&r.flash, &config, &error);
    if (rc) {
        assert(rc == -EINVAL && error.text[0]);
        return 0;
    }
    for (uint32_t i = 0; in.left > 0 && r.work < WORK_MAX; i++) {
        step(&r, &in);
        if (i % 16 == 15)
            check(&r);
    }
    check(&r);
    trib_flash_close(r.flash);
    return 0;
}
