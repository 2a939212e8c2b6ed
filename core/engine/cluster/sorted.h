/* SPDX-License-Identifier: Apache-2.0 */
/* What the three methods share: the distinct values in ascending order with prefix sums, carved
 * from the caller's workspace, and the way back from cuts between them to labels. Thread safety:
 * pure. */
#ifndef TRIB_CLUSTER_SORTED_H
#define TRIB_CLUSTER_SORTED_H

#include "cluster/cluster.h"

TRIB_C_BEGIN

struct trib_sorted {
    const struct trib_cluster_input *input;
    uint32_t *order;    /* input indices by value */
    uint32_t *distinct; /* distinct value of each input index */
    double *values;     /* distinct, ascending */
    uint32_t count;     /* distinct values */
    uint32_t clusters;  /* min(k, distinct values) */
    double origin;      /* the smallest value; sums count from here */
    /* [i]: over the first i distinct values: weight, weight * x, weight * x^2, with x = value -
     * origin */
    long double *weight, *moment, *square;
    uint32_t *cuts; /* clusters + 1: cluster c is the values [cuts[c], cuts[c + 1]) */
    char *rest;     /* workspace that is left for the method */
};

/* The next `bytes` of the workspace, aligned for any type. */
void *trib_sorted_carve(char **workspace, size_t bytes);
/* Workspace that trib_sorted_open takes for n values, k clusters. */
size_t trib_sorted_bytes(uint32_t count, uint32_t clusters);
void trib_sorted_open(struct trib_sorted *sorted, const struct trib_cluster_input *input, void *workspace);

/* Sum of squared distances to the mean, and the mean, of the distinct values [first, last), first <
 * last. */
long double trib_sorted_cost(const struct trib_sorted *sorted, uint32_t first, uint32_t last);
double trib_sorted_mean(const struct trib_sorted *sorted, uint32_t first, uint32_t last);

/* Labels and centroids from the cuts; returns the number of clusters. */
uint32_t trib_sorted_label(const struct trib_sorted *sorted, uint32_t *labels, double *centroids);

TRIB_C_END
#endif
