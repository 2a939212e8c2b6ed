/* SPDX-License-Identifier: Apache-2.0 */
/* io_uring without liburing: rings whose setup and mappings went through libc's syscall() and mmap(). Looked into
 * only while both their mappings and their descriptor are there, so that a wrong io_uring_enter fails as it would.
 * Thread safety: any thread, signal handlers; a ring belongs to one submitter. 64 rings. */
#ifndef TRIB_PRELOAD_RINGS_H
#define TRIB_PRELOAD_RINGS_H

#include <stddef.h>
#include <stdint.h>

struct io_uring_params;

void trib_ring_made(int fd, const struct io_uring_params *params);
/* Does nothing for a descriptor that is no ring. */
void trib_ring_mapped(int fd, void *start, uint64_t offset_bytes);
/* About to be: another thread may map another ring there at once. */
void trib_ring_unmapped(const void *start, size_t length_bytes);
/* Closed, or another file by now. */
void trib_ring_closed(int fd);
void trib_rings_closed(unsigned first, unsigned last);
/* In a child: it may have been given none of their memory (MADV_DONTFORK). */
void trib_rings_clear(void);
/* About to submit: records the next `count` entries. */
void trib_ring_entering(int fd, unsigned count, void *frame);

#endif
