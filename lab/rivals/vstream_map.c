/* SPDX-License-Identifier: Apache-2.0 */
/* Algorithm 2 of vStream-FTL (TCE'21 section V.C): one assignment step per period, seeded by the
 * map of the period before. What the text leaves open (first map, empty physical streams, history,
 * decay) is named at the head of vstream.c. */
#include <math.h>
#include <stddef.h>

#include "rivals/vstream_map.h"

static void admit(struct trib_vstream_map *map) {
    for (uint32_t v = 0; v < map->vstreams; v++) {
        struct trib_vstream_row *row = &map->v[v];
        row->known = row->known || row->deaths >= map->history_pages;
        if (!row->known || row->deaths == 0)
            continue; /* decay=0 keeps what the last period with deaths said */
        double lifetime = row->age_sum / row->deaths;
        row->lifetime = map->log_distance ? log2(1 + lifetime) : lifetime;
    }
}

/* Of the known streams; equal lifetimes rank by number. */
static uint32_t rank_of(const struct trib_vstream_map *map, uint32_t v) {
    uint32_t rank = 0;
    for (uint32_t w = 0; w < map->vstreams; w++)
        rank += map->v[w].known &&
                (map->v[w].lifetime < map->v[v].lifetime || (map->v[w].lifetime == map->v[v].lifetime && w < v));
    return rank;
}

/* The first map: K equal parts of the known streams, by lifetime. All on one physical stream would
 * give one centroid for ever. */
static void seed(struct trib_vstream_map *map) {
    uint32_t known = 0;
    for (uint32_t v = 0; v < map->vstreams; v++)
        known += map->v[v].known;
    for (uint32_t v = 0; v < map->vstreams; v++) {
        if (!map->v[v].known)
            continue;
        uint32_t rank = rank_of(map, v);
        map->v[v].pstream = (uint16_t)(1 + (known < map->pstreams ? rank : rank * map->pstreams / known));
    }
    map->seeded = known > 0;
}

/* Lines 4 to 11: the unweighted mean of the streams mapped to each physical stream. */
static void centre(struct trib_vstream_map *map) {
    double sum[TRIB_PSTREAMS_MAX + 1] = {0};
    for (uint32_t p = 1; p <= map->pstreams; p++)
        map->p[p].members = 0;
    for (uint32_t v = 0; v < map->vstreams; v++) {
        if (map->v[v].pstream == 0)
            continue;
        map->p[map->v[v].pstream].members++;
        sum[map->v[v].pstream] += map->v[v].lifetime;
    }
    for (uint32_t p = 1; p <= map->pstreams; p++) {
        struct trib_pstream_row *row = &map->p[p];
        row->empty_periods = row->members ? 0 : row->empty_periods + 1;
        if (row->members == 0)
            continue;
        row->centroid = sum[p] / row->members;
        row->has_centroid = true;
    }
}

/* The member of the largest physical stream that lies farthest from its centre; NULL if all lie in
 * it. */
static const struct trib_vstream_row *farthest_of_largest(const struct trib_vstream_map *map) {
    uint32_t largest = 1;
    double distance = 0;
    const struct trib_vstream_row *farthest = NULL;
    for (uint32_t p = 2; p <= map->pstreams; p++)
        if (map->p[p].members > map->p[largest].members)
            largest = p;
    for (uint32_t v = 0; v < map->vstreams; v++) {
        const struct trib_vstream_row *row = &map->v[v];
        if (row->pstream != largest || fabs(row->lifetime - map->p[largest].centroid) <= distance)
            continue;
        distance = fabs(row->lifetime - map->p[largest].centroid);
        farthest = row;
    }
    return farthest;
}

/* One at a time: two at the same place would help nobody. */
static void revive_one(struct trib_vstream_map *map) {
    for (uint32_t p = 1; p <= map->pstreams; p++) {
        if (map->p[p].empty_periods < 2)
            continue;
        const struct trib_vstream_row *farthest = farthest_of_largest(map);
        if (!farthest)
            return;
        map->p[p].centroid = farthest->lifetime;
        map->p[p].has_centroid = true;
        map->p[p].empty_periods = 0;
        return;
    }
}

static uint16_t nearest(const struct trib_vstream_map *map, double lifetime) {
    uint16_t best = 0;
    for (uint16_t p = 1; p <= map->pstreams; p++) {
        if (!map->p[p].has_centroid)
            continue;
        if (best == 0 || fabs(lifetime - map->p[p].centroid) < fabs(lifetime - map->p[best].centroid))
            best = p;
    }
    return best;
}

/* Lines 12 to 17. */
static void assign(struct trib_vstream_map *map) {
    bool moved = false;
    for (uint32_t v = 0; v < map->vstreams; v++) {
        struct trib_vstream_row *row = &map->v[v];
        if (!row->known)
            continue;
        uint16_t pstream = nearest(map, row->lifetime);
        moved = moved || (row->pstream != 0 && row->pstream != pstream);
        row->pstream = pstream;
    }
    map->clusterings += moved;
}

static void decay(struct trib_vstream_map *map) {
    for (uint32_t v = 0; v < map->vstreams; v++) {
        if (map->v[v].deaths < 1)
            continue; /* the mean would stay, and the sums would sink out of range */
        map->v[v].age_sum *= map->decay;
        map->v[v].deaths *= map->decay;
    }
}

void trib_vstream_map_cluster(struct trib_vstream_map *map) {
    if (map->pstreams == 0)
        return;
    admit(map);
    if (!map->seeded)
        seed(map);
    if (map->seeded) {
        centre(map);
        revive_one(map);
        assign(map);
    }
    decay(map);
}
