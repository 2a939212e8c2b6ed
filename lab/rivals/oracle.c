/* SPDX-License-Identifier: Apache-2.0 */
/* Paper       None; the clairvoyant bound. Grouping by death time: He et al., "The Unwritten Contract of Solid State
 *             Drives", EuroSys'17 (rule "grouping by death time"); here with known deaths.
 * Idea        Blocks that die in the same window of absolute time share a superblock, which then empties at once.
 *             Windows are `death_window` percent of the capacity long; stream = 1 + window number modulo the streams
 * less one. What dies later than all windows ahead, or never, is the last stream's. Survivors are regrouped in the same
 * way (gc=class). by=lifetime groups by octaves of the lifetime that is left instead, from 4 capacities down: the bound
 *             on policies that predict lifetimes, however well they do it. With blur=S what is left is known with an
 *             error, normal in its logarithm, of S octaves: what a forecast of a given quality is worth.
 * Uses        The future (a replay of known work), block addresses.
 * Constants   Ours. The best of a few windows counts as the bound.
 * Deviations  A bound on what grouping by windows can reach, not a proof of optimality.
 * Cost        place: one division; two logarithms and a cosine with blur. Memory: 8 bytes per block. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "rivals/rivals.h"

struct settings {
    double window_percent;
    double blur_octaves;
    int by;
};
enum { BY_DEATH, BY_LIFETIME };

#define LIFETIME_LONGEST_CAPACITIES 4 /* from here on it is the last group's, as with what never dies */

/* clang-format off */
static const struct trib_option_spec options[] = {
    {.key = "death_window", .fallback = "5", .type = TRIB_OPTION_PERCENT,
     .offset = offsetof(struct settings, window_percent), .minimum = 0.01, .maximum = 1000,
     .help = "length of a death-time window, percent of the capacity"},
    {.key = "by", .fallback = "death", .type = TRIB_OPTION_ENUM, .offset = offsetof(struct settings, by),
     .choices = "death|lifetime", .help = "what dies together, or what lives equally long (octaves)"},
    {.key = "blur", .fallback = "0", .type = TRIB_OPTION_DOUBLE, .offset = offsetof(struct settings, blur_octaves),
     .minimum = 0, .maximum = 20, .help = "standard deviation of its predictions, octaves of the time left"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

struct oracle {
    uint64_t *death; /* by logical block: when its present contents die */
    uint64_t blocks, window_blocks;
    double blur_octaves;
    uint32_t streams, internal_streams;
    int by;
};

static int oracle_open(void **self, const struct trib_policy_env *env, struct trib_options *given,
                       struct trib_error *error) {
    struct settings settings;
    int code = trib_options_take(given, options, &settings, error);
    if (code)
        return code;
    if (!env->blocks)
        return trib_fail(error, -EINVAL, "oracle: needs a drive with a known capacity");
    struct oracle *oracle = calloc(1, sizeof *oracle);
    uint64_t *death = malloc(env->blocks * sizeof *death);
    if (!oracle || !death) {
        free(oracle);
        free(death);
        return trib_fail(error, -ENOMEM, "oracle: no memory for %llu blocks", (unsigned long long)env->blocks);
    }
    for (uint64_t i = 0; i < env->blocks; i++)
        death[i] = TRIB_NEVER; /* cold data */
    uint64_t window = (uint64_t)((double)env->blocks * settings.window_percent / 100);
    *oracle = (struct oracle){.death = death,
                              .blocks = env->blocks,
                              .window_blocks = window ? window : 1,
                              .streams = env->streams,
                              .internal_streams = env->internal_streams,
                              .blur_octaves = settings.blur_octaves,
                              .by = settings.by};
    *self = oracle;
    return 0;
}

static void oracle_close(void *self) {
    struct oracle *oracle = self;
    free(oracle->death);
    free(oracle);
}

static uint64_t longest(const struct oracle *oracle) {
    return LIFETIME_LONGEST_CAPACITIES * oracle->blocks;
}

/* Standard normal, always the same for one life of one block (Box and Muller 1958). */
static double error_of(uint64_t lba, uint64_t death) {
    uint64_t pair[2] = {lba, death}, random = trib_hash(pair, sizeof pair);
    double radius = ((double)(random >> 32) + 1) / 0x1p32, angle = (double)(uint32_t)random / 0x1p32;

    return sqrt(-2 * log(radius)) * cos(2 * M_PI * angle);
}

/* When these contents are said to die. */
static uint64_t future(const struct oracle *oracle, uint64_t lba, uint64_t death, uint64_t now) {
    if (oracle->blur_octaves == 0)
        return death;
    /* "Never" is what a forecast cannot know: it blurs the longest life that it tells apart. */
    double left = death != TRIB_NEVER && death >= now ? (double)(death - now) : (double)longest(oracle);
    double said = left * exp2(oracle->blur_octaves * error_of(lba, death));

    return said < (double)longest(oracle) ? now + (uint64_t)said : TRIB_NEVER;
}

/* 0..groups-1; the last is for the longest lifetimes, the one before it for half of those, and so on. */
static uint32_t group_by_lifetime(const struct oracle *oracle, uint64_t left, uint32_t groups) {
    uint64_t bound = longest(oracle);
    uint32_t group = groups - 1;

    while (group > 0 && left < bound) {
        group--;
        bound /= 2;
    }
    return group;
}

/* 0..groups-1; the last is for what outlives the windows ahead. */
static uint32_t group_of(const struct oracle *oracle, uint64_t death, uint64_t now, uint32_t groups) {
    uint32_t windows = groups - 1;
    bool is_known = death != TRIB_NEVER && death >= now;

    if (groups && oracle->by == BY_LIFETIME)
        return group_by_lifetime(oracle, is_known ? death - now : TRIB_NEVER, groups);
    uint64_t ahead = is_known ? death / oracle->window_blocks - now / oracle->window_blocks : TRIB_NEVER;
    if (groups < 2 || ahead >= windows)
        return groups - 1;
    return (uint32_t)(death / oracle->window_blocks % windows);
}

static uint16_t oracle_place(void *self, const struct trib_placement *write) {
    const struct oracle *oracle = self;
    if (write->lba >= oracle->blocks)
        return 0;
    oracle->death[write->lba] = write->death_block;
    uint64_t now = write->block_clock, said = future(oracle, write->lba, write->death_block, now);
    return oracle->streams ? (uint16_t)(1 + group_of(oracle, said, now, oracle->streams)) : 0;
}

static uint16_t oracle_relocate(void *self, const struct trib_relocation *page) {
    const struct oracle *oracle = self;
    uint64_t death = page->lba < oracle->blocks ? oracle->death[page->lba] : TRIB_NEVER;
    uint64_t now = page->block_clock;
    return (uint16_t)group_of(oracle, future(oracle, page->lba, death, now), now, oracle->internal_streams);
}

static uint64_t oracle_memory(void *self) {
    return ((const struct oracle *)self)->blocks * sizeof(uint64_t);
}

/* A bound only if its one free choice is made for it, run by run. */
static const struct trib_policy_variant variants[] = {
    {.options = "death_window=3", .use = TRIB_VARIANT_BEST_OF},
    {.options = "death_window=10", .use = TRIB_VARIANT_BEST_OF},
    {.options = "death_window=30", .use = TRIB_VARIANT_BEST_OF},
    {.options = NULL},
};

const struct trib_policy trib_policy_oracle = {
    .name = "oracle",
    .summary = "clairvoyant bound: streams by known death time",
    .options = options,
    .needs = TRIB_NEEDS_LBA | TRIB_NEEDS_PAGE | TRIB_NEEDS_FUTURE,
    .gc = "class",
    .variants = variants,
    .open = oracle_open,
    .close = oracle_close,
    .place = oracle_place,
    .relocate = oracle_relocate,
    .memory_bytes = oracle_memory,
};
