/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/tributary_contexts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define SLOTS (2 * TRIB_CONTEXTS_MAX)
#define FADED 0.01 /* a context below this much traffic and evidence is forgotten */
/* A past that leaves more than this share of the variance unexplained than the path's mean, or than
 * a context of its own that learned from deaths, would only add noise. */
#define OF_THE_PATH    0.9
#define OF_THE_CONTEXT 1.1

static uint64_t region_count(uint64_t blocks) {
    return (blocks + TRIB_REGION_BLOCKS - 1) / TRIB_REGION_BLOCKS;
}

int trib_contexts_open(struct trib_contexts **out, const struct trib_contexts_settings *settings, uint64_t blocks) {
    struct trib_contexts *c = calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    c->settings = *settings;
    c->blocks = calloc(blocks, sizeof *c->blocks);
    c->regions = calloc(region_count(blocks), sizeof *c->regions);
    c->block_count = blocks;
    if (!c->blocks || !c->regions) {
        trib_contexts_close(c);
        return -ENOMEM;
    }
    for (uint32_t i = TRIB_CONTEXTS_MAX - 1; i > 0; i--) /* 1 is given first */
        c->free_nodes[c->free_count++] = (uint16_t)i;
    *out = c;
    return 0;
}

void trib_contexts_close(struct trib_contexts *contexts) {
    if (!contexts)
        return;
    free(contexts->blocks);
    free(contexts->regions);
    free(contexts);
}

/* ---- the tree ---- */

static uint32_t home(uint64_t key) {
    return (uint32_t)(key >> 32) % SLOTS;
}

static void enter(struct trib_contexts *c, uint32_t node) {
    uint32_t at = home(c->node[node].key);
    while (c->slots[at])
        at = (at + 1) % SLOTS;
    c->slots[at] = (uint16_t)node;
}

static uint32_t add(struct trib_contexts *c, uint64_t key, uint32_t parent, bool by_history) {
    if (!c->free_count) {
        c->refused++;
        return parent;
    }
    uint32_t node = c->free_nodes[--c->free_count];
    c->node[node] = (struct trib_context_node){.key = key,
                                               .parent = (uint16_t)parent,
                                               .lifetime = c->node[parent].lifetime,
                                               .predictor = c->node[parent].predictor,
                                               .by_history = by_history};
    memcpy(c->node[node].stream, c->node[parent].stream, sizeof c->node[node].stream);
    c->node[parent].children++;
    enter(c, node);
    return node;
}

static uint32_t child(struct trib_contexts *c, uint64_t key, uint32_t parent, bool by_history) {
    key = key ? key : 1;
    for (uint32_t at = home(key); c->slots[at]; at = (at + 1) % SLOTS)
        if (c->node[c->slots[at]].key == key)
            return c->slots[at];
    return add(c, key, parent, by_history);
}

/* How often the block was overwritten tells how much its mean age can be trusted: 0, 1, 2, 3 to 6,
 * 7 to 14, more. */
static unsigned trust(unsigned overwrites) {
    return overwrites < 3 ? overwrites : overwrites < 7 ? 3 : overwrites < 15 ? 4 : 5;
}

/* Half octaves. */
static unsigned grain(double mean) {
    return mean < 1 ? 0 : 1 + (unsigned)(2 * log2(mean));
}

static uint32_t leaf_of(struct trib_contexts *c, const struct trib_context *who, const struct trib_block_past *block) {
    uint32_t refine = c->settings.refine;
    uint64_t key = trib_hash_mix(1, who->signature);
    uint32_t node = child(c, key, 0, false);
    if (refine & TRIB_REFINE_SALTS) {
        key = trib_hash_mix(key, (uint64_t)who->file_kind | (uint64_t)who->write_hint << 8 |
                                     (uint64_t)who->io_activity << 16 | (uint64_t)(uint8_t)who->level << 24 |
                                     (uint64_t)who->column_family << 32);
        node = child(c, key, node, false);
    }
    if (refine & TRIB_REFINE_TENANT) {
        key = trib_hash_mix(key, 0x10000u | who->tenant);
        node = child(c, key, node, false);
    }
    if (refine & TRIB_REFINE_HISTORY) {
        key = trib_hash_mix(key, 0x20000u | grain(trib_past_mean(block)) | trust(trib_past_overwrites(block)) << 8);
        node = child(c, key, node, true);
    }
    return node;
}

/* ---- births and deaths ---- */

static void die(struct trib_contexts *c, struct trib_block_past *block, uint64_t clock) {
    uint64_t age = trib_past_age(block, clock);
    struct trib_context_node *leaf = &c->node[block->context];
    leaf->live--;
    leaf->birth_sum -= (double)(clock - age);
    for (uint32_t i = block->context; i; i = c->node[i].parent) {
        c->node[i].deaths += 1;
        c->node[i].lifetime_sum += (double)age;
    }
    block->context = 0;
}

static bool is_allowed(const struct trib_contexts *c, int predictor) {
    static const uint32_t pasts[TRIB_PREDICTORS] = {
        [TRIB_BY_BLOCK] = TRIB_REFINE_BLOCKS, [TRIB_BY_REGION] = TRIB_REFINE_REGIONS};
    return !pasts[predictor] || c->settings.refine & pasts[predictor];
}

/* What each predictor would say of the data of a context in this block. */
static struct trib_prospect foresee(const struct trib_contexts *c, uint32_t node, uint64_t lba) {
    struct trib_region_past *region = &c->regions[lba / TRIB_REGION_BLOCKS];
    return (struct trib_prospect){.leaf = node,
                                  .region = region,
                                  .lifetime = {[TRIB_BY_PATH] = c->node[trib_contexts_path(c, node)].lifetime,
                                               [TRIB_BY_CONTEXT] = c->node[node].lifetime,
                                               [TRIB_BY_BLOCK] = trib_past_mean(&c->blocks[lba]),
                                               [TRIB_BY_REGION] = (double)region->mean}};
}

/* Predictors are compared only where each had something to say. A constant bias does no harm: classes
 * are relative. */
static void judge(struct trib_contexts *c, const struct trib_prospect *said, uint64_t age) {
    for (int p = 0; p < TRIB_PREDICTORS; p++)
        if (said->lifetime[p] <= 0)
            return;
    double lived = log2((double)age + 1);
    for (uint32_t i = said->leaf; i; i = c->node[i].parent) {
        struct trib_context_node *n = &c->node[i];
        n->overwrites += 1;
        for (int p = 0; p < TRIB_PREDICTORS; p++) {
            double error = lived - log2(said->lifetime[p]);
            n->error_sum[p] += error;
            n->error_squares[p] += error * error;
        }
    }
}

static void overwrite(struct trib_contexts *c, uint64_t lba, uint64_t clock) {
    struct trib_block_past *block = &c->blocks[lba];
    struct trib_prospect said = foresee(c, block->context, lba);
    uint64_t age = trib_past_age(block, clock);
    judge(c, &said, age);
    for (uint32_t i = block->context; i; i = c->node[i].parent)
        c->node[i].replaced += 1;
    die(c, block, clock);
    trib_past_note(block, age, c->settings.history_average);
    trib_past_note_region(said.region, lba, age, clock);
}

struct trib_prospect trib_contexts_write(struct trib_contexts *c, const struct trib_placement *write) {
    struct trib_block_past *block = &c->blocks[write->lba];
    uint64_t clock = write->block_clock;
    if (block->context)
        overwrite(c, write->lba, clock);
    else
        *block = (struct trib_block_past){0};
    uint32_t leaf = leaf_of(c, &write->who, block);
    c->node[leaf].written += 1;
    c->node[leaf].live++;
    c->node[leaf].birth_sum += (double)clock;
    block->born = (uint32_t)clock;
    block->context = (uint16_t)leaf;
    struct trib_prospect seen = foresee(c, leaf, write->lba);
    for (int p = 0; p < TRIB_PREDICTORS; p++)
        if (!is_allowed(c, p))
            seen.lifetime[p] = 0;
    return seen;
}

void trib_contexts_kill(struct trib_contexts *c, uint64_t lba, uint64_t clock) {
    if (lba < c->block_count && c->blocks[lba].context)
        die(c, &c->blocks[lba], clock);
}

/* ---- what to expect ---- */

/* The parent's opinion counts as `admit` deaths. Data that outlive the mean of those that died
 * count with the age that they have: else whoever writes what never dies would look short-lived. */
double trib_contexts_lifetime(const struct trib_contexts *c, uint32_t node, uint64_t clock) {
    const struct trib_context_node *n = &c->node[node];
    double weight = n->deaths, sum = n->lifetime_sum;
    if (c->settings.censored && n->live) {
        double live = (double)n->live, age = (double)clock - n->birth_sum / live;
        if (age * weight > sum) {
            weight += live;
            sum += age * live;
        }
    }
    double parent = n->parent ? trib_contexts_lifetime(c, n->parent, clock) : 0;
    if (parent > 0) {
        weight += c->settings.admit;
        sum += parent * c->settings.admit;
    }
    return weight > 0 ? sum / weight : 0;
}

bool trib_contexts_in_place(const struct trib_contexts *c, uint32_t node) {
    const struct trib_context_node *n = &c->node[node];
    if (n->deaths < c->settings.admit && n->parent)
        return trib_contexts_in_place(c, n->parent);
    return 2 * n->replaced > n->deaths;
}

static bool is_forgotten(const struct trib_context_node *n) {
    return !n->live && !n->children && n->written < FADED && n->deaths < FADED;
}

static double variance_left(const struct trib_context_node *n, int predictor) {
    double bias = n->error_sum[predictor] / n->overwrites;
    return n->error_squares[predictor] / n->overwrites - bias * bias;
}

static uint8_t best_predictor(const struct trib_contexts *c, uint32_t node) {
    const struct trib_context_node *n = &c->node[node];
    if (n->overwrites < c->settings.admit)
        return n->parent ? best_predictor(c, n->parent) : TRIB_BY_CONTEXT;
    uint8_t best = TRIB_BY_CONTEXT;
    double least =
        fmin(OF_THE_PATH * variance_left(n, TRIB_BY_PATH), OF_THE_CONTEXT * variance_left(n, TRIB_BY_CONTEXT));
    for (int p = TRIB_BY_BLOCK; p < TRIB_PREDICTORS; p++)
        if (is_allowed(c, p) && variance_left(n, p) < least) {
            least = variance_left(n, p);
            best = (uint8_t)p;
        }
    return best;
}

static void fade(struct trib_context_node *n, double decay) {
    n->deaths *= decay;
    n->lifetime_sum *= decay;
    n->replaced *= decay;
    n->written *= decay;
    n->overwrites *= decay;
    for (int p = 0; p < TRIB_PREDICTORS; p++) {
        n->error_sum[p] *= decay;
        n->error_squares[p] *= decay;
    }
}

static void forget_unused(struct trib_contexts *c) {
    bool changed = false;
    for (uint32_t i = 1; i < TRIB_CONTEXTS_MAX; i++) {
        struct trib_context_node *n = &c->node[i];
        if (!n->key || !is_forgotten(n))
            continue;
        c->node[n->parent].children--;
        *n = (struct trib_context_node){0};
        c->free_nodes[c->free_count++] = (uint16_t)i;
        changed = true;
    }
    if (!changed)
        return;
    memset(c->slots, 0, sizeof c->slots);
    for (uint32_t i = 1; i < TRIB_CONTEXTS_MAX; i++)
        if (c->node[i].key)
            enter(c, i);
}

void trib_contexts_look(struct trib_contexts *c, uint64_t clock) {
    for (uint32_t i = 1; i < TRIB_CONTEXTS_MAX; i++) {
        struct trib_context_node *n = &c->node[i];
        if (!n->key)
            continue;
        n->lifetime = trib_contexts_lifetime(c, i, clock);
        n->predictor = best_predictor(c, trib_contexts_path(c, i));
    }
    for (uint32_t i = 1; i < TRIB_CONTEXTS_MAX; i++)
        if (c->node[i].key)
            fade(&c->node[i], c->settings.decay);
    forget_unused(c);
}

uint64_t trib_contexts_memory(const struct trib_contexts *c) {
    return sizeof *c + c->block_count * sizeof *c->blocks + region_count(c->block_count) * sizeof *c->regions;
}
