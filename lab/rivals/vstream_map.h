/* SPDX-License-Identifier: Apache-2.0 */
/* vStream-FTL's lifetime identifier and clustering manager (TCE'21 sections V.B and V.C): what is
 * known of each virtual stream, and which physical stream it maps to. Ages are host pages. Thread
 * safety: one caller. Invariant: a mapped stream is known, and its number is 1..pstreams. */
#ifndef TRIB_POLICY_VSTREAM_MAP_H
#define TRIB_POLICY_VSTREAM_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

#define TRIB_VSTREAMS_MAX 254u /* one byte per page names them, one value means none */
#define TRIB_PSTREAMS_MAX 63u

struct trib_vstream_row {
    double age_sum, deaths; /* S(v), |D(v)| of equation (1) */
    double lifetime;        /* L(v) at the last clustering, as clustered */
    uint16_t pstream;       /* 0 = not mapped yet */
    bool known;             /* has enough history; for good */
};

struct trib_pstream_row {
    double centroid; /* Lavg(p), kept while no stream maps to it */
    uint32_t members;
    uint32_t empty_periods;
    bool has_centroid;
};

struct trib_vstream_map {
    uint32_t vstreams, pstreams; /* N in use grows up to TRIB_VSTREAMS_MAX; K, may be 0 */
    double history_pages;        /* deaths before a stream is known */
    double decay;                /* of S and D per period, 1 = never */
    bool log_distance;
    bool seeded;
    uint32_t clusterings; /* that moved a stream which was mapped before */
    struct trib_vstream_row v[TRIB_VSTREAMS_MAX];
    struct trib_pstream_row p[TRIB_PSTREAMS_MAX + 1]; /* [1..K] */
};

static inline void trib_vstream_map_died(struct trib_vstream_map *map, uint32_t v, uint32_t age_pages) {
    map->v[v].age_sum += age_pages;
    map->v[v].deaths += 1;
}

/* Once per period: Algorithm 2, one step, O(N K) but for the seeding. */
void trib_vstream_map_cluster(struct trib_vstream_map *map);

TRIB_C_END
#endif
