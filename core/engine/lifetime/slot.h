/* SPDX-License-Identifier: Apache-2.0 */
/* Private to core/engine/lifetime: the 32-byte slots of the arena (docs/formats/state.md, "Slots") and
 * access to them.
 *
 * Three kinds of live slot. RUN: one run of a file that has a HEAD. HEAD: a file, root of the tree
 * of its runs. SINGLE: a file and its only run, which starts at offset 0, so that an append-only
 * file costs one slot.
 *
 *            bits 63..                                            ..0
 *   word 0   birth / 64 bytes: 50 | RUN: high 12 bits of its file | kind: 2
 *   word 1   RUN, SINGLE: reference to a row: 32 | length: 32     HEAD: root: 32 (low)
 *   word 2   right: 28 | left: 28 | stream: 8
 *   word 3   RUN: offset: 48 | low 16 bits of its file            HEAD, SINGLE: file identity
 *
 * Word 3 is the key of the tree that the slot is in, in place. Slots are named 1..capacity, 0 is
 * none. Words 0, 1 and 3 and the stream are the truth; left, right and root are derived. A RUN's
 * file is the slot of its HEAD.
 *
 * Killed in between: words are stored one by one, in program order. A slot becomes live by its word
 * 0, stored last, and dies by word 0, stored first. Changes in place leave at worst a run that is
 * too short.
 *
 * Thread safety: trib_state_lock. Other processes may scribble: whoever takes a slot number out of
 * the arena checks it. */
#ifndef TRIB_LIFETIME_SLOT_H
#define TRIB_LIFETIME_SLOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lifetime/extents.h"

enum trib_slot_kind { TRIB_SLOT_FREE = 0, TRIB_SLOT_RUN = 1, TRIB_SLOT_HEAD = 2, TRIB_SLOT_SINGLE = 3 };

struct trib_slot {
    _Atomic(uint64_t) words[4];
};

/* Words of the arena; TRIB_ARENA_CHANGING is 0. */
enum {
    TRIB_WORD_SLOTS_TOUCHED = 1, /* slots 1..n were in use at some time */
    TRIB_WORD_FREE = 2,          /* first of the free slots among them, chained by `left` */
    TRIB_WORD_FILES = 3,         /* root of the tree of files */
    TRIB_WORD_RUNS = 4,
    TRIB_WORD_LIVE_BYTES = 5,
    TRIB_WORD_RUNS_DROPPED = 6,
    TRIB_WORD_SLOTS_USED = 7,
};

#define TRIB_FILE_CACHE   1024u
#define TRIB_GROWTH_CACHE 64u

/* The rest of a growing run's mean: sum over its bytes of their birth = (64 * birth) * length +
 * rest. */
struct trib_growth {
    uint32_t slot, length;
    uint64_t birth;
    unsigned __int128 rest;
};

struct trib_extents {
    struct trib_slot *slots; /* of the arena; number 1 is slots[0] */
    _Atomic(uint64_t) *words;
    struct trib_state *state;
    uint32_t capacity;
    bool damaged;                         /* the index contradicted itself: leave TRIB_ARENA_CHANGING set, so that it is
                                             rebuilt */
    uint32_t file_cache[TRIB_FILE_CACHE]; /* hash of a file -> a slot to try first */
    struct trib_growth growth[TRIB_GROWTH_CACHE];
    uint32_t *hints;    /* hints.c: block of a large file -> a slot to try before the tree */
    uint32_t hint_mask; /* entries - 1 */
};

/* A run, unpacked. */
struct trib_run {
    uint64_t offset_bytes;
    uint64_t birth; /* units of TRIB_BIRTH_BYTES */
    uint32_t length_bytes;
    uint32_t attribute;
    uint32_t file; /* slot of its HEAD; 0 for a SINGLE */
    uint8_t stream;
};

#define TRIB_BIRTH_BYTES   64u
#define TRIB_BIRTH_MAX     ((1ull << 50) - 1)
#define TRIB_LINK_MASK     ((1u << 28) - 1)
#define TRIB_STREAM_OTHER  255u
#define TRIB_RUN_BYTES_MAX (UINT32_MAX & ~(TRIB_BLOCK_BYTES - 1))

/* ---- words ---- */

static inline uint64_t trib_word(const struct trib_extents *x, uint32_t slot, unsigned word) {
    return atomic_load_explicit(&x->slots[slot - 1].words[word], memory_order_relaxed);
}

/* Stores stay in program order: a kill may fall between any two. */
static inline void trib_word_set(struct trib_extents *x, uint32_t slot, unsigned word, uint64_t v) {
    atomic_store_explicit(&x->slots[slot - 1].words[word], v, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

static inline uint64_t trib_count(const struct trib_extents *x, unsigned word) {
    return atomic_load_explicit(&x->words[word], memory_order_relaxed);
}

static inline void trib_count_set(struct trib_extents *x, unsigned word, uint64_t value) {
    atomic_store_explicit(&x->words[word], value, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

/* A slot number out of shared memory: 0 unless the arena has it. */
static inline uint32_t trib_slot_checked(const struct trib_extents *x, uint64_t slot) {
    return slot <= x->capacity ? (uint32_t)slot : 0;
}

/* ---- fields ---- */

static inline enum trib_slot_kind trib_slot_kind(const struct trib_extents *x, uint32_t slot) {
    return (enum trib_slot_kind)(trib_word(x, slot, 0) & 3);
}

static inline uint64_t trib_slot_key(const struct trib_extents *x, uint32_t slot) {
    return trib_word(x, slot, 3);
}

static inline uint32_t trib_slot_length(const struct trib_extents *x, uint32_t slot) {
    return (uint32_t)trib_word(x, slot, 1);
}

static inline uint64_t trib_slot_birth(const struct trib_extents *x, uint32_t slot) {
    return trib_word(x, slot, 0) >> 14;
}

static inline uint64_t trib_run_key(uint64_t offset_bytes, uint32_t file) {
    return offset_bytes << 16 | (file & 0xFFFF);
}

static inline uint64_t trib_run_offset(const struct trib_extents *x, uint32_t slot) {
    return trib_slot_key(x, slot) >> 16;
}

static inline uint64_t trib_run_end(const struct trib_extents *x, uint32_t slot) {
    return trib_run_offset(x, slot) + trib_slot_length(x, slot);
}

static inline void trib_slot_set_length(struct trib_extents *x, uint32_t slot, uint32_t length) {
    trib_word_set(x, slot, 1, (trib_word(x, slot, 1) & ~0xFFFFFFFFull) | length);
}

static inline void trib_slot_set_birth(struct trib_extents *x, uint32_t slot, uint64_t birth) {
    trib_word_set(x, slot, 0, (trib_word(x, slot, 0) & 0x3FFF) | birth << 14);
}

/* arena.c. Free slot or 0; it stays FREE until its word 0 is set. */
uint32_t trib_slot_take(struct trib_extents *x);
void trib_slot_release(struct trib_extents *x, uint32_t slot);
void trib_run_read(const struct trib_extents *x, uint32_t slot, struct trib_run *run);
/* Makes a taken slot a live RUN (run->file != 0) or a SINGLE of file `identity`; links are left as
 * they are. */
void trib_run_store(struct trib_extents *x, uint32_t slot, const struct trib_run *run, uint64_t identity);
/* A taken slot becomes the HEAD of a file without runs. */
void trib_head_store(struct trib_extents *x, uint32_t slot, uint64_t identity);
/* Per-attribute sums; sign of the change by name. */
void trib_account_born(struct trib_extents *x, const struct trib_run *run, uint64_t bytes);
void trib_account_gone(struct trib_extents *x, const struct trib_run *run, uint64_t bytes);

/* grow.c: a run gets `bytes` more at its end, born at clock_bytes; its birth becomes the
 * byte-weighted mean. */
void trib_run_grow(struct trib_extents *x, uint32_t slot, uint32_t bytes, uint64_t clock_bytes);
/* Remembers the exact birth of a run that may grow, and that a run was cut to a new length. */
void trib_growth_note(struct trib_extents *x, uint32_t slot, uint64_t clock_bytes);
void trib_growth_cut(struct trib_extents *x, uint32_t slot, uint32_t old_length);

/* hints.c: a memory of this handle that finds runs of large trees without a walk. What it says is
 * checked against the slots, so that it may be wrong, and other processes need not know it. open: 0
 * or -ENOMEM. */
int trib_hints_open(struct trib_extents *x);
void trib_hints_close(struct trib_extents *x);
void trib_hint_set(struct trib_extents *x, uint32_t head, uint32_t slot);
/* The run of `head` that starts or ends at offset_bytes, or 0 if nothing is known. For the end,
 * `length_bytes` is the length to expect. */
uint32_t trib_hint_starting(const struct trib_extents *x, uint32_t head, uint64_t offset_bytes);
uint32_t trib_hint_ending(const struct trib_extents *x, uint32_t head, uint64_t offset_bytes, uint32_t length_bytes);

/* rebuild.c: counters, trees and free slots from the live slots; drops what no kill can have left.
 */
void trib_extents_rebuild(struct trib_extents *x);

#endif
