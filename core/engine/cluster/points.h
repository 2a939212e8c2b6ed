/* SPDX-License-Identifier: Apache-2.0 */
/* k-means of weighted points in a few dimensions, for policies that group by several features at
 * once. One round at a time, so that a caller who must not stall can spread the rounds; duplicates
 * are welcome, clusters may end up empty. Deterministic: the seeds follow from the points alone and
 * ties go to the smaller index. No allocation. Thread safety: pure. */
#ifndef TRIB_CLUSTER_POINTS_H
#define TRIB_CLUSTER_POINTS_H

#include <stdbool.h>
#include <stdint.h>
#include <tributary/error.h>

TRIB_C_BEGIN

#define TRIB_POINTS_DIMENSIONS_MAX 4
#define TRIB_POINTS_CLUSTERS_MAX   64

struct trib_points {
    const double *values;  /* count rows of `dimensions` finite numbers */
    const double *weights; /* count positive numbers */
    uint32_t count;        /* 1.. */
    uint32_t dimensions;   /* 1..TRIB_POINTS_DIMENSIONS_MAX */
    uint32_t clusters;     /* k, 1..TRIB_POINTS_CLUSTERS_MAX */
};

/* Fills centroids (k rows): the heaviest point first, then each time the point whose squared
 * distance to the nearest seed, times its weight, is greatest. Returns how many there are: k, or
 * fewer if there are fewer distinct points. Labels name the nearest seed. O(count k). */
uint32_t trib_points_seed(const struct trib_points *points, uint32_t *labels, double *centroids);

/* One step of Lloyd's algorithm: every centroid moves to the mean of its points, every point to
 * the nearest centroid. An empty cluster keeps its centroid. True if a label changed. */
bool trib_points_round(const struct trib_points *points, uint32_t used, uint32_t *labels, double *centroids);

/* Drops empty clusters and names the others 0.. by the distance of their centroid from the origin
 * (equal: the smaller first coordinate, and so on). Returns how many are left. */
uint32_t trib_points_order(const struct trib_points *points, uint32_t used, uint32_t *labels, double *centroids);

/* All of the above, at most `rounds_max` rounds. */
uint32_t trib_cluster_points(const struct trib_points *points, uint32_t rounds_max, uint32_t *labels,
                             double *centroids);

TRIB_C_END
#endif
