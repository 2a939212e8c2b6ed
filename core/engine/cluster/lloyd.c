/* SPDX-License-Identifier: Apache-2.0 */
/* Lloyd's algorithm on sorted values: a cluster is an interval, so that assignment moves cuts to
 * the middle between neighbouring centroids. A cluster that would lose its last value keeps it. */
#include <string.h>

#include "cluster/sorted.h"

#define ROUNDS_MAX 100

/* First distinct value above `limit`. */
static uint32_t first_above(const struct trib_sorted *s, double limit) {
    uint32_t low = 0, high = s->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->values[middle] <= limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t clamp(uint32_t value, uint32_t low, uint32_t high) {
    return value < low ? low : value > high ? high : value;
}

/* Cuts halfway between centroids; true if one moved. */
static int assign(struct trib_sorted *s, const double *centroids) {
    int moved = 0;
    for (uint32_t c = 1; c < s->clusters; c++) {
        double middle = centroids[c - 1] + (centroids[c] - centroids[c - 1]) / 2;
        uint32_t cut = clamp(first_above(s, middle), s->cuts[c - 1] + 1, s->count - (s->clusters - c));
        moved |= cut != s->cuts[c];
        s->cuts[c] = cut;
    }
    return moved;
}

uint32_t trib_cluster_lloyd(const struct trib_cluster_input *input, void *workspace, uint32_t *labels,
                            double *centroids) {
    struct trib_sorted s;
    trib_sorted_open(&s, input, workspace);
    memset(s.cuts, 0, s.clusters * sizeof *s.cuts);
    s.cuts[s.clusters] = s.count;
    /* Seeds: the middle of each k-th part of the distinct values. */
    for (uint64_t c = 0; c < s.clusters; c++)
        centroids[c] = s.values[(2 * c + 1) * s.count / (2ull * s.clusters)];
    for (unsigned round = 0; round < ROUNDS_MAX && assign(&s, centroids); round++)
        for (uint32_t c = 0; c < s.clusters; c++)
            centroids[c] = trib_sorted_mean(&s, s.cuts[c], s.cuts[c + 1]);
    return trib_sorted_label(&s, labels, centroids);
}
