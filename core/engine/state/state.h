/* SPDX-License-Identifier: Apache-2.0 */
/* The state: one mmap-able region that is the memory of Tributary (design: one state file does
 * persistence and live statistics). Header with clock and counters, the
 * attribute table (who writes -> how long it lives, which stream), and the arena of live runs that
 * core/engine/lifetime keeps.
 *
 * Anonymous by default; with a path it is a file that survives the process that has it open. Safe
 * under kill -9 at any moment: fields are atomics written in an order that leaves either the old or
 * the new record, and open() checks and repairs. A corrupt, foreign or future file is refused with
 * offset and reason and never overwritten; so is a second process.
 *
 * Thread safety: lookups and reads are lock-free from any thread; interning, sampling
 * and the run arena need trib_state_lock (the maintenance thread or the replayer holds it for a
 * batch); `who` of a row is plain memory and needs it too. Invariants: a key has at most one row; a
 * row never moves; a row's generation changes whenever its key does. Format: docs/formats/state.md;
 * why: docs/decisions/0004-state-file.md. */
#ifndef TRIB_STATE_STATE_H
#define TRIB_STATE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/attribute.h>
#include <tributary/error.h>
#include <tributary/event.h>

#include "base/atomic.h"

TRIB_C_BEGIN

struct trib_state;

#define TRIB_STATE_VERSION        1
#define TRIB_STATE_ATTRIBUTES_MAX (1u << 20)
#define TRIB_STATE_RUNS_MAX       ((1u << 28) - 1)

struct trib_state_config {
    const char *path;    /* NULL: anonymous */
    uint32_t attributes; /* capacity of the table, 1..TRIB_STATE_ATTRIBUTES_MAX (an existing file
                            keeps its own) */
    uint32_t runs;       /* capacity of the arena of live runs, 1..TRIB_STATE_RUNS_MAX; 32 bytes each
                            (likewise) */
};

/* trib_attribute_ref (tributary/attribute.h): row in the low 20 bits, generation (1..4095) above. */

/* One row: a (salted) signature. Lifetimes in host bytes. Plain loads of the atomics are enough for
 * readers. 128 bytes: what placing a write reads comes first, what recording one changes second, so
 * that the two do not share a line. */
struct trib_attribute {
    TRIB_ATOMIC(uint64_t) key; /* salted signature; 0 = no row */
    struct trib_context who;   /* as first seen: unsalted signature and salts, for people */
    TRIB_ATOMIC(uint32_t) generation;
    TRIB_ATOMIC(uint16_t) stream; /* decided by the policy; 0 = unknown */
    TRIB_ATOMIC(uint16_t) flags;  /* policy's own */
    TRIB_ATOMIC(uint32_t) samples;
    TRIB_ATOMIC(uint32_t) next;             /* private to state: next row + 1 of the bucket */
    TRIB_ATOMIC(double) lifetime_mean;      /* EWMA, bytes; 0 until the first sample */
    TRIB_ATOMIC(double) lifetime_variance;  /* exponentially weighted, bytes^2 */
    TRIB_ATOMIC(double) lifetime_clustered; /* effective lifetime at the last clustering */

    TRIB_ATOMIC(uint64_t) written_bytes;
    TRIB_ATOMIC(uint64_t) died_bytes;
    TRIB_ATOMIC(uint64_t) last_write_bytes; /* clock of the last write; never goes back */
    TRIB_ATOMIC(uint64_t) live_bytes;
    /* Sum over live bytes of their birth clock / 4096: gives the mean censored age. */
    TRIB_ATOMIC(double) live_birth_sum;
    uint64_t stamp;    /* private to state: last_write_bytes as the eviction order knows it */
    uint64_t order;    /* private to state: rows of equal stamps leave in the order they came */
    uint64_t reserved; /* zero */
};

/* 0; -EINVAL (sizes, or the path is no regular file); -ENOMEM; -ENOSPC (the whole file is allocated
 * now, not when it fills); -EPROTO (foreign file or future version); -EBADMSG (corrupt or
 * truncated; error has the offset); -EBUSY (somebody has it open); -EPERM (others may write it); -ELOOP (a symbolic
 * link); other -errno from the file system. */
int trib_state_open(struct trib_state **out, const struct trib_state_config *config, struct trib_error *error);
int trib_state_close(struct trib_state *state); /* 0 or the -errno of the final msync */

void trib_state_lock(struct trib_state *state);
void trib_state_unlock(struct trib_state *state);

/* Moves the logical clock (host bytes written) on; returns its value before. */
uint64_t trib_state_clock_advance(struct trib_state *state, uint64_t bytes);

/* Row of a key. find: lock-free, 0 if absent. intern: adds it, evicting the row least recently
 * written to if the table is full (counted); needs the lock; key 0 gives 0. */
trib_attribute_ref trib_state_find(const struct trib_state *state, uint64_t key);
trib_attribute_ref trib_state_intern(struct trib_state *state, uint64_t key, const struct trib_context *who);

/* The row, or NULL when the reference is 0 or its row was evicted meanwhile. */
struct trib_attribute *trib_state_attribute(const struct trib_state *state, trib_attribute_ref ref);

uint32_t trib_state_attribute_count(const struct trib_state *state);
uint32_t trib_state_attribute_capacity(const struct trib_state *state);
uint64_t trib_state_evictions(const struct trib_state *state);

/* The run arena, for core/engine/lifetime only: `capacity` slots of 32 bytes, zero in a new state, and
 * eight 64-bit words. words[TRIB_ARENA_CHANGING] belongs to both: lifetime sets it around every
 * change, and open sets it because a file may come from a process that was killed inside one. While
 * it is set, everything that can be derived must be rebuilt. */
#define TRIB_ARENA_WORDS    8u
#define TRIB_ARENA_CHANGING 0u
struct trib_state_arena {
    void *slots;
    uint32_t capacity;
    TRIB_ATOMIC(uint64_t) * words;
    bool needs_rebuild; /* words[TRIB_ARENA_CHANGING] at the time of the call */
};
void trib_state_run_arena(struct trib_state *state, struct trib_state_arena *out);

TRIB_C_END
#endif
