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
    char daemon[112];       /* NAME of /run/tributary/NAME.sock, else its socket's path; "" in a replay */
    uint8_t placement;      /* enum trib_placement_level */
    char evidence[128];     /* why that level */
    uint64_t clock_bytes;   /* host bytes written over the life of the state, earlier daemons' and lost ones too */
    uint64_t written_bytes; /* of these, since this pipeline was opened, as `events` counts */
    uint64_t events, events_dropped, bytes_dropped;
    uint64_t lost_full, lost_killed, lost_alone; /* of events_dropped: a ring was full; its process was killed or wrote
                                                    nonsense; it had no daemon */
    uint64_t live_runs, live_bytes, runs_dropped;
    uint32_t attributes, attributes_evicted;
    uint32_t reclusterings, streams_used;
    uint64_t trace_bytes, trace_errors;
    char trace_stopped[256];               /* why nothing more is recorded; "" while it is, or without a trace */
    uint64_t drive_errors;                 /* -ENOSPC and the like, counted, never passed to the engine */
    uint64_t drive_refused_from_bytes;     /* written_bytes at the first of them: little is placed from there on */
    uint64_t host_pages, gc_pages, erases; /* emulated drive; 0 elsewhere */
    double waf;                            /* 0 = the drive cannot say */
    uint64_t processes, processes_live;    /* joined so far, and now; 0 in a replay, as all below */
    uint64_t joins_refused, joins_again;   /* not allowed, no room, another version; after a daemon before this one */
    uint64_t broken;           /* invariants found broken inside processes, whose adapters then do nothing */
    uint64_t rings_damaged;    /* by the processes that they belong to */
    uint64_t names_lost;       /* of files whose writes are recorded: a ring of texts was full until they were closed */
    uint64_t starts_uncovered; /* of programs that go unrecorded (tributary/client.h), by processes that joined */
    char uncovered[512];       /* the first of them: "path (why), path (why)" */
    uint32_t pid, paused;      /* of the daemon; processes submit nothing for now */
    uint64_t paused_seconds;   /* how long by now; 0 = it is not paused */
    uint64_t uptime_seconds;
    uint64_t metrics_errors; /* versions of metrics-file that could not be written */
};

/* ---- tables: who writes, where it goes, who has joined ---- */

#define TRIB_STATUS_PATHS_MAX     64u
#define TRIB_STATUS_FRAMES_MAX    6u
#define TRIB_STATUS_STREAMS_MAX   128u
#define TRIB_STATUS_PRODUCERS_MAX 64u

struct trib_status_frame {
    char module[256];      /* path; "" = not known (yet) */
    char build_id[41];     /* in hexadecimal; "" = none */
    uint64_t offset_bytes; /* return address minus load base */
};

/* A row of the attribute table: a call path, or a part of one that option `salt` tells apart. */
struct trib_status_path {
    uint64_t signature, written_bytes, live_bytes;
    double lifetime_bytes; /* mean; 0 = nothing of it has died yet */
    uint32_t samples;
    uint16_t stream;
    uint8_t file_kind, frame_count; /* enum trib_file_kind; frames that are known, innermost first */
    struct trib_status_frame frames[TRIB_STATUS_FRAMES_MAX];
};

struct trib_status_stream {
    uint16_t stream;
    uint8_t internal;                               /* of garbage collection, else the host's */
    uint64_t host_pages, gc_pages_out, gc_pages_in; /* copied out of its superblocks, and into them */
    uint64_t valid_pages, superblocks;              /* now */
    double waf; /* of what the host wrote to it, before it was copied elsewhere; 0 = unknown */
};

struct trib_status_producer {
    uint32_t pid, user, broken, damaged; /* pid 0: not visible from here */
    uint64_t events, bytes, events_dropped, bytes_dropped;
    char program[256];
};

/* The largest of each; `_total` counts those that are not shown, too. */
struct trib_status_tables {
    uint32_t path_count, path_total, stream_count, producer_count, producer_total;
    struct trib_status_path paths[TRIB_STATUS_PATHS_MAX];             /* most bytes written first */
    struct trib_status_stream streams[TRIB_STATUS_STREAMS_MAX];       /* the host's by number, then the internal ones */
    struct trib_status_producer producers[TRIB_STATUS_PRODUCERS_MAX]; /* most events lost, then most bytes first */
};

enum trib_status_kind {
    TRIB_STATUS_JSON = 1,
    TRIB_STATUS_OPENMETRICS = 2,
    TRIB_STATUS_RECORD = 3,     /* struct trib_status itself, of this version of the library */
    TRIB_STATUS_PROMETHEUS = 4, /* the older text, which node_exporter's textfile collector reads */
};

/* A status as text: one JSON object, or metrics with one family per counter (docs/operations/monitoring.md), each with
 * the label daemon, as a collector may read several daemons' files. With tables (may be NULL): three arrays of the
 * object; in metrics the streams alone, whose number is bounded. Bytes without the final zero, or -ENOSPC, -EINVAL. */
TRIB_EXPORT long trib_status_format(const struct trib_status *status, const struct trib_status_tables *tables,
                                    enum trib_status_kind kind, char *text, size_t capacity);

TRIB_C_END
#endif
