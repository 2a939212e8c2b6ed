/* SPDX-License-Identifier: Apache-2.0 */
/* Address space of our own in somebody else's process: asked for once, by raw system calls, as much of it as the
 * program's limits allow. Async-signal-safe. */
#ifndef TRIB_BASE_MEMORY_H
#define TRIB_BASE_MEMORY_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/raw.h"

#define TRIB_MEMORY_PAGE_BYTES 4096u
#define TRIB_MEMORY_SHARE      128u /* of the limit */

/* A small part of what the program may map (RLIMIT_AS, RLIMIT_DATA), in bytes; UINT64_MAX without limits. */
static inline uint64_t trib_memory_share_bytes(void) {
    const int resources[] = {RLIMIT_AS, RLIMIT_DATA};
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < 2; i++) {
        struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
        if (TRIB_RAW(SYS_prlimit64, 0, resources[i], 0, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
            continue;
        least = limit.rlim_cur / TRIB_MEMORY_SHARE < least ? limit.rlim_cur / TRIB_MEMORY_SHARE : least;
    }
    return least;
}

/* How many things of `bytes_each` there is room for in it, at most `most`. */
static inline uint32_t trib_memory_fits(uint64_t share_bytes, size_t bytes_each, uint32_t most) {
    return share_bytes / bytes_each < most ? (uint32_t)(share_bytes / bytes_each) : most;
}

/* Zeros, backed by memory when they are touched. NULL: there is none. */
static inline void *trib_memory_map(size_t bytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    long memory = TRIB_RAW(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

    return memory < 0 && memory > -4096 ? NULL : (void *)memory;
}

/* The whole pages of [start + from_bytes, start + to_bytes). Whoever uses them is the caller's concern. */
static inline void trib_memory_unmap(void *start, size_t from_bytes, size_t to_bytes) {
    const uintptr_t page = TRIB_MEMORY_PAGE_BYTES;
    uintptr_t from = ((uintptr_t)start + from_bytes + page - 1) / page * page;
    uintptr_t to = ((uintptr_t)start + to_bytes) / page * page;

    if (to > from)
        TRIB_RAW(SYS_munmap, from, to - from);
}

/* Nobody else uses this process's memory: no thread, no child of a vfork. The kernel's answer; it changes nothing where
 * it succeeds, and only there it does: a process that shares its memory cannot have its own. */
static inline bool trib_memory_is_alone(void) {
    return TRIB_RAW(SYS_unshare, CLONE_VM) == 0;
}

#endif
