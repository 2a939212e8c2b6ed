/* SPDX-License-Identifier: Apache-2.0 */
/* Optimal one-dimensional k-means: best[c][j] = min over i of best[c-1][i] + cost(i, j), the
 * cheapest way to cut the first j values into c clusters. The best i never falls as j grows (the
 * cost obeys the quadrangle inequality), so solving the middle j first halves the range of i for
 * both sides. */
#include "cluster/sorted.h"
#include "log/assert.h"

struct layer {
    const struct trib_sorted *sorted;
    const long double *previous; /* best[c - 1][0..n] */
    long double *current;        /* best[c][0..n] */
    uint32_t *splits;            /* of this layer: the best i for each j */
};

/* Solves j in [first, last] knowing that their best splits lie in [low, high]. */
static void solve(const struct layer *layer, uint32_t first, uint32_t last, uint32_t low, uint32_t high) {
    uint32_t middle = first + (last - first) / 2;
    uint32_t stop = high < middle - 1 ? high : middle - 1;
    uint32_t best_split = stop;
    long double best = layer->previous[stop] + trib_sorted_cost(layer->sorted, stop, middle);
    for (uint32_t i = stop; i-- > low;) {
        long double last_cluster = trib_sorted_cost(layer->sorted, i, middle);
        if (last_cluster > best)
            break; /* it only grows from here, whatever lies before it */
        if (layer->previous[i] + last_cluster <= best) {
            best = layer->previous[i] + last_cluster;
            best_split = i;
        }
    }
    layer->current[middle] = best;
    layer->splits[middle] = best_split;
    if (middle > first)
        solve(layer, first, middle - 1, low, best_split);
    if (middle < last)
        solve(layer, middle + 1, last, best_split, high);
}

uint32_t trib_cluster_exact(const struct trib_cluster_input *input, void *workspace, uint32_t *labels,
                            double *centroids) {
    struct trib_sorted sorted;
    trib_sorted_open(&sorted, input, workspace);
    size_t row = (size_t)sorted.count + 1;
    uint32_t n = sorted.count, k = sorted.clusters;
    long double *previous = trib_sorted_carve(&sorted.rest, row * sizeof *previous);
    long double *current = trib_sorted_carve(&sorted.rest, row * sizeof *current);
    uint32_t *splits = trib_sorted_carve(&sorted.rest, k * row * sizeof *splits);

    for (uint32_t j = 1; j <= n; j++)
        previous[j] = trib_sorted_cost(&sorted, 0, j);
    for (uint32_t c = 2; c <= k; c++) {
        struct layer layer = {&sorted, previous, current, splits + (c - 1) * row};
        solve(&layer, c, n, c - 1, n - 1);
        current = previous;
        previous = layer.current;
    }
    sorted.cuts[k] = n;
    for (uint32_t c = k; c > 1; c--)
        sorted.cuts[c - 1] = splits[(c - 1) * row + sorted.cuts[c]];
    sorted.cuts[0] = 0;
    return trib_sorted_label(&sorted, labels, centroids);
}
