/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are written through memory (MAP_SHARED, PROT_WRITE). A store makes no call; which pages were written is
 * asked of the page cache (cachestat, Linux 6.5) when the program syncs, unmaps or ends: pages dirty then are recorded
 * with the call path of the mmap. Where the kernel cannot tell, or there is no descriptor of the file and none
 * to be had (borrow.h), the whole range counts as written. Write-protection and a handler for the faults would see
 * each store, but make system calls into such memory fail: docs/decisions/0010-what-libc-does-inside.md.
 *
 * Unseen: pages that the kernel wrote back by itself between two syncs (after some 30 s). Twice: pages that were
 * also written by write() since the last sync. tmpfs is shared memory, not storage, and left out.
 *
 * Asked of the kernel, at the program's own sync, munmap, mremap, or MAP_FIXED over a mapping, and never once it has
 * locked itself in (quiet.h): fstat, cachestat, and what borrow.h needs. Then, too, the whole range counts.
 *
 * Thread safety: any thread, signal handlers; nobody waits for anybody. 1,024 mappings; the rest goes unseen. */
#ifndef TRIB_PRELOAD_MAPPINGS_H
#define TRIB_PRELOAD_MAPPINGS_H

#include <stddef.h>

#include "files/descriptors.h"

void trib_mapping_add(struct trib_descriptor *known, void *start, size_t length_bytes, uint64_t offset_bytes,
                      uint64_t signature);
/* Tells of the dirty pages in [start, start + length). */
void trib_mappings_sync(const void *start, size_t length_bytes);
/* The same of a whole file, of every file. */
void trib_mappings_sync_file(uint64_t file);
void trib_mappings_sync_all(void);
/* After the range was synced and unmapped; moved elsewhere. Only what had been mapped by `last`, which was the newest
 * before the kernel freed the range: another thread may have got it for a new mapping since. */
void trib_mappings_remove(const void *start, size_t length_bytes, uint64_t last);
struct trib_moved {
    const void *from, *to;
    size_t from_bytes, to_bytes; /* the end grows or goes */
    bool stays;                  /* at its old place, too */
};
void trib_mappings_move(const struct trib_moved *moved, uint64_t last);
uint64_t trib_mappings_newest(void);
/* In a child, whose parent records them. */
void trib_mappings_clear(void);
/* Quick: whether there is any. */
bool trib_mappings_exist(void);

#endif
