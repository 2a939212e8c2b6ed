/* SPDX-License-Identifier: Apache-2.0 */
/* What `fios` and `ofios` share: their common options, and a dictionary in use with a trace and a
 * training that make the next one. Thread safety: one owner. Memory is allocated at open. */
#ifndef TRIB_POLICY_FIOS_CORE_H
#define TRIB_POLICY_FIOS_CORE_H

#include "rivals/fios/fios_train.h"

TRIB_C_BEGIN

/* Chunks that a tick looks at while it trains. Together with at most one round of k-means this is
 * what a write may have to wait for; docs/policies.md has it in microseconds. */
#define TRIB_FIOS_STEP_CHUNKS 4096

struct trib_fios_knobs {
    int matrix;
    uint32_t features; /* bit 0: auto; bit 1 + feature */
    uint64_t chunk_bytes;
    double weights[TRIB_FIOS_FEATURES];
    struct trib_fios_attributes limits;
    double gb_per_day;
};

/* clang-format off */
#define TRIB_FIOS_OPTIONS(taker, matrix_default)                                                   \
    {.key = "matrix", .fallback = matrix_default, .type = TRIB_OPTION_ENUM,                        \
     .offset = offsetof(taker, knobs.matrix), .choices = "binary|decimal",                         \
     .help = "features as 0 or 1, or in ten steps (FIOS 3.2, 3.3)"},                               \
    {.key = "features", .fallback = "auto", .type = TRIB_OPTION_FLAGS,                             \
     .offset = offsetof(taker, knobs.features),                                                    \
     .choices = "auto|frequency|sequentiality|adjacent|coherency",                                 \
     .help = "what distinguishes chunks; auto: selected by the workload's attributes (FIOS 3.6)"},   \
    {.key = "chunk", .fallback = "32K", .type = TRIB_OPTION_SIZE,                                  \
     .offset = offsetof(taker, knobs.chunk_bytes), .minimum = 4096, .maximum = 1 << 28,            \
     .help = "bytes that share a stream (FIOS 4.2: 64 sectors)"},                                  \
    {.key = "weight_frequency", .fallback = "1", .type = TRIB_OPTION_DOUBLE,                       \
     .offset = offsetof(taker, knobs.weights[TRIB_FIOS_FREQUENCY]), .minimum = 0, .maximum = 1000, \
     .help = "stretches this axis for k-means (FIOS 3.1: all alike)"},                             \
    {.key = "weight_sequentiality", .fallback = "1", .type = TRIB_OPTION_DOUBLE,                   \
     .offset = offsetof(taker, knobs.weights[TRIB_FIOS_SEQUENTIALITY]), .minimum = 0,              \
     .maximum = 1000, .help = "the same of sequentiality"},                                        \
    {.key = "weight_adjacent", .fallback = "1", .type = TRIB_OPTION_DOUBLE,                        \
     .offset = offsetof(taker, knobs.weights[TRIB_FIOS_ADJACENT]), .minimum = 0, .maximum = 1000,  \
     .help = "the same of adjacent access"},                                                       \
    {.key = "weight_coherency", .fallback = "1", .type = TRIB_OPTION_DOUBLE,                       \
     .offset = offsetof(taker, knobs.weights[TRIB_FIOS_COHERENCY]), .minimum = 0, .maximum = 1000, \
     .help = "the same of coherency"},                                                             \
    {.key = "high_autocorrelation", .fallback = "0.5", .type = TRIB_OPTION_DOUBLE,                 \
     .offset = offsetof(taker, knobs.limits.autocorrelation), .minimum = -1, .maximum = 2,         \
     .help = "from here on ACF is high (ours, from FIOS Table 3)"},                                \
    {.key = "high_random", .fallback = "50", .type = TRIB_OPTION_PERCENT,                          \
     .offset = offsetof(taker, knobs.limits.random_percent), .minimum = 0, .maximum = 101,         \
     .help = "from this share of random writes on RW is high (ours)"},                             \
    {.key = "high_reuse", .fallback = "20", .type = TRIB_OPTION_DOUBLE,                            \
     .offset = offsetof(taker, knobs.limits.reuse), .minimum = 0, .maximum = 1e9,                  \
     .help = "from this ratio of bytes written to distinct bytes on R is high (ours)"},            \
    {.key = "high_size", .fallback = "64", .type = TRIB_OPTION_DOUBLE,                             \
     .offset = offsetof(taker, knobs.limits.write_kib), .minimum = 0, .maximum = 1e9,              \
     .help = "from this mean write on, KiB, S is high (ours)"},                                    \
    {.key = "high_rate", .fallback = "100", .type = TRIB_OPTION_DOUBLE,                            \
     .offset = offsetof(taker, knobs.limits.gb_per_day), .minimum = 0, .maximum = 1e9,             \
     .help = "from this many GB a day on lambda is high (ours)"},                                  \
    {.key = "rate", .fallback = "1000", .type = TRIB_OPTION_DOUBLE,                                \
     .offset = offsetof(taker, knobs.gb_per_day), .minimum = 0, .maximum = 1e9,                    \
     .help = "lambda, GB a day: logical time does not know days (FIOS 3.6: the user's input)"}
/* clang-format on */

struct trib_fios_core {
    uint32_t blocks, chunk_blocks, chunks, streams; /* K */
    struct trib_fios_dictionary dictionary[2];
    uint32_t current;             /* of the two */
    struct trib_fios_trace trace; /* closed: nothing is learned any more */
    struct trib_fios_training *training;
    struct trib_fios_result result; /* of the training whose dictionary is in use */
    uint64_t block_clock;           /* blocks that have reached the drive */
    uint32_t last_chunk;            /* pages of one chunk come in a row: look up once */
    uint16_t last_stream;
};

/* `name` is the policy's, for errors. 0; -EINVAL (address space unknown or too large, chunk not a
 * multiple of 4 KiB, auto together with features); -ENOMEM. */
int trib_fios_core_open(struct trib_fios_core *core, const struct trib_fios_knobs *knobs,
                        const struct trib_policy_env *env, const char *name, bool keep_unknown,
                        struct trib_error *error);
void trib_fios_core_close(struct trib_fios_core *core);

/* Ends learning and frees what it took; the dictionary in use stays. */
void trib_fios_core_stop_learning(struct trib_fios_core *core);

void trib_fios_core_train(struct trib_fios_core *core); /* begins, with the trace so far */
void trib_fios_core_swap(struct trib_fios_core *core);  /* once the training is complete */

uint16_t trib_fios_core_place(struct trib_fios_core *core, const struct trib_placement *page);
uint64_t trib_fios_core_memory_bytes(const struct trib_fios_core *core);

TRIB_C_END
#endif
