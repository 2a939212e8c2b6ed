/* SPDX-License-Identifier: Apache-2.0 */
#include "memo.h"

#include <string.h>

#include "base/breaker.h"

/* Each number by itself: a handler that jumps out of an insertion leaves a new one beside an old one. */
static bool is_sound(const struct trib_memo_entry *set, uint32_t used) {
    bool sound = used <= TRIB_MEMO_ARENA_WORDS;

    for (unsigned way = 0; way < TRIB_MEMO_WAYS; way++)
        sound = sound && set[way].first < TRIB_MEMO_ARENA_WORDS && set[way].count <= TRIB_MEMO_ARENA_WORDS;
    return sound;
}

/* A free way, else the one whose words are oldest: the arena fills upwards, so `first` is an age.
 */
static struct trib_memo_entry *victim(struct trib_memo_entry *set) {
    struct trib_memo_entry *oldest = set;
    for (unsigned way = 0; way < TRIB_MEMO_WAYS; way++) {
        if (!set[way].key)
            return &set[way];
        if (set[way].first < oldest->first)
            oldest = &set[way];
    }
    return oldest;
}

/* Entries go with words: a memo without words has none, and its pages stay untouched. */
void trib_memo_clear(struct trib_memo *memo, uint32_t *used) {
    if (*used == 0)
        return;
    memset(memo->entry, 0, sizeof memo->entry);
    *used = 0;
}

void trib_memo_insert(struct trib_memo *memo, uint32_t *used, uint64_t key, uint64_t signature,
                      const uint32_t *distance, unsigned words) {
    uintptr_t frame = (uintptr_t)(key >> 3) & ~(uintptr_t)7;
    uint32_t count = (words + 3) & ~3u, size = count + count / 2;
    if (words == 0 || size > TRIB_MEMO_ARENA_WORDS)
        return;
    struct trib_memo_entry *set = trib_memo_set(memo, key, trib_stack_word(frame + distance[0]));
    if (!is_sound(set, *used)) {
        trib_break(TRIB_CHECK_MEMO);
        *used = TRIB_MEMO_ARENA_WORDS; /* nobody knows: all of it */
        trib_memo_clear(memo, used);
    }
    if (size > TRIB_MEMO_ARENA_WORDS - *used)
        trib_memo_clear(memo, used);
    struct trib_memo_entry *entry = victim(set);
    uint64_t *value = &memo->arena[*used];
    uint32_t *kept = (uint32_t *)(value + count);
    for (uint32_t i = 0; i < count; i++) {
        kept[i] = distance[i < words ? i : 0];
        value[i] = trib_stack_word(frame + kept[i]);
    }
    *entry = (struct trib_memo_entry){.key = key, .signature = signature, .first = *used, .count = count};
    *used += size;
}
