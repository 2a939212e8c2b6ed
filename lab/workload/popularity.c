/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/popularity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Probabilities in 2^-32 of a column of the alias table; a full column never looks at its alias. */
static uint32_t in_column(double probability) {
    double scaled = probability * 0x1p32;
    return scaled >= UINT32_MAX ? UINT32_MAX : (uint32_t)scaled;
}

/* Vose's two stacks share one array: small columns grow from the front, large ones from the back.
 */
static void fill_alias(struct trib_popularity *out, double *weight, uint32_t *stack) {
    uint32_t n = out->units, small = 0, large = n;

    for (uint32_t i = 0; i < n; i++)
        stack[weight[i] < 1 ? small++ : --large] = i;
    while (small > 0 && large < n) {
        uint32_t less = stack[--small], more = stack[large];
        out->threshold[less] = in_column(weight[less]);
        out->alias[less] = more;
        weight[more] -= 1 - weight[less];
        if (weight[more] < 1) {
            large++;
            stack[small++] = more;
        }
    }
    while (small > 0) {
        out->threshold[stack[--small]] = UINT32_MAX;
        out->alias[stack[small]] = stack[small];
    }
    for (; large < n; large++) {
        out->threshold[stack[large]] = UINT32_MAX;
        out->alias[stack[large]] = stack[large];
    }
}

int trib_popularity_zipf(struct trib_popularity *out, uint32_t units, double exponent) {
    struct trib_popularity made = {.units = units, .extents = units, .extent_units = 1};
    double *weight = malloc(units * sizeof *weight), sum = 0;
    uint32_t *stack = malloc(units * sizeof *stack);

    made.threshold = malloc(units * sizeof *made.threshold);
    made.alias = malloc(units * sizeof *made.alias);
    if (!weight || !stack || !made.threshold || !made.alias) {
        free(weight);
        free(stack);
        trib_popularity_close(&made);
        return -ENOMEM;
    }
    for (uint32_t i = units; i-- > 0;) /* small ones first: less rounding */
        sum += weight[i] = pow(i + 1.0, -exponent);
    for (uint32_t i = 0; i < units; i++)
        weight[i] *= units / sum;
    fill_alias(&made, weight, stack);
    free(weight);
    free(stack);
    *out = made;
    return 0;
}

void trib_popularity_classes(struct trib_popularity *out, uint32_t units, uint32_t hot_units, double hot_share) {
    *out = (struct trib_popularity){.units = units,
                                    .hot_units = hot_units < units ? hot_units : 0,
                                    .hot_share = (uint64_t)(hot_share * 0x1p32),
                                    .extents = units,
                                    .extent_units = 1};
}

int trib_popularity_scatter(struct trib_popularity *popularity, uint32_t extent_units, struct trib_random *random) {
    uint32_t extents = popularity->units / extent_units;
    uint32_t *place = malloc((extents + !extents) * sizeof *place);

    if (!place)
        return -ENOMEM;
    for (uint32_t i = 0; i < extents; i++)
        place[i] = i;
    for (uint32_t i = extents; i > 1; i--) {
        uint32_t other = trib_random_below(random, i), kept = place[i - 1];
        place[i - 1] = place[other];
        place[other] = kept;
    }
    free(popularity->place);
    popularity->place = place;
    popularity->extents = extents;
    popularity->extent_units = extent_units;
    return 0;
}

void trib_popularity_shift(struct trib_popularity *popularity, uint32_t units) {
    uint32_t extents = (units + popularity->extent_units - 1) / popularity->extent_units;

    if (popularity->extents)
        popularity->rotation = (popularity->rotation + extents) % popularity->extents;
}

uint32_t trib_popularity_draw(const struct trib_popularity *popularity, struct trib_random *random) {
    if (popularity->threshold) {
        uint32_t column = trib_random_below(random, popularity->units);
        uint32_t height = (uint32_t)trib_random_next(random);
        return height < popularity->threshold[column] ? column : popularity->alias[column];
    }
    if (!popularity->hot_units)
        return trib_random_below(random, popularity->units);
    if (trib_random_next(random) >> 32 < popularity->hot_share)
        return trib_random_below(random, popularity->hot_units);
    return popularity->hot_units + trib_random_below(random, popularity->units - popularity->hot_units);
}

uint32_t trib_popularity_place(const struct trib_popularity *popularity, uint32_t rank) {
    uint32_t extent = rank / popularity->extent_units;

    if (extent >= popularity->extents) /* the remainder behind the last whole extent stays */
        return rank;
    extent += popularity->rotation;
    if (extent >= popularity->extents)
        extent -= popularity->extents;
    if (popularity->place)
        extent = popularity->place[extent];
    return extent * popularity->extent_units + rank % popularity->extent_units;
}

void trib_popularity_close(struct trib_popularity *popularity) {
    free(popularity->threshold);
    free(popularity->alias);
    free(popularity->place);
    memset(popularity, 0, sizeof *popularity);
}
