/* SPDX-License-Identifier: Apache-2.0 */
/* The dictionary: signature -> frames, for people. Of a fixed size, mapped at first use; a full one
 * drops and counts, it never fails a capture.
 *
 * Thread safety: lock-free, any thread, async-signal-safe after opening. Invariant: an entry's
 * frames are complete before anyone can find them, and never change. */
#ifndef TRIB_SIGNATURE_DICTIONARY_H
#define TRIB_SIGNATURE_DICTIONARY_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/signature.h>

#include "base/atomic.h"

TRIB_C_BEGIN

/* A frame as kept: module index above, offset below. */
#define TRIB_DICTIONARY_OFFSET_BITS 48

struct trib_dictionary_slot {
    TRIB_ATOMIC(uint64_t) signature; /* 0 = free */
    TRIB_ATOMIC(uint64_t) where;     /* first frame << 8 | frames; 0 = not there yet */
};

struct trib_dictionary {
    uint32_t capacity;   /* signatures */
    uint32_t slots;      /* a power of two, >= 2 * capacity: probing stays short */
    uint32_t frames_max; /* of all signatures together */
    struct trib_dictionary_slot *slot;
    TRIB_ATOMIC(uint64_t) * frame;
    TRIB_ATOMIC(uint32_t) signatures, frames_used;
    TRIB_ATOMIC(uint64_t) dropped;
};

/* capacity: 1..2^20 signatures with an average of 16 frames. 0, -EINVAL or -ENOMEM. */
int trib_dictionary_open(struct trib_dictionary *dictionary, uint32_t capacity);

/* Gives back what no frame lies in: what is added from then on is dropped, also by what it interrupted. No other thread
 * may use it meanwhile. */
void trib_dictionary_trim(struct trib_dictionary *dictionary);

/* Adds a signature unless it is there; frame[i] = module << 48 | offset. False, and counted, if it
 * is full. */
bool trib_dictionary_add(struct trib_dictionary *dictionary, uint64_t signature, const uint64_t *frame,
                         unsigned frames);

/* Number of frames, 0 if unknown; writes at most `capacity`. */
unsigned trib_dictionary_find(const struct trib_dictionary *dictionary, uint64_t signature, uint64_t *frame,
                              unsigned capacity);

TRIB_C_END
#endif
