/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of io_uring by system calls alone, for programs that submit one entry at a time. One thread per ring. */
#ifndef TRIB_HAZARD_RING_H
#define TRIB_HAZARD_RING_H

#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ring {
    int fd;
    unsigned *head, *tail, *mask, *array, *done_head, *done_tail, *done_mask;
    struct io_uring_sqe *entries;
    struct io_uring_cqe *completions;
    char *queue; /* the mapping that holds head, tail, mask and array */
    size_t queue_bytes, entries_bytes;
};

static inline bool open_ring(struct ring *ring, unsigned entries) {
    struct io_uring_params params = {0};

    ring->fd = (int)syscall(SYS_io_uring_setup, entries, &params);
    if (ring->fd < 0)
        return false;
    ring->queue_bytes = params.sq_off.array + params.sq_entries * 4;
    ring->entries_bytes = params.sq_entries * sizeof *ring->entries;
    char *queue = mmap(NULL, ring->queue_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
    char *done = mmap(NULL, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
                      PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_CQ_RING);
    ring->entries = mmap(NULL, ring->entries_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQES);
    if (queue == MAP_FAILED || done == MAP_FAILED || ring->entries == MAP_FAILED)
        return false;
    ring->queue = queue;
    ring->head = (unsigned *)(void *)(queue + params.sq_off.head);
    ring->tail = (unsigned *)(void *)(queue + params.sq_off.tail);
    ring->mask = (unsigned *)(void *)(queue + params.sq_off.ring_mask);
    ring->array = (unsigned *)(void *)(queue + params.sq_off.array);
    ring->done_head = (unsigned *)(void *)(done + params.cq_off.head);
    ring->done_tail = (unsigned *)(void *)(done + params.cq_off.tail);
    ring->done_mask = (unsigned *)(void *)(done + params.cq_off.ring_mask);
    ring->completions = (struct io_uring_cqe *)(void *)(done + params.cq_off.cqes);
    return true;
}

static inline void push(struct ring *ring, const struct io_uring_sqe *entry) {
    unsigned tail = *ring->tail, at = tail & *ring->mask;

    ring->entries[at] = *entry;
    ring->array[at] = at;
    __atomic_store_n(ring->tail, tail + 1, __ATOMIC_RELEASE);
}

static inline int pop(struct ring *ring) {
    unsigned head = *ring->done_head;

    if (head == __atomic_load_n(ring->done_tail, __ATOMIC_ACQUIRE))
        return -4096;
    int result = ring->completions[head & *ring->done_mask].res;
    __atomic_store_n(ring->done_head, head + 1, __ATOMIC_RELEASE);
    return result;
}

#endif
