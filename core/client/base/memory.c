/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/raw.h"

#define PAGE_BYTES     4096u
#define SHARE_OF_LIMIT 128u

uint64_t trib_memory_share_bytes(void) {
    const int resources[] = {RLIMIT_AS, RLIMIT_DATA};
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < 2; i++) {
        struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
        if (TRIB_RAW(SYS_prlimit64, 0, resources[i], 0, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
            continue;
        uint64_t share = limit.rlim_cur / SHARE_OF_LIMIT;
        least = share < least ? share : least;
    }
    return least;
}

void *trib_memory_map(size_t bytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    long memory = TRIB_RAW(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

    return memory < 0 && memory > -4096 ? NULL : (void *)memory;
}

void trib_memory_unmap(void *start, size_t from_bytes, size_t to_bytes) {
    uintptr_t from = ((uintptr_t)start + from_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    uintptr_t to = ((uintptr_t)start + to_bytes) / PAGE_BYTES * PAGE_BYTES;

    if (to > from)
        TRIB_RAW(SYS_munmap, from, to - from);
}

/* Changes nothing where it succeeds, and only there it does: a process that shares its memory cannot have its own. */
bool trib_memory_is_alone(void) {
    return TRIB_RAW(SYS_unshare, CLONE_VM) == 0;
}
