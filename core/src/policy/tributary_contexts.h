/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the policy `tributary`: who writes, as a tree of contexts, and how long data of each
 * live. Root to leaf: call path; what the engine says besides (file kind, write hint, activity,
 * level, column family); tenant; what the overwritten block went through. A context that was seen
 * little leans on its parent, so a split costs nothing until it has something to say.
 *
 * Lifetimes and clocks count host blocks that reached the drive. Thread safety: one caller.
 * Invariants: a context outlives its live blocks and its children; context 0 is "nobody". */
#ifndef TRIB_POLICY_TRIBUTARY_CONTEXTS_H
#define TRIB_POLICY_TRIBUTARY_CONTEXTS_H

#include <stdbool.h>

#include "policy/policy.h"

TRIB_C_BEGIN

#define TRIB_CONTEXTS_MAX 4096u
#define TRIB_PLANS        5u /* ways of grouping that are rehearsed, tributary_rehearsal.h */

/* Which levels of the tree there are. */
enum trib_refinement {
    TRIB_REFINE_SALTS = 1u << 0,
    TRIB_REFINE_TENANT = 1u << 1,
    TRIB_REFINE_HISTORY = 1u << 2,
};

struct trib_contexts_settings {
    uint32_t refine;        /* enum trib_refinement */
    uint32_t admit;         /* deaths that outweigh the parent's opinion */
    double decay;           /* of what was learned, per trib_contexts_age, in (0, 1] */
    double history_average; /* weight of the newest interval of a block in its mean, (0, 1] */
    bool censored;          /* let the age of what is still alive raise a lifetime */
};

struct trib_context_node {
    uint64_t key; /* 0: free */
    uint16_t parent, children;
    bool by_history;
    uint8_t stream[TRIB_PLANS];
    double deaths, lifetime_sum; /* decayed */
    double written;              /* blocks, decayed */
    uint64_t live;               /* blocks written through this very context */
    double birth_sum;            /* of these */
};

/* What is known of one logical block; 8 bytes. */
struct trib_block_history {
    uint32_t born;    /* low half of the clock */
    uint16_t context; /* 0: not alive, or written before we looked */
    uint8_t interval; /* mean logarithm of the intervals between its writes, in eighths; 0 = none */
    uint8_t writes;   /* saturates */
};

struct trib_contexts {
    struct trib_contexts_settings settings;
    struct trib_block_history *blocks;
    uint64_t block_count;
    struct trib_context_node node[TRIB_CONTEXTS_MAX];
    uint16_t slots[2 * TRIB_CONTEXTS_MAX]; /* hash table of nodes, linear probing */
    uint16_t free_nodes[TRIB_CONTEXTS_MAX];
    uint32_t free_count;
    uint64_t refused; /* contexts that found no room and were taken for their parent */
};

/* 0 or -ENOMEM. */
int trib_contexts_open(struct trib_contexts **out, const struct trib_contexts_settings *settings,
                       uint64_t blocks);
void trib_contexts_close(struct trib_contexts *contexts);

/* The block is written; what it held dies. Returns the leaf. write->lba is below `blocks`. */
uint32_t trib_contexts_write(struct trib_contexts *contexts, const struct trib_placement *write);
/* What the block holds dies, if it is alive. */
void trib_contexts_kill(struct trib_contexts *contexts, uint64_t lba, uint64_t clock);

/* Expected lifetime, blocks; 0 = nothing is known. */
double trib_contexts_lifetime(const struct trib_contexts *contexts, uint32_t node, uint64_t clock);

/* Once per period: lets what was learned fade, and frees what nobody has used for long. */
void trib_contexts_age(struct trib_contexts *contexts);

TRIB_C_END
#endif
