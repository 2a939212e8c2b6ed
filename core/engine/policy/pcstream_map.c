/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/pcstream_map.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"
#include "lifetime/estimate.h"
#include "log/assert.h"

/* Unit of the paper's clock; clustering does not care for the unit, log distance for what is near
 * zero. */
#define WRITE_UNIT_BYTES 4096.0
/* The HotStorage'18 emulator gives a stream after 500 writes; rows count bytes, so 500 pages. */
#define FIRSTCOME_BYTES     (500ull * 4096)

#define LOAD(field)         atomic_load_explicit(&(field), memory_order_relaxed)
#define STORE(field, value) atomic_store_explicit(&(field), (value), memory_order_relaxed)

int trib_pcstream_map_open(struct trib_pcstream_map *map, const struct trib_pcstream_settings *settings,
                           const struct trib_policy_env *env) {
    uint32_t rows = trib_state_attribute_capacity(env->state);
    *map = (struct trib_pcstream_map){.settings = *settings, .state = env->state};
    map->streams = env->streams < TRIB_PCSTREAM_STREAMS_MAX ? env->streams : TRIB_PCSTREAM_STREAMS_MAX;
    map->entries = malloc(rows * sizeof *map->entries);
    map->values = malloc(rows * sizeof *map->values);
    map->labels = malloc(rows * sizeof *map->labels);
    map->centroids = malloc(TRIB_PCSTREAM_STREAMS_MAX * sizeof *map->centroids);
    map->workspace = malloc(trib_cluster_workspace_bytes(rows, map->streams ? map->streams : 1));
    if (map->entries && map->values && map->labels && map->centroids && map->workspace)
        return 0;
    trib_pcstream_map_close(map);
    return -ENOMEM;
}

void trib_pcstream_map_close(struct trib_pcstream_map *map) {
    free(map->entries);
    free(map->values);
    free(map->labels);
    free(map->centroids);
    free(map->workspace);
    *map = (struct trib_pcstream_map){0};
}

static bool has_samples(const struct trib_pcstream_map *map, const struct trib_attribute *row) {
    return LOAD(row->samples) >= map->settings.admit_samples;
}

static double lifetime_of(const struct trib_pcstream_map *map, const struct trib_attribute *row, uint64_t clock_bytes) {
    return map->settings.censored ? trib_estimate_effective(row, clock_bytes) : LOAD(row->lifetime_mean);
}

static void add_entry(struct trib_pcstream_map *map, struct trib_attribute *row, double lifetime_bytes) {
    map->entries[map->count++] = (struct trib_pcstream_entry){row, lifetime_bytes};
}

static struct trib_attribute *next_row(const struct trib_pcstream_map *map, uint32_t *cursor) {
    trib_attribute_ref ref;
    *cursor = trib_state_next(map->state, *cursor, &ref);
    return *cursor ? trib_state_attribute(map->state, ref) : NULL;
}

/* Signatures with enough deaths; with censoring also those that hardly see any, once their live
 * data have outlived the mean of every other: they belong with the longest, whatever they come to.
 * Younger ones stay unknown: their age says nothing yet. */
static void collect(struct trib_pcstream_map *map, uint64_t clock_bytes) {
    double longest = 0;
    struct trib_attribute *row;
    map->count = 0;
    for (uint32_t cursor = 0; (row = next_row(map, &cursor));) {
        if (!has_samples(map, row))
            continue;
        add_entry(map, row, lifetime_of(map, row, clock_bytes));
        longest = fmax(longest, LOAD(row->lifetime_mean));
    }
    if (!map->settings.censored || !map->count)
        return;
    for (uint32_t cursor = 0; (row = next_row(map, &cursor));) {
        double lifetime_bytes = has_samples(map, row) ? 0 : lifetime_of(map, row, clock_bytes);
        if (lifetime_bytes > longest)
            add_entry(map, row, lifetime_bytes);
    }
}

/* Entries whose lifetime moved since the last clustering, or that were not there. */
static uint32_t count_changed(const struct trib_pcstream_map *map) {
    uint32_t changed = 0;
    for (uint32_t i = 0; i < map->count; i++) {
        const struct trib_attribute *row = map->entries[i].row;
        double before = LOAD(row->lifetime_clustered);
        double moved = fabs(map->entries[i].lifetime_bytes - before);
        bool is_new = LOAD(row->stream) == 0 || LOAD(row->stream) > map->streams;
        changed += is_new || moved > map->settings.change * before;
    }
    return changed;
}

static int by_lifetime(const void *a, const void *b) {
    const struct trib_pcstream_entry *x = a, *y = b;
    if (x->lifetime_bytes != y->lifetime_bytes)
        return x->lifetime_bytes < y->lifetime_bytes ? -1 : 1;
    uint64_t i = LOAD(x->row->key), j = LOAD(y->row->key);
    return i < j ? -1 : i > j;
}

/* Labels 0.. ascending by lifetime; returns how many. */
static uint32_t cluster(struct trib_pcstream_map *map) {
    static uint32_t (*const methods[])(const struct trib_cluster_input *, void *, uint32_t *, double *) = {
        [TRIB_PCSTREAM_EXACT] = trib_cluster_exact,
        [TRIB_PCSTREAM_LLOYD] = trib_cluster_lloyd,
        [TRIB_PCSTREAM_AGGLOMERATIVE] = trib_cluster_agglomerate,
    };
    qsort(map->entries, map->count, sizeof *map->entries, by_lifetime);
    if (map->count <= map->streams) { /* each signature its own stream (FAST'19 section 5.3) */
        for (uint32_t i = 0; i < map->count; i++)
            map->labels[i] = i;
        return map->count;
    }
    for (uint32_t i = 0; i < map->count; i++) {
        double lifetime = map->entries[i].lifetime_bytes / WRITE_UNIT_BYTES;
        map->values[i] = map->settings.distance == TRIB_PCSTREAM_LOG ? log2(1 + lifetime) : lifetime;
    }
    struct trib_cluster_input input = {map->values, NULL, map->count, map->streams};
    return methods[map->settings.clustering](&input, map->workspace, map->labels, map->centroids);
}

/* Stream of each label so that many signatures keep theirs: the largest overlap first, ties to the
 * smaller label, then the smaller stream; labels that are left take the streams that are left. */
static void match_overlap(const struct trib_pcstream_map *map, uint32_t used, uint16_t *stream_of) {
    uint32_t overlap[TRIB_PCSTREAM_STREAMS_MAX][TRIB_PCSTREAM_STREAMS_MAX + 1] = {{0}};
    bool taken[TRIB_PCSTREAM_STREAMS_MAX + 1] = {false};
    for (uint32_t i = 0; i < map->count; i++) {
        uint16_t before = LOAD(map->entries[i].row->stream);
        if (before >= 1 && before <= map->streams)
            overlap[map->labels[i]][before]++;
    }
    memset(stream_of, 0, used * sizeof *stream_of); /* S0: not matched yet */
    for (uint32_t round = 0; round < used; round++) {
        uint32_t best_label = UINT32_MAX, best_stream = 0;
        for (uint32_t cell = 0; cell < used * map->streams; cell++) {
            uint32_t label = cell / map->streams, stream = 1 + cell % map->streams;
            if (stream_of[label] || taken[stream])
                continue;
            if (best_label == UINT32_MAX || overlap[label][stream] > overlap[best_label][best_stream]) {
                best_label = label;
                best_stream = stream;
            }
        }
        stream_of[best_label] = (uint16_t)best_stream;
        taken[best_stream] = true;
    }
}

static void recluster(struct trib_pcstream_map *map) {
    uint16_t stream_of[TRIB_PCSTREAM_STREAMS_MAX];
    uint32_t used = cluster(map);
    if (map->settings.relabel == TRIB_PCSTREAM_BY_OVERLAP)
        match_overlap(map, used, stream_of);
    else
        for (uint32_t label = 0; label < used; label++)
            stream_of[label] = (uint16_t)(1 + label);
    bool moved = false;
    for (uint32_t i = 0; i < map->count; i++) {
        struct trib_attribute *row = map->entries[i].row;
        uint16_t stream = stream_of[map->labels[i]];
        moved |= LOAD(row->stream) != stream;
        STORE(row->lifetime_clustered, map->entries[i].lifetime_bytes);
        STORE(row->stream, stream);
    }
    map->reclusterings += moved;
}

/* The HotStorage'18 emulator's rule: no lifetimes at all. Signatures that come when no number is
 * left stay in S0. */
static void deal_first_come(struct trib_pcstream_map *map) {
    struct trib_attribute *row;
    for (uint32_t cursor = 0; (row = next_row(map, &cursor));)
        if (LOAD(row->stream) > map->next_stream)
            map->next_stream = LOAD(row->stream); /* given out by an earlier process */
    for (uint32_t cursor = 0; map->next_stream < map->streams && (row = next_row(map, &cursor));)
        if (!LOAD(row->stream) && LOAD(row->written_bytes) > FIRSTCOME_BYTES)
            STORE(row->stream, (uint16_t)++map->next_stream);
}

void trib_pcstream_map_look(struct trib_pcstream_map *map, uint64_t clock_bytes) {
    if (!map->streams)
        return;
    if (map->settings.clustering == TRIB_PCSTREAM_FIRSTCOME) {
        deal_first_come(map);
        return;
    }
    collect(map, clock_bytes);
    uint32_t changed = count_changed(map);
    if (changed && 100.0 * changed >= map->settings.changed_percent * map->count)
        recluster(map);
}
