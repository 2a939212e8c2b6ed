/* SPDX-License-Identifier: Apache-2.0 */
#include "rivals/fios/fios_train.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/points.h"

#define BINS       65536 /* of write counts (the last: that or more) and of times within a trace */
#define LEVELS     10    /* ten categories (section 3.3) */
#define PATTERNS   (2 * LEVELS * LEVELS * LEVELS)
#define ROUNDS_MAX 100

enum phase { COUNT, RANK, BEFRIEND, DESCRIBE, SEED, CLUSTER, ASSIGN, INHERIT, REDUCE, DONE };

/* Where each of BINS values stands among the touched chunks. */
struct ranking {
    uint32_t chunks[BINS];
    uint8_t decile[BINS]; /* ten times the share of chunks with a smaller value, rounded down */
    uint32_t median;
};

struct trib_fios_training {
    struct trib_fios_rules rules;
    struct trib_fios_result result;
    struct trib_fios_trace *trace;
    const struct trib_fios_dictionary *now;
    struct trib_fios_dictionary *next;
    enum phase phase;
    uint32_t cursor;    /* chunk, or round */
    uint32_t neighbour; /* trained chunk seen last + 1, 0 = none */

    struct ranking frequency, recency;
    /* Windows with at least one chunk, at least two chunks, in common with window w. */
    uint64_t met[TRIB_FIOS_WINDOWS], friends[TRIB_FIOS_WINDOWS];
    uint32_t groups_min, groups_max;
    double deaths, lifetimes, rank_sum[TRIB_FIOS_FEATURES], rank_squares[TRIB_FIOS_FEATURES],
        rank_lifetimes[TRIB_FIOS_FEATURES];

    uint32_t pattern_chunks[PATTERNS];
    uint16_t pattern_point[PATTERNS];
    struct trib_points points;
    uint32_t used;
    double values[PATTERNS * TRIB_FIOS_FEATURES], point_weights[PATTERNS];
    uint32_t labels[PATTERNS];
    double centroids[TRIB_FIOS_STREAMS_MAX * TRIB_FIOS_FEATURES];
};

int trib_fios_training_open(struct trib_fios_training **out, const struct trib_fios_rules *rules) {
    struct trib_fios_training *training = calloc(1, sizeof *training);
    if (!training)
        return -ENOMEM;
    training->rules = *rules;
    training->phase = DONE;
    *out = training;
    return 0;
}

void trib_fios_training_close(struct trib_fios_training *training) {
    free(training);
}

uint64_t trib_fios_training_memory_bytes(void) {
    return sizeof(struct trib_fios_training);
}

const struct trib_fios_result *trib_fios_training_result(const struct trib_fios_training *training) {
    return &training->result;
}

static void enter(struct trib_fios_training *training, enum phase phase) {
    training->phase = phase;
    training->cursor = 0;
    training->neighbour = 0;
}

void trib_fios_training_begin(struct trib_fios_training *training, struct trib_fios_trace *trace,
                              const struct trib_fios_dictionary *now, struct trib_fios_dictionary *next) {
    struct trib_fios_result *result = &training->result;
    training->trace = trace;
    training->now = now;
    training->next = next;
    *result = (struct trib_fios_result){.attributes = trib_fios_trace_attributes(trace)};
    result->attributes.gb_per_day = training->rules.gb_per_day;
    result->theta = trib_fios_high(&result->attributes, &training->rules.limits);
    result->selection = trib_fios_select(result->theta);
    result->features = training->rules.features ? training->rules.features : result->selection.features;

    memset(&training->frequency, 0, sizeof training->frequency);
    memset(&training->recency, 0, sizeof training->recency);
    memset(training->met, 0, sizeof training->met);
    memset(training->friends, 0, sizeof training->friends);
    memset(training->pattern_chunks, 0, sizeof training->pattern_chunks);
    memset(training->rank_sum, 0, sizeof training->rank_sum);
    memset(training->rank_squares, 0, sizeof training->rank_squares);
    memset(training->rank_lifetimes, 0, sizeof training->rank_lifetimes);
    training->deaths = training->lifetimes = 0;
    training->groups_min = UINT32_MAX;
    training->groups_max = 0;
    trace->watching = false;
    enter(training, COUNT);
}

/* ---- where does a chunk stand among the touched ones? ---- */

static uint32_t frequency_bin(const struct trib_fios_chunk *chunk) {
    return chunk->writes < BINS ? chunk->writes : BINS - 1;
}

static uint32_t recency_bin(const struct trib_fios_training *training, const struct trib_fios_chunk *chunk) {
    uint64_t bin = (uint64_t)chunk->last_write * BINS / training->trace->length;
    return bin < BINS ? (uint32_t)bin : BINS - 1;
}

/* Two windows are a friend group if at least two chunks were written in both (Fig. 6; of a single
 * chunk one would only learn that it was written twice). Bit sets instead of counters: a second
 * meeting is all that matters. */
static void count_chunk(struct trib_fios_training *training, uint32_t index) {
    const struct trib_fios_chunk *chunk = &training->trace->chunk[index];
    if (!chunk->writes)
        return;
    training->result.touched++;
    training->frequency.chunks[frequency_bin(chunk)]++;
    training->recency.chunks[recency_bin(training, chunk)]++;
    for (uint64_t left = chunk->windows; left; left &= left - 1) {
        int window = __builtin_ctzll(left);
        uint64_t others = chunk->windows & ~(1ull << window);
        training->friends[window] |= training->met[window] & others;
        training->met[window] |= others;
    }
}

/* median: the smallest value that at least half of the chunks do not exceed. */
static void rank_values(struct ranking *ranking, uint32_t touched) {
    uint64_t smaller = 0;
    bool found = false;
    for (uint32_t bin = 0; bin < BINS; bin++) {
        ranking->decile[bin] = touched && smaller < touched ? (uint8_t)(LEVELS * smaller / touched) : LEVELS - 1;
        smaller += ranking->chunks[bin];
        if (!found && 2 * smaller >= touched && touched) {
            ranking->median = bin;
            found = true;
        }
    }
}

/* Friend groups of a chunk: pairs of its windows that qualify; takes the place of the windows. */
static void befriend_chunk(struct trib_fios_training *training, uint32_t index) {
    struct trib_fios_chunk *chunk = &training->trace->chunk[index];
    uint32_t groups = 0;
    if (!chunk->writes)
        return;
    for (uint64_t left = chunk->windows; left; left &= left - 1) {
        int window = __builtin_ctzll(left);
        uint64_t later = left & (left - 1);
        groups += (uint32_t)__builtin_popcountll(training->friends[window] & later);
    }
    chunk->windows = groups;
    if (groups < training->groups_min)
        training->groups_min = groups;
    if (groups > training->groups_max)
        training->groups_max = groups;
}

/* ---- the row of the feature matrix ---- */

struct levels {
    uint32_t of[TRIB_FIOS_FEATURES]; /* 0..9; sequentiality 0..1 */
};

static uint32_t coherency_level(const struct trib_fios_training *training, uint64_t groups) {
    uint32_t span = training->groups_max - training->groups_min;
    if (!span)
        return 0;
    return (uint32_t)(((groups - training->groups_min) * (LEVELS - 1) * 2 + span) / (2ull * span));
}

static struct levels decimal_levels(const struct trib_fios_training *training, const struct trib_fios_chunk *chunk) {
    return (struct levels){{
        [TRIB_FIOS_FREQUENCY] = training->frequency.decile[frequency_bin(chunk)],
        [TRIB_FIOS_SEQUENTIALITY] = 2ull * chunk->sequential > chunk->writes,
        [TRIB_FIOS_ADJACENT] = training->recency.decile[recency_bin(training, chunk)],
        [TRIB_FIOS_COHERENCY] = coherency_level(training, chunk->windows),
    }};
}

static struct levels binary_levels(const struct trib_fios_training *training, const struct trib_fios_chunk *chunk) {
    return (struct levels){{
        [TRIB_FIOS_FREQUENCY] = frequency_bin(chunk) > training->frequency.median,
        [TRIB_FIOS_SEQUENTIALITY] = 2ull * chunk->sequential > chunk->writes,
        [TRIB_FIOS_ADJACENT] = recency_bin(training, chunk) > training->recency.median,
        [TRIB_FIOS_COHERENCY] = chunk->windows > 0,
    }};
}

static uint32_t pattern_of(const struct trib_fios_training *training, const struct levels *levels) {
    static const uint32_t range[TRIB_FIOS_FEATURES] = {LEVELS, 2, LEVELS, LEVELS};
    uint32_t pattern = 0;
    for (uint32_t feature = 0; feature < TRIB_FIOS_FEATURES; feature++) {
        bool used = training->result.features >> feature & 1;
        pattern = pattern * range[feature] + (used ? levels->of[feature] : 0);
    }
    return pattern;
}

static void note_correlation(struct trib_fios_training *training, const struct trib_fios_chunk *chunk,
                             const struct levels *levels) {
    double deaths = chunk->deaths, lifetimes = (double)chunk->lifetimes;
    training->deaths += deaths;
    training->lifetimes += lifetimes;
    for (uint32_t feature = 0; feature < TRIB_FIOS_FEATURES; feature++) {
        double rank = levels->of[feature];
        training->rank_sum[feature] += rank * deaths;
        training->rank_squares[feature] += rank * rank * deaths;
        training->rank_lifetimes[feature] += rank * lifetimes;
    }
}

/* The pattern takes the place of the friend groups. */
static void describe_chunk(struct trib_fios_training *training, uint32_t index) {
    struct trib_fios_chunk *chunk = &training->trace->chunk[index];
    if (!chunk->writes)
        return;
    struct levels decimal = decimal_levels(training, chunk);
    struct levels binary = binary_levels(training, chunk);
    note_correlation(training, chunk, &decimal);
    chunk->windows = pattern_of(training, training->rules.matrix == TRIB_FIOS_DECIMAL ? &decimal : &binary);
    training->pattern_chunks[chunk->windows]++;
}

static void correlate(struct trib_fios_training *training) {
    double n = training->deaths;
    if (n <= 0)
        return;
    double mean = training->lifetimes / n;
    double spread = training->trace->lifetime_squares / n - mean * mean;
    for (uint32_t feature = 0; feature < TRIB_FIOS_FEATURES; feature++) {
        double rank = training->rank_sum[feature] / n;
        double rank_spread = training->rank_squares[feature] / n - rank * rank;
        double covariance = training->rank_lifetimes[feature] / n - rank * mean;
        double product = spread > 0 && rank_spread > 0 ? sqrt(spread * rank_spread) : 0;
        double found = product > 0 ? covariance / product : 0;
        training->result.correlation[feature] = fmin(1, fmax(-1, found));
    }
}

/* ---- clusters ---- */

static void set_point(struct trib_fios_training *training, uint32_t pattern, double *values) {
    static const uint32_t range[TRIB_FIOS_FEATURES] = {LEVELS, 2, LEVELS, LEVELS};
    bool decimal = training->rules.matrix == TRIB_FIOS_DECIMAL;
    for (uint32_t feature = TRIB_FIOS_FEATURES; feature-- > 0;) {
        uint32_t level = pattern % range[feature];
        double top = decimal ? range[feature] - 1 : 1;
        values[feature] = training->rules.weights[feature] * level / top;
        pattern /= range[feature];
    }
}

/* Equal rows of the matrix are one point, as heavy as they are many: the means are the same. */
static void seed(struct trib_fios_training *training) {
    uint32_t count = 0;
    for (uint32_t pattern = 0; pattern < PATTERNS; pattern++) {
        if (!training->pattern_chunks[pattern])
            continue;
        training->pattern_point[pattern] = (uint16_t)count;
        training->point_weights[count] = training->pattern_chunks[pattern];
        set_point(training, pattern, training->values + (size_t)count * TRIB_FIOS_FEATURES);
        count++;
    }
    training->result.patterns = count;
    training->points = (struct trib_points){.values = training->values,
                                            .weights = training->point_weights,
                                            .count = count,
                                            .dimensions = TRIB_FIOS_FEATURES,
                                            .clusters = training->rules.streams};
    if (count)
        training->used = trib_points_seed(&training->points, training->labels, training->centroids);
}

/* One round; true when it was the last. */
static bool cluster(struct trib_fios_training *training) {
    bool moved = training->points.count &&
                 trib_points_round(&training->points, training->used, training->labels, training->centroids);
    if (moved && ++training->cursor < ROUNDS_MAX)
        return false;
    if (training->points.count)
        training->result.streams =
            trib_points_order(&training->points, training->used, training->labels, training->centroids);
    return true;
}

/* ---- the dictionary ---- */

/* What a row of zeros gets: the cluster that is nearest the origin is the first. */
static void assign_chunk(struct trib_fios_training *training, uint32_t index) {
    struct trib_fios_chunk *chunk = &training->trace->chunk[index];
    uint8_t stream = 0;
    if (chunk->writes) {
        stream = (uint8_t)training->labels[training->pattern_point[chunk->windows]];
        training->neighbour = index + 1;
    } else {
        chunk->windows = training->neighbour; /* to the left, for inherit_chunk */
        if (training->rules.keep_unknown)
            stream = trib_fios_base_stream(training->now, index);
    }
    trib_fios_base_set(training->next, index, stream);
}

/* From the last chunk to the first: one that the sample left out gets the stream of the nearest
 * trained one, the left of two equally near. */
static void inherit_chunk(struct trib_fios_training *training, uint32_t back) {
    uint32_t index = training->trace->chunks - 1 - back;
    const struct trib_fios_chunk *chunk = &training->trace->chunk[index];
    uint32_t right = training->neighbour, left = (uint32_t)chunk->windows;
    if (chunk->writes) {
        training->neighbour = index + 1;
    } else if ((left || right) && training->rules.keep_unknown && !trib_fios_trace_samples(training->trace, index)) {
        uint32_t nearest = !right || (left && index + 1 - left <= right - index - 1) ? left : right;
        trib_fios_base_set(training->next, index, trib_fios_base_stream(training->next, nearest - 1));
    }
    trib_fios_trace_wipe(training->trace, index, index + 1);
}

/* ---- the order of things ---- */

/* `visit` for the next chunks; true when all have been visited. */
static bool sweep(struct trib_fios_training *training, uint32_t chunks,
                  void (*visit)(struct trib_fios_training *, uint32_t)) {
    uint32_t left = training->trace->chunks - training->cursor;
    uint32_t end = training->cursor + (chunks < left ? chunks : left);
    while (training->cursor < end)
        visit(training, training->cursor++);
    return end == training->trace->chunks;
}

static bool reduce(struct trib_fios_training *training, uint32_t chunks) {
    uint32_t left = training->next->chunks - training->cursor;
    uint32_t end = training->cursor + (chunks < left ? chunks : left);
    trib_fios_dictionary_reduce(training->next, training->cursor, end);
    training->cursor = end;
    return end == training->next->chunks;
}

bool trib_fios_training_step(struct trib_fios_training *training, uint32_t chunks) {
    bool finished = true;
    switch (training->phase) {
    case COUNT:
        finished = sweep(training, chunks, count_chunk);
        break;
    case RANK:
        rank_values(&training->frequency, training->result.touched);
        rank_values(&training->recency, training->result.touched);
        break;
    case BEFRIEND:
        finished = sweep(training, chunks, befriend_chunk);
        break;
    case DESCRIBE:
        finished = sweep(training, chunks, describe_chunk);
        break;
    case SEED:
        correlate(training);
        seed(training);
        break;
    case CLUSTER:
        finished = cluster(training);
        break;
    case ASSIGN:
        finished = sweep(training, chunks, assign_chunk);
        break;
    case INHERIT:
        finished = sweep(training, chunks, inherit_chunk);
        break;
    case REDUCE:
        finished = reduce(training, chunks);
        break;
    default:
        return false;
    }
    if (finished)
        enter(training, training->phase + 1);
    return training->phase == DONE;
}
