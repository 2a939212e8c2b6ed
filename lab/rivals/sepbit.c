/* SPDX-License-Identifier: Apache-2.0 */
/* Paper       Wang et al., "Separating Data via Block Invalidation Time Inference for Write
 *             Amplification Reduction in Log-Structured Storage", FAST'22 (SepBIT).
 * Idea        A block that replaces short-lived data will be short-lived itself: v, the age of what
 *             a user write replaces, below l is class 0, else class 1. l is the mean time that the
 *             last 16 segments of class 0 lived from opening to collection. Of what collection
 *             copies, survivors of class 0 are class 2; others go by their age g since the user
 *             wrote them: g < 4 l class 3, g < 16 l class 4, else class 5.
 * Uses        Block address, collected superblocks, and with gc=class the say in where survivors
 *             go. Classes 0 and 1 are S1 and S2; classes 2 to 5 are internal streams 0 to 3.
 * Constants   All theirs. l is infinite until 16 segments of class 0 were collected, so that
 *             rewrites begin in class 0; a block that is written for the first time is class 1.
 * Deviations  Segments are the drive's superblocks, and the drive decides when to collect (theirs:
 *             at 15 % of garbage) and which (victim=cost-benefit is theirs). Trims are not looked
 *             at: their traces have none, so v runs from the last write even if a trim came
 *             between. A full table of write times instead of their bounded queue, which gives the
 *             same answers. Ages above 2^31 blocks (8 TiB) are infinite, on drives up to that
 *             size. Without gc=class only the two user classes exist.
 * Cost        place: a look into the table, and one at the next entry in turn. Memory: 4 bytes per
 *             block of the drive. */
#include <errno.h>
#include <stdlib.h>

#include "rivals/rivals.h"

#define SEGMENTS_PER_MEAN 16
#define SURVIVOR_CLASSES  4
#define SHORT_STREAM      1 /* class 0 */
#define LONG_STREAM       2 /* class 1 */

/* Write times are block clocks + 2, modulo 2^32; these two are none. */
#define NEVER_WRITTEN 0u
#define LONG_AGO      1u
#define FIRST_TIME    2u
#define AGE_MAX       (1u << 31)
#define INFINITE      UINT64_MAX

static const struct trib_option_spec options[] = {TRIB_OPTIONS_END};

struct sepbit {
    uint32_t *written; /* per block: when the user last wrote it */
    uint64_t blocks;
    uint64_t next_look; /* block whose write time is looked at next, before it can wrap */
    uint32_t streams;
    uint64_t mean_blocks; /* l */
    uint64_t sum_blocks;  /* of collected segments of class 0 since the last mean */
    uint32_t sum_segments;
};

static int sepbit_open(void **self, const struct trib_policy_env *env, struct trib_options *given,
                       struct trib_error *error) {
    int code = trib_options_take(given, options, NULL, error);
    if (code)
        return code;
    if (!env->blocks)
        return trib_fail(error, -EINVAL, "sepbit keeps a time per block and needs a drive of known size");
    if (env->internal_streams > 0 && env->internal_streams < SURVIVOR_CLASSES)
        return trib_fail(error, -EINVAL,
                         "sepbit sorts survivors into %d classes, the drive has %u internal "
                         "streams; give internal_streams=%d or more, or another gc than class",
                         SURVIVOR_CLASSES, env->internal_streams, SURVIVOR_CLASSES);
    struct sepbit *sepbit = calloc(1, sizeof *sepbit);
    uint32_t *written = calloc(env->blocks, sizeof *written);
    if (!sepbit || !written) {
        free(written);
        free(sepbit);
        return trib_fail(error, -ENOMEM, "sepbit: no memory for the write times of %llu blocks",
                         (unsigned long long)env->blocks);
    }
    sepbit->written = written;
    sepbit->blocks = env->blocks;
    sepbit->streams = env->streams;
    sepbit->mean_blocks = INFINITE;
    *self = sepbit;
    return 0;
}

static void sepbit_close(void *self) {
    struct sepbit *sepbit = self;
    free(sepbit->written);
    free(sepbit);
}

static uint32_t time_of(uint64_t block_clock) {
    uint32_t time = (uint32_t)block_clock + FIRST_TIME;
    return time < FIRST_TIME ? UINT32_MAX : time; /* two clocks in 2^32: a moment earlier */
}

static uint64_t age_of(uint32_t written, uint64_t block_clock) {
    return written < FIRST_TIME ? INFINITE : time_of(block_clock) - written;
}

/* One entry per write: round the table before any clock in it comes again. */
static void retire_one(struct sepbit *sepbit, uint64_t block_clock) {
    uint32_t *entry = &sepbit->written[sepbit->next_look];
    if (*entry >= FIRST_TIME && age_of(*entry, block_clock) > AGE_MAX)
        *entry = LONG_AGO;
    if (++sepbit->next_look == sepbit->blocks)
        sepbit->next_look = 0;
}

static uint16_t sepbit_place(void *self, const struct trib_placement *write) {
    struct sepbit *sepbit = self;
    uint32_t *written = &sepbit->written[write->lba];
    bool is_short = age_of(*written, write->block_clock) < sepbit->mean_blocks;
    uint16_t stream = is_short ? SHORT_STREAM : LONG_STREAM;

    *written = time_of(write->block_clock);
    retire_one(sepbit, write->block_clock);
    return stream <= sepbit->streams ? stream : 0;
}

static uint16_t sepbit_relocate(void *self, const struct trib_relocation *page) {
    const struct sepbit *sepbit = self;
    if (!page->victim_internal && page->victim_class == SHORT_STREAM)
        return 0;
    uint64_t age = age_of(sepbit->written[page->lba], page->block_clock);
    /* Divided, not multiplied: l may be infinite. */
    if (age / 4 < sepbit->mean_blocks)
        return 1;
    return age / 16 < sepbit->mean_blocks ? 2 : 3;
}

static void sepbit_reclaimed(void *self, const struct trib_reclaim *unit) {
    struct sepbit *sepbit = self;
    if (unit->internal || unit->stream != SHORT_STREAM)
        return;
    sepbit->sum_blocks += unit->opened_age;
    if (++sepbit->sum_segments < SEGMENTS_PER_MEAN)
        return;
    sepbit->mean_blocks = sepbit->sum_blocks / SEGMENTS_PER_MEAN;
    sepbit->sum_blocks = 0;
    sepbit->sum_segments = 0;
}

static uint64_t sepbit_memory_bytes(void *self) {
    const struct sepbit *sepbit = self;
    return sizeof *sepbit + sepbit->blocks * sizeof *sepbit->written;
}

const struct trib_policy trib_policy_sepbit = {
    .name = "sepbit",
    .summary = "blocks by the age of what they replace (FAST'22)",
    .options = options,
    .needs = TRIB_NEEDS_LBA | TRIB_NEEDS_PAGE,
    .gc = "class",
    .open = sepbit_open,
    .close = sepbit_close,
    .place = sepbit_place,
    .relocate = sepbit_relocate,
    .blocks = {.reclaimed = sepbit_reclaimed},
    .memory_bytes = sepbit_memory_bytes,
};
