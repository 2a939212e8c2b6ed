/* SPDX-License-Identifier: Apache-2.0 */
/* Private to core/engine/lifetime: one write or death on its way through files, deaths and births.
 * Thread safety: trib_state_lock. Every function leaves trees and sums consistent, or sets
 * x->damaged. */
#ifndef TRIB_LIFETIME_REQUEST_H
#define TRIB_LIFETIME_REQUEST_H

#include "lifetime/tree.h"

/* The range that a request takes, and whom to tell. */
struct trib_request {
    struct trib_extents *x;
    uint64_t file, from, to; /* [from, to) */
    uint64_t clock_bytes;
    trib_death_fn *died; /* may be NULL */
    void *arg;
    uint8_t cause;
    /* of a write */
    uint8_t stream; /* as stored */
    trib_attribute_ref attribute;
    bool overwrites; /* something in the range was alive */
};

static inline uint64_t trib_smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static inline uint16_t trib_stream_reported(uint8_t stream) {
    return stream == TRIB_STREAM_OTHER ? TRIB_STREAM_UNDECIDED : stream;
}

static inline void trib_count_dropped(struct trib_extents *x) {
    trib_count_set(x, TRIB_WORD_RUNS_DROPPED, trib_count(x, TRIB_WORD_RUNS_DROPPED) + 1);
}

/* files.c: HEAD or SINGLE of a file, or 0; a slot that became one enters or leaves the tree of
 * files. */
uint32_t trib_file_find(struct trib_extents *x, uint64_t file);
void trib_file_add(struct trib_extents *x, uint32_t slot, uint64_t file);
void trib_file_remove(struct trib_extents *x, uint32_t slot);
/* A SINGLE becomes a HEAD with one RUN. False: the arena is full, nothing changed. */
bool trib_file_split(struct trib_extents *x, uint32_t slot);

/* death.c: the range of the file at `slot` dies; the slot goes if nothing of the file is left. */
void trib_request_clear(struct trib_request *r, uint32_t slot);
/* [from, to) of `run`, already taken out of the index, is dead. */
void trib_request_report(struct trib_request *r, const struct trib_run *run, uint64_t from, uint64_t to);

/* birth.c: `bytes` at `from`, a free part of the range, are born. False: the arena is full. */
bool trib_request_insert(struct trib_request *r, uint64_t from, uint32_t bytes);
/* The range is exactly one run of `head` and was overwritten in its slot; false: nothing changed.
 */
bool trib_request_overwrite(struct trib_request *r, uint32_t head);

#endif
