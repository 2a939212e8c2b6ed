/* SPDX-License-Identifier: Apache-2.0 */
/* Address space of our own in somebody else's process: asked for once, by raw system calls, as much of it as the
 * program's limits allow. Async-signal-safe. */
#ifndef TRIB_BASE_MEMORY_H
#define TRIB_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A small part of what the program may map (RLIMIT_AS, RLIMIT_DATA), in bytes; UINT64_MAX without limits. */
uint64_t trib_memory_share_bytes(void);

/* How many things of `bytes_each` there is room for in it, at most `most`. */
static inline uint32_t trib_memory_fits(uint64_t share_bytes, size_t bytes_each, uint32_t most) {
    return share_bytes / bytes_each < most ? (uint32_t)(share_bytes / bytes_each) : most;
}

/* Zeros, backed by memory when they are touched. NULL: there is none. */
void *trib_memory_map(size_t bytes);

/* The whole pages of [start + from_bytes, start + to_bytes). Whoever uses them is the caller's concern. */
void trib_memory_unmap(void *start, size_t from_bytes, size_t to_bytes);

/* Nobody else uses this process's memory: no thread, no child of a vfork. The kernel's answer. */
bool trib_memory_is_alone(void);

#endif
