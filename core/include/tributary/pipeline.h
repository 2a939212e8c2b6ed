/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline: one policy, its learned state, and optionally a drive and a trace. The flow itself is
 * core/engine/pipeline.c. Options grammar: "key=value,key=value" (docs/options.md); an unknown key, policy, drive or
 * preset is an error that lists the valid ones.
 *
 * Two ways in. Replay: trib_pipeline_process, one caller, synchronous, deterministic. Live: adapters call
 * trib_pipeline_submit from any thread; it copies the event into a bounded ring and returns; a maintenance thread of
 * the pipeline writes the trace and runs the same flow in the same order. Submit never blocks, never allocates, never
 * fails: a full ring drops the event and counts it. In the child of a fork a live pipeline is inert: submit drops,
 * name_file, drain and close do nothing, status is empty; the other calls are the parent's only. With option `session`
 * the events come from the processes that join (tributary/session.h) instead of submit, which then drops. */
#ifndef TRIBUTARY_PIPELINE_H
#define TRIBUTARY_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/attribute.h>
#include <tributary/error.h>
#include <tributary/event.h>

TRIB_C_BEGIN

/* Grows whenever anything below changes. */
#define TRIB_PIPELINE_VERSION 1u

struct trib_pipeline;
struct trib_policy;
struct trib_drive;

/* How sure it is that the drive honours streams. */
enum trib_placement_level {
    TRIB_PLACEMENT_NONE = 0,     /* streams go nowhere */
    TRIB_PLACEMENT_ADVISORY = 1, /* hints are passed on, nothing confirms them */
    TRIB_PLACEMENT_PLACED = 2,   /* the drive confirmed streams and acts on them */
};
static inline const char *trib_placement_name(uint8_t level) {
    return level == TRIB_PLACEMENT_PLACED ? "placed" : level == TRIB_PLACEMENT_ADVISORY ? "advisory" : "none";
}

/* Everything a person may ask of a running pipeline. Counters only grow; all sizes in bytes unless named. */
struct trib_status {
    char policy[32], drive[32];
    uint8_t placement;     /* enum trib_placement_level */
    char evidence[128];    /* why that level */
    uint64_t clock_bytes;  /* host bytes written */
    uint64_t events, events_dropped, bytes_dropped;
    uint64_t live_runs, live_bytes, runs_dropped;
    uint32_t attributes, attributes_evicted;
    uint32_t reclusterings, streams_used;
    uint64_t trace_bytes, trace_errors;
    uint64_t drive_errors; /* -ENOSPC and the like, counted, never passed to the engine */
    uint64_t host_pages, gc_pages, erases; /* emulated drive; 0 elsewhere */
    double waf;                            /* 0 = the drive cannot say */
    uint64_t processes, processes_live;    /* of a session: joined so far, and now; 0 elsewhere */
    uint64_t starts_uncovered; /* of programs that tell nothing (tributary/session.h), by processes of the session */
    char uncovered[512];       /* the first of them: "path (why), path (why)" */
};

/* Opens a pipeline. live: start the ring and the maintenance thread. 0, -EINVAL (options; error says which),
 * -ENOMEM, -EIO/-EPROTO/-EBADMSG (state or trace file refused). */
TRIB_EXPORT int trib_pipeline_open(struct trib_pipeline **out, const char *options, bool live,
                                   struct trib_error *error);

/* The same with something put around the policy and the drive that the options name, before they are opened: each call is
 * given one and answers with the table to open instead, which must outlive the pipeline. Each may be NULL. What a laboratory
 * counts, predicts or ablates is such a wrapper (lab/wrap), so that the flow need not know. */
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

/* Live: queue an event. Returns false when it was dropped (ring full); the engine need not care. */
TRIB_EXPORT bool trib_pipeline_submit(struct trib_pipeline *pipeline, const struct trib_event *event);

/* Live: the stream that a write of this context should carry now, for a drive that takes streams from the caller.
 * Lock-free read of the attribute table; 0 for unknown contexts. */
TRIB_EXPORT uint16_t trib_pipeline_place(struct trib_pipeline *pipeline, const struct trib_context *who);

/* Key of a context in the attribute table: its signature, salted as the options say. 0 = it says nothing at all. */
TRIB_EXPORT uint64_t trib_pipeline_key(const struct trib_pipeline *pipeline, const struct trib_context *who);

/* Live: returns once every event submitted before the call has been processed (tests, orderly shutdown). */
TRIB_EXPORT void trib_pipeline_drain(struct trib_pipeline *pipeline);

/* Names a file in the trace so that people can read it; does nothing without a trace. Never fails: of more than 1024
 * names within one poll (16 ms) the rest is lost, and the log says how many. */
TRIB_EXPORT void trib_pipeline_name_file(struct trib_pipeline *pipeline, uint64_t file, const char *path);

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
    uint64_t metadata_pages, metadata_read_pages; /* programs and reads of the mapping table on flash */
    uint64_t map_lookups, map_misses, map_cache_bytes; /* of the host; 0 without a mapping cache */
    uint32_t streams_used, open_units_peak;
    double virtual_seconds;
};
TRIB_EXPORT int trib_pipeline_drive(struct trib_pipeline *pipeline, struct trib_drive_report *out);
/* Writes the drive's state as JSON to an open stdio stream (void *, a FILE). 0, -ENODEV, -ENOSYS, -EIO. */
TRIB_EXPORT int trib_pipeline_dump_drive(struct trib_pipeline *pipeline, void *file);

/* Identity of a file for trib_event.file: stable over rename and restart. Never 0. */
static inline uint64_t trib_file_identity(uint64_t device, uint64_t inode) {
    uint64_t h = (device * 0x9E3779B97F4A7C15ull) ^ (inode + 0x632BE59BD9B4E019ull);
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93ull;
    h ^= h >> 32;
    return h ? h : 1;
}

TRIB_C_END
#endif
