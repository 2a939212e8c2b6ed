/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/ring.h"

#include "base/likely.h"

size_t trib_ring_bytes(uint64_t slots) {
    return sizeof(struct trib_ring_ends) + slots * (sizeof(uint64_t) + sizeof(struct trib_event));
}

void trib_ring_bind(struct trib_ring *ring, void *memory, uint64_t slots) {
    char *start = memory;

    ring->ends = memory;
    ring->turns = (_Atomic(uint64_t) *)(start + sizeof *ring->ends);
    ring->events = (struct trib_event *)(start + sizeof *ring->ends + slots * sizeof *ring->turns);
    ring->mask = slots - 1;
    ring->reserve = (int64_t)(slots / 16);
    ring->limit = (int64_t)slots - ring->reserve;
}

static uint64_t lap_of(const struct trib_ring *ring, uint64_t ticket) {
    return ticket & ~ring->mask;
}

void trib_ring_drop(struct trib_ring *ring, const struct trib_event *event) {
    uint64_t bytes = event->kind == TRIB_EVENT_WRITE ? event->length_bytes : 0;

    atomic_fetch_add_explicit(&ring->ends->dropped_bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&ring->ends->dropped_events, 1, memory_order_release);
}

struct trib_event *trib_ring_claim(struct trib_ring *ring, const struct trib_event *event, uint64_t *out) {
    struct trib_ring_ends *ends = ring->ends;
    int64_t limit = ring->limit + (event->kind == TRIB_EVENT_DEATH ? ring->reserve : 0);
    uint64_t ticket = atomic_load_explicit(&ends->tail, memory_order_relaxed);

    for (;;) {
        uint64_t lap = lap_of(ring, ticket);
        uint64_t turn = atomic_load_explicit(&ring->turns[ticket & ring->mask], memory_order_acquire);
        uint64_t head = atomic_load_explicit(&ends->head, memory_order_relaxed);
        if (turn < lap || (int64_t)(ticket - head) >= limit)
            break;
        if (turn == lap) {
            if (atomic_compare_exchange_weak_explicit(&ends->tail, &ticket, ticket + 1, memory_order_relaxed,
                                                      memory_order_relaxed)) {
                *out = ticket;
                return &ring->events[ticket & ring->mask];
            }
            continue;
        }
        uint64_t moved = atomic_load_explicit(&ends->tail, memory_order_relaxed);
        if (TRIB_UNLIKELY(moved == ticket))
            break; /* taken, yet nobody took it: damaged memory must not hold a program up */
        ticket = moved;
    }
    trib_ring_drop(ring, event);
    return NULL;
}

void trib_ring_publish(struct trib_ring *ring, uint64_t ticket) {
    atomic_store_explicit(&ring->turns[ticket & ring->mask], lap_of(ring, ticket) + 1, memory_order_release);
}

enum trib_ring_turn trib_ring_turn(const struct trib_ring *ring, uint64_t ticket) {
    uint64_t lap = lap_of(ring, ticket);
    uint64_t turn = atomic_load_explicit(&ring->turns[ticket & ring->mask], memory_order_acquire);

    return turn == lap + 1 ? TRIB_RING_FILLED : turn == lap + ring->mask + 1 ? TRIB_RING_TAKEN : TRIB_RING_WAITING;
}

void trib_ring_release(struct trib_ring *ring, uint64_t ticket) {
    uint64_t next_lap = lap_of(ring, ticket) + ring->mask + 1;

    atomic_store_explicit(&ring->turns[ticket & ring->mask], next_lap, memory_order_release);
}
