/* SPDX-License-Identifier: Apache-2.0 */
/* How often each unit of a space is chosen: evenly, in two classes, or by Zipf's law; and where the
 * popular ones lie. Draws cost one random number and one table look-up (Walker's alias method in
 * Vose's form, IEEE TSE 1991). Thread safety: one owner. */
#ifndef TRIB_WORKLOAD_POPULARITY_H
#define TRIB_WORKLOAD_POPULARITY_H

#include <stdint.h>

#include "workload/random.h"

struct trib_popularity {
    uint32_t units;
    uint32_t *threshold, *alias;            /* Zipf; else NULL */
    uint32_t hot_units;                     /* two classes; 0 = one */
    uint64_t hot_share;                     /* of the draws, in 2^-32 */
    uint32_t *place, extents, extent_units; /* neighbours in rank lie together in extents */
    uint32_t rotation;                      /* of extents, see shift */
};

/* Rank r is drawn with probability proportional to 1 / (r + 1)^exponent; 0 is uniform. 0, -ENOMEM.
 */
int trib_popularity_zipf(struct trib_popularity *out, uint32_t units, double exponent);
/* hot_share of the draws (0..1) go to the first hot_units ranks, evenly within each class. */
void trib_popularity_classes(struct trib_popularity *out, uint32_t units, uint32_t hot_units, double hot_share);
/* Spreads ranks over the space at random, extent_units neighbours together. 0, -ENOMEM. */
int trib_popularity_scatter(struct trib_popularity *popularity, uint32_t extent_units, struct trib_random *random);
/* Moves every rank by `units` (rounded up to extents), so that other units are popular now. */
void trib_popularity_shift(struct trib_popularity *popularity, uint32_t units);
/* A rank, and the unit that has it now. */
uint32_t trib_popularity_draw(const struct trib_popularity *popularity, struct trib_random *random);
uint32_t trib_popularity_place(const struct trib_popularity *popularity, uint32_t rank);
void trib_popularity_close(struct trib_popularity *popularity);

#endif
