/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the policy `tributary`: plans of grouping are tried out before they are used. Every
 * n-th logical block goes to miniatures of the drive, one per plan, with superblocks, spare area
 * and garbage collection scaled by n; the plan whose miniature copies least places the writes.
 * Sampling a cache to choose its parameters is Waldspurger et al., "Cache Modeling and Optimization
 * using Miniature Simulations", ATC'17; here the thing sampled is a drive.
 *
 * Thread safety: one caller. */
#ifndef TRIB_POLICY_TRIBUTARY_MINIATURE_H
#define TRIB_POLICY_TRIBUTARY_MINIATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/tributary_contexts.h"
#include <tributary/policy.h>

TRIB_C_BEGIN

struct trib_flash;

struct trib_miniature {
    struct trib_flash *stage[TRIB_PLANS]; /* all NULL: the drive is unknown or too small */
    uint32_t streams;
    uint64_t scale, blocks;             /* sampled: lba % scale == 0; lba / scale < blocks */
    double decay;                       /* of what was counted, per trib_miniature_choose */
    double copied[TRIB_PLANS], written; /* decayed */
    uint64_t copied_before[TRIB_PLANS], written_before;
};

/* 0 or -ENOMEM. Without a capacity, a spare area and superblocks of a known size there is no
 * stage, which is no error. */
int trib_miniature_open(struct trib_miniature *miniature, const struct trib_policy_env *env, double decay);
static inline bool trib_miniature_plays(const struct trib_miniature *miniature) {
    return miniature->stage[0] != NULL;
}
void trib_miniature_close(struct trib_miniature *miniature);

static inline bool trib_miniature_samples(const struct trib_miniature *miniature, uint64_t lba) {
    return miniature->stage[0] && lba % miniature->scale == 0 && lba / miniature->scale < miniature->blocks;
}
/* One written block; stream[p] is where plan p puts it. */
void trib_miniature_write(struct trib_miniature *miniature, uint64_t lba, const uint8_t stream[TRIB_PLANS]);
void trib_miniature_discard(struct trib_miniature *miniature, uint64_t lba, uint64_t blocks);

/* The plan to use from now on; `present` stays unless another is better by more than noise. */
uint32_t trib_miniature_choose(struct trib_miniature *miniature, uint32_t present);
/* Write amplification of a plan as simulated lately; 0 = not known. */
double trib_miniature_waf(const struct trib_miniature *miniature, uint32_t plan);
uint64_t trib_miniature_memory(const struct trib_miniature *miniature);

TRIB_C_END
#endif
