/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the policy `tributary`: who writes, as a tree of contexts, and how long data of each
 * live. Root to leaf: call path; what the engine says besides (file kind, write hint, activity,
 * level, column family); tenant; what the overwritten block went through. A context that was seen
 * little leans on its parent, so a split costs nothing until it has something to say.
 *
 * A lifetime is known by one of four predictors: the mean of the path (the context without the
 * block's past), of the context, the past of the block itself, or of its region
 * (tributary_past.h). A path follows a past as it is where that explains the variance of lifetimes
 * as well as contexts do: means that contexts learn from deaths lie closer together than what they
 * are to tell apart.
 *
 * Lifetimes and clocks count host blocks that reached the drive. Thread safety: one caller.
 * Invariants: a context outlives its live blocks and its children; context 0 is "nobody". */
#ifndef TRIB_POLICY_TRIBUTARY_CONTEXTS_H
#define TRIB_POLICY_TRIBUTARY_CONTEXTS_H

#include <stdbool.h>

#include "policy/tributary_past.h"
#include <tributary/policy.h>

TRIB_C_BEGIN

#define TRIB_CONTEXTS_MAX 4096u

/* What tells data of one call path apart. */
enum trib_refinement {
    TRIB_REFINE_SALTS = 1u << 0,
    TRIB_REFINE_TENANT = 1u << 1,
    TRIB_REFINE_HISTORY = 1u << 2,
    TRIB_REFINE_BLOCKS = 1u << 3,
    TRIB_REFINE_REGIONS = 1u << 4,
};

enum trib_predictor { TRIB_BY_PATH, TRIB_BY_CONTEXT, TRIB_BY_BLOCK, TRIB_BY_REGION, TRIB_PREDICTORS };

struct trib_contexts_settings {
    uint32_t refine;        /* enum trib_refinement */
    uint32_t admit;         /* deaths that outweigh the parent's opinion */
    double decay;           /* of what was learned, per trib_contexts_age, in (0, 1] */
    double history_average; /* of the newest age in a block's mean, (0, 1] */
    bool censored;          /* let the age of what is still alive raise a lifetime */
};

struct trib_context_node {
    uint64_t key; /* 0: free */
    uint16_t parent, children;
    bool by_history;
    uint8_t predictor; /* enum trib_predictor, as of the last trib_contexts_look */
    uint8_t stream[TRIB_PLANS];
    double deaths, lifetime_sum; /* decayed */
    double replaced;             /* of these deaths: by overwriting, not by a trim */
    double written;              /* blocks, decayed */
    uint64_t live;               /* blocks written through this very context */
    double birth_sum;            /* of these */
    double lifetime;             /* expected, as of the last trib_contexts_look; 0 = nothing is known */
    /* Octaves by which overwritten data outlived each prophecy, decayed. */
    double overwrites, error_sum[TRIB_PREDICTORS], error_squares[TRIB_PREDICTORS];
};

/* Of one write. */
struct trib_prospect {
    uint32_t leaf;
    double lifetime[TRIB_PREDICTORS]; /* blocks; 0 = that predictor knows nothing */
    struct trib_region_past *region;
};

struct trib_contexts {
    struct trib_contexts_settings settings;
    struct trib_block_past *blocks;
    struct trib_region_past *regions;
    uint64_t block_count;
    struct trib_context_node node[TRIB_CONTEXTS_MAX];
    uint16_t slots[2 * TRIB_CONTEXTS_MAX]; /* hash table of nodes, linear probing */
    uint16_t free_nodes[TRIB_CONTEXTS_MAX];
    uint32_t free_count;
    uint64_t refused; /* contexts that found no room and were taken for their parent */
};

/* 0 or -ENOMEM. */
int trib_contexts_open(struct trib_contexts **out, const struct trib_contexts_settings *settings, uint64_t blocks);
void trib_contexts_close(struct trib_contexts *contexts);

/* The block is written; what it held dies. write->lba is below `blocks`. */
struct trib_prospect trib_contexts_write(struct trib_contexts *contexts, const struct trib_placement *write);
/* What the block holds dies, if it is alive. */
void trib_contexts_kill(struct trib_contexts *contexts, uint64_t lba, uint64_t clock);

/* The context without the past of the block. */
static inline uint32_t trib_contexts_path(const struct trib_contexts *contexts, uint32_t node) {
    const struct trib_context_node *n = &contexts->node[node];
    return n->by_history ? n->parent : node;
}

/* Whether what is written in the context dies by being overwritten rather than with its file. */
bool trib_contexts_in_place(const struct trib_contexts *contexts, uint32_t node);

/* Expected lifetime by the deaths in the context alone, blocks; 0 = nothing is known. */
double trib_contexts_lifetime(const struct trib_contexts *contexts, uint32_t node, uint64_t clock);

/* Once per period: what to expect of each context, and which predictor it follows; then lets what was
 * learned fade, and frees what nobody has used for long. */
void trib_contexts_look(struct trib_contexts *contexts, uint64_t clock);
uint64_t trib_contexts_memory(const struct trib_contexts *contexts);

TRIB_C_END
#endif
