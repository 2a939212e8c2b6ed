/* SPDX-License-Identifier: Apache-2.0 */
#include "flights.h"

#include <stdatomic.h>

#define SLOTS 256u

static struct slot {
    _Atomic(uint32_t) busy;
    const void *frame;
    struct trib_flight flight;
} slots[SLOTS];
static _Atomic(bool) any;

static struct slot *slot_of(const void *frame) {
    return &slots[((uintptr_t)frame * 0x9E3779B97F4A7C15ull >> 32) % SLOTS];
}

/* Held for a copy; whoever finds it taken does without. */
static bool enter(struct slot *slot) {
    return atomic_exchange_explicit(&slot->busy, 1, memory_order_acquire) == 0;
}

static void leave(struct slot *slot) {
    atomic_store_explicit(&slot->busy, 0, memory_order_release);
}

void trib_flight_begin(const void *frame, const struct trib_flight *flight) {
    struct slot *slot = slot_of(frame);

    if (!frame || !enter(slot))
        return;
    slot->frame = frame;
    slot->flight = *flight;
    leave(slot);
    atomic_store_explicit(&any, true, memory_order_relaxed);
}

bool trib_flight_end(const void *frame, struct trib_flight *out) {
    struct slot *slot = slot_of(frame);

    if (!atomic_load_explicit(&any, memory_order_relaxed) || !frame || !enter(slot))
        return false;
    bool found = slot->frame == frame;
    if (found) {
        *out = slot->flight;
        slot->frame = NULL;
    }
    leave(slot);
    return found;
}
