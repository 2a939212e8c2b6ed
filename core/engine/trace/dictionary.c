/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "log/assert.h"

int trib_trace_dictionary_init(struct trib_trace_dictionary *dictionary, uint32_t capacity) {
    assert(capacity > 0 && capacity <= 32768 && (capacity & (capacity - 1)) == 0);
    struct trib_trace_dictionary_entry *entries = calloc(capacity, sizeof *entries);
    uint16_t *table = calloc(2 * (size_t)capacity, sizeof *table);
    if (!entries || !table) {
        free(entries);
        free(table);
        return -ENOMEM;
    }
    *dictionary = (struct trib_trace_dictionary){
        .entries = entries, .table = table, .capacity = capacity, .table_mask = 2 * capacity - 1};
    return 0;
}

void trib_trace_dictionary_free(struct trib_trace_dictionary *dictionary) {
    free(dictionary->entries);
    free(dictionary->table);
    *dictionary = (struct trib_trace_dictionary){0};
}

void trib_trace_dictionary_clear(struct trib_trace_dictionary *dictionary) {
    memset(dictionary->entries, 0, dictionary->capacity * sizeof *dictionary->entries);
    memset(dictionary->table, 0, (dictionary->table_mask + 1) * sizeof *dictionary->table);
    dictionary->fresh = dictionary->free_head = dictionary->hand = 0;
}

static uint32_t home_of(const struct trib_trace_dictionary *dictionary, struct trib_trace_dictionary_key key) {
    uint64_t hash = trib_hash_mix(trib_hash_mix(0, key.high), key.low);
    return (uint32_t)(hash >> 32) & dictionary->table_mask;
}

static bool same_key(struct trib_trace_dictionary_key a, struct trib_trace_dictionary_key b) {
    return a.high == b.high && a.low == b.low;
}

/* The table position of the key, or the free one where it belongs. */
static uint32_t probe(const struct trib_trace_dictionary *dictionary, struct trib_trace_dictionary_key key) {
    uint32_t at = home_of(dictionary, key);
    while (dictionary->table[at] && !same_key(dictionary->entries[dictionary->table[at] - 1].key, key))
        at = (at + 1) & dictionary->table_mask;
    return at;
}

uint32_t trib_trace_dictionary_find(struct trib_trace_dictionary *dictionary, struct trib_trace_dictionary_key key) {
    uint32_t slot = dictionary->table[probe(dictionary, key)];
    if (!slot)
        return TRIB_TRACE_DICTIONARY_NONE;
    dictionary->entries[slot - 1].used = true;
    return slot - 1;
}

/* Closes the hole that a removed key leaves, so that probing needs no tombstones. */
static void close_hole(struct trib_trace_dictionary *dictionary, uint32_t hole) {
    uint32_t mask = dictionary->table_mask, at = hole;
    dictionary->table[hole] = 0;
    for (;;) {
        at = (at + 1) & mask;
        if (!dictionary->table[at])
            return;
        uint32_t home = home_of(dictionary, dictionary->entries[dictionary->table[at] - 1].key);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue; /* it would move before its home */
        dictionary->table[hole] = dictionary->table[at];
        dictionary->table[at] = 0;
        hole = at;
    }
}

static uint32_t evict(struct trib_trace_dictionary *dictionary) {
    for (;;) {
        uint32_t slot = dictionary->hand;
        dictionary->hand = (slot + 1) & (dictionary->capacity - 1);
        if (dictionary->entries[slot].used) {
            dictionary->entries[slot].used = false;
            continue;
        }
        close_hole(dictionary, probe(dictionary, dictionary->entries[slot].key));
        return slot;
    }
}

uint32_t trib_trace_dictionary_add(struct trib_trace_dictionary *dictionary, struct trib_trace_dictionary_key key) {
    uint32_t slot;
    if (dictionary->free_head) {
        slot = dictionary->free_head - 1;
        dictionary->free_head = dictionary->entries[slot].next_free;
    } else if (dictionary->fresh < dictionary->capacity) {
        slot = dictionary->fresh++;
    } else {
        slot = evict(dictionary);
    }
    uint32_t at = probe(dictionary, key);
    assert(!dictionary->table[at]);
    dictionary->entries[slot] = (struct trib_trace_dictionary_entry){.key = key, .used = true};
    dictionary->table[at] = (uint16_t)(slot + 1);
    return slot;
}

void trib_trace_dictionary_remove(struct trib_trace_dictionary *dictionary, struct trib_trace_dictionary_key key) {
    uint32_t at = probe(dictionary, key), slot = dictionary->table[at];
    if (!slot)
        return;
    close_hole(dictionary, at);
    dictionary->entries[slot - 1].next_free = dictionary->free_head;
    dictionary->free_head = slot;
}
