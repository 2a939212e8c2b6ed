/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/tributary_contexts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define SLOTS          (2 * TRIB_CONTEXTS_MAX)
#define WRITES_MAX     255
#define FADED          0.01 /* a context below this much traffic and evidence is forgotten */
#define OCTAVE         8    /* steps of trib_block_history.interval */
#define INTERVAL_GRAIN 4    /* of these steps share a context: half an octave */

int trib_contexts_open(struct trib_contexts **out, const struct trib_contexts_settings *settings,
                       uint64_t blocks) {
    struct trib_contexts *c = calloc(1, sizeof *c);
    struct trib_block_history *table = calloc(blocks, sizeof *table);
    if (!c || !table) {
        free(c);
        free(table);
        return -ENOMEM;
    }
    c->settings = *settings;
    c->blocks = table;
    c->block_count = blocks;
    for (uint32_t i = TRIB_CONTEXTS_MAX - 1; i > 0; i--) /* 1 is given first */
        c->free_nodes[c->free_count++] = (uint16_t)i;
    *out = c;
    return 0;
}

void trib_contexts_close(struct trib_contexts *contexts) {
    if (!contexts)
        return;
    free(contexts->blocks);
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
    c->node[node] = (struct trib_context_node){
        .key = key, .parent = (uint16_t)parent, .by_history = by_history};
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

/* How often the block was written tells how much its mean interval can be trusted: 1, 2, 3, 4 to 7,
 * 8 to 15, more. */
static uint64_t trust(uint8_t writes) {
    return writes < 4 ? writes : writes < 8 ? 4 : writes < 16 ? 5 : 6;
}

static uint32_t leaf_of(struct trib_contexts *c, const struct trib_context *who,
                        const struct trib_block_history *block) {
    uint32_t refine = c->settings.refine;
    uint64_t key = trib_hash_mix(1, who->signature);
    uint32_t node = child(c, key, 0, false);
    if (refine & TRIB_REFINE_SALTS) {
        key = trib_hash_mix(key, (uint64_t)who->file_kind | (uint64_t)who->write_hint << 8 |
                                     (uint64_t)who->io_activity << 16 |
                                     (uint64_t)(uint8_t)who->level << 24 |
                                     (uint64_t)who->column_family << 32);
        node = child(c, key, node, false);
    }
    if (refine & TRIB_REFINE_TENANT) {
        key = trib_hash_mix(key, 0x10000u | who->tenant);
        node = child(c, key, node, false);
    }
    if (refine & TRIB_REFINE_HISTORY) {
        key = trib_hash_mix(key, 0x20000u | block->interval / INTERVAL_GRAIN |
                                     trust(block->writes) << 8);
        node = child(c, key, node, true);
    }
    return node;
}

/* ---- births and deaths ---- */

/* The clock is kept in 32 bits per block: exact while no block lives 16 TiB. */
static uint64_t age_of(const struct trib_block_history *block, uint64_t clock) {
    return (uint32_t)((uint32_t)clock - block->born);
}

static void die(struct trib_contexts *c, struct trib_block_history *block, uint64_t clock) {
    uint64_t age = age_of(block, clock);
    struct trib_context_node *leaf = &c->node[block->context];
    leaf->live--;
    leaf->birth_sum -= (double)(clock - age);
    for (uint32_t i = block->context; i; i = c->node[i].parent) {
        c->node[i].deaths += 1;
        c->node[i].lifetime_sum += (double)age;
    }
    block->context = 0;
}

/* 1 + eighths of an octave, linear between the octaves. */
static unsigned logarithm(uint64_t interval) {
    if (interval < 1)
        return 1;
    unsigned octave = 63 - (unsigned)__builtin_clzll(interval);
    unsigned part = (unsigned)((interval << 3 >> octave) & 7);
    return 1 + octave * OCTAVE + part;
}

/* A plain mean while there are few writes, then a moving one. */
static void note_interval(const struct trib_contexts *c, struct trib_block_history *block,
                          uint64_t clock) {
    double newest = logarithm(age_of(block, clock)), weight = c->settings.history_average;
    if (weight * block->writes < 1)
        weight = 1.0 / block->writes;
    block->interval = (uint8_t)(block->interval + weight * (newest - block->interval) + 0.5);
    if (block->writes < WRITES_MAX)
        block->writes++;
}

uint32_t trib_contexts_write(struct trib_contexts *c, const struct trib_placement *write) {
    struct trib_block_history *block = &c->blocks[write->lba];
    uint64_t clock = write->block_clock;
    if (block->context) {
        note_interval(c, block, clock);
        die(c, block, clock);
    } else {
        *block = (struct trib_block_history){.writes = 1};
    }
    uint32_t leaf = leaf_of(c, &write->who, block);
    c->node[leaf].written += 1;
    c->node[leaf].live++;
    c->node[leaf].birth_sum += (double)clock;
    block->born = (uint32_t)clock;
    block->context = (uint16_t)leaf;
    return leaf;
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

static bool is_forgotten(const struct trib_context_node *n) {
    return !n->live && !n->children && n->written < FADED && n->deaths < FADED;
}

void trib_contexts_age(struct trib_contexts *c) {
    bool changed = false;
    for (uint32_t i = 1; i < TRIB_CONTEXTS_MAX; i++) {
        struct trib_context_node *n = &c->node[i];
        if (!n->key)
            continue;
        n->deaths *= c->settings.decay;
        n->lifetime_sum *= c->settings.decay;
        n->written *= c->settings.decay;
        if (!is_forgotten(n))
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
