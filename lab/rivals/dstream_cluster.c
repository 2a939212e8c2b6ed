/* SPDX-License-Identifier: Apache-2.0 */
/* The three rules of DStream's section 3.2, in two readings.
 *
 *   1. Each element joins the cluster with the nearest centre; centres and the closest pair
 *      (Cm1, Cm2), Dmin apart, are updated.
 *   2. An element farther than Dmin from its centre: Cm1 and Cm2 merge, k falls.
 *   3. An element nearer than Dmin: the mean of the two hottest centres is a new one, k rises.
 *
 * Literally, for each element in turn, rule 3 fires for nearly all of them and k stays at its
 * ceiling, unlike the paper's Figure 3. The executable reading decides once per timestamp, by the
 * farthest element: merge until it is no farther than Dmin; if nothing merged and it is nearer,
 * split once. */
#include <math.h>
#include <string.h>

#include "rivals/dstream_cluster.h"

#define ROUNDS                                                                                                         \
    3 /* of Lloyd's algorithm per timestamp; the centres of the last one are the seeds                                 \
       */

struct pair {
    uint32_t a, b;
    double distance; /* INFINITY: fewer than two clusters */
};

static uint32_t nearest(const struct trib_dstream_clusters *k, double value) {
    uint32_t best = TRIB_DSTREAM_CLUSTERS_MAX;
    for (uint32_t i = 0; i < k->clusters_max; i++) {
        if (!k->c[i].used)
            continue;
        if (best == TRIB_DSTREAM_CLUSTERS_MAX || fabs(value - k->c[i].centre) < fabs(value - k->c[best].centre))
            best = i;
    }
    return best;
}

static double distance(const struct trib_dstream_clusters *k, const double *values, uint32_t i) {
    return fabs(values[i] - k->c[k->label[i]].centre);
}

static void assign(struct trib_dstream_clusters *k, const double *values) {
    for (uint32_t c = 0; c < k->clusters_max; c++)
        k->c[c].members = 0;
    for (uint32_t i = 0; i < k->elements; i++) {
        k->label[i] = (uint8_t)nearest(k, values[i]);
        k->c[k->label[i]].members++;
    }
}

/* To the mean of the members; without members it stays. */
static void centre(struct trib_dstream_clusters *k, const double *values) {
    double sum[TRIB_DSTREAM_CLUSTERS_MAX] = {0};
    for (uint32_t i = 0; i < k->elements; i++)
        sum[k->label[i]] += values[i];
    for (uint32_t c = 0; c < k->clusters_max; c++)
        if (k->c[c].used && k->c[c].members > 0)
            k->c[c].centre = sum[c] / k->c[c].members;
}

static uint32_t farthest(const struct trib_dstream_clusters *k, const double *values) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < k->elements; i++)
        if (distance(k, values, i) > distance(k, values, best))
            best = i;
    return best;
}

static struct pair closest_pair(const struct trib_dstream_clusters *k) {
    struct pair best = {0, 0, INFINITY};
    for (uint32_t a = 0; a < k->clusters_max; a++)
        for (uint32_t b = a + 1; b < k->clusters_max; b++) {
            double apart = fabs(k->c[a].centre - k->c[b].centre);
            if (k->c[a].used && k->c[b].used && apart < best.distance)
                best = (struct pair){a, b, apart};
        }
    return best;
}

static void drop(struct trib_dstream_clusters *k, uint32_t cluster) {
    k->c[cluster] = (struct trib_dstream_cluster){0};
    k->used--;
}

/* The larger keeps its number, so that fewer elements change stream. */
static void merge(struct trib_dstream_clusters *k, struct pair pair) {
    struct trib_dstream_cluster *a = &k->c[pair.a], *b = &k->c[pair.b];
    uint32_t members = a->members + b->members;
    double mean = members ? (a->centre * a->members + b->centre * b->members) / members : (a->centre + b->centre) / 2;
    uint32_t kept = b->members > a->members ? pair.b : pair.a;
    k->c[kept].centre = mean;
    k->c[kept].members = members;
    drop(k, kept == pair.a ? pair.b : pair.a);
}

/* With one cluster left there are no two hottest ones: its centre and the hottest element. */
static double between_hottest(const struct trib_dstream_clusters *k, const double *values) {
    double hot = -INFINITY, second = -INFINITY;
    for (uint32_t c = 0; c < k->clusters_max; c++) {
        if (!k->c[c].used)
            continue;
        if (k->c[c].centre > hot) {
            second = hot;
            hot = k->c[c].centre;
        } else if (k->c[c].centre > second) {
            second = k->c[c].centre;
        }
    }
    if (k->used == 1) {
        second = hot;
        for (uint32_t i = 0; i < k->elements; i++)
            hot = values[i] > hot ? values[i] : hot;
    }
    return (hot + second) / 2;
}

static void split(struct trib_dstream_clusters *k, const double *values) {
    uint32_t at = 0;
    double middle = between_hottest(k, values);
    while (k->c[at].used)
        at++;
    k->c[at] = (struct trib_dstream_cluster){.centre = middle, .used = true};
    k->used++;
}

/* Distinct values, ascending; returns how many. N is small, and qsort may allocate. */
static uint32_t sort_distinct(double *sorted, const double *values, uint32_t count) {
    uint32_t distinct = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = distinct;
        while (at > 0 && sorted[at - 1] >= values[i])
            at--;
        if (at < distinct && sorted[at] == values[i])
            continue;
        memmove(&sorted[at + 1], &sorted[at], (distinct - at) * sizeof *sorted);
        sorted[at] = values[i];
        distinct++;
    }
    return distinct;
}

/* The middle of each k-th part of the distinct values; cluster 0 is the coldest now. */
static void seed(struct trib_dstream_clusters *k, const double *values) {
    double sorted[TRIB_DSTREAM_ELEMENTS_MAX];
    uint32_t distinct = sort_distinct(sorted, values, k->elements);
    k->used = distinct < k->clusters_max ? distinct : k->clusters_max;
    for (uint32_t c = 0; c < k->used; c++)
        k->c[c] = (struct trib_dstream_cluster){.centre = sorted[(2 * c + 1) * distinct / (2 * k->used)], .used = true};
    k->since_merge = k->quiet_timestamps;
    k->seeded = true;
}

static void drop_empty(struct trib_dstream_clusters *k) {
    for (uint32_t c = 0; c < k->clusters_max; c++)
        if (k->c[c].used && k->c[c].members == 0)
            drop(k, c);
}

static void decide_once(struct trib_dstream_clusters *k, const double *values) {
    bool merged = false;
    double far = distance(k, values, farthest(k, values));
    struct pair pair = closest_pair(k);
    for (; far > pair.distance; pair = closest_pair(k)) {
        merge(k, pair);
        assign(k, values);
        far = distance(k, values, farthest(k, values));
        merged = true;
    }
    k->since_merge = merged ? 0 : k->since_merge + 1;
    if (merged || k->since_merge <= k->quiet_timestamps || k->used == k->clusters_max)
        return;
    if (far > 0 && far < pair.distance)
        split(k, values);
}

static void decide_by_element(struct trib_dstream_clusters *k, const double *values) {
    for (uint32_t i = 0; i < k->elements; i++) {
        double apart = fabs(values[i] - k->c[nearest(k, values[i])].centre);
        struct pair pair = closest_pair(k);
        if (apart > pair.distance)
            merge(k, pair);
        else if (apart < pair.distance && k->used < k->clusters_max)
            split(k, values);
    }
}

/* A fixed k is kept: a cluster that lost its members starts anew at the farthest element. */
static void refill(struct trib_dstream_clusters *k, const double *values) {
    for (uint32_t c = 0; c < k->clusters_max; c++) {
        uint32_t far = farthest(k, values);
        if (k->c[c].members > 0 || distance(k, values, far) <= 0)
            continue;
        k->c[c] = (struct trib_dstream_cluster){.centre = values[far], .used = true};
        assign(k, values);
    }
    k->used = k->clusters_max;
}

void trib_dstream_step(struct trib_dstream_clusters *k, const double *values) {
    if (!k->seeded)
        seed(k, values);
    for (int round = 0; round < ROUNDS; round++) {
        assign(k, values);
        centre(k, values);
    }
    switch (k->mode) {
    case TRIB_DSTREAM_EXECUTABLE:
        drop_empty(k);
        decide_once(k, values);
        break;
    case TRIB_DSTREAM_LITERAL:
        decide_by_element(k, values);
        break;
    case TRIB_DSTREAM_FIXED:
        refill(k, values);
        break;
    }
    assign(k, values);
}
