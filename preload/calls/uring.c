/* SPDX-License-Identifier: Apache-2.0 */
/* io_uring through liburing: its functions that submit, each after a walk over the entries that it is going to submit.
 * liburing makes its system calls without libc, so calls/raw.c does not see these rings as well. Its header is not
 * needed: the part of struct io_uring used here is that of every version since 0.1. */
#include <errno.h>
#include <stdint.h>
#include <time.h>

#include <linux/io_uring.h>

#include "files/uring_queue.h"
#include "libc/next.h"
#include "record.h"
#include "sink.h"

struct submission_queue { /* struct io_uring_sq */
    unsigned *kernel_head, *kernel_tail, *ring_mask, *ring_entries, *flags, *dropped, *array;
    struct io_uring_sqe *entries;
    unsigned head, tail; /* filled by the program, not yet submitted */
    size_t ring_bytes;
    void *ring;
    unsigned mask_and_more[4];
};
struct completion_queue { /* struct io_uring_cq */
    void *pointers[7];
    size_t ring_bytes;
    void *ring;
    unsigned mask_and_more[4];
};
struct io_uring {
    struct submission_queue submission;
    struct completion_queue completion;
    unsigned flags; /* IORING_SETUP_* */
    int ring_fd;
};

static void record_waiting(const struct io_uring *ring, void *frame) {
    const struct submission_queue *queue = &ring->submission;
    unsigned wide = ring->flags & IORING_SETUP_SQE128 ? 1 : 0;
    int kept = errno;

    if (!trib_sink_wanted())
        return;
    for (unsigned at = queue->head; at != queue->tail; at++)
        trib_uring_record(&queue->entries[(size_t)(at & *queue->ring_mask) << wide], frame);
    errno = kept;
}

int io_uring_submit(struct io_uring *ring);
int io_uring_submit_and_wait(struct io_uring *ring, unsigned wait);
int io_uring_submit_and_get_events(struct io_uring *ring);
int io_uring_submit_and_wait_timeout(struct io_uring *ring, struct io_uring_cqe **completion, unsigned wait,
                                     struct __kernel_timespec *timeout, void *signals);
int io_uring_submit_and_wait_min_timeout(struct io_uring *ring, struct io_uring_cqe **completion, unsigned wait,
                                         struct __kernel_timespec *timeout, unsigned min_wait, void *signals);

TRIB_CALL int io_uring_submit(struct io_uring *ring) {
    record_waiting(ring, TRIB_FRAME_HERE());
    return TRIB_NEXT_LATER(io_uring_submit)(ring);
}

TRIB_CALL int io_uring_submit_and_wait(struct io_uring *ring, unsigned wait) {
    record_waiting(ring, TRIB_FRAME_HERE());
    return TRIB_NEXT_LATER(io_uring_submit_and_wait)(ring, wait);
}

TRIB_CALL int io_uring_submit_and_get_events(struct io_uring *ring) {
    record_waiting(ring, TRIB_FRAME_HERE());
    return TRIB_NEXT_LATER(io_uring_submit_and_get_events)(ring);
}

TRIB_CALL int io_uring_submit_and_wait_timeout(struct io_uring *ring, struct io_uring_cqe **completion, unsigned wait,
                                               struct __kernel_timespec *timeout, void *signals) {
    record_waiting(ring, TRIB_FRAME_HERE());
    return TRIB_NEXT_LATER(io_uring_submit_and_wait_timeout)(ring, completion, wait, timeout, signals);
}

TRIB_CALL int io_uring_submit_and_wait_min_timeout(struct io_uring *ring, struct io_uring_cqe **completion,
                                                   unsigned wait, struct __kernel_timespec *timeout, unsigned min_wait,
                                                   void *signals) {
    record_waiting(ring, TRIB_FRAME_HERE());
    return TRIB_NEXT_LATER(io_uring_submit_and_wait_min_timeout)(ring, completion, wait, timeout, min_wait, signals);
}
