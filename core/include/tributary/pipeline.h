/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline: one policy, its learned state, and optionally a drive and a trace. The flow itself is
 * core/engine/pipeline.c. Options grammar: "key=value,key=value" (docs/options.md); an unknown key, policy, drive or
 * preset is an error that lists the valid ones.
 *
 * Two ways in. Replay: trib_pipeline_process, one caller, synchronous, deterministic. Live: the pipeline of a daemon,
 * with option `session`: processes join (tributary/client.h) and submit; a maintenance thread takes their events in the
 * order of time, writes the trace and runs the same flow. */
#ifndef TRIBUTARY_PIPELINE_H
#define TRIBUTARY_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/attribute.h>
#include <tributary/error.h>
#include <tributary/event.h>
#include <tributary/status.h>

TRIB_C_BEGIN

/* Grows whenever anything below changes. */
#define TRIB_PIPELINE_VERSION 1u

struct trib_pipeline;
struct trib_policy;
struct trib_drive;

/* Opens a pipeline. live: listen, and start the maintenance thread. 0, -EINVAL (options; error says which),
 * -ENOMEM, -EIO/-EPROTO/-EBADMSG (state or trace file refused), -EADDRINUSE (a daemon has that socket). */
TRIB_EXPORT int trib_pipeline_open(struct trib_pipeline **out, const char *options, bool live,
                                   struct trib_error *error);

/* The same with something put around the policy and the drive that the options name, before they are opened: each call
 * is given one and answers with the table to open instead, which must outlive the pipeline. Each may be NULL. What a
 * laboratory counts, predicts or ablates is such a wrapper (lab/wrap), so that the flow need not know. */
struct trib_pipeline_wraps {
    void *arg;
    const struct trib_policy *(*policy)(void *arg, const struct trib_policy *named);
    const struct trib_drive *(*drive)(void *arg, const struct trib_drive *named);
};
TRIB_EXPORT int trib_pipeline_open_wrapped(struct trib_pipeline **out, const char *options, bool live,
                                           const struct trib_pipeline_wraps *wraps, struct trib_error *error);

/* Drains, flushes trace and state, frees. 0 or the first -errno met while closing. NULL is fine. */
TRIB_EXPORT int trib_pipeline_close(struct trib_pipeline *pipeline);

/* Replay: runs one event through the flow. 0; -EINVAL (zero length, overflow, unaligned block range); -ENOSPC (the
 * drive is too small for the trace: the event was learned from, but the drive lacks some of its blocks). */
TRIB_EXPORT int trib_pipeline_process(struct trib_pipeline *pipeline, const struct trib_event *event);

/* Replay: the recorder dropped events worth `bytes` of writes here; time goes on without them. */
TRIB_EXPORT void trib_pipeline_skip(struct trib_pipeline *pipeline, uint64_t bytes);

/* The stream that a write of this context should carry now, for a drive that takes streams from the caller.
 * Lock-free read of the attribute table; 0 for unknown contexts. */
TRIB_EXPORT uint16_t trib_pipeline_place(struct trib_pipeline *pipeline, const struct trib_context *who);

/* Key of a context in the attribute table: its signature, salted as the options say. 0 = it says nothing at all. */
TRIB_EXPORT uint64_t trib_pipeline_key(const struct trib_pipeline *pipeline, const struct trib_context *who);

/* Live: returns once every event submitted before the call has been processed (tests, orderly shutdown). */
TRIB_EXPORT void trib_pipeline_drain(struct trib_pipeline *pipeline);

/* Live: processes submit nothing until it goes on. */
TRIB_EXPORT void trib_pipeline_pause(struct trib_pipeline *pipeline, bool pause);

/* Live: somebody asked on the socket for the end; the owner of the pipeline should close it. */
TRIB_EXPORT bool trib_pipeline_is_asked_to_stop(const struct trib_pipeline *pipeline);

/* A consistent snapshot of the counters; any thread. */
TRIB_EXPORT void trib_pipeline_status(struct trib_pipeline *pipeline, struct trib_status *out);

/* Data that died, or would if they died now. */
struct trib_death_report {
    struct trib_context who; /* as first seen for that row; zero if the row was evicted */
    uint64_t key;            /* salted signature; 0 = unknown */
    uint64_t age_bytes, length_bytes;
    uint16_t stream; /* that the data had been put in */
    uint8_t cause;   /* enum trib_cause */
};

/* Every live extent as if it died now (right-censored lifetimes). */
TRIB_EXPORT void trib_pipeline_visit_live(struct trib_pipeline *pipeline,
                                          void (*visit)(void *arg, const struct trib_death_report *live), void *arg);

/* The attribute table, row by row, as learned so far. */
TRIB_EXPORT void trib_pipeline_visit_attributes(struct trib_pipeline *pipeline,
                                                void (*visit)(void *arg, const struct trib_attribute_report *row),
                                                void *arg);

/* The drive behind the pipeline. 0, or -ENODEV without one. */
struct trib_drive_report {
    char name[32];
    uint64_t capacity_bytes, reclaim_unit_bytes, reclaim_units, physical_bytes;
    double over_provisioning_percent;
    uint32_t streams;
    char gc[16], victim[16];
    uint64_t host_pages, gc_pages, erases, discarded_pages, live_pages, live_pages_peak;
    uint64_t metadata_pages, metadata_read_pages;      /* programs and reads of the mapping table on flash */
    uint64_t map_lookups, map_misses, map_cache_bytes; /* of the host; 0 without a mapping cache */
    uint32_t streams_used, open_units_peak;
    double virtual_seconds;
};
TRIB_EXPORT int trib_pipeline_drive(struct trib_pipeline *pipeline, struct trib_drive_report *out);
/* Writes the drive's state as JSON to an open stdio stream (void *, a FILE). 0, -ENODEV, -ENOSYS, -EIO. */
TRIB_EXPORT int trib_pipeline_dump_drive(struct trib_pipeline *pipeline, void *file);

TRIB_C_END
#endif
