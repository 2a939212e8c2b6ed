/* SPDX-License-Identifier: Apache-2.0 */
/* Closest centroids first. Only neighbours can be closest, so that the candidates are the gaps
 * between them, kept in a tournament tree: O(log n) per merge. */
#include <math.h>
#include <string.h>

#include "cluster/sorted.h"

struct chain {
    const struct trib_sorted *sorted;
    /* A cluster is the distinct values [i, end[i]); begin[end[i] - 1] leads back to i. */
    uint32_t *begin, *end;
    uint32_t leaves;  /* power of two >= distinct values */
    double *gap;      /* behind the cluster at i; INFINITY: none begins here, or none follows */
    uint32_t *winner; /* inner nodes 1..leaves - 1: leaf with the smallest gap below */
};

static uint32_t leaf_below(const struct chain *chain, uint32_t node) {
    return node >= chain->leaves ? node - chain->leaves : chain->winner[node];
}

static void play(struct chain *chain, uint32_t node) {
    uint32_t left = leaf_below(chain, 2 * node), right = leaf_below(chain, 2 * node + 1);
    chain->winner[node] = chain->gap[right] < chain->gap[left] ? right : left;
}

static void set_gap(struct chain *chain, uint32_t leaf, double gap) {
    chain->gap[leaf] = gap;
    for (uint32_t node = (chain->leaves + leaf) / 2; node; node /= 2)
        play(chain, node);
}

/* Distance from the cluster that begins at `first` to the next. */
static double gap_behind(const struct chain *chain, uint32_t first) {
    uint32_t next = chain->end[first];
    if (next == chain->sorted->count)
        return INFINITY;
    return trib_sorted_mean(chain->sorted, next, chain->end[next]) - trib_sorted_mean(chain->sorted, first, next);
}

static void merge_closest(struct chain *chain) {
    uint32_t first = chain->leaves > 1 ? chain->winner[1] : 0;
    uint32_t second = chain->end[first], end = chain->end[second];
    chain->end[first] = end;
    chain->begin[end - 1] = first;
    set_gap(chain, second, INFINITY);
    set_gap(chain, first, gap_behind(chain, first));
    if (first) {
        uint32_t before = chain->begin[first - 1];
        set_gap(chain, before, gap_behind(chain, before));
    }
}

static uint32_t leaves_for(uint32_t count) {
    uint32_t leaves = 1;
    while (leaves < count)
        leaves *= 2;
    return leaves;
}

static void open_chain(struct chain *chain, struct trib_sorted *s) {
    *chain = (struct chain){.sorted = s, .leaves = leaves_for(s->count)};
    chain->begin = trib_sorted_carve(&s->rest, s->count * sizeof *chain->begin);
    chain->end = trib_sorted_carve(&s->rest, s->count * sizeof *chain->end);
    chain->gap = trib_sorted_carve(&s->rest, chain->leaves * sizeof *chain->gap);
    chain->winner = trib_sorted_carve(&s->rest, chain->leaves * sizeof *chain->winner);
    for (uint32_t i = 0; i < s->count; i++) {
        chain->begin[i] = i;
        chain->end[i] = i + 1;
    }
    for (uint32_t i = 0; i < chain->leaves; i++)
        chain->gap[i] = i + 1 < s->count ? s->values[i + 1] - s->values[i] : INFINITY;
    for (uint32_t node = chain->leaves - 1; node; node--)
        play(chain, node);
}

uint32_t trib_cluster_agglomerate(const struct trib_cluster_input *input, void *workspace, uint32_t *labels,
                                  double *centroids) {
    struct trib_sorted sorted;
    struct chain chain;
    trib_sorted_open(&sorted, input, workspace);
    open_chain(&chain, &sorted);
    for (uint32_t left = sorted.count; left > sorted.clusters; left--)
        merge_closest(&chain);
    sorted.cuts[0] = 0;
    for (uint32_t c = 0; c < sorted.clusters; c++)
        sorted.cuts[c + 1] = chain.end[sorted.cuts[c]];
    return trib_sorted_label(&sorted, labels, centroids);
}

size_t trib_cluster_workspace_bytes(uint32_t count, uint32_t clusters) {
    size_t row = (size_t)count + 1;
    size_t exact = 2 * row * sizeof(long double) + clusters * row * sizeof(uint32_t);
    size_t chain =
        2 * (size_t)count * sizeof(uint32_t) + (size_t)leaves_for(count) * (sizeof(double) + sizeof(uint32_t));
    size_t padding = 4 * sizeof(long double); /* of the pieces carved by one method */
    return trib_sorted_bytes(count, clusters) + (exact > chain ? exact : chain) + padding;
}
