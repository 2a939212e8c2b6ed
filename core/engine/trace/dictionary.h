/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded set of 128-bit keys that gives each a small number. When it is full, a newcomer takes
 * the slot of a key that was not used lately (second chance); a removed key's slot is the next to
 * be given away, so that numbers stay small. Deterministic: the same calls give the same slots.
 * Memory is allocated once. Thread safety: one owner. */
#ifndef TRIB_TRACE_DICTIONARY_H
#define TRIB_TRACE_DICTIONARY_H

#include <stdbool.h>
#include <stdint.h>

#define TRIB_TRACE_DICTIONARY_NONE UINT32_MAX

struct trib_trace_dictionary_key {
    uint64_t high, low;
};

struct trib_trace_dictionary_entry {
    struct trib_trace_dictionary_key key;
    uint32_t next_free; /* slot + 1; 0 ends the list */
    bool used;          /* since the hand last passed */
};

struct trib_trace_dictionary {
    struct trib_trace_dictionary_entry *entries;
    uint16_t *table; /* slot + 1; 0 = free; linear probing, at most half full */
    uint32_t capacity, table_mask;
    uint32_t fresh; /* slots below have been given away at least once */
    uint32_t free_head, hand;
};

/* capacity: a power of two up to 32768. 0 or -ENOMEM. */
int trib_trace_dictionary_init(struct trib_trace_dictionary *dictionary, uint32_t capacity);
void trib_trace_dictionary_free(struct trib_trace_dictionary *dictionary);
void trib_trace_dictionary_clear(struct trib_trace_dictionary *dictionary);

/* The key's slot, or TRIB_TRACE_DICTIONARY_NONE. */
uint32_t trib_trace_dictionary_find(struct trib_trace_dictionary *dictionary, struct trib_trace_dictionary_key key);

/* Gives a slot to a key that has none. */
uint32_t trib_trace_dictionary_add(struct trib_trace_dictionary *dictionary, struct trib_trace_dictionary_key key);

/* No effect if the key has no slot. */
void trib_trace_dictionary_remove(struct trib_trace_dictionary *dictionary, struct trib_trace_dictionary_key key);

#endif
