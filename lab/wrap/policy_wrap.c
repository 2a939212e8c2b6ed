/* SPDX-License-Identifier: Apache-2.0 */
#include "wrap/policy_wrap.h"

#include <math.h>
#include <time.h>

#include "log/assert.h"

/* A prime, so that what a policy does once per so many pages is met as often as it happens. */
#define PROBE_EVERY 61

/* ---- costs ---- */

static uint64_t now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Of one call in PROBE_EVERY, when it began; 0 for the others. */
static uint64_t probe_begins(struct trib_probe *probe) {
    return TRIB_LIKELY(probe->calls++ % PROBE_EVERY != 0) ? 0 : now_ns();
}

static void probe_ends(struct trib_probe *probe, uint64_t began_ns) {
    if (TRIB_LIKELY(began_ns == 0))
        return;
    uint64_t ns = now_ns() - began_ns + 1;
    unsigned octave = 63 - (unsigned)__builtin_clzll(ns), eighth = (unsigned)(ns << 3 >> octave) & 7;
    unsigned class = octave * 8 + eighth;
    probe->timed[class < TRIB_PROBE_CLASSES ? class : TRIB_PROBE_CLASSES - 1]++;
}

double trib_probe_median_ns(const struct trib_probe *probe) {
    uint64_t all = 0, below = 0;

    for (unsigned i = 0; i < TRIB_PROBE_CLASSES; i++)
        all += probe->timed[i];
    for (unsigned i = 0; i < TRIB_PROBE_CLASSES; i++) {
        below += probe->timed[i];
        if (all && 2 * below >= all)
            return ldexp(1 + ((double)(i % 8) + 0.5) / 8, (int)(i / 8)) - 1;
    }
    return 0;
}

/* ---- the six functions ---- */

static int wrap_open(void **self, const struct trib_policy_env *env, struct trib_options *options,
                     struct trib_error *error) {
    /* `outer` is the first member, and ours alone to open. */
    struct trib_policy_wrap *wrap = (struct trib_policy_wrap *)(uintptr_t)env->policy;
    struct trib_policy_env inside = *env;

    inside.policy = wrap->inner;
    wrap->state = env->state;
    int code = wrap->inner->open(&wrap->self, &inside, options, error);
    if (code == 0)
        *self = wrap;
    return code;
}

static void wrap_close(void *self) {
    const struct trib_policy_wrap *wrap = self;
    wrap->inner->close(wrap->self);
}

static uint64_t death_of(const struct trib_policy_wrap *wrap, uint64_t block) {
    uint32_t death = block < wrap->deaths_count ? wrap->deaths[block] : UINT32_MAX;
    return death == UINT32_MAX ? TRIB_NEVER : death;
}

static uint16_t wrap_place(void *self, const struct trib_placement *write) {
    struct trib_policy_wrap *wrap = self;
    struct trib_placement known;

    if (wrap->deaths) {
        known = *write;
        known.death_block = death_of(wrap, write->block_clock);
        write = &known;
    }
    uint64_t began_ns = probe_begins(&wrap->place);
    wrap->placed = wrap->inner->place(wrap->self, write);
    probe_ends(&wrap->place, began_ns);
    return wrap->placed;
}

static void report(const struct trib_policy_wrap *wrap, const struct trib_death *death) {
    struct trib_attribute_report row;
    struct trib_death_report report = {.age_bytes = death->age_bytes,
                                       .length_bytes = death->length_bytes,
                                       .stream = death->stream,
                                       .cause = death->cause};

    if (trib_attribute_read(wrap->state, death->attribute, &row)) {
        report.who = row.who;
        report.key = row.key;
    }
    wrap->observer->died(wrap->observer->arg, &report);
}

static void wrap_died(void *self, const struct trib_death *death) {
    struct trib_policy_wrap *wrap = self;

    if (wrap->inner->died) {
        uint64_t began_ns = probe_begins(&wrap->died);
        wrap->inner->died(wrap->self, death);
        probe_ends(&wrap->died, began_ns);
    }
    if (wrap->observer->died)
        report(wrap, death);
}

static uint16_t wrap_relocate(void *self, const struct trib_relocation *page) {
    const struct trib_policy_wrap *wrap = self;
    return wrap->inner->relocate(wrap->self, page);
}

static void wrap_tick(void *self, uint64_t clock_bytes) {
    const struct trib_policy_wrap *wrap = self;
    wrap->inner->tick(wrap->self, clock_bytes);
}

/* ---- the block hooks, and what a person may ask ---- */

static void wrap_discarded(void *self, uint64_t lba, uint64_t blocks, uint64_t clock_bytes) {
    const struct trib_policy_wrap *wrap = self;
    wrap->inner->blocks.discarded(wrap->self, lba, blocks, clock_bytes);
}

static void wrap_reclaimed(void *self, const struct trib_reclaim *unit) {
    const struct trib_policy_wrap *wrap = self;
    wrap->inner->blocks.reclaimed(wrap->self, unit);
}

static uint64_t wrap_map_cache_bytes(void *self) {
    const struct trib_policy_wrap *wrap = self;
    return wrap->inner->blocks.map_cache_bytes(wrap->self);
}

static uint32_t wrap_reclusterings(void *self) {
    const struct trib_policy_wrap *wrap = self;
    return wrap->inner->reclusterings(wrap->self);
}

static uint64_t wrap_memory_bytes(void *self) {
    const struct trib_policy_wrap *wrap = self;
    return wrap->inner->memory_bytes(wrap->self);
}

const struct trib_policy *trib_policy_wrap(struct trib_policy_wrap *wrap, const struct trib_policy *inner,
                                           const struct trib_observer *observer) {
    struct trib_policy *outer = &wrap->outer;

    *wrap = (struct trib_policy_wrap){.outer = *inner, .inner = inner, .observer = observer};
    outer->open = wrap_open;
    outer->close = wrap_close;
    outer->place = wrap_place;
    outer->died = wrap_died;
    /* What the policy does not have, the flow must not find. */
    outer->relocate = inner->relocate ? wrap_relocate : NULL;
    outer->tick = inner->tick ? wrap_tick : NULL;
    outer->blocks.discarded = inner->blocks.discarded ? wrap_discarded : NULL;
    outer->blocks.reclaimed = inner->blocks.reclaimed ? wrap_reclaimed : NULL;
    outer->blocks.map_cache_bytes = inner->blocks.map_cache_bytes ? wrap_map_cache_bytes : NULL;
    outer->reclusterings = inner->reclusterings ? wrap_reclusterings : NULL;
    outer->memory_bytes = inner->memory_bytes ? wrap_memory_bytes : NULL;
    return outer;
}
