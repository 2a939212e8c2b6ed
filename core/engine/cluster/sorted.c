/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/sorted.h"

#include <stdlib.h>

#include "log/assert.h"

#define ALIGNMENT _Alignof(max_align_t)

static size_t aligned(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void *trib_sorted_carve(char **workspace, size_t bytes) {
    void *piece = *workspace;
    *workspace += aligned(bytes);
    return piece;
}

size_t trib_sorted_bytes(uint32_t count, uint32_t clusters) {
    size_t n = count;
    return 2 * aligned(n * sizeof(uint32_t)) + aligned(n * sizeof(double)) +
           3 * aligned((n + 1) * sizeof(long double)) + aligned((clusters + 1) * sizeof(uint32_t));
}

static int by_value(const void *a, const void *b, void *values_of) {
    const double *values = values_of;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (values[i] != values[j])
        return values[i] < values[j] ? -1 : 1;
    return i < j ? -1 : i > j; /* qsort is not stable; results shall not depend on it */
}

/* Adds one input value to the last distinct one, or starts the next. */
static void append(struct trib_sorted *s, uint32_t index) {
    double value = s->input->values[index];
    long double weight = s->input->weights ? s->input->weights[index] : 1;
    long double x = (long double)value - s->origin;
    if (!s->count || s->values[s->count - 1] != value) {
        uint32_t i = s->count++;
        s->values[i] = value;
        s->weight[i + 1] = s->weight[i];
        s->moment[i + 1] = s->moment[i];
        s->square[i + 1] = s->square[i];
    }
    s->distinct[index] = s->count - 1;
    s->weight[s->count] += weight;
    s->moment[s->count] += weight * x;
    s->square[s->count] += weight * x * x;
}

void trib_sorted_open(struct trib_sorted *s, const struct trib_cluster_input *input, void *workspace) {
    size_t n = input->count;
    assert(n >= 1 && input->clusters >= 1);
    *s = (struct trib_sorted){.input = input, .rest = workspace};
    s->order = trib_sorted_carve(&s->rest, n * sizeof *s->order);
    s->distinct = trib_sorted_carve(&s->rest, n * sizeof *s->distinct);
    s->values = trib_sorted_carve(&s->rest, n * sizeof *s->values);
    s->weight = trib_sorted_carve(&s->rest, (n + 1) * sizeof *s->weight);
    s->moment = trib_sorted_carve(&s->rest, (n + 1) * sizeof *s->moment);
    s->square = trib_sorted_carve(&s->rest, (n + 1) * sizeof *s->square);
    s->cuts = trib_sorted_carve(&s->rest, (input->clusters + 1) * sizeof *s->cuts);

    for (uint32_t i = 0; i < n; i++)
        s->order[i] = i;
    qsort_r(s->order, n, sizeof *s->order, by_value, (void *)input->values);
    s->origin = input->values[s->order[0]];
    s->weight[0] = s->moment[0] = s->square[0] = 0;
    for (uint32_t i = 0; i < n; i++)
        append(s, s->order[i]);
    s->clusters = input->clusters < s->count ? input->clusters : s->count;
}

long double trib_sorted_cost(const struct trib_sorted *s, uint32_t first, uint32_t last) {
    if (last - first == 1)
        return 0;
    long double weight = s->weight[last] - s->weight[first];
    long double moment = s->moment[last] - s->moment[first];
    long double cost = s->square[last] - s->square[first] - moment * moment / weight;
    return cost > 0 ? cost : 0;
}

double trib_sorted_mean(const struct trib_sorted *s, uint32_t first, uint32_t last) {
    if (last - first == 1)
        return s->values[first];
    long double weight = s->weight[last] - s->weight[first];
    double mean = (double)(s->origin + (s->moment[last] - s->moment[first]) / weight);
    /* Rounding must not carry a mean out of its cluster. */
    if (mean < s->values[first])
        return s->values[first];
    return mean > s->values[last - 1] ? s->values[last - 1] : mean;
}

uint32_t trib_sorted_label(const struct trib_sorted *s, uint32_t *labels, double *centroids) {
    uint32_t cluster = 0;
    for (uint32_t c = 0; c < s->clusters; c++)
        centroids[c] = trib_sorted_mean(s, s->cuts[c], s->cuts[c + 1]);
    for (uint32_t i = 0; i < s->input->count; i++) {
        uint32_t index = s->order[i];
        while (s->distinct[index] >= s->cuts[cluster + 1])
            cluster++;
        labels[index] = cluster;
    }
    return s->clusters;
}
