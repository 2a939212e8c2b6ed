/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a configuration, says what is wrong with it, and builds the drive. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/options.h"
#include "flash/internal.h"

#define SUPERBLOCK_PAGES_MAX  (1u << 24)
#define EXTERNAL_STREAMS_MAX  255u /* with S0; page_streams keeps one byte */
#define INTERNAL_STREAMS_MAX  255u
#define OVER_PROVISIONING_MAX 64.0
#define VICTIM_CHOICES_MAX    64u
#define PHYSICAL_PAGES_MAX    (UINT32_MAX - 64ull) /* leaves FLASH_UNMAPPED and the end of the last bitmap word */
#define DIES_MAX              65536u
#define MAP_ENTRY_BYTES_MAX   4096u
#define QUEUE_DEPTH_MAX       65536u

static int check_streams(const struct trib_flash_config *c, struct trib_error *error) {
    if ((unsigned)c->gc >= TRIB_GC_COUNT)
        return trib_fail(error, -EINVAL, "unknown gc destination %d", (int)c->gc);
    if ((unsigned)c->victim >= TRIB_VICTIM_COUNT)
        return trib_fail(error, -EINVAL, "unknown victim selection %d", (int)c->victim);
    const struct trib_gc_rule *gc = &trib_gc_rules[c->gc];
    bool asks = gc->internal == TRIB_GC_ASKED;
    if (c->streams >= EXTERNAL_STREAMS_MAX)
        return trib_fail(error, -EINVAL, "%u streams: the drive has at most %u besides stream 0", c->streams,
                         EXTERNAL_STREAMS_MAX - 1);
    if (asks && (c->internal_streams < 1 || c->internal_streams > INTERNAL_STREAMS_MAX))
        return trib_fail(error, -EINVAL, "gc destination %s needs 1..%u internal streams, not %u", gc->name,
                         INTERNAL_STREAMS_MAX, c->internal_streams);
    if (asks && !c->relocate)
        return trib_fail(error, -EINVAL, "gc destination %s needs a policy that relocates pages", gc->name);
    if (c->gc == TRIB_GC_SUBSTREAM && c->substream_pages >= c->superblock_pages)
        return trib_fail(error, -EINVAL,
                         "a superblock of %u pages never has more than substream_pages=%u valid "
                         "ones, so no stream would get a substream",
                         c->superblock_pages, c->substream_pages);
    if (c->victim == TRIB_VICTIM_D_CHOICES && (c->victim_choices < 1 || c->victim_choices > VICTIM_CHOICES_MAX))
        return trib_fail(error, -EINVAL, "d-choices needs 1..%u choices, not %u", VICTIM_CHOICES_MAX,
                         c->victim_choices);
    return 0;
}

static bool is_time(double us) {
    return us >= 0 && us <= 1e9;
}

static int check_latency(const struct trib_flash_latency *l, struct trib_error *error) {
    if (l->channels == 0)
        return 0;
    if (l->dies_per_channel == 0 || (uint64_t)l->channels * l->dies_per_channel > DIES_MAX)
        return trib_fail(error, -EINVAL, "the latency model needs 1..%u dies", DIES_MAX);
    if (!is_time(l->read_us) || !is_time(l->program_us) || !is_time(l->erase_us))
        return trib_fail(error, -EINVAL, "read, program and erase times are 0..1e9 microseconds");
    if (!(l->channel_mb_per_s > 0 && l->channel_mb_per_s <= 1e9))
        return trib_fail(error, -EINVAL, "the latency model needs a channel rate above 0 MB/s");
    if (l->pages_per_program == 0 || l->queue_depth == 0 || l->queue_depth > QUEUE_DEPTH_MAX)
        return trib_fail(error, -EINVAL, "the latency model needs pages_per_program >= 1 and queue_depth 1..%u",
                         QUEUE_DEPTH_MAX);
    return 0;
}

/* Superblocks of the exported pages (*full), of the whole drive, and whether the rest suffices
 * (internal.h). */
static int check_geometry(struct trib_flash *f, struct trib_error *error) {
    const struct trib_flash_config *c = &f->config;
    if (c->superblock_pages < 2 || c->superblock_pages > SUPERBLOCK_PAGES_MAX)
        return trib_fail(error, -EINVAL, "a superblock has 2..%u pages, not %u", SUPERBLOCK_PAGES_MAX,
                         c->superblock_pages);
    if (c->logical_pages < 1 || c->logical_pages > PHYSICAL_PAGES_MAX)
        return trib_fail(error, -EINVAL, "the drive exports 1..%llu pages, not %llu", PHYSICAL_PAGES_MAX,
                         (unsigned long long)c->logical_pages);
    if (!(c->over_provisioning > 0 && c->over_provisioning <= OVER_PROVISIONING_MAX))
        return trib_fail(error, -EINVAL, "over-provisioning is above 0 %% and at most %.0f %%",
                         OVER_PROVISIONING_MAX * 100);
    double size = c->superblock_pages, wanted = (double)c->logical_pages * (1 + c->over_provisioning) / size;
    double count = ceil(wanted - wanted * 1e-12); /* 100 * 1.07 is 107, not 108 */
    uint64_t full = (c->logical_pages + c->superblock_pages - 1) / c->superblock_pages;
    uint64_t needed = full + (c->gc_free_low > FLASH_FREE_LOW_MIN ? c->gc_free_low : FLASH_FREE_LOW_MIN) + 1;
    if (count * size > (double)PHYSICAL_PAGES_MAX)
        return trib_fail(error, -EINVAL, "the drive would have %.0f physical pages; the model addresses %llu",
                         count * size, PHYSICAL_PAGES_MAX);
    if (count < (double)needed)
        return trib_fail(error, -EINVAL,
                         "%.0f superblocks of %u pages are too few: %llu hold the exported pages "
                         "and at least %llu more "
                         "are needed to collect garbage; use a larger capacity=, smaller superblocks (superblock=) or "
                         "more over-provisioning (op=), >= %.3f %%",
                         count, c->superblock_pages, (unsigned long long)full, (unsigned long long)(needed - full),
                         ((double)needed * size / (double)c->logical_pages - 1) * 100);
    f->superblocks = (uint32_t)count;
    f->free_low = (uint32_t)(needed - full) - 1;
    f->open_max = f->superblocks - (uint32_t)full - f->free_low;
    return 0;
}

static uint32_t internal_streams(const struct trib_flash_config *c) {
    switch (trib_gc_rules[c->gc].internal) {
    case TRIB_GC_NO_INTERNAL:
        return 0;
    case TRIB_GC_ONE:
        return 1;
    case TRIB_GC_PAIRED:
        return c->streams + 1;
    case TRIB_GC_ASKED:
        break;
    }
    return c->internal_streams;
}

static int check_map_cache(const struct trib_flash_config *c, struct trib_error *error) {
    if (c->map_cache_bytes > 0 && c->map_entry_bytes > MAP_ENTRY_BYTES_MAX)
        return trib_fail(error, -EINVAL, "an entry of the mapping table has 1..%u bytes, not %u", MAP_ENTRY_BYTES_MAX,
                         c->map_entry_bytes);
    return 0;
}

static void group_classes(struct trib_flash *f) {
    bool paired = trib_gc_rules[f->config.gc].internal == TRIB_GC_PAIRED;
    for (uint32_t c = 0; c < f->classes; c++)
        f->streams[c].group = (uint16_t)(paired && c >= f->external_streams ? c - f->external_streams : c);
}

static int build(struct trib_flash *f, const struct trib_flash_config *config, struct trib_error *error) {
    f->config = *config;
    int rc = check_streams(config, error);
    rc = rc ? rc : check_latency(&config->latency, error);
    rc = rc ? rc : check_map_cache(config, error);
    rc = rc ? rc : check_geometry(f, error);
    if (rc)
        return rc;
    f->logical_pages = config->logical_pages;
    f->superblock_pages = config->superblock_pages;
    f->superblock_inverse = UINT64_MAX / f->superblock_pages + 1;
    f->physical_pages = (uint64_t)f->superblocks * f->superblock_pages;
    f->groups = (f->superblocks + (1u << FLASH_GROUP_SHIFT) - 1) >> FLASH_GROUP_SHIFT;
    f->external_streams = config->streams + 1;
    f->classes = f->external_streams + internal_streams(config);
    f->random_state = config->seed;
    f->memory_bytes = sizeof *f;
    if (flash_tables_open(f) || flash_victims_open(f) || flash_latency_open(f) || flash_map_open(f))
        return trib_fail(error, -ENOMEM, "no memory for the tables of a drive of %llu physical pages",
                         (unsigned long long)f->physical_pages);
    group_classes(f);
    f->keeps_records = f->page_streams || f->latency || f->map;
    f->hands_out_numbers = config->gc == TRIB_GC_SUBSTREAM || config->gc == TRIB_GC_CHAIN;
    f->is_slow = f->keeps_records || f->hands_out_numbers;
    return 0;
}

int trib_flash_open(struct trib_flash **out, const struct trib_flash_config *config, struct trib_error *error) {
    struct trib_flash *f = calloc(1, sizeof *f);
    if (!f)
        return trib_fail(error, -ENOMEM, "no memory for a drive");
    int rc = build(f, config, error);
    if (rc) {
        trib_flash_close(f);
        return rc;
    }
    *out = f;
    return 0;
}

void trib_flash_close(struct trib_flash *f) {
    if (!f)
        return;
    flash_map_close(f);
    flash_latency_close(f);
    flash_victims_close(f);
    flash_tables_close(f);
    free(f);
}
