/* SPDX-License-Identifier: Apache-2.0 */
/* Paper       Ours. From the papers: lifetime per call path (FAST'19), the past of a block or a
 *             region as a predictor (SepBIT, FAST'22; AutoStream, SYSTOR'17), grouping by death time
 *             (EuroSys'17), miniature simulation (ATC'17).
 * Idea        1. A tree of contexts, call path first, refined by what the engine says, the tenant
 *                and what the overwritten block went through (tributary_contexts.h): append-only
 *                data are divided by who writes. A child counts only as far as it has evidence.
 *             2. Data written in place are divided by the mean age at which their block was
 *                overwritten, or by how fast its region is (tributary_past.h); each call path
 *                follows what explains most of its lifetimes.
 *             3. Streams are classes of the logarithm of the expected lifetime, of fixed bounds, so
 *                that a label means the same for ever and no re-clustering mixes data.
 *             4. How fine the classes should be, or whether to separate at all, depends on the
 *                drive: its spare area, open superblocks, victims, where survivors go. Several plans
 *                are simulated on miniatures of the drive (tributary_miniature.h); the one that
 *                copies least places the writes.
 * Uses        Block addresses, trims; call paths and whatever the context says, if it says it.
 * Constants   All ours (docs/policies.md).
 * Cost        place: one block's record, its region's, one to four look-ups in a hash table, and
 *             for one block in `scale` seven writes to miniatures. Look: O(contexts) per 1 % of the
 *             capacity. Memory: 8 bytes per block, 20 per region of 64, the miniatures' 9 bytes per
 *             block * 7 / scale, 600 KiB of contexts. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "policy/policies.h"
#include "policy/tributary_contexts.h"
#include "policy/tributary_miniature.h"

struct settings {
    double interval_percent, memory_percent, history_average;
    uint32_t refine, admit;
    int plan;
    bool censored;
};

#define FIELD(name) offsetof(struct settings, name)
enum { PLAN_FINE = 0, PLAN_FILES = 3, PLAN_NONE = TRIB_PLANS - 1, PLAN_SIMULATED = TRIB_PLANS };
enum { ANY_PREDICTOR = TRIB_PREDICTORS }; /* the one that the context follows */

/* clang-format off */
static const struct trib_option_spec options[] = {
    {.key = "plan", .fallback = "simulated", .type = TRIB_OPTION_ENUM, .offset = FIELD(plan),
     .choices = "fine|coarse|paths|files|blocks|regions|none|simulated",
     .help = "how to group; simulated: whichever copies least on a miniature of the drive"},
    {.key = "refine", .fallback = "salts+tenant+history+blocks+regions", .type = TRIB_OPTION_FLAGS,
     .offset = FIELD(refine), .choices = "salts|tenant|history|blocks|regions",
     .help = "what divides the data of one call path"},
    {.key = "interval", .fallback = "1", .type = TRIB_OPTION_PERCENT,
     .offset = FIELD(interval_percent), .minimum = 0.01, .maximum = 1000,
     .help = "of the capacity written between two looks"},
    {.key = "memory", .fallback = "50", .type = TRIB_OPTION_PERCENT,
     .offset = FIELD(memory_percent), .minimum = 0.01, .maximum = 100000,
     .help = "of the capacity written until what was learned weighs half"},
    {.key = "average", .fallback = "0.125", .type = TRIB_OPTION_DOUBLE,
     .offset = FIELD(history_average), .minimum = 0.01, .maximum = 1,
     .help = "weight of the newest age in a block's mean"},
    {.key = "admit", .fallback = "64", .type = TRIB_OPTION_U32, .offset = FIELD(admit),
     .minimum = 1, .maximum = 1u << 20, .help = "deaths that outweigh the parent context"},
    {.key = "censored", .fallback = "on", .type = TRIB_OPTION_BOOL, .offset = FIELD(censored),
     .help = "let the age of data still alive raise a lifetime"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

/* Stream 0 takes lifetimes above LONGEST and what is unknown; each next stream the next `octaves`
 * octaves below; the last one all the rest. */
#define LONGEST 4 /* capacities */
struct plan {
    double octaves;
    int predictor; /* enum trib_predictor or ANY_PREDICTOR */
    bool files;    /* only what dies with its file is divided */
    bool together;
};
/* clang-format off */
static const struct plan plans[TRIB_PLANS] = {
    {.octaves = 1, .predictor = ANY_PREDICTOR},                    /* fine */
    {.octaves = 2, .predictor = ANY_PREDICTOR},                    /* coarse: fewer superblocks open */
    {.octaves = 1, .predictor = TRIB_BY_PATH},                   /* paths */
    {.octaves = 1, .predictor = TRIB_BY_CONTEXT, .files = true}, /* files */
    {.octaves = 1, .predictor = TRIB_BY_BLOCK},                  /* blocks */
    {.octaves = 1, .predictor = TRIB_BY_REGION},                 /* regions */
    {.together = true},                                        /* none */
};
/* clang-format on */
#define NO_CLASS UINT8_MAX
#define SLACK    0.15 /* octaves beyond the bound of its class where a context stays what it was */

struct tributary {
    struct settings settings;
    struct trib_contexts *contexts;
    struct trib_miniature miniature;
    struct trib_state *state;
    uint64_t blocks, clock, look_at, interval_blocks;
    uint32_t streams, plan, moves;
};

/* ---- open and close ---- */

static void tributary_close(void *self) {
    struct tributary *t = self;
    trib_contexts_close(t->contexts);
    trib_miniature_close(&t->miniature);
    free(t);
}

static int open_parts(struct tributary *t, const struct trib_policy_env *env) {
    double decay = pow(0.5, t->settings.interval_percent / t->settings.memory_percent);
    struct trib_contexts_settings contexts = {.refine = t->settings.refine,
                                              .admit = t->settings.admit,
                                              .decay = decay,
                                              .history_average = t->settings.history_average,
                                              .censored = t->settings.censored};
    int code = trib_contexts_open(&t->contexts, &contexts, env->blocks);
    if (!code && t->settings.plan == PLAN_SIMULATED)
        code = trib_miniature_open(&t->miniature, env, decay);
    return code;
}

static int tributary_open(void **self, const struct trib_policy_env *env, struct trib_options *given,
                          struct trib_error *error) {
    struct settings settings;
    int code = trib_options_take(given, options, &settings, error);
    if (code)
        return code;
    if (!env->blocks)
        return trib_fail(error, -EINVAL,
                         "tributary: needs a drive with a known capacity: use "
                         "drive=emulated,capacity=SIZE, or another policy");
    struct tributary *t = calloc(1, sizeof *t);
    if (!t)
        return trib_fail(error, -ENOMEM, "tributary: out of memory");
    *t = (struct tributary){.settings = settings,
                            .state = env->state,
                            .blocks = env->blocks,
                            .streams = env->streams,
                            .plan = (uint32_t)settings.plan};
    t->interval_blocks = (uint64_t)((double)env->blocks * settings.interval_percent / 100) + 1;
    t->look_at = t->interval_blocks;
    code = open_parts(t, env);
    /* Until there is evidence. With gc=same survivors stay in the stream where they were first put,
     * so what is written in place had better begin in the coldest. What dies with its file has no
     * second chance: it is divided from the start. */
    if (settings.plan == PLAN_SIMULATED)
        t->plan = trib_miniature_plays(&t->miniature) ? PLAN_FILES : PLAN_FINE;
    if (code) {
        tributary_close(t);
        return trib_fail(error, code, "tributary: no memory for %llu blocks", (unsigned long long)env->blocks);
    }
    *self = t;
    return 0;
}

/* ---- lifetime -> stream ---- */

/* A context near a bound stays on its side: crossing back and forth would mix what the bound
 * divides. */
static uint8_t class_of(const struct tributary *t, const struct plan *plan, double lifetime, uint8_t present) {
    if (plan->together || lifetime <= 0)
        return 0;
    double place = log2(LONGEST * (double)t->blocks / lifetime) / plan->octaves + 1;
    double last = t->streams;
    place = place < 0 ? 0 : place > last ? last : place;
    double slack = SLACK / plan->octaves;
    bool stays = place > present - slack && place < present + 1 + slack;
    return stays ? present : (uint8_t)place;
}

static void classify(struct tributary *t) {
    uint32_t moved = 0;
    for (uint32_t i = 1; i < TRIB_CONTEXTS_MAX; i++) {
        struct trib_context_node *n = &t->contexts->node[i];
        if (!n->key)
            continue;
        uint32_t root = trib_contexts_path(t->contexts, i);
        double path = t->contexts->node[root].lifetime;
        bool is_in_place = trib_contexts_in_place(t->contexts, root);
        uint8_t before = n->stream[t->plan];
        for (uint32_t p = 0; p < TRIB_PLANS; p++) {
            double lifetime = plans[p].predictor == TRIB_BY_PATH ? path : n->lifetime;
            bool is_apart = !(plans[p].files && is_in_place);
            n->stream[p] = class_of(t, &plans[p], is_apart ? lifetime : 0, n->stream[p]);
        }
        moved += before && before != n->stream[t->plan];
    }
    t->moves += moved > 0;
}

static void tributary_tick(void *self, uint64_t clock_bytes) {
    struct tributary *t = self;
    (void)clock_bytes;
    if (t->clock < t->look_at)
        return;
    t->look_at = t->clock + t->interval_blocks;
    trib_contexts_look(t->contexts, t->clock);
    classify(t);
    if (t->settings.plan == PLAN_SIMULATED)
        t->plan = trib_miniature_choose(&t->miniature, t->plan);
}

/* ---- writes and deaths ---- */

/* Without an address: as the call path's row was placed last. */
static uint16_t place_by_row(const struct tributary *t, trib_attribute_ref attribute) {
    const struct trib_attribute *row = trib_state_attribute(t->state, attribute);
    uint16_t stream = row ? atomic_load_explicit(&row->stream, memory_order_relaxed) : 0;
    return stream <= t->streams ? stream : 0;
}

static void record_row(const struct tributary *t, trib_attribute_ref attribute, uint32_t leaf) {
    struct trib_attribute *row = trib_state_attribute(t->state, attribute);
    uint16_t stream = t->contexts->node[trib_contexts_path(t->contexts, leaf)].stream[t->plan];
    if (row && atomic_load_explicit(&row->stream, memory_order_relaxed) != stream)
        atomic_store_explicit(&row->stream, stream, memory_order_relaxed);
}

/* Regions, like contexts, stay on their side of a bound; a block has no room to remember which that
 * was. */
static uint8_t stream_by(const struct tributary *t, uint32_t p, const struct trib_prospect *seen) {
    const struct trib_context_node *leaf = &t->contexts->node[seen->leaf];
    int predictor = plans[p].predictor == ANY_PREDICTOR ? leaf->predictor : plans[p].predictor;
    if (predictor <= TRIB_BY_CONTEXT || seen->lifetime[predictor] <= 0)
        return leaf->stream[p];
    if (predictor == TRIB_BY_BLOCK)
        return class_of(t, &plans[p], seen->lifetime[predictor], NO_CLASS);
    uint8_t *present = &seen->region->stream[p];
    return *present = class_of(t, &plans[p], seen->lifetime[predictor], *present);
}

static uint16_t tributary_place(void *self, const struct trib_placement *write) {
    struct tributary *t = self;
    uint8_t stream[TRIB_PLANS];
    if (write->lba >= t->blocks)
        return place_by_row(t, write->attribute);
    t->clock = write->block_clock;
    struct trib_prospect seen = trib_contexts_write(t->contexts, write);
    record_row(t, write->attribute, seen.leaf);
    if (!trib_miniature_samples(&t->miniature, write->lba))
        return stream_by(t, t->plan, &seen);
    for (uint32_t p = 0; p < TRIB_PLANS; p++)
        stream[p] = stream_by(t, p, &seen);
    trib_miniature_write(&t->miniature, write->lba, stream);
    return stream[t->plan];
}

static void tributary_discarded(void *self, uint64_t lba, uint64_t blocks, uint64_t clock_bytes) {
    struct tributary *t = self;
    (void)clock_bytes;
    for (uint64_t i = 0; i < blocks; i++)
        trib_contexts_kill(t->contexts, lba + i, t->clock);
    trib_miniature_discard(&t->miniature, lba, blocks);
}

static uint32_t tributary_moves(void *self) {
    return ((const struct tributary *)self)->moves;
}

static uint64_t tributary_memory(void *self) {
    const struct tributary *t = self;
    return sizeof *t + trib_contexts_memory(t->contexts) + trib_miniature_memory(&t->miniature);
}

static const struct trib_policy_variant variants[] = {
    {.options = "", .use = TRIB_VARIANT_STANDS_OUT},
    {.options = NULL},
};

const struct trib_policy trib_policy_tributary = {
    .name = "tributary",
    .summary = "ours: contexts, log-lifetime classes, simulated plans",
    .options = options,
    .variants = variants,
    .needs = TRIB_NEEDS_LBA | TRIB_NEEDS_PAGE | TRIB_LBA_OPTIONAL,
    .open = tributary_open,
    .close = tributary_close,
    .place = tributary_place,
    .tick = tributary_tick,
    .blocks = {.discarded = tributary_discarded},
    .reclusterings = tributary_moves,
    .memory_bytes = tributary_memory,
};
