/* SPDX-License-Identifier: Apache-2.0 */
/* What a submission queue of io_uring is about to do. Told of before the submission, with the length that each entry
 * asks for, for the reasons of calls/aio.c. Files that were registered with the ring (IOSQE_FIXED_FILE) go unseen.
 * Thread safety: as the queue's owner. */
#ifndef TRIB_PRELOAD_URING_QUEUE_H
#define TRIB_PRELOAD_URING_QUEUE_H

#include <linux/io_uring.h>

/* The path of `frame` submits `entry`. */
void trib_uring_record(const struct io_uring_sqe *entry, void *frame);

#endif
