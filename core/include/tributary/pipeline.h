/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline: one policy, its learned state, and optionally a drive and a trace. The flow itself is
 * core/engine/pipeline.c. Options grammar: "key=value,key=value" (docs/options.md); an unknown key, policy, drive or
 * preset is an error that lists the valid ones.
 *
 * Two ways in. Replay: trib_pipeline_process, one caller, synchronous, deterministic. Live: the pipeline of a daemon, with
 * option `session`: processes join (tributary/client.h) and submit; a maintenance thread takes their events in the order of
 * time, writes the trace and runs the same flow. */
#ifndef TRIBUTARY_PIPELINE_H
#define TRIBUTARY_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>
#include <tributary/event.h>
#include <tributary/status.h>

TRIB_C_BEGIN

struct trib_pipeline;

/* Opens a pipeline. live: listen, and start the maintenance thread. 0, -EINVAL (options; error says which),
 * -ENOMEM, -EIO/-EPROTO/-EBADMSG (state or trace file refused), -EADDRINUSE (a daemon has that socket). */
TRIB_EXPORT int trib_pipeline_open(struct trib_pipeline **out, const char *options, bool live,
                                   struct trib_error *error);

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

/* Live: returns once every event submitted before the call has been processed (tests, orderly shutdown). */
TRIB_EXPORT void trib_pipeline_drain(struct trib_pipeline *pipeline);

/* Live: processes submit nothing until it goes on. */
TRIB_EXPORT void trib_pipeline_pause(struct trib_pipeline *pipeline, bool pause);

/* Live: somebody asked on the socket for the end; the owner of the pipeline should close it. */
TRIB_EXPORT bool trib_pipeline_is_asked_to_stop(const struct trib_pipeline *pipeline);

/* A consistent snapshot of the counters; any thread. */
TRIB_EXPORT void trib_pipeline_status(struct trib_pipeline *pipeline, struct trib_status *out);

/* What a report needs beyond counters. Called on the thread that runs the flow; must not call back. */
struct trib_death_report {
    struct trib_context who; /* as first seen for that row; zero if the row was evicted */
    uint64_t key;            /* salted signature; 0 = unknown */
    uint64_t age_bytes, length_bytes;
    uint16_t stream; /* that the data had been put in */
    uint8_t cause;   /* enum trib_cause */
};
struct trib_write_report {
    struct trib_context who;
    uint64_t key, clock_bytes, length_bytes;
    uint16_t stream;
};
struct trib_observer {
    void *arg;
    void (*wrote)(void *arg, const struct trib_write_report *write); /* each may be NULL */
    void (*died)(void *arg, const struct trib_death_report *death);
    /* Below the file system, in the order that the drive gets them; lba and length in blocks. */
    void (*block_wrote)(void *arg, uint64_t lba, uint64_t blocks, uint16_t stream);
    void (*block_discarded)(void *arg, uint64_t lba, uint64_t blocks);
};
TRIB_EXPORT void trib_pipeline_observe(struct trib_pipeline *pipeline, const struct trib_observer *observer);

/* Replay of known work, before its first event: deaths[i] is how many blocks will have reached the drive when the i-th
 * of them dies, UINT32_MAX if it never does. For policies that need the future; the array must outlive the pipeline. */
TRIB_EXPORT void trib_pipeline_future(struct trib_pipeline *pipeline, const uint32_t *deaths, uint64_t count);

/* What the policy costs; nanoseconds are medians over every 61st call, clock reading included; 0 if there were none. */
struct trib_cost_report {
    uint64_t place_calls, died_calls;
    double place_ns, died_ns;
    uint64_t state_bytes; /* rows of the attribute table in use, and what the policy keeps itself */
};
TRIB_EXPORT void trib_pipeline_cost(struct trib_pipeline *pipeline, struct trib_cost_report *out);

/* Every live extent as if it died now (right-censored lifetimes). */
TRIB_EXPORT void trib_pipeline_visit_live(struct trib_pipeline *pipeline,
                                          void (*visit)(void *arg, const struct trib_death_report *live), void *arg);

/* The attribute table, row by row, as learned so far. */
struct trib_attribute_report {
    struct trib_context who;
    uint64_t key, written_bytes, died_bytes, live_bytes;
    double lifetime_mean_bytes, lifetime_deviation_bytes;
    uint32_t samples;
    uint16_t stream;
};
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
    uint64_t metadata_pages, metadata_read_pages; /* programs and reads of the mapping table on flash */
    uint64_t map_lookups, map_misses, map_cache_bytes; /* of the host; 0 without a mapping cache */
    uint32_t streams_used, open_units_peak;
    double virtual_seconds;
};
TRIB_EXPORT int trib_pipeline_drive(struct trib_pipeline *pipeline, struct trib_drive_report *out);
/* Writes the drive's state as JSON to an open stdio stream (void *, a FILE). 0, -ENODEV, -ENOSYS, -EIO. */
TRIB_EXPORT int trib_pipeline_dump_drive(struct trib_pipeline *pipeline, void *file);

TRIB_C_END
#endif
