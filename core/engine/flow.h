/* SPDX-License-Identifier: Apache-2.0 */
/* What pipeline.c (the flow), assembly.c (open and close), live.c (recorder and maintenance thread) and report.c share.
 * Everything is touched by one thread only, the replayer or the maintenance thread, under trib_state_lock. */
#ifndef TRIB_FLOW_H
#define TRIB_FLOW_H

#include <tributary/drive.h>
#include <tributary/pipeline.h>
#include <tributary/policy.h>

#include "base/options.h"
#include "lifetime/extents.h"
#include "pipeline_options.h"
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

struct trib_live;

struct trib_pipeline_settings {
    char policy[TRIB_OPTION_TEXT_MAX], drive[TRIB_OPTION_TEXT_MAX];
    char state[TRIB_OPTION_TEXT_MAX], trace[TRIB_OPTION_TEXT_MAX];
    struct trib_trace_limits trace_limits;
    char session[TRIB_OPTION_TEXT_MAX], allow[TRIB_OPTION_TEXT_MAX];
    char metrics_file[TRIB_OPTION_TEXT_MAX];
    uint32_t metrics_every_seconds;
    uint32_t streams, salt, attributes, runs, process_ring, session_socket, window_blocks;
    int allocation; /* enum trib_volume_allocation */
};

struct trib_flow_counters {
    uint64_t events, drive_errors, trace_errors, blocks_written;
};

struct trib_pipeline {
    struct trib_pipeline_settings settings;
    uint64_t opened_clock_bytes; /* what the state brought along */
    const struct trib_policy *policy;
    void *policy_self;
    uint32_t needs; /* of the policy with its options */
    bool policy_is_open;
    struct trib_state *state;
    struct trib_live *live; /* NULL in replay */

    struct trib_extents *extents;
    struct trib_volume *volume; /* NULL without a drive */
    const struct trib_drive *drive;
    void *drive_self;
    struct trib_drive_description description;
    struct trib_flow_counters counters;
    uint64_t clock_bytes;     /* of the event being processed */
    uint64_t map_cache_bytes; /* as last given to the drive */
};

/* The flow for one event; the caller holds trib_state_lock. Returns as trib_pipeline_process. */
int trib_flow_run(struct trib_pipeline *pipeline, const struct trib_event *event);

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
