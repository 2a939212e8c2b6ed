/* SPDX-License-Identifier: Apache-2.0 */
/* FIOS's training (ACM TOS 18(2) sections 3.1 to 3.6): a trace becomes features, features become
 * clusters, clusters become a dictionary. Made of steps with bounded work, so that it can run on
 * the thread that also serves writes. Deterministic. Thread safety: one owner. Memory is allocated
 * at open, 0.8 MiB, whatever the drive's size. */
#ifndef TRIB_POLICY_FIOS_TRAIN_H
#define TRIB_POLICY_FIOS_TRAIN_H

#include "rivals/fios/fios_dictionary.h"
#include "rivals/fios/fios_trace.h"

TRIB_C_BEGIN

enum { TRIB_FIOS_BINARY = 0, TRIB_FIOS_DECIMAL = 1 };

struct trib_fios_rules {
    int matrix;        /* TRIB_FIOS_BINARY or TRIB_FIOS_DECIMAL */
    uint32_t features; /* mask of trib_fios_feature; 0 = select them */
    uint32_t streams;  /* K, 1..TRIB_FIOS_STREAMS_MAX: labels are 0..K-1 */
    double weights[TRIB_FIOS_FEATURES];
    struct trib_fios_attributes limits;
    double gb_per_day; /* lambda, which logical time cannot tell */
    bool keep_unknown; /* chunks that nothing was learned of keep their stream (OFIOS); else S0 */
};

struct trib_fios_result {
    struct trib_fios_attributes attributes;
    uint32_t theta;
    struct trib_fios_selection selection;
    uint32_t features;                      /* used */
    uint32_t touched;                       /* chunks */
    uint32_t patterns;                      /* distinct rows of the feature matrix */
    uint32_t streams;                       /* clusters that are not empty */
    double correlation[TRIB_FIOS_FEATURES]; /* Pearson's, of a feature's rank with the lifetime of
                                               the pages that died; 0 = neither varies */
};

struct trib_fios_training;

int trib_fios_training_open(struct trib_fios_training **out, const struct trib_fios_rules *rules);
void trib_fios_training_close(struct trib_fios_training *training); /* NULL is fine */

/* Starts over from a trace that has ended; `now` is the dictionary in use, `next` the one to fill,
 * of as many chunks as the trace. All three must stay while steps are made. */
void trib_fios_training_begin(struct trib_fios_training *training, struct trib_fios_trace *trace,
                              const struct trib_fios_dictionary *now, struct trib_fios_dictionary *next);

/* Looks at no more than about `chunks` chunks, or makes one round of k-means. True when `next` is
 * complete and the trace is blank again; false from then on. */
bool trib_fios_training_step(struct trib_fios_training *training, uint32_t chunks);

const struct trib_fios_result *trib_fios_training_result(const struct trib_fios_training *training);

uint64_t trib_fios_training_memory_bytes(void);

TRIB_C_END
#endif
