/* SPDX-License-Identifier: Apache-2.0 */
/* The verified memo of one thread: frame address and depth -> signature, with the stack words that
 * prove it. A lookup compares every word that the walk once depended on; if all are unchanged the
 * walk would come to the same path, so a hit is exact, not a guess (also with alloca and variable
 * frames, whose saved rbp is among the words).
 *
 * Thread safety: one owner thread. Invariant: words of an entry lie in the owner's stack above
 * `frame`. */
#ifndef TRIB_SIGNATURE_MEMO_H
#define TRIB_SIGNATURE_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

#include "base/hash.h"
#include "stack.h"

#define TRIB_CACHE_LINE       __attribute__((aligned(64)))
#define TRIB_MEMO_WAYS        4u /* per frame address, for paths that differ further out */
#define TRIB_MEMO_SETS        64u
#define TRIB_MEMO_ARENA_WORDS 4096u /* 32 KiB: about 225 paths of depth 12 */

struct trib_memo_entry {
    uint64_t key; /* frame and depth; 0 = free */
    uint64_t signature;
    /* In the arena: `count` values, then `count` 32-bit distances from the frame. A multiple of 4,
     * padded by repeating the first word, so that the compare loop has no tail. */
    uint32_t first, count;
    uint64_t padding; /* 32 bytes: a set is two cache lines */
};

/* The arena comes first: its beginning shares a page with what is before the memo, which a first capture touches,
 * too. */
struct trib_memo {
    TRIB_CACHE_LINE uint64_t arena[TRIB_MEMO_ARENA_WORDS];
    TRIB_CACHE_LINE struct trib_memo_entry entry[TRIB_MEMO_SETS * TRIB_MEMO_WAYS];
};

static inline uint64_t trib_memo_key(uintptr_t frame, unsigned depth) {
    return (uint64_t)frame << 3 | depth; /* frames are 8-aligned, depths below 64 */
}

static inline struct trib_memo_entry *trib_memo_set(struct trib_memo *memo, uint64_t key, uint64_t return_address) {
    uint64_t hash = (key ^ return_address << 5) * 0x9E3779B97F4A7C15ull;
    return &memo->entry[(hash >> 32) % TRIB_MEMO_SETS * TRIB_MEMO_WAYS];
}

static inline uint64_t trib_memo_difference(const uint64_t *value, const uint32_t *distance, uintptr_t frame) {
    return value[0] ^ trib_stack_word(frame + distance[0]);
}

/* Are all words of the entry as they were? The loads do not depend on each other, so they overlap.
 */
static inline bool trib_memo_verify(const struct trib_memo *memo, const struct trib_memo_entry *entry,
                                    uintptr_t frame) {
    const uint64_t *value = &memo->arena[entry->first];
    const uint32_t *distance = (const uint32_t *)(value + entry->count);
    uint64_t difference = 0;
    for (uint32_t i = 0; i < entry->count; i += 4) {
        difference |= trib_memo_difference(value + i, distance + i, frame);
        difference |= trib_memo_difference(value + i + 1, distance + i + 1, frame);
        difference |= trib_memo_difference(value + i + 2, distance + i + 2, frame);
        difference |= trib_memo_difference(value + i + 3, distance + i + 3, frame);
    }
    return difference == 0;
}

TRIB_C_BEGIN

/* Remembers a path. distance: of its words from the frame, distance[0] = 8, that of the first return address. `used` is
 * the owner's fill mark of the arena. A full arena forgets everything first. */
void trib_memo_insert(struct trib_memo *memo, uint32_t *used, uint64_t key, uint64_t signature,
                      const uint32_t *distance, unsigned words);

void trib_memo_clear(struct trib_memo *memo, uint32_t *used);

TRIB_C_END

#endif
