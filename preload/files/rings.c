/* SPDX-License-Identifier: Apache-2.0 */
#include "files/rings.h"

#include <stdatomic.h>
#include <stdbool.h>

#include <linux/io_uring.h>

#include "files/uring_queue.h"

struct ring {
    _Atomic(int) fd; /* + 1; 0: free; -1: being filled */
    struct io_uring_params params;
    _Atomic(uintptr_t) queue, entries;
};

#define RINGS (sizeof rings / sizeof *rings)

static struct ring rings[64];
static _Atomic(bool) has_rings; /* since the start: most programs pay no more than this look */

static struct ring *find_ring(int fd) {
    if (fd < 0 || !atomic_load_explicit(&has_rings, memory_order_relaxed))
        return NULL;
    for (unsigned i = 0; i < RINGS; i++)
        if (atomic_load_explicit(&rings[i].fd, memory_order_acquire) == fd + 1)
            return &rings[i];
    return NULL;
}

void trib_ring_made(int fd, const struct io_uring_params *params) {
    struct ring *ring = find_ring(fd); /* of an earlier life of the number */

    atomic_store(&has_rings, true); /* before one is being filled: a child asks */
    for (unsigned i = 0; !ring && i < RINGS; i++) {
        int free_fd = 0;
        if (atomic_compare_exchange_strong(&rings[i].fd, &free_fd, -1))
            ring = &rings[i];
    }
    if (!ring)
        return;
    ring->params = *params;
    atomic_store(&ring->queue, 0);
    atomic_store(&ring->entries, 0);
    atomic_store_explicit(&ring->fd, fd + 1, memory_order_release);
}

void trib_ring_mapped(int fd, void *start, uint64_t offset_bytes) {
    struct ring *ring = find_ring(fd);

    if (ring && offset_bytes == IORING_OFF_SQ_RING)
        atomic_store(&ring->queue, (uintptr_t)start);
    else if (ring && offset_bytes == IORING_OFF_SQES)
        atomic_store(&ring->entries, (uintptr_t)start);
}

static bool is_within(const _Atomic(uintptr_t) *place, uintptr_t start, size_t length_bytes) {
    uintptr_t at = atomic_load(place);

    return at >= start && at < start + length_bytes;
}

void trib_ring_unmapped(const void *start, size_t length_bytes) {
    if (!atomic_load_explicit(&has_rings, memory_order_relaxed) ||
        (uintptr_t)start % 4096 != 0) /* it will be refused */
        return;
    for (unsigned i = 0; i < RINGS; i++) {
        if (is_within(&rings[i].queue, (uintptr_t)start, length_bytes))
            atomic_store(&rings[i].queue, 0);
        if (is_within(&rings[i].entries, (uintptr_t)start, length_bytes))
            atomic_store(&rings[i].entries, 0);
    }
}

void trib_ring_closed(int fd) {
    struct ring *ring = find_ring(fd);

    if (ring)
        atomic_store_explicit(&ring->fd, 0, memory_order_release);
}

void trib_rings_closed(unsigned first, unsigned last) {
    for (unsigned i = 0; atomic_load_explicit(&has_rings, memory_order_relaxed) && i < RINGS; i++) {
        int fd = atomic_load_explicit(&rings[i].fd, memory_order_acquire) - 1;
        if (fd >= 0 && (unsigned)fd >= first && (unsigned)fd <= last)
            trib_ring_closed(fd);
    }
}

/* Each first store of a child copies a page: the child of a program without rings makes none. */
void trib_rings_clear(void) {
    if (!atomic_load_explicit(&has_rings, memory_order_relaxed))
        return;
    for (unsigned i = 0; i < RINGS; i++)
        atomic_store_explicit(&rings[i].fd, 0, memory_order_relaxed);
    atomic_store_explicit(&has_rings, false, memory_order_relaxed);
}

void trib_ring_entering(int fd, unsigned count, void *frame) {
    struct ring *ring = find_ring(fd);
    const char *queue = ring ? (const char *)atomic_load(&ring->queue) : NULL;
    const struct io_uring_sqe *entries = ring ? (const struct io_uring_sqe *)atomic_load(&ring->entries) : NULL;

    if (!queue || !entries)
        return;
    const struct io_sqring_offsets *at = &ring->params.sq_off;
    unsigned head = *(const unsigned *)(const void *)(queue + at->head);
    unsigned tail = *(const unsigned *)(const void *)(queue + at->tail);
    unsigned mask = *(const unsigned *)(const void *)(queue + at->ring_mask);
    const unsigned *array = (const unsigned *)(const void *)(queue + at->array);
    unsigned wide = ring->params.flags & IORING_SETUP_SQE128 ? 1 : 0;
    bool direct = ring->params.flags & (1u << 16); /* IORING_SETUP_NO_SQARRAY, Linux 6.6 */
    for (; count && head != tail; count--, head++) {
        unsigned entry = direct ? head & mask : array[head & mask] & mask;
        trib_uring_record(&entries[(size_t)entry << wide], frame);
    }
}
