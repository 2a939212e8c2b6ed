/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a pipeline together from its options and takes it apart again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "policy/policies.h"

#define FIELD(name) offsetof(struct trib_pipeline_settings, name)

const struct trib_option_spec trib_pipeline_options[] = {
    {.key = "policy",
     .fallback = TRIB_POLICY_DEFAULT,
     .type = TRIB_OPTION_TEXT,
     .offset = FIELD(policy),
     .help = "who decides the stream (trib policies)"},
    {.key = "drive",
     .fallback = "emulated",
     .type = TRIB_OPTION_TEXT,
     .offset = FIELD(drive),
     .help = "who takes the writes (trib drive list); none: learn and record only"},
    {.key = "state",
     .fallback = "",
     .type = TRIB_OPTION_TEXT,
     .offset = FIELD(state),
     .help = "file that keeps what was learned; empty: forgotten at exit"},
    {.key = "trace",
     .fallback = "",
     .type = TRIB_OPTION_TEXT,
     .offset = FIELD(trace),
     .help = "record events to this file (live pipelines)"},
    {.key = "trace_max",
     .fallback = "1G",
     .type = TRIB_OPTION_SIZE,
     .offset = FIELD(trace_limits.max_bytes),
     .minimum = TRIB_TRACE_MAX_BYTES_MIN,
     .maximum = 1ull << 50,
     .help = "bytes of a trace file; then it becomes NAME.1 and the recording goes on in a new one"},
    {.key = "trace_keep",
     .fallback = "15",
     .type = TRIB_OPTION_U32,
     .offset = FIELD(trace_limits.keep),
     .minimum = 0,
     .maximum = TRIB_TRACE_SUFFIX_MAX - 1,
     .help = "earlier trace files, NAME.1 ...; the oldest is deleted; 0: recording stops at trace_max"},
    {.key = "disk_floor",
     .fallback = "256M",
     .type = TRIB_OPTION_SIZE,
     .offset = FIELD(trace_limits.floor_bytes),
     .minimum = 0,
     .maximum = 1ull << 50,
     .help = "free bytes of the trace's file system below which recording stops; 0: none"},
    {.key = "streams",
     .fallback = "8",
     .type = TRIB_OPTION_U32,
     .offset = FIELD(streams),
     .minimum = 0,
     .maximum = 63,
     .help = "streams besides S0 (FAST'19: 8 on the PM963)"},
    {.key = "salt",
     .fallback = "none",
     .type = TRIB_OPTION_FLAGS,
     .offset = FIELD(salt),
     .choices = "kind|hint|activity|family|level|tenant",
     .help = "what joins the call path in a signature"},
    {.key = "attributes",
     .fallback = "8192",
     .type = TRIB_OPTION_U32,
     .offset = FIELD(attributes),
     .minimum = 1,
     .maximum = 1 << 20,
     .help = "rows of the attribute table"},
    {.key = "runs",
     .fallback = "4194304",
     .type = TRIB_OPTION_U32,
     .offset = FIELD(runs),
     .minimum = 16,
     .maximum = 268435455,
     .help = "live extents that can be followed; 32 bytes each"},
    {.key = "session",
     .fallback = "",
     .type = TRIB_OPTION_TEXT,
     .offset = FIELD(session),
     .help = "socket that processes join, made at open; absolute path (live pipelines)"},
    {.key = "session-socket",
     .fallback = "0",
     .type = TRIB_OPTION_U32,
     .offset = FIELD(session_socket),
     .minimum = 0,
     .maximum = 1 << 20,
     .help = "descriptor of a listening socket to use instead (systemd); 0: none"},
    {.key = "allow",
     .fallback = "",
     .type = TRIB_OPTION_TEXT,
     .offset = FIELD(allow),
     .help = "who may join besides owner and root: users and @groups joined by +; * is everyone (live pipelines)"},
    {.key = "process-ring",
     .fallback = "16384",
     .type = TRIB_OPTION_U32,
     .offset = FIELD(process_ring),
     .minimum = 1024,
     .maximum = 1 << 20,
     .help = "events that may wait in each process (live pipelines); 72 bytes each"},
    {.key = "metrics-file",
     .fallback = "",
     .type = TRIB_OPTION_TEXT,
     .offset = FIELD(metrics_file),
     .help = "write counters as Prometheus text to this file, for node_exporter; empty: none (live pipelines)"},
    {.key = "metrics-every",
     .fallback = "15",
     .type = TRIB_OPTION_U32,
     .offset = FIELD(metrics_every_seconds),
     .minimum = 1,
     .maximum = 86400,
     .help = "seconds between two versions of metrics-file"},
    {.key = "allocation",
     .fallback = "next-fit",
     .type = TRIB_OPTION_ENUM,
     .offset = FIELD(allocation),
     .choices = "next-fit|first-fit",
     .help = "how files get blocks"},
    {.key = "window",
     .fallback = "128",
     .type = TRIB_OPTION_U32,
     .offset = FIELD(window_blocks),
     .minimum = 0,
     .maximum = 65536,
     .help = "blocks reserved ahead of a growing file"},
    TRIB_OPTIONS_END,
};

static uint16_t relocate(void *arg, uint64_t lba, uint16_t stream, uint16_t victim_class, bool internal) {
    struct trib_pipeline *pipeline = arg;
    struct trib_relocation page = {.lba = lba,
                                   .clock_bytes = pipeline->clock_bytes,
                                   .block_clock = pipeline->counters.blocks_written,
                                   .stream = stream,
                                   .victim_class = victim_class,
                                   .victim_internal = internal};

    return pipeline->policy->relocate(pipeline->policy_self, &page);
}

static void reclaimed(void *arg, uint16_t stream, bool internal, uint64_t opened_age, uint64_t closed_age) {
    struct trib_pipeline *pipeline = arg;
    struct trib_reclaim unit = {
        .stream = stream, .internal = internal, .opened_age = opened_age, .closed_age = closed_age};

    if (pipeline->policy_is_open) /* a drive may collect while it is filled with cold data */
        pipeline->policy->blocks.reclaimed(pipeline->policy_self, &unit);
}

static int open_state(struct trib_pipeline *pipeline, struct trib_error *error) {
    struct trib_pipeline_settings *settings = &pipeline->settings;
    struct trib_state_config config = {.path = settings->state[0] ? settings->state : NULL,
                                       .attributes = settings->attributes,
                                       .runs = settings->runs};
    int rc = trib_state_open(&pipeline->state, &config, error);

    if (rc)
        return rc;
    pipeline->opened_clock_bytes = trib_state_clock(pipeline->state);
    rc = trib_extents_open(&pipeline->extents, pipeline->state);
    return rc ? trib_fail(error, rc, "live extents: %s", strerror(-rc)) : 0;
}

static int open_drive(struct trib_pipeline *pipeline, struct trib_options *options,
                      const struct trib_pipeline_wraps *wraps, struct trib_error *error) {
    struct trib_pipeline_settings *settings = &pipeline->settings;
    const struct trib_policy *policy = pipeline->policy;

    if (strcmp(settings->drive, "none") == 0)
        return 0;
    const struct trib_drive *drive = trib_drive_find(settings->drive, error);
    if (!drive)
        return -EINVAL;
    if (wraps->drive)
        drive = wraps->drive(wraps->arg, drive);
    struct trib_drive_env env = {.drive = drive,
                                 .streams = settings->streams,
                                 .own_gc = policy->gc,
                                 .relocate = policy->relocate ? relocate : NULL,
                                 .reclaimed = policy->blocks.reclaimed ? reclaimed : NULL,
                                 .gc_arg = pipeline};
    int rc = drive->open(&pipeline->drive_self, &env, options, error);
    if (rc)
        return rc;
    pipeline->drive = drive;
    drive->describe(pipeline->drive_self, &pipeline->description);
    struct trib_volume_config config = {.blocks = pipeline->description.usable_blocks,
                                        .allocation = (enum trib_volume_allocation)settings->allocation,
                                        .window_blocks = settings->window_blocks};
    struct trib_volume_sink sink = {.arg = pipeline,
                                    .write = trib_flow_block_write,
                                    .discard = trib_flow_block_discard,
                                    .read = trib_flow_block_read};
    return trib_volume_open(&pipeline->volume, &config, &sink, error);
}

static uint64_t spare_blocks(const struct trib_drive_description *drive) {
    bool known = drive->physical_bytes > drive->capacity_bytes;
    return known ? (drive->physical_bytes - drive->capacity_bytes) / TRIB_BLOCK_BYTES : 0;
}

static int open_policy(struct trib_pipeline *pipeline, struct trib_options *options, struct trib_error *error) {
    struct trib_policy_env env = {.policy = pipeline->policy,
                                  .state = pipeline->state,
                                  .streams =
                                      pipeline->drive ? pipeline->description.streams : pipeline->settings.streams,
                                  .capacity_bytes = pipeline->description.capacity_bytes,
                                  .blocks = pipeline->description.capacity_bytes / TRIB_BLOCK_BYTES,
                                  .reclaim_unit_bytes = pipeline->description.reclaim_unit_bytes,
                                  .usable_blocks = pipeline->description.usable_blocks,
                                  .spare_blocks = spare_blocks(&pipeline->description),
                                  .internal_streams = pipeline->description.internal_streams};
    void *self = NULL;

    memcpy(env.gc, pipeline->description.gc, sizeof env.gc);
    memcpy(env.victim, pipeline->description.victim, sizeof env.victim);
    int rc = pipeline->policy->open(&self, &env, options, error);

    pipeline->policy_self = self;
    pipeline->policy_is_open = rc == 0;
    return rc;
}

static int assemble(struct trib_pipeline *pipeline, struct trib_options *options, bool live,
                    const struct trib_pipeline_wraps *wraps, struct trib_error *error) {
    int rc = trib_options_take(options, trib_pipeline_options, &pipeline->settings, error);

    if (rc)
        return rc;
    pipeline->policy = trib_policy_find(pipeline->settings.policy, error);
    if (!pipeline->policy)
        return -EINVAL;
    if (wraps->policy)
        pipeline->policy = wraps->policy(wraps->arg, pipeline->policy);
    pipeline->needs = pipeline->policy->needs;
    if (pipeline->policy->needs_given)
        pipeline->needs |= pipeline->policy->needs_given(options);
    rc = open_drive(pipeline, options, wraps, error);
    if (rc == 0)
        rc = open_state(pipeline, error);
    if (rc == 0)
        rc = open_policy(pipeline, options, error);
    if (rc == 0)
        rc = trib_options_finish(options, error);
    if (rc == 0 && live)
        rc = trib_live_open(&pipeline->live, pipeline, error);
    else if (rc == 0 && pipeline->settings.trace[0])
        rc = trib_fail(error, -EINVAL, "option 'trace' records live runs; a replay has its trace");
    else if (rc == 0 && pipeline->settings.session[0])
        rc = trib_fail(error, -EINVAL, "option 'session' is for live runs");
    else if (rc == 0 && pipeline->settings.metrics_file[0])
        rc = trib_fail(error, -EINVAL, "option 'metrics-file' is for live runs");
    return rc;
}

int trib_pipeline_open(struct trib_pipeline **out, const char *text, bool live, struct trib_error *error) {
    return trib_pipeline_open_wrapped(out, text, live, &(struct trib_pipeline_wraps){0}, error);
}

int trib_pipeline_open_wrapped(struct trib_pipeline **out, const char *text, bool live,
                               const struct trib_pipeline_wraps *wraps, struct trib_error *error) {
    struct trib_error ignored;
    struct trib_options *options = NULL;
    struct trib_pipeline *pipeline = calloc(1, sizeof *pipeline);

    if (!error)
        error = &ignored;
    error->text[0] = '\0';
    if (!pipeline)
        return trib_fail(error, -ENOMEM, "out of memory");
    int rc = trib_options_open(&options, text, error);
    if (rc == 0)
        rc = assemble(pipeline, options, live, wraps, error);
    trib_options_close(options);
    if (rc)
        trib_pipeline_close(pipeline);
    else
        *out = pipeline;
    return rc;
}

int trib_pipeline_close(struct trib_pipeline *pipeline) {
    int rc = 0, failed;

    if (!pipeline)
        return 0;
    if (pipeline->live)
        rc = trib_live_close(pipeline->live);
    if (pipeline->policy_is_open)
        pipeline->policy->close(pipeline->policy_self);
    trib_volume_close(pipeline->volume);
    if (pipeline->drive && (failed = pipeline->drive->close(pipeline->drive_self)) && !rc)
        rc = failed;
    trib_extents_close(pipeline->extents);
    if (pipeline->state && (failed = trib_state_close(pipeline->state)) && !rc)
        rc = failed;
    free(pipeline);
    return rc;
}
