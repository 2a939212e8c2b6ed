/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic workloads: deterministic generators of events. The same name, options and seed give the
 * same events (docs/formats/workloads.md: what each models, and its options). One file per
 * workload; registry.c is the only list.
 * Thread safety: one owner per handle; handles are independent. Invariants: clock_bytes counts what
 * the handle has written; offsets and lengths of writes are multiples of TRIB_BLOCK_BYTES; a file
 * dies whole, once, and its number is not used again. */
#ifndef TRIB_WORKLOAD_WORKLOAD_H
#define TRIB_WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/event.h>

#include "base/options.h"

TRIB_C_BEGIN

struct trib_workload;

/* What the events carry, for policies that rely on it. */
enum trib_workload_carries {
    TRIB_CARRIES_SIGNATURE = 1u << 0,
    TRIB_CARRIES_HINT = 1u << 1,
    TRIB_CARRIES_LEVEL = 1u << 2,
    TRIB_CARRIES_VSTREAM = 1u << 3, /* event.stream is the host's virtual stream */
    TRIB_CARRIES_TRIM = 1u << 4,    /* deaths are recorded, not only implied by overwrites */
    TRIB_CARRIES_ADDRESS = 1u << 5, /* file 0: offsets are the drive's own addresses */
};

struct trib_workload_description {
    char name[32];
    uint64_t size_bytes; /* about the most that is live at once; never exceeded with ADDRESS */
    uint64_t host_bytes; /* written in all, fill included; the last event may exceed it */
    uint64_t fill_bytes; /* of host_bytes: a first pass before the steady work */
    uint32_t tenants;
    uint32_t carries; /* enum trib_workload_carries */
};

/* Options that every workload takes. */
struct trib_workload_common {
    uint64_t size_bytes, host_bytes, seed;
    bool fill;
};

/* Opens a generator. 0; -EINVAL (unknown workload or option, sizes that do not fit together; the
 * sentence says which); -ENOMEM. */
int trib_workload_open(struct trib_workload **out, const char *name, const char *options, struct trib_error *error);
/* 1 an event, 0 the end, -ENOMEM. `event` is written only with 1. */
int trib_workload_next(struct trib_workload *workload, struct trib_event *event);
/* Host bytes so far, for progress. */
uint64_t trib_workload_position(const struct trib_workload *workload);
void trib_workload_describe(const struct trib_workload *workload, struct trib_workload_description *out);
void trib_workload_close(struct trib_workload *workload); /* NULL is fine */

/* The seam behind which a workload lives. */
struct trib_workload_kind {
    const char *name;
    const char *summary;                    /* one line, <= 60 columns */
    const struct trib_option_spec *options; /* besides the common ones; NULL = none */
    uint32_t carries;

    int (*open)(void **self, const struct trib_workload_common *common, struct trib_options *options,
                struct trib_error *error);
    /* Fills an event that trib_event_blank made; clock and wall time are not its business. 1, or
     * -ENOMEM: a workload has no end of its own. clock_bytes: host bytes so far. */
    int (*next)(void *self, uint64_t clock_bytes, struct trib_event *event);
    void (*describe)(const void *self, struct trib_workload_description *out);
    void (*close)(void *self);
};

/* NULL-terminated list, the common options, and look-up by name (NULL + a sentence listing names).
 */
extern const struct trib_workload_kind *const trib_workloads[];
extern const struct trib_option_spec trib_workload_options[];
const struct trib_workload_kind *trib_workload_find(const char *name, struct trib_error *error);

TRIB_C_END
#endif
