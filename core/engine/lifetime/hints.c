/* SPDX-License-Identifier: Apache-2.0 */
/* A drive without files, or a database in one file, is one tree of millions of runs, and a walk
 * through it misses the cache at nearly every one of its 27 levels. Blocks that are overwritten as
 * they were written, the common case there, are found here in two misses. Addressed by block, so
 * that the pages of this table follow those of the file; filled only by overwrites in deep trees,
 * so that append-only data never touch it. */
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "lifetime/slot.h"

#define HINTS_MAX (1u << 26) /* 256 MiB of addresses, touched by block as needed */

int trib_hints_open(struct trib_extents *x) {
    uint32_t entries = 1024;

    while (entries < x->capacity && entries < HINTS_MAX)
        entries *= 2;
    void *memory = mmap(NULL, entries * sizeof(uint32_t), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -ENOMEM;
    x->hints = memory;
    x->hint_mask = entries - 1;
    return 0;
}

void trib_hints_close(struct trib_extents *x) {
    munmap(x->hints, ((size_t)x->hint_mask + 1) * sizeof(uint32_t));
}

static uint32_t *entry(const struct trib_extents *x, uint32_t head, uint64_t offset_bytes) {
    uint64_t block = offset_bytes / TRIB_BLOCK_BYTES + head * 0x9E3779B97F4A7C15ull;
    return &x->hints[block & x->hint_mask];
}

void trib_hint_set(struct trib_extents *x, uint32_t head, uint32_t slot) {
    *entry(x, head, trib_run_offset(x, slot)) = slot;
}

/* A live RUN under this key is in the tree of its HEAD, whoever put it there. */
uint32_t trib_hint_starting(const struct trib_extents *x, uint32_t head, uint64_t offset_bytes) {
    uint32_t slot = *entry(x, head, offset_bytes);
    struct trib_run run;

    if (slot == 0 || trib_slot_kind(x, slot) != TRIB_SLOT_RUN)
        return 0;
    trib_run_read(x, slot, &run);
    return run.file == head && run.offset_bytes == offset_bytes ? slot : 0;
}

uint32_t trib_hint_ending(const struct trib_extents *x, uint32_t head, uint64_t offset_bytes, uint32_t length_bytes) {
    if (offset_bytes < length_bytes)
        return 0;
    uint32_t slot = trib_hint_starting(x, head, offset_bytes - length_bytes);
    return slot && trib_run_end(x, slot) == offset_bytes ? slot : 0;
}
