/* SPDX-License-Identifier: Apache-2.0 */
/* io_uring without liburing: rings whose setup and mappings went through libc's syscall() and mmap(). Thread safety:
 * any thread; a ring belongs to one submitter. 64 rings. */
#ifndef TRIB_PRELOAD_RINGS_H
#define TRIB_PRELOAD_RINGS_H

#include <stdint.h>

struct io_uring_params;

void trib_ring_made(int fd, const struct io_uring_params *params);
/* Does nothing for a descriptor that is no ring. */
void trib_ring_mapped(int fd, void *start, uint64_t offset_bytes);
/* About to submit: tells of the next `count` entries. */
void trib_ring_entering(int fd, unsigned count, void *frame);

#endif
