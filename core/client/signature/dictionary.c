/* SPDX-License-Identifier: Apache-2.0 */
#include "dictionary.h"

#include <errno.h>
#include <stddef.h>

#include "base/memory.h"

#define FRAMES_MEAN 16u

int trib_dictionary_open(struct trib_dictionary *dictionary, uint32_t capacity) {
    if (capacity == 0 || capacity > 1u << 20)
        return -EINVAL;
    uint32_t slots = 2;
    while (slots < 2 * capacity)
        slots *= 2;
    uint32_t frames = capacity * FRAMES_MEAN;
    struct trib_dictionary_slot *slot = trib_memory_map(slots * sizeof *slot);
    TRIB_ATOMIC(uint64_t) *frame = trib_memory_map(frames * sizeof *frame);
    if (!slot || !frame) {
        if (slot)
            trib_memory_unmap(slot, 0, slots * sizeof *slot);
        if (frame)
            trib_memory_unmap(frame, 0, frames * sizeof *frame);
        return -ENOMEM;
    }
    *dictionary = (struct trib_dictionary){
        .capacity = capacity, .slots = slots, .frames_max = frames, .slot = slot, .frame = frame};
    return 0;
}

void trib_dictionary_trim(struct trib_dictionary *dictionary) {
    uint32_t all = dictionary->frames_max, used = atomic_exchange(&dictionary->frames_used, all);

    if (dictionary->frame)
        trib_memory_unmap(dictionary->frame, used * sizeof *dictionary->frame, all * sizeof *dictionary->frame);
}

/* The slot that holds the signature, or the free one where it belongs. There is always a free one.
 */
static struct trib_dictionary_slot *probe(const struct trib_dictionary *dictionary, uint64_t signature,
                                          uint64_t *present) {
    uint32_t index = (uint32_t)(signature >> 32 ^ signature);
    for (;; index++) {
        struct trib_dictionary_slot *slot = &dictionary->slot[index & (dictionary->slots - 1)];
        *present = atomic_load_explicit(&slot->signature, memory_order_acquire);
        if (*present == signature || *present == 0)
            return slot;
    }
}

/* Counts one more of `step` up to `most`; false if that would be too many. */
static bool take(TRIB_ATOMIC(uint32_t) * counter, uint32_t step, uint32_t most, uint32_t *first) {
    *first = atomic_load_explicit(counter, memory_order_relaxed);
    do {
        if (*first + step > most)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(counter, first, *first + step, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

/* Claims the signature's slot; NULL if another thread was faster. */
static struct trib_dictionary_slot *claim(struct trib_dictionary *dictionary, uint64_t signature) {
    for (;;) {
        uint64_t present;
        struct trib_dictionary_slot *slot = probe(dictionary, signature, &present);
        if (present == signature)
            return NULL;
        if (atomic_compare_exchange_strong_explicit(&slot->signature, &present, signature, memory_order_acq_rel,
                                                    memory_order_relaxed))
            return slot;
    }
}

bool trib_dictionary_add(struct trib_dictionary *dictionary, uint64_t signature, const uint64_t *frame,
                         unsigned frames) {
    uint32_t first, number;
    if (trib_dictionary_find(dictionary, signature, NULL, 0))
        return true;
    if (!take(&dictionary->signatures, 1, dictionary->capacity, &number))
        goto full;
    if (!take(&dictionary->frames_used, frames, dictionary->frames_max, &first)) {
        atomic_fetch_sub_explicit(&dictionary->signatures, 1, memory_order_relaxed);
        goto full;
    }
    for (unsigned i = 0; i < frames; i++)
        atomic_store_explicit(&dictionary->frame[first + i], frame[i], memory_order_relaxed);
    struct trib_dictionary_slot *slot = claim(dictionary, signature);
    if (slot)
        atomic_store_explicit(&slot->where, (uint64_t)first << 8 | frames, memory_order_release);
    else /* the other thread's frames serve, ours stay unused */
        atomic_fetch_sub_explicit(&dictionary->signatures, 1, memory_order_relaxed);
    return true;
full:
    atomic_fetch_add_explicit(&dictionary->dropped, 1, memory_order_relaxed);
    return false;
}

unsigned trib_dictionary_find(const struct trib_dictionary *dictionary, uint64_t signature, uint64_t *frame,
                              unsigned capacity) {
    uint64_t present;
    if (signature == TRIB_SIGNATURE_UNKNOWN || !dictionary->slot)
        return 0;
    const struct trib_dictionary_slot *slot = probe(dictionary, signature, &present);
    if (present != signature)
        return 0;
    uint64_t where = atomic_load_explicit(&slot->where, memory_order_acquire);
    unsigned frames = where & 0xff;
    for (unsigned i = 0; i < frames && i < capacity; i++)
        frame[i] = atomic_load_explicit(&dictionary->frame[(where >> 8) + i], memory_order_relaxed);
    return frames;
}
