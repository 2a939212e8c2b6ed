/* SPDX-License-Identifier: Apache-2.0 */
/* PC2Stream of PCStream (FAST'19 section 5.3): when to deal streams to signatures anew, and how.
 * Reads lifetimes from the attribute table and writes streams into it. Thread safety: the caller
 * holds trib_state_lock; readers of the streams need no lock. Memory is allocated at open. */
#ifndef TRIB_POLICY_PCSTREAM_MAP_H
#define TRIB_POLICY_PCSTREAM_MAP_H

#include <tributary/policy.h>

#include "state/state.h"

TRIB_C_BEGIN

enum { TRIB_PCSTREAM_LINEAR = 0, TRIB_PCSTREAM_LOG = 1 };
enum {
    TRIB_PCSTREAM_EXACT = 0,
    TRIB_PCSTREAM_LLOYD = 1,
    TRIB_PCSTREAM_AGGLOMERATIVE = 2,
    TRIB_PCSTREAM_FIRSTCOME = 3,
};
enum { TRIB_PCSTREAM_BY_CENTROID = 0, TRIB_PCSTREAM_BY_OVERLAP = 1 };
#define TRIB_PCSTREAM_STREAMS_MAX 64

struct trib_pcstream_settings {
    double average, changed_percent, change, interval_percent;
    int distance, clustering, relabel;
    uint32_t admit_samples;
    bool censored;
};

struct trib_pcstream_entry {
    struct trib_attribute *row;
    double lifetime_bytes; /* effective, as of this look */
};

struct trib_pcstream_map {
    struct trib_pcstream_settings settings;
    struct trib_state *state;
    uint32_t streams;       /* m, at most TRIB_PCSTREAM_STREAMS_MAX are used */
    uint32_t reclusterings; /* that moved a signature */
    uint32_t next_stream;   /* firstcome: streams given out */

    struct trib_pcstream_entry *entries; /* signatures whose lifetime is known, in row order */
    uint32_t count;
    double *values, *centroids;
    uint32_t *labels;
    void *workspace;
};

int trib_pcstream_map_open(struct trib_pcstream_map *map, const struct trib_pcstream_settings *settings,
                           const struct trib_policy_env *env); /* 0 or -ENOMEM */
void trib_pcstream_map_close(struct trib_pcstream_map *map);

/* Looks at every row, O(rows); clusters and writes streams if enough lifetimes changed. */
void trib_pcstream_map_look(struct trib_pcstream_map *map, uint64_t clock_bytes);

TRIB_C_END
#endif
