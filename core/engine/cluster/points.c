/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/points.h"

#include <string.h>

#include "log/assert.h"

#define CELLS_MAX (TRIB_POINTS_CLUSTERS_MAX * TRIB_POINTS_DIMENSIONS_MAX)

static double distance_squared(const double *a, const double *b, uint32_t dimensions) {
    double sum = 0;
    for (uint32_t d = 0; d < dimensions; d++)
        sum += (a[d] - b[d]) * (a[d] - b[d]);
    return sum;
}

static const double *row(const struct trib_points *points, uint32_t index) {
    return points->values + (size_t)index * points->dimensions;
}

static uint32_t nearest(const double *point, const double *centroids, uint32_t used, uint32_t dimensions) {
    uint32_t best = 0;
    double best_distance = distance_squared(point, centroids, dimensions);
    for (uint32_t c = 1; c < used; c++) {
        double distance = distance_squared(point, centroids + (size_t)c * dimensions, dimensions);
        if (distance < best_distance) {
            best = c;
            best_distance = distance;
        }
    }
    return best;
}

static uint32_t heaviest(const struct trib_points *points) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < points->count; i++)
        if (points->weights[i] > points->weights[best])
            best = i;
    return best;
}

/* The point that the seeds so far serve worst; its cost is 0 if each point lies on a seed. */
static uint32_t worst_served(const struct trib_points *points, const uint32_t *labels, const double *centroids,
                             double *cost) {
    uint32_t worst = 0;
    *cost = 0;
    for (uint32_t i = 0; i < points->count; i++) {
        const double *seed = centroids + (size_t)labels[i] * points->dimensions;
        double here = points->weights[i] * distance_squared(row(points, i), seed, points->dimensions);
        if (here > *cost) {
            worst = i;
            *cost = here;
        }
    }
    return worst;
}

uint32_t trib_points_seed(const struct trib_points *points, uint32_t *labels, double *centroids) {
    uint32_t dimensions = points->dimensions, used = 0;
    uint32_t next = heaviest(points);
    double cost = 1;
    assert(points->count && dimensions && dimensions <= TRIB_POINTS_DIMENSIONS_MAX);
    assert(points->clusters && points->clusters <= TRIB_POINTS_CLUSTERS_MAX);
    memset(labels, 0, points->count * sizeof *labels);
    while (used < points->clusters && cost > 0) {
        double *seed = centroids + (size_t)used * dimensions;
        memcpy(seed, row(points, next), dimensions * sizeof *seed);
        for (uint32_t i = 0; i < points->count; i++) {
            const double *old = centroids + (size_t)labels[i] * dimensions;
            if (distance_squared(row(points, i), seed, dimensions) < distance_squared(row(points, i), old, dimensions))
                labels[i] = used;
        }
        used++;
        next = worst_served(points, labels, centroids, &cost);
    }
    return used;
}

bool trib_points_round(const struct trib_points *points, uint32_t used, uint32_t *labels, double *centroids) {
    uint32_t dimensions = points->dimensions;
    double sums[CELLS_MAX] = {0}, weights[TRIB_POINTS_CLUSTERS_MAX] = {0};
    bool moved = false;
    for (uint32_t i = 0; i < points->count; i++) {
        weights[labels[i]] += points->weights[i];
        for (uint32_t d = 0; d < dimensions; d++)
            sums[labels[i] * dimensions + d] += points->weights[i] * row(points, i)[d];
    }
    for (uint32_t c = 0; c < used; c++)
        for (uint32_t d = 0; d < dimensions && weights[c] > 0; d++)
            centroids[c * dimensions + d] = sums[c * dimensions + d] / weights[c];
    for (uint32_t i = 0; i < points->count; i++) {
        uint32_t label = nearest(row(points, i), centroids, used, dimensions);
        moved |= label != labels[i];
        labels[i] = label;
    }
    return moved;
}

static bool comes_before(const double *a, const double *b, uint32_t dimensions) {
    static const double origin[TRIB_POINTS_DIMENSIONS_MAX];
    double left = distance_squared(a, origin, dimensions);
    double right = distance_squared(b, origin, dimensions);
    if (left != right)
        return left < right;
    for (uint32_t d = 0; d < dimensions; d++)
        if (a[d] != b[d])
            return a[d] < b[d];
    return false;
}

uint32_t trib_points_order(const struct trib_points *points, uint32_t used, uint32_t *labels, double *centroids) {
    uint32_t dimensions = points->dimensions, kept = 0;
    uint32_t order[TRIB_POINTS_CLUSTERS_MAX], name_of[TRIB_POINTS_CLUSTERS_MAX];
    bool taken[TRIB_POINTS_CLUSTERS_MAX] = {false};
    double sorted[CELLS_MAX];
    for (uint32_t i = 0; i < points->count; i++)
        taken[labels[i]] = true;
    for (uint32_t c = 0; c < used; c++) { /* insertion: there are at most 64 */
        uint32_t at = kept;
        if (!taken[c])
            continue;
        for (; at > 0 && comes_before(centroids + (size_t)c * dimensions,
                                      centroids + (size_t)order[at - 1] * dimensions, dimensions);
             at--)
            order[at] = order[at - 1];
        order[at] = c;
        kept++;
    }
    for (uint32_t name = 0; name < kept; name++) {
        name_of[order[name]] = name;
        memcpy(sorted + (size_t)name * dimensions, centroids + (size_t)order[name] * dimensions,
               dimensions * sizeof *sorted);
    }
    memcpy(centroids, sorted, (size_t)kept * dimensions * sizeof *centroids);
    for (uint32_t i = 0; i < points->count; i++)
        labels[i] = name_of[labels[i]];
    return kept;
}

uint32_t trib_cluster_points(const struct trib_points *points, uint32_t rounds_max, uint32_t *labels,
                             double *centroids) {
    uint32_t used = trib_points_seed(points, labels, centroids);
    for (uint32_t round = 0; round < rounds_max; round++)
        if (!trib_points_round(points, used, labels, centroids))
            break;
    return trib_points_order(points, used, labels, centroids);
}
