/* SPDX-License-Identifier: Apache-2.0 */
/* Paper       Kim et al., "Fully Automatic Stream Management for Multi-Streamed SSDs Using Program
 *             Contexts", FAST'19; first version HotStorage'18.
 * Idea        Data written through one call path live about equally long. Learn the mean lifetime
 *             per call path from deaths, group the call paths by k-means into as many clusters as
 *             there are streams, and give each write the stream of its call path. Short-lived
 *             first: S1 has the smallest centroid. S0: not known yet.
 * Uses        Signature; deaths, by trim or overwrite.
 * Constants   Theirs: re-cluster when 10 % of the lifetimes changed (5.3), average of old and new
 *             sample (5.2), k = streams. Ours, where the text is silent: "changed" is a move by
 *             half since the last clustering, or a path that is new with 16 samples (unqualified,
 *             the rule re-clusters thousands of times, the paper reports 7); looked at once per 1 %
 *             of the capacity written.
 * Deviations  k-means is exact (clustering=lloyd for the textbook one); data that do not die count
 *             with their age (censored=off for the paper's survivors-only view). Internal streams
 *             are the drive's half: internal=twin.
 * Cost        place: one look-up and one load. A death: one EWMA. Looking: O(rows) per 1 % of the
 *             capacity. Memory: 124 bytes per row of the attribute table, plus 4 per row and
 *             stream. */
#include <errno.h>
#include <stdlib.h>

#include "lifetime/estimate.h"
#include "policy/pcstream_map.h"
#include "policy/policies.h"

#define INTERVAL_UNKNOWN_CAPACITY_BYTES (64ull << 20) /* without a drive there is no capacity to take 1 % of */

#define FIELD(name)                     offsetof(struct trib_pcstream_settings, name)

/* clang-format off */
static const struct trib_option_spec options[] = {
    {.key = "average", .fallback = "0.5", .type = TRIB_OPTION_DOUBLE, .offset = FIELD(average),
     .minimum = 0.001, .maximum = 1,
     .help = "weight of a new lifetime in the mean (FAST'19: 1/2; steadier: 0.0625)"},
    {.key = "distance", .fallback = "linear", .type = TRIB_OPTION_ENUM, .offset = FIELD(distance),
     .choices = "linear|log", .help = "between lifetimes, when clustering (FAST'19: linear)"},
    {.key = "clustering", .fallback = "exact", .type = TRIB_OPTION_ENUM,
     .offset = FIELD(clustering), .choices = "exact|lloyd|agglomerative|firstcome",
     .help = "FAST'19: k-means; HotStorage'18: agglomerative, its emulator: firstcome"},
    {.key = "changed", .fallback = "10", .type = TRIB_OPTION_PERCENT,
     .offset = FIELD(changed_percent), .minimum = 0, .maximum = 100,
     .help = "share of signatures whose lifetime changed that re-clusters (FAST'19: 10)"},
    {.key = "change", .fallback = "0.5", .type = TRIB_OPTION_DOUBLE, .offset = FIELD(change),
     .minimum = 0, .maximum = 1000,
     .help = "what counts as changed, relative to the last clustering"},
    {.key = "interval", .fallback = "1", .type = TRIB_OPTION_PERCENT,
     .offset = FIELD(interval_percent), .minimum = 0, .maximum = 10000,
     .help = "of the capacity written between two looks"},
    {.key = "censored", .fallback = "on", .type = TRIB_OPTION_BOOL, .offset = FIELD(censored),
     .help = "let the age of data still alive raise a lifetime"},
    {.key = "admit", .fallback = "16", .type = TRIB_OPTION_U32, .offset = FIELD(admit_samples),
     .minimum = 1, .maximum = 1 << 20, .help = "deaths before a signature gets a stream"},
    {.key = "relabel", .fallback = "centroid", .type = TRIB_OPTION_ENUM, .offset = FIELD(relabel),
     .choices = "centroid|overlap",
     .help = "stream numbers by lifetime, or so that the fewest signatures move"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

#define SALTED "salt=kind+hint+activity"

static const struct trib_policy_variant variants[] = {
    {.options = "", .use = TRIB_VARIANT_FIRST_TABLE},
    {.options = "internal=twin", .use = TRIB_VARIANT_FIRST_TABLE},
    {.options = SALTED ",internal=twin", .use = TRIB_VARIANT_FIRST_TABLE},
    {.label = "pcstream salted", .options = SALTED, .use = TRIB_VARIANT_MATRIX},
    {.options = NULL},
};

struct pcstream {
    struct trib_pcstream_map map;
    uint64_t interval_bytes, look_at_bytes; /* clock of the next look */
};

static int pcstream_open(void **self, const struct trib_policy_env *env, struct trib_options *given,
                         struct trib_error *error) {
    struct trib_pcstream_settings settings;
    int code = trib_options_take(given, options, &settings, error);
    if (code)
        return code;
    struct pcstream *policy = calloc(1, sizeof *policy);
    if (!policy || trib_pcstream_map_open(&policy->map, &settings, env)) {
        free(policy);
        return trib_fail(error, -ENOMEM, "pcstream: no memory to cluster %u signatures into %u streams",
                         trib_state_attribute_capacity(env->state), env->streams);
    }
    policy->interval_bytes = env->capacity_bytes
                                 ? (uint64_t)((double)env->capacity_bytes * settings.interval_percent / 100)
                                 : INTERVAL_UNKNOWN_CAPACITY_BYTES;
    policy->look_at_bytes = trib_state_clock(env->state) + policy->interval_bytes;
    *self = policy;
    return 0;
}

static void pcstream_close(void *self) {
    struct pcstream *policy = self;
    trib_pcstream_map_close(&policy->map);
    free(policy);
}

static uint16_t pcstream_place(void *self, const struct trib_placement *write) {
    const struct pcstream *policy = self;
    const struct trib_attribute *row = trib_state_attribute(policy->map.state, write->attribute);
    uint16_t stream = row ? atomic_load_explicit(&row->stream, memory_order_relaxed) : 0;
    /* A state file may come from a run with more streams. */
    return stream <= policy->map.streams ? stream : 0;
}

static void pcstream_died(void *self, const struct trib_death *death) {
    const struct pcstream *policy = self;
    struct trib_attribute *row = trib_state_attribute(policy->map.state, death->attribute);
    if (row)
        trib_estimate_sample(row, (double)death->age_bytes, policy->map.settings.average);
}

static void pcstream_tick(void *self, uint64_t clock_bytes) {
    struct pcstream *policy = self;
    if (clock_bytes < policy->look_at_bytes)
        return;
    policy->look_at_bytes = clock_bytes + policy->interval_bytes;
    trib_pcstream_map_look(&policy->map, clock_bytes);
}

static uint32_t pcstream_reclusterings(void *self) {
    return ((const struct pcstream *)self)->map.reclusterings;
}

const struct trib_policy trib_policy_pcstream = {
    .name = "pcstream",
    .summary = "call paths grouped by the lifetime of their data (FAST'19)",
    .options = options,
    .needs = TRIB_NEEDS_SIGNATURE | TRIB_NEEDS_TRIM,
    .gc = "twin",
    .variants = variants,
    .open = pcstream_open,
    .close = pcstream_close,
    .place = pcstream_place,
    .died = pcstream_died,
    .tick = pcstream_tick,
    .reclusterings = pcstream_reclusterings,
};
