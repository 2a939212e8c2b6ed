/* SPDX-License-Identifier: Apache-2.0 */
/* What a daemon and the processes that it records share: messages on its socket, a ring of each process, one table that
 * all of them may read. Nobody trusts anybody: the daemon keeps its own copy of everything that tells where to read, a
 * process checks sizes and seals before it maps. Format: docs/formats/session.md. Thread safety: plain data. */
#ifndef TRIB_RING_WIRE_H
#define TRIB_RING_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/event.h>

#include "base/hash.h"
#include "base/seen.h"
#include "ring/message.h"
#include "ring/ring.h"

#define TRIB_PAGE_BYTES      4096u

#define TRIB_TEXT_RING_BYTES 65536u
#define TRIB_PLACES          16384u
#define TRIB_PROCESSES_MAX   2048u /* at once */
#define TRIB_PROGRAMS_MAX    4096u /* the last number is for all that come too late */
#define TRIB_THREAD_BITS     12u   /* of trib_event.thread; the process's number stands above */

/* A daemon says that it lives at every poll (1 to 16 ms). After this long a process asks for it again. */
#define TRIB_SILENCE_NS 500000000ull
/* How often its listener touches the socket, for those who have no table yet: they wait for the answer of a daemon that
 * lives, and not for that of one that is stopped. */
#define TRIB_TOUCH_NS 100000000ull

/* ---- a process's ring: read and written by that process and the daemon ---- */

struct trib_ring_head {
    TRIB_ATOMIC(uint64_t) text_tail;
    uint64_t padding_1[7];
    TRIB_ATOMIC(uint64_t) text_head; /* the daemon's word */
    uint64_t padding_2[7];
    TRIB_ATOMIC(uint32_t) wants_places; /* the process asks for streams */
    TRIB_ATOMIC(uint32_t) broken;       /* invariants that a check found broken in the process */
    TRIB_ATOMIC(uint32_t) left;         /* the process gives the ring back */
    TRIB_ATOMIC(uint32_t) names_lost;   /* of files, for which the ring of texts never had room */
    uint64_t padding_3[7];
};
_Static_assert(sizeof(struct trib_ring_head) <= TRIB_PAGE_BYTES, "the head has a page of its own");

/* One page for the head, the ring of events in whole pages, the ring of texts. */
static inline uint64_t trib_ring_text_at(uint32_t ring_events) {
    uint64_t events_bytes = (trib_ring_bytes(ring_events) + TRIB_PAGE_BYTES - 1) / TRIB_PAGE_BYTES * TRIB_PAGE_BYTES;

    return TRIB_PAGE_BYTES + events_bytes;
}
static inline uint64_t trib_ring_memory_bytes(uint32_t ring_events) {
    return trib_ring_text_at(ring_events) + TRIB_TEXT_RING_BYTES;
}
static inline bool trib_ring_events_fit(uint32_t ring_events) {
    return ring_events >= 1024 && ring_events <= 1u << 20 && (ring_events & (ring_events - 1)) == 0;
}

/* ---- the table: written by the daemon alone ---- */

struct trib_shared_table {
    uint32_t magic;
    uint16_t version, reserved;
    uint64_t epoch;                                         /* of this daemon; never 0 */
    _Alignas(64) TRIB_ATOMIC(uint64_t) heartbeat_ns;        /* CLOCK_MONOTONIC; 0 = it has ended in order */
    TRIB_ATOMIC(uint32_t) paused;                           /* nothing is wanted for now */
    _Alignas(64) TRIB_ATOMIC(uint64_t) places[TRIB_PLACES]; /* context's hash above, stream in the low 16 bits */
    trib_seen_table seen;                                   /* signatures and modules that the daemon knows by name */
};

/* The signature of no call path: under it stands what the policy says of such writes by a path that it has not met. */
#define TRIB_SIGNATURE_UNMET UINT64_MAX

/* Where a context's stream stands, and the tag that says that it is this context's. */
static inline uint64_t trib_place_key(const struct trib_context *who) {
    return trib_hash(who, sizeof *who);
}

#endif
