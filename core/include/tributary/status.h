/* SPDX-License-Identifier: Apache-2.0 */
/* What can be asked of a running daemon: counters, and how sure it is that placement happens. Thread safety: plain
 * data. */
#ifndef TRIBUTARY_STATUS_H
#define TRIBUTARY_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

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
    uint8_t placement;    /* enum trib_placement_level */
    char evidence[128];   /* why that level */
    uint64_t clock_bytes; /* host bytes written */
    uint64_t events, events_dropped, bytes_dropped;
    uint64_t live_runs, live_bytes, runs_dropped;
    uint32_t attributes, attributes_evicted;
    uint32_t reclusterings, streams_used;
    uint64_t trace_bytes, trace_errors;
    char trace_stopped[256];               /* why nothing more is recorded; "" while it is, or without a trace */
    uint64_t drive_errors;                 /* -ENOSPC and the like, counted, never passed to the engine */
    uint64_t host_pages, gc_pages, erases; /* emulated drive; 0 elsewhere */
    double waf;                            /* 0 = the drive cannot say */
    uint64_t processes, processes_live;    /* joined so far, and now; 0 in a replay, as all below */
    uint64_t joins_refused, joins_again;   /* not allowed, no room, another version; after a daemon before this one */
    uint64_t broken;           /* invariants found broken inside processes, whose adapters then do nothing */
    uint64_t rings_damaged;    /* by the processes that they belong to */
    uint64_t starts_uncovered; /* of programs that go unrecorded (tributary/client.h), by processes that joined */
    char uncovered[512];       /* the first of them: "path (why), path (why)" */
};

enum trib_status_kind {
    TRIB_STATUS_JSON = 1,
    TRIB_STATUS_OPENMETRICS = 2,
    TRIB_STATUS_RECORD = 3, /* struct trib_status itself, of this version of the library */
};

/* A status as text: one JSON object, or OpenMetrics with one family per counter (docs/operations/monitoring.md). Bytes
 * without the final zero, or -ENOSPC, -EINVAL. */
TRIB_EXPORT long trib_status_format(const struct trib_status *status, enum trib_status_kind kind, char *text,
                                    size_t capacity);

TRIB_C_END
#endif
