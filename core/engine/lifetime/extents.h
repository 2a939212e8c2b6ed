/* SPDX-License-Identifier: Apache-2.0 */
/* Live extents: which byte ranges of which file are alive, who wrote them, and when (the papers'
 * live-LBA tree, FAST'19 section 5.2; there 1-MB nodes, here runs). A run is one extent of one file
 * with one writer and one stream; it grows while the same writer appends, its birth then the
 * byte-weighted mean. 32 bytes per run, no per-block state. Lifetime of data = host bytes written
 * between its birth and its death; garbage collection never resets it.
 *
 * What grows: a write that begins where a run of the same attribute and stream ends, if it appends
 * to the file (nothing lies behind it and it overwrites nothing) or if that run is at most
 * TRIB_EXTENTS_MERGE_BYTES old, as with a circular log; never a random overwrite beside old data,
 * whose birth would be falsified.
 *
 * Precision: births are kept in units of 64 bytes; a growing run keeps the rest of the division in
 * a small cache of the handle, so that millions of small appends do not add up their rounding.
 * Streams beyond 254 are reported as TRIB_STREAM_UNDECIDED. Offsets end at 2^48.
 *
 * Per attribute, this room keeps written_bytes, died_bytes, live_bytes, live_birth_sum and
 * last_write_bytes.
 *
 * Thread safety: the caller holds trib_state_lock (open and close do not need it). Memory: the
 * state's arena; a full arena drops the new run, which is counted, and its death will go unseen.
 * Invariants: runs of a file never overlap; live_bytes of a row is the sum of its runs. Killed at
 * any moment: runs are the truth, the index is rebuilt from them by whoever comes next. */
#ifndef TRIB_LIFETIME_EXTENTS_H
#define TRIB_LIFETIME_EXTENTS_H

#include <stdint.h>
#include <tributary/error.h>

#include "state/state.h"

TRIB_C_BEGIN

#define TRIB_EXTENTS_MERGE_BYTES (1u << 20)
#define TRIB_EXTENTS_OFFSET_MAX  (1ull << 48)

struct trib_extents;

/* Must not call back into the extents. The rows' live_bytes do not count the data any more. */
typedef void trib_death_fn(void *arg, const struct trib_death *death);

/* 0 or -ENOMEM. The first call below that finds the arena marked as changing rebuilds the index. */
int trib_extents_open(struct trib_extents **out, struct trib_state *state);
void trib_extents_close(struct trib_extents *extents);

/* [offset, offset + length) is written by `attribute` at `clock_bytes`; what it overwrites dies
 * first. 0; -EINVAL (zero length, overflow); -ENOSPC (arena full: counted, the deaths did happen).
 * written_bytes counts either way. */
int trib_extents_write(struct trib_extents *extents, const struct trib_event *write, trib_attribute_ref attribute,
                       uint64_t clock_bytes, trib_death_fn *died, void *arg);

/* [offset, offset + length) of the file dies; length may be TRIB_LENGTH_TO_END. 0 or -EINVAL (zero
 * length, overflow). A hole punched with a full arena drops what lies behind it, counted. */
int trib_extents_kill(struct trib_extents *extents, const struct trib_event *death, uint64_t clock_bytes,
                      trib_death_fn *died, void *arg);

/* Every live run as if it died now (right-censored lifetimes), in no particular order; nothing
 * changes. */
void trib_extents_visit(const struct trib_extents *extents, uint64_t clock_bytes, trib_death_fn *visit, void *arg);

struct trib_extents_stats {
    uint64_t runs, runs_dropped, live_bytes;
    uint64_t slots; /* of 32 bytes in use: runs, and one per file that has more than one run or a
                       hole at its start */
};
void trib_extents_statistics(const struct trib_extents *extents, struct trib_extents_stats *out);

TRIB_C_END
#endif
