/* SPDX-License-Identifier: Apache-2.0 */
/* What a session file holds: header, process slots, three tables, and for each slot a ring of events and a ring of
 * texts. Only the rings of processes that ran ever get memory. The recorder writes the header before anyone knows the
 * path and trusts nothing in the file afterwards. Format: docs/formats/session.md. */
#ifndef TRIB_SESSION_LAYOUT_H
#define TRIB_SESSION_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <tributary/error.h>
#include <tributary/event.h>

#include "base/hash.h"
#include "ring/ring.h"
#include "base/seen.h"

#define TRIB_SESSION_MAGIC    "TRIBSES\n"
#define TRIB_SESSION_VERSION  1u
#define TRIB_SESSION_SLOTS    2048u
#define TRIB_SESSION_PROGRAMS 4096u
#define TRIB_SESSION_PLACES   16384u
#define TRIB_SESSION_TEXT_BYTES 65536u /* of a ring of texts */

/* The recorder says that it lives at every poll (1 to 16 ms); this long without is the end of it. */
#define TRIB_SESSION_SILENCE_NS 5000000000ull

struct trib_session_geometry {
    char magic[8];
    uint32_t version;
    uint32_t ring_events; /* per process; a power of two */
    uint64_t slot_bytes;  /* both rings of a process; whole pages */
    uint64_t rings_at;    /* offset of the first slot's rings */
    uint64_t total_bytes;
    uint64_t checksum; /* of what stands before it */
};

enum trib_session_slot_state {
    TRIB_SLOT_FREE = 0,
    TRIB_SLOT_JOINING = 1, /* the process fills in the rest */
    TRIB_SLOT_ACTIVE = 2,
    TRIB_SLOT_LEFT = 3, /* to be emptied and freed */
};

struct trib_session_slot {
    _Atomic(uint64_t) owner; /* state | process id << 8: one word, so that whoever dies while joining is known */
    uint64_t start_time;     /* of the process, clock ticks since boot; 0 = unknown */
    uint64_t image;          /* changes with every exec */
    uint64_t pid_namespace;  /* 0 = unknown */
    _Atomic(uint64_t) text_tail, text_head;
    uint64_t reserved[2];
};

struct trib_session_program {
    _Atomic(uint64_t) key;  /* hash of the path of the program's file; 0 = no program */
    _Atomic(uint32_t) told; /* its path has been sent to the recorder */
    uint32_t reserved;
};

struct trib_session_header {
    struct trib_session_geometry geometry;
    uint32_t recorder_pid;
    uint32_t reserved;
    uint64_t recorder_namespace;
    _Alignas(64) _Atomic(uint64_t) heartbeat_ns; /* CLOCK_MONOTONIC; 0 = closed */
    _Alignas(64) _Atomic(uint32_t) processes;    /* joined so far */
    _Atomic(uint32_t) slots_used;                /* slots from here on were never taken */
    _Atomic(uint32_t) wants_places;              /* a process asks for streams */
    _Alignas(64) struct trib_session_slot slots[TRIB_SESSION_SLOTS];
    struct trib_session_program programs[TRIB_SESSION_PROGRAMS];
    _Atomic(uint64_t) places[TRIB_SESSION_PLACES]; /* context's hash above, stream in the low 16 bits */
    trib_seen_table seen;                          /* signatures and modules that were told */
};

/* ring_events: a power of two, 1024 to 2^20. */
void trib_session_geometry_fill(struct trib_session_geometry *geometry, uint32_t ring_events);
/* 0, or -EPROTO (foreign, damaged, another version, or not of this size). */
int trib_session_geometry_check(const struct trib_session_geometry *geometry, uint64_t file_bytes,
                                struct trib_error *error);

uint64_t trib_session_now_ns(void); /* CLOCK_MONOTONIC */

static inline uint64_t trib_session_owner(enum trib_session_slot_state state, pid_t pid) {
    return (uint64_t)state | (uint64_t)(uint32_t)pid << 8;
}
static inline enum trib_session_slot_state trib_session_state_of(uint64_t owner) {
    return (enum trib_session_slot_state)(owner & 0xff);
}
static inline pid_t trib_session_pid_of(uint64_t owner) {
    return (pid_t)(uint32_t)(owner >> 8);
}

/* The signature of no call path: under it stands what the policy says of such writes by a path that it has not met. */
#define TRIB_SESSION_UNMET UINT64_MAX

/* Where a context's stream stands, and the tag that says that it is this context's. */
static inline uint64_t trib_session_place_key(const struct trib_context *who) {
    return trib_hash(who, sizeof *who);
}

#endif
