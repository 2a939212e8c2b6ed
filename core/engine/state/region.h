/* SPDX-License-Identifier: Apache-2.0 */
/* Private to core/engine/state: how the region is laid out (docs/formats/state.md) and the calls
 * between its files. Thread safety: as in state.h. Invariants: the geometry never changes after
 * creation; every offset follows from (attributes, runs), so a file whose offsets differ is
 * corrupt; buckets and heap are derived from the rows. */
#ifndef TRIB_STATE_REGION_H
#define TRIB_STATE_REGION_H

#include <pthread.h>

#include "state/state.h"

#define TRIB_STATE_MAGIC          "TRIBSTAT"
#define TRIB_STATE_HEADER_BYTES   4096u
#define TRIB_STATE_BYTE_ORDER     0x01020304u
#define TRIB_STATE_SLOT_BYTES     32u
#define TRIB_STATE_GENERATION_MAX 4095u
#define TRIB_STATE_RETIRED        40u

/* Written once, before the file gets its name. */
struct trib_state_geometry {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    uint32_t byte_order;
    uint32_t retired; /* 40: the size of a lock that files of older writers hold */
    uint32_t row_bytes, slot_bytes;
    uint32_t attributes, buckets; /* buckets: power of two */
    uint32_t runs, reserved;
    uint64_t rows_offset, buckets_offset, heap_offset, slots_offset;
    uint64_t total_bytes;
    uint64_t checksum; /* XXH3 of the bytes before it */
};

struct trib_state_header {
    _Alignas(64) struct trib_state_geometry geometry;
    _Alignas(64) unsigned char retired_lock[64]; /* of older writers; not looked at */
    _Alignas(64) _Atomic(uint64_t) clock_bytes;
    /* Rows taken out of their bucket so far: tells a reader without the lock to look again. */
    _Alignas(64) _Atomic(uint64_t) unlinks;
    _Atomic(uint64_t) evictions;
    _Atomic(uint64_t) interned;  /* source of trib_attribute.order */
    _Atomic(uint32_t) rows_used; /* rows [0, rows_used) are in the heap; grows only */
    _Atomic(uint32_t) rows_keyed;
    uint32_t retired_changing; /* as the lock */
    _Alignas(64) _Atomic(uint64_t) arena_words[TRIB_ARENA_WORDS];
    /* zero to TRIB_STATE_HEADER_BYTES */
};

struct trib_state {
    struct trib_state_header *header;
    struct trib_attribute *rows;
    _Atomic(uint32_t) *buckets; /* row + 1, or 0 */
    uint32_t *heap;             /* rows, the next to evict first */
    void *slots;
    uint64_t total_bytes;
    uint32_t attributes, bucket_mask, runs; /* from the geometry, which was checked */
    int fd;                                 /* holds the file's lock; -1: anonymous */
    pthread_mutex_t lock;
};

_Static_assert(sizeof(struct trib_attribute) == 128, "rows are stored in files");
_Static_assert(sizeof(struct trib_state_geometry) <= 128, "the next line starts at 128");
_Static_assert(sizeof(struct trib_state_header) <= TRIB_STATE_HEADER_BYTES, "one page");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a kill must leave either the old or the new word in the file");

/* layout.c. geometry: fills every field for these capacities. bind: points `state` into a mapped
 * region. */
void trib_state_geometry_fill(struct trib_state_geometry *geometry, uint32_t attributes, uint32_t runs);
void trib_state_bind(struct trib_state *state, void *region, const struct trib_state_geometry *geometry);
/* 0; -EPROTO, -EBADMSG with offset and reason. `bytes` is the size of the file. */
int trib_state_geometry_check(const struct trib_state_geometry *geometry, uint64_t bytes, struct trib_error *error);

/* file.c: maps an existing or new file; on success state->fd holds its lock. */
int trib_state_file_open(struct trib_state *state, const struct trib_state_config *config, struct trib_error *error);

/* verify.c: header counters and rows, read, not mapped. 0, -EBADMSG, -errno. */
int trib_state_verify(int fd, const struct trib_state_geometry *geometry, struct trib_error *error);

/* state.c: makes a region usable whose last user may have been killed: what is derived is rebuilt. */
void trib_state_prepare(struct trib_state *state);

/* table.c: buckets and heap from the rows, before anybody reads. */
void trib_state_table_rebuild(struct trib_state *state);

#endif
