/* SPDX-License-Identifier: Apache-2.0 */
/* One-dimensional clustering as pure functions. Values need not be sorted; labels come back ordered
 * by centroid (0 = smallest), so that stream names keep their meaning from one clustering to the
 * next. Equal values share a label, clusters are intervals, none is empty. Deterministic: among
 * equally good answers the last cluster is the largest (exact), the pair of smallest values
 * merges first (agglomerate). No allocation: the caller gives the workspace. Thread safety: pure.
 */
#ifndef TRIB_CLUSTER_CLUSTER_H
#define TRIB_CLUSTER_CLUSTER_H

#include <stddef.h>
#include <stdint.h>
#include <tributary/error.h>

TRIB_C_BEGIN

struct trib_cluster_input {
    const double *values;  /* n finite numbers */
    const double *weights; /* n positive numbers, or NULL for 1 */
    uint32_t count;        /* n, 1.. */
    uint32_t clusters;     /* k, 1..64 */
};

/* Bytes of workspace, aligned as malloc does, that any of the methods below needs. */
size_t trib_cluster_workspace_bytes(uint32_t count, uint32_t clusters);

/* Each fills labels[n] with 0..used-1 and centroids[0..used) ascending, and returns `used`, the
 * smaller of k and the number of distinct values. */

/* Optimal k-means by dynamic programming over the sorted values (Wang & Song, "Ckmeans.1d.dp", R
 * Journal 2011), divide and conquer over the monotone split points: O(k n log n). Sums are long
 * double, counted from the smallest value: groups that lie closer together than 1e-8 of the whole
 * range may not be distinguished. */
uint32_t trib_cluster_exact(const struct trib_cluster_input *input, void *workspace, uint32_t *labels,
                            double *centroids);
/* Lloyd's k-means from quantile seeds (FAST'19 section 5.2 names k-means; seeding is our choice): a
 * local optimum, at most 100 rounds. */
uint32_t trib_cluster_lloyd(const struct trib_cluster_input *input, void *workspace, uint32_t *labels,
                            double *centroids);
/* The two clusters with the closest centroids merge until k remain (HotStorage'18); O(n log n). */
uint32_t trib_cluster_agglomerate(const struct trib_cluster_input *input, void *workspace, uint32_t *labels,
                                  double *centroids);

TRIB_C_END
#endif
