/* SPDX-License-Identifier: Apache-2.0 */
/* DStream's k-means with a k that adapts (section 3.2). A cluster is a physical stream and keeps
 * its number for life: merging two frees the number of the smaller, splitting takes the lowest free
 * one. Thread safety: one caller. Invariants: 1 <= used <= clusters_max once seeded; every label is
 * a cluster in use. */
#ifndef TRIB_POLICY_DSTREAM_CLUSTER_H
#define TRIB_POLICY_DSTREAM_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

#define TRIB_DSTREAM_CLUSTERS_MAX 16u
#define TRIB_DSTREAM_ELEMENTS_MAX 200u

enum trib_dstream_mode {
    TRIB_DSTREAM_EXECUTABLE = 0, /* one decision per timestamp, by the farthest element */
    TRIB_DSTREAM_LITERAL = 1,    /* one per element, as printed */
    TRIB_DSTREAM_FIXED = 2,      /* k stays */
};

struct trib_dstream_cluster {
    double centre;
    uint32_t members;
    bool used;
};

struct trib_dstream_clusters {
    enum trib_dstream_mode mode;
    uint32_t clusters_max;     /* k at the start, and its ceiling */
    uint32_t quiet_timestamps; /* no split that soon after a merge */
    uint32_t since_merge;      /* timestamps */
    uint32_t elements;         /* N */
    uint32_t used;             /* k */
    bool seeded;
    struct trib_dstream_cluster c[TRIB_DSTREAM_CLUSTERS_MAX];
    uint8_t label[TRIB_DSTREAM_ELEMENTS_MAX];
};

/* At the end of a timestamp: values[elements] are the update counts E_i. */
void trib_dstream_step(struct trib_dstream_clusters *clusters, const double *values);

TRIB_C_END
#endif
