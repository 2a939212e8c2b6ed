/* SPDX-License-Identifier: Apache-2.0 */
/* Paper       Bhimani et al., ACM Transactions on Storage 18(2), 2022: OFIOS, section 3.7.
 * Idea        FIOS (fios.c) again and again: in each window of time one daemon looks streams up in
 *             the dictionary of the window before, the other watches a random sample of the address
 *             space and trains the next one, with the features that suit what it saw.
 * Uses        Block address, per 4-KiB block; trims end lifetimes, for the correlations only.
 * Constants   Theirs: training takes the whole window (n = 100 %), its first 75 % are watched; the
 *             rest as in fios.c. Ours: 25 % of the capacity per window (theirs: 100 s, 36 of them a
 *             run), a sample of one 1-MiB region in eight, drawn anew for each window.
 * Deviations  Windows are in blocks written. Training is not a daemon but steps on the thread that
 *             runs the flow, in the time between the end of the trace and the end of the window:
 *             the same writes give the same answer, live or replayed, and none waits for more than
 *             a step (fios_core.h). A training that is not done by then prolongs the window. Chunks
 *             outside the sample inherit from the nearest trained one, those of the sample that
 *             were not written keep their stream; the paper leaves both open. Attributes are
 *             measured in each trace; the paper has a table of them for known workloads.
 * Cost        place: a binary search per chunk. Memory: 4 bytes per block, 34.25 per chunk, 0.8
 *             MiB. */
#include <errno.h>
#include <stdlib.h>

#include "rivals/fios/fios_core.h"
#include "rivals/rivals.h"

struct settings {
    struct trib_fios_knobs knobs;
    double run_percent, train_percent, trace_percent;
    uint32_t sample;
};

#define FIELD(name) offsetof(struct settings, name)

/* clang-format off */
static const struct trib_option_spec options[] = {
    {.key = "run_window", .fallback = "25", .type = TRIB_OPTION_PERCENT,
     .offset = FIELD(run_percent), .minimum = 0.1, .maximum = 100000,
     .help = "of the capacity written per window (OFIOS: 100 s)"},
    {.key = "train_window", .fallback = "100", .type = TRIB_OPTION_PERCENT,
     .offset = FIELD(train_percent), .minimum = 1, .maximum = 100,
     .help = "the last part of each window, which trains (OFIOS 6.4: n; 100 is best)"},
    {.key = "trace_window", .fallback = "75", .type = TRIB_OPTION_PERCENT,
     .offset = FIELD(trace_percent), .minimum = 1, .maximum = 100,
     .help = "the first part of the training, which watches (OFIOS 6.4)"},
    {.key = "sample", .fallback = "8", .type = TRIB_OPTION_U32, .offset = FIELD(sample),
     .minimum = 1, .maximum = 1 << 20,
     .help = "one 1-MiB region in so many is watched, drawn anew for each window; 1: all"},
    TRIB_FIOS_OPTIONS(struct settings, "decimal"),
    TRIB_OPTIONS_END,
};
/* clang-format on */

enum stage { RUNNING, WATCHING, TRAINING, TRAINED };

struct ofios {
    struct trib_fios_core core;
    struct settings settings;
    enum stage stage;
    uint64_t run_blocks, wait_blocks, trace_blocks; /* of a window: all, before the trace, traced */
    uint64_t window_begin;                          /* block clock */
    uint32_t windows, swaps;
};

static uint64_t part_of(uint64_t blocks, double percent) {
    return (uint64_t)((double)blocks * percent / 100);
}

static void set_windows(struct ofios *ofios, uint64_t blocks) {
    const struct settings *settings = &ofios->settings;
    uint64_t train_blocks;
    ofios->run_blocks = part_of(blocks, settings->run_percent) + 1;
    train_blocks = part_of(ofios->run_blocks, settings->train_percent) + 1;
    if (train_blocks > ofios->run_blocks)
        train_blocks = ofios->run_blocks;
    ofios->wait_blocks = ofios->run_blocks - train_blocks;
    ofios->trace_blocks = part_of(train_blocks, settings->trace_percent) + 1;
}

static int ofios_open(void **self, const struct trib_policy_env *env, struct trib_options *given,
                      struct trib_error *error) {
    struct ofios *ofios = calloc(1, sizeof *ofios);
    if (!ofios)
        return trib_fail(error, -ENOMEM, "ofios: out of memory");
    int rc = trib_options_take(given, options, &ofios->settings, error);
    if (rc == 0)
        rc = trib_fios_core_open(&ofios->core, &ofios->settings.knobs, env, "ofios", true, error);
    if (rc) {
        free(ofios);
        return rc;
    }
    ofios->core.trace.sample = ofios->settings.sample;
    set_windows(ofios, env->blocks);
    *self = ofios;
    return 0;
}

static void ofios_close(void *self) {
    struct ofios *ofios = self;
    trib_fios_core_close(&ofios->core);
    free(ofios);
}

static uint16_t ofios_place(void *self, const struct trib_placement *page) {
    return trib_fios_core_place(&((struct ofios *)self)->core, page);
}

/* A window in which nothing was watched teaches nothing: keep what there is. */
static void end_window(struct ofios *ofios) {
    if (trib_fios_training_result(ofios->core.training)->touched) {
        trib_fios_core_swap(&ofios->core);
        ofios->swaps++;
    }
    ofios->windows++;
    ofios->window_begin = ofios->core.block_clock;
    ofios->stage = RUNNING;
}

static void ofios_tick(void *self, uint64_t clock_bytes) {
    struct ofios *ofios = self;
    uint64_t since = ofios->core.block_clock - ofios->window_begin;
    (void)clock_bytes; /* blocks that reach the drive are the clock */
    if (ofios->stage == TRAINED && since >= ofios->run_blocks) {
        end_window(ofios);
        since = 0;
    }
    if (ofios->stage == RUNNING && since >= ofios->wait_blocks) {
        trib_fios_trace_begin(&ofios->core.trace, ofios->core.block_clock, ofios->trace_blocks, ofios->windows);
        ofios->stage = WATCHING;
    } else if (ofios->stage == WATCHING && since >= ofios->wait_blocks + ofios->trace_blocks) {
        trib_fios_core_train(&ofios->core);
        ofios->stage = TRAINING;
    } else if (ofios->stage == TRAINING && trib_fios_training_step(ofios->core.training, TRIB_FIOS_STEP_CHUNKS)) {
        ofios->stage = TRAINED;
    }
}

static void ofios_discarded(void *self, uint64_t lba, uint64_t blocks, uint64_t clock_bytes) {
    struct trib_fios_core *core = &((struct ofios *)self)->core;
    (void)clock_bytes;
    trib_fios_trace_discard(&core->trace, lba, blocks, core->block_clock);
}

static uint32_t ofios_reclusterings(void *self) {
    return ((const struct ofios *)self)->swaps;
}

static uint64_t ofios_memory_bytes(void *self) {
    return trib_fios_core_memory_bytes(&((const struct ofios *)self)->core);
}

const struct trib_policy trib_policy_ofios = {
    .name = "ofios",
    .summary = "fios, learned anew in every window (TOS'22)",
    .options = options,
    .needs = TRIB_NEEDS_LBA | TRIB_NEEDS_PAGE,
    .gc = "preserve",
    .open = ofios_open,
    .close = ofios_close,
    .place = ofios_place,
    .tick = ofios_tick,
    .blocks = {.discarded = ofios_discarded},
    .reclusterings = ofios_reclusterings,
    .memory_bytes = ofios_memory_bytes,
};
