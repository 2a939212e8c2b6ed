/* SPDX-License-Identifier: Apache-2.0 */
/* The state: one mmap-able region that is the memory of Tributary (design: one state file does persistence,
 * multi-process sharing and live statistics). Header with clock and counters, the attribute table (who writes -> how
 * long it lives, which stream), and the arena of live runs that core/src/lifetime keeps.
 *
 * Anonymous by default; with a path it is a file that survives the process and may be shared. Safe under kill -9 at
 * any moment: fields are atomics written in an order that leaves either the old or the new record, and open() checks
 * and repairs. A corrupt, foreign or future file is refused with offset and reason and never overwritten.
 *
 * Thread safety: lookups and reads are lock-free from any thread; interning, sampling and clearing need
 * trib_state_lock (the maintenance thread or the replayer holds it for a batch). Format: docs/formats/state.md. */
#ifndef TRIB_STATE_STATE_H
#define TRIB_STATE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>
#include <tributary/event.h>

#include "base/atomic.h"

TRIB_C_BEGIN

struct trib_state;

struct trib_state_config {
    const char *path;    /* NULL: anonymous */
    uint32_t attributes; /* capacity of the table, 1..2^20 (an existing file keeps its own) */
    uint32_t runs;       /* capacity of the arena of live runs, 1..2^31; 32 bytes each */
};

/* Reference to an attribute that notices eviction: index in the low 20 bits, generation above. 0 = none. */
typedef uint32_t trib_attribute_ref;

/* One row: a (salted) signature. Lifetimes in host bytes. Plain loads of the atomics are enough for readers. */
struct trib_attribute {
    TRIB_ATOMIC(uint64_t) key;            /* salted signature; 0 = free row */
    struct trib_context who;         /* as first seen: unsalted signature and salts, for people */
    TRIB_ATOMIC(uint64_t) written_bytes;
    TRIB_ATOMIC(uint64_t) died_bytes;
    TRIB_ATOMIC(uint64_t) last_write_bytes; /* clock of the last write, for eviction */
    TRIB_ATOMIC(uint64_t) live_bytes;
    TRIB_ATOMIC(double) live_birth_sum;   /* sum over live bytes of their birth clock / 4096; gives the mean censored age */
    TRIB_ATOMIC(double) lifetime_mean;    /* EWMA, bytes; 0 until the first sample */
    TRIB_ATOMIC(double) lifetime_variance; /* EWMA of squared deviation, bytes^2 */
    TRIB_ATOMIC(double) lifetime_clustered; /* effective lifetime at the last clustering */
    TRIB_ATOMIC(uint32_t) samples;
    TRIB_ATOMIC(uint32_t) generation;
    TRIB_ATOMIC(uint16_t) stream;         /* decided by the policy; 0 = unknown */
    TRIB_ATOMIC(uint16_t) flags;          /* policy's own */
};

/* 0; -EINVAL (sizes); -ENOMEM; -EPROTO (foreign file or future version); -EBADMSG (corrupt; error has the offset);
 * -EBUSY (an exclusive user holds it); other -errno from the file system. */
int trib_state_open(struct trib_state **out, const struct trib_state_config *config, struct trib_error *error);
int trib_state_close(struct trib_state *state); /* 0 or the -errno of the final msync */

void trib_state_lock(struct trib_state *state); /* robust across processes; recovers from a dead owner */
void trib_state_unlock(struct trib_state *state);

/* Logical clock: host bytes written over all processes that share the state. advance returns the value before. */
uint64_t trib_state_clock(const struct trib_state *state);
uint64_t trib_state_clock_advance(struct trib_state *state, uint64_t bytes);

/* Row of a key. find: lock-free, 0 if absent. intern: adds it, evicting the row least recently written to if the
 * table is full (counted); needs the lock; key 0 gives 0. */
trib_attribute_ref trib_state_find(const struct trib_state *state, uint64_t key);
trib_attribute_ref trib_state_intern(struct trib_state *state, uint64_t key, const struct trib_context *who);

/* The row, or NULL when the reference is 0 or its row was evicted meanwhile. */
struct trib_attribute *trib_state_attribute(const struct trib_state *state, trib_attribute_ref ref);

/* Rows in index order: pass 0 first, then the returned cursor + 1; returns 0 when there are no more. */
uint32_t trib_state_next(const struct trib_state *state, uint32_t from, trib_attribute_ref *ref);

uint32_t trib_state_attribute_count(const struct trib_state *state);
uint32_t trib_state_attribute_capacity(const struct trib_state *state);
uint64_t trib_state_evictions(const struct trib_state *state);

/* The run arena, for core/src/lifetime only: `capacity` slots of 32 bytes, and four 64-bit words of its own. */
struct trib_state_arena {
    void *slots;
    uint32_t capacity;
    TRIB_ATOMIC(uint64_t) *words;
    bool needs_rebuild; /* an owner died inside a change, or the file was just opened */
};
void trib_state_run_arena(struct trib_state *state, struct trib_state_arena *out);

TRIB_C_END
#endif
