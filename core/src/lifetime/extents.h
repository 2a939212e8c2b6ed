/* SPDX-License-Identifier: Apache-2.0 */
/* Live extents: which byte ranges of which file are alive, who wrote them, and when (the papers' live-LBA tree, FAST'19
 * section 5.2; there 1-MB nodes, here runs). A run is one extent of one file with one writer and one stream; it grows
 * while the same writer appends, its birth then the byte-weighted mean. 32 bytes per run, no per-block state.
 * Lifetime of data = host bytes written between its birth and its death; garbage collection never resets it.
 *
 * Thread safety: the caller holds trib_state_lock. Memory: the state's arena; a full arena drops the new run, which is
 * counted, and its death will go unseen. Invariant: runs of a file never overlap. */
#ifndef TRIB_LIFETIME_EXTENTS_H
#define TRIB_LIFETIME_EXTENTS_H

#include <tributary/error.h>
#include <stdint.h>

#include "state/state.h"

TRIB_C_BEGIN

struct trib_extents;

/* Data that just died: one call per (request, extent). */
struct trib_death {
    trib_attribute_ref attribute; /* who wrote it; its row may have been evicted */
    uint64_t file, offset_bytes, length_bytes;
    uint64_t age_bytes; /* its lifetime */
    uint16_t stream;    /* where it had been put */
    uint8_t cause;      /* enum trib_cause */
};
typedef void trib_death_fn(void *arg, const struct trib_death *death);

int trib_extents_open(struct trib_extents **out, struct trib_state *state); /* rebuilds its index from the arena */
void trib_extents_close(struct trib_extents *extents);

/* [offset, offset + length) is written by `attribute` at `clock_bytes`; what it overwrites dies first. 0; -EINVAL
 * (zero length, overflow); -ENOSPC (arena full: counted, the deaths did happen). */
int trib_extents_write(struct trib_extents *extents, const struct trib_event *write, trib_attribute_ref attribute,
                       uint64_t clock_bytes, trib_death_fn *died, void *arg);

/* [offset, offset + length) of the file dies; length may be TRIB_LENGTH_TO_END. 0 or -EINVAL. */
int trib_extents_kill(struct trib_extents *extents, const struct trib_event *death, uint64_t clock_bytes,
                      trib_death_fn *died, void *arg);

/* Every live run as if it died now (right-censored lifetimes), in no particular order; nothing changes. */
void trib_extents_visit(const struct trib_extents *extents, uint64_t clock_bytes, trib_death_fn *visit, void *arg);

struct trib_extents_stats {
    uint64_t runs, runs_dropped, live_bytes;
};
void trib_extents_statistics(const struct trib_extents *extents, struct trib_extents_stats *out);

TRIB_C_END
#endif
