/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of each dirty page until it is written: by which call path, how often. A page's note goes into a
 * set of six by its hash and is taken out by the write; a full set gives up its oldest place in turn, counted. 21 bytes
 * per note.
 *
 * The majority of the modifications names the page (Boyer and Moore's vote), because the last one may be a purge's.
 *
 * Thread safety: any thread, and any process that shares the mapping; one lock per set, held for some 20 instructions.
 * Whoever waits too long (its holder was preempted, or killed) goes without, counted. Nothing allocates but open. */
#ifndef TRIB_BUFFER_PAGE_TABLE_H
#define TRIB_BUFFER_PAGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

#include "base/atomic.h"

TRIB_C_BEGIN

#define TRIB_PAGE_WAYS 6

/* Two cache lines, next to each other so that the processor fetches both. */
struct trib_page_set {
    uint64_t key[TRIB_PAGE_WAYS];           /* 0 = free */
    uint16_t modifications[TRIB_PAGE_WAYS]; /* saturates */
    TRIB_ATOMIC(uint32_t) lock;
    uint64_t signature[TRIB_PAGE_WAYS];
    uint16_t votes[TRIB_PAGE_WAYS]; /* by how many modifications `signature` leads; saturates */
    uint16_t hand;                  /* the way that makes room next */
};
#ifndef __cplusplus
_Static_assert(sizeof(struct trib_page_set) == 128, "two cache lines");
#endif

struct trib_page_table {
    struct trib_page_set *sets;
    uint32_t count; /* of sets */
    TRIB_ATOMIC(uint64_t) evicted, contended;
};

struct trib_page_note {
    uint64_t signature;
    uint32_t modifications;
};

/* Room for `frames` dirty pages. shared: with processes forked later. 0; -EINVAL (no frames, more than 2^31); -ENOMEM.
 */
int trib_page_table_open(struct trib_page_table *table, size_t frames, bool shared);
void trib_page_table_close(struct trib_page_table *table);

/* Forgets all, also the locks of who was killed holding one. Nobody else may use the table meanwhile. */
void trib_page_table_clear(struct trib_page_table *table);

/* Numbers below 2^32. Never 0 but for (2^32 - 1, 2^32 - 1), which no engine has. */
static inline uint64_t trib_page_key(uint32_t file, uint32_t page) {
    return ~((uint64_t)file << 32 | page);
}

static inline struct trib_page_set *trib_page_set_of(const struct trib_page_table *table, uint64_t key) {
    uint64_t hash = key * 0x9E3779B97F4A7C15ull;

    hash ^= hash >> 32;
    hash *= 0xD6E8FEB86659FD93ull;
    return &table->sets[(hash >> 32) * table->count >> 32];
}

/* Fetches what note will need, while the caller does something else. */
static inline void trib_page_table_expect(const struct trib_page_table *table, uint64_t key) {
    const struct trib_page_set *set = trib_page_set_of(table, key);

    __builtin_prefetch(set, 1);
    __builtin_prefetch(set->signature, 1);
}

void trib_page_table_note(struct trib_page_table *table, uint64_t key, uint64_t signature);

/* The note of a page that is being written; it is gone then. False if there is none. */
bool trib_page_table_take(struct trib_page_table *table, uint64_t key, struct trib_page_note *out);

/* As if the page's modifications so far had happened under another key: what take gave goes in again. */
void trib_page_table_put(struct trib_page_table *table, uint64_t key, const struct trib_page_note *note);

/* Pages [first, first + count) of a file; count 0 = all of them. */
void trib_page_table_forget(struct trib_page_table *table, uint32_t file, uint32_t first, uint64_t count);

TRIB_C_END
#endif
