/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded queue of events: many producers, one consumer (Vyukov). A producer does one compare-and-swap and fills a
 * slot in place; it never waits, allocates, takes a lock or makes a system call. A full ring drops the event and counts
 * it; the last sixteenth is kept for deaths, because a lost death hurts longer than a lost write.
 *
 * The memory may be shared between processes. A producer may die between claim and publish: the consumer may take what
 * lies behind the hole, and frees the hole once it knows that nobody will fill it. What the consumer reads may be
 * damaged: it keeps its own head, bounds the tail by it, and copies an event before it looks at it. All zero is an
 * empty ring.
 *
 * Thread safety: claim, publish and drop from any thread of any process; the rest belongs to the consumer. */
#ifndef TRIB_BASE_RING_H
#define TRIB_BASE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/event.h>

#include "base/atomic.h"

TRIB_C_BEGIN

/* Shared counters, each on the line of those who write it. */
struct trib_ring_ends {
    TRIB_ATOMIC(uint64_t) tail; /* next ticket */
    uint64_t padding_1[7];
    TRIB_ATOMIC(uint64_t) head; /* events before it are out of the ring; the consumer's word to the producers */
    TRIB_ATOMIC(uint64_t) counted_bytes, counted_events; /* of those dropped; the consumer's, too */
    uint64_t padding_2[5];
    TRIB_ATOMIC(uint64_t) dropped_bytes, dropped_events; /* bytes are counted first */
    uint64_t padding_3[6];
};

/* One user's view. Turns are counted from the first ticket of a lap, so that zeroes are a fresh ring: the slot of
 * ticket t is free for it at lap(t), filled at lap(t) + 1, and taken out at lap(t) + slots. */
struct trib_ring {
    struct trib_event *events;
    TRIB_ATOMIC(uint64_t) * turns;
    struct trib_ring_ends *ends;
    uint64_t mask;
    int64_t limit;   /* events waiting before all but deaths are dropped; negative: drops everything */
    int64_t reserve; /* slots beyond that for deaths */
};

/* slots: a power of two, >= 16. Memory: aligned to 64 bytes. */
size_t trib_ring_bytes(uint64_t slots);
void trib_ring_bind(struct trib_ring *ring, void *memory, uint64_t slots);

/* The slot to fill, or NULL: dropped and counted (the event tells kind and length). */
struct trib_event *trib_ring_claim(struct trib_ring *ring, const struct trib_event *event, uint64_t *ticket);
void trib_ring_publish(struct trib_ring *ring, uint64_t ticket);
void trib_ring_drop(struct trib_ring *ring, const struct trib_event *event);

enum trib_ring_turn {
    TRIB_RING_WAITING, /* free, or claimed and not yet published */
    TRIB_RING_FILLED,
    TRIB_RING_TAKEN,
};
enum trib_ring_turn trib_ring_turn(const struct trib_ring *ring, uint64_t ticket);
static inline const struct trib_event *trib_ring_event(const struct trib_ring *ring, uint64_t ticket) {
    return &ring->events[ticket & ring->mask];
}
/* After the event was copied, or to give up a hole. */
void trib_ring_release(struct trib_ring *ring, uint64_t ticket);

TRIB_C_END
#endif
