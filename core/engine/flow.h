/* SPDX-License-Identifier: Apache-2.0 */
/* What pipeline.c (the flow), assembly.c (open and close), live.c (recorder and maintenance thread) and report.c share.
 * Everything is touched by one thread only, the replayer or the maintenance thread, under trib_state_lock. */
#ifndef TRIB_FLOW_H
#define TRIB_FLOW_H

#include <tributary/pipeline.h>

#include "drive/drive.h"
#include "lifetime/extents.h"
#include "pipeline_options.h"
#include "policy/policy.h"
#include "state/state.h"
#include "trace/trace.h"
#include "volume/volume.h"

TRIB_C_BEGIN

/* Fields of trib_context that join the call path in the key of the attribute table; bit order of option `salt`. */
enum trib_salt {
    TRIB_SALT_KIND = 1u << 0,
    TRIB_SALT_HINT = 1u << 1,
    TRIB_SALT_ACTIVITY = 1u << 2,
    TRIB_SALT_FAMILY = 1u << 3,
    TRIB_SALT_LEVEL = 1u << 4,
    TRIB_SALT_TENANT = 1u << 5,
};

/* What of a database page's context counts (tributary/page.h); bit order of option `pages`. */
enum trib_page_part {
    TRIB_PAGES_FRONT = 1u << 0,
    TRIB_PAGES_CONTENT = 1u << 1,
    TRIB_PAGES_MODIFICATIONS = 1u << 2,
    TRIB_PAGES_FLUSHER = 1u << 3,
};
#define TRIB_PAGES_AS_RECORDED (TRIB_PAGES_FRONT | TRIB_PAGES_CONTENT | TRIB_PAGES_MODIFICATIONS)

struct trib_live;

struct trib_pipeline_settings {
    char policy[TRIB_OPTION_TEXT_MAX], drive[TRIB_OPTION_TEXT_MAX];
    char state[TRIB_OPTION_TEXT_MAX], trace[TRIB_OPTION_TEXT_MAX];
    char session[TRIB_OPTION_TEXT_MAX], allow[TRIB_OPTION_TEXT_MAX];
    uint32_t streams, salt, pages, attributes, runs, process_ring, session_socket, window_blocks;
    int allocation; /* enum trib_volume_allocation */
};

struct trib_flow_counters {
    uint64_t events, drive_errors, trace_errors, blocks_written;
};

/* What calls into the policy cost: every 61st is timed. In classes of an eighth of an octave of nanoseconds, because a
 * mean would tell of the machine's other work. */
#define TRIB_PROBE_CLASSES 256u
struct trib_flow_probe {
    uint64_t place_calls, died_calls;
    uint32_t place_timed[TRIB_PROBE_CLASSES], died_timed[TRIB_PROBE_CLASSES];
};

struct trib_pipeline {
    struct trib_pipeline_settings settings;
    const struct trib_policy *policy;
    void *policy_self;
    bool policy_is_open;
    struct trib_state *state;
    struct trib_live *live; /* NULL in replay */

    struct trib_extents *extents;
    struct trib_volume *volume; /* NULL without a drive */
    const struct trib_drive *drive;
    void *drive_self;
    struct trib_drive_description description;
    struct trib_observer observer;
    struct trib_flow_counters counters;
    struct trib_flow_probe probe;
    const uint32_t *deaths; /* of trib_pipeline_future, by block written */
    uint64_t deaths_count;
    uint64_t clock_bytes;     /* of the event being processed */
    uint64_t map_cache_bytes; /* as last told to the drive */
};

/* The flow for one event; the caller holds trib_state_lock. Returns as trib_pipeline_process. */
int trib_flow_run(struct trib_pipeline *pipeline, const struct trib_event *event);

/* Of a database page's context only what `pages` has; others are as told. A flusher is a thread. */
struct trib_context trib_flow_who(struct trib_context who, uint32_t thread, uint32_t pages);

/* Salted signature: the key of a context in the attribute table. 0 when the context says nothing at all. */
uint64_t trib_flow_key(const struct trib_context *who, uint32_t salt);

/* Sink of the volume; `arg` is the pipeline. */
int trib_flow_block_write(void *arg, const struct trib_event *cause, uint64_t lba, uint32_t blocks);
int trib_flow_block_discard(void *arg, uint64_t lba, uint64_t blocks);
int trib_flow_block_read(void *arg, uint64_t lba, uint32_t blocks);

/* The live half: recorder, trace and maintenance thread. open starts the thread; close drains and joins it. */
int trib_live_open(struct trib_live **out, struct trib_pipeline *pipeline, struct trib_error *error);
int trib_live_close(struct trib_live *live);
void trib_live_status(const struct trib_live *live, struct trib_status *out);

TRIB_C_END
#endif
