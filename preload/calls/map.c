/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is a file: mapped, synced, moved, unmapped. And all memory, locked. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>

#include <tributary/event.h>
#include <tributary/signature.h>

#include "base/memory.h"
#include "files/descriptors.h"
#include "files/mappings.h"
#include "files/rings.h"
#include "files/slots.h"
#include "libc/next.h"
#include "libc/raw.h"
#include "quiet.h"
#include "record.h"
#include "sink.h"

TRIB_CALL void *mmap(void *wanted, size_t length, int access, int flags, int fd, off_t offset) {
    bool replaces = flags & MAP_FIXED && trib_mappings_exist();
    uint64_t last = trib_mappings_newest();
    struct trib_descriptor known;
    void *frame = TRIB_FRAME_HERE();

    if (replaces) /* while the range is still the old mapping's */
        trib_mappings_sync(wanted, length);
    if (flags & MAP_FIXED)
        trib_ring_unmapped(wanted, length);
    void *start = TRIB_NEXT(mmap)(wanted, length, access, flags, fd, offset);
    if (replaces && start != MAP_FAILED)
        trib_mappings_remove(start, length, last);
    if (fd < 0 || start == MAP_FAILED || flags & MAP_ANONYMOUS || !(access & PROT_WRITE))
        return start;
    if ((flags & MAP_TYPE) != MAP_SHARED && (flags & MAP_TYPE) != MAP_SHARED_VALIDATE)
        return start;
    trib_ring_mapped(fd, start, (uint64_t)offset);
    if (trib_descriptor_look(fd, frame, &known))
        trib_mapping_add(&known, start, length, (uint64_t)offset, trib_record_mapper(&known, frame));
    return start;
}
TRIB_SAME(mmap) void *mmap64(void *wanted, size_t length, int access, int flags, int fd, off64_t offset);

TRIB_CALL int munmap(void *start, size_t length) {
    bool exist = trib_mappings_exist();
    uint64_t last = trib_mappings_newest(); /* once it is free, another thread may map something else there */

    if (exist) /* while the range is still this mapping's */
        trib_mappings_sync(start, length);
    trib_ring_unmapped(start, length);
    int result = TRIB_NEXT(munmap)(start, length);
    if (exist && result == 0)
        trib_mappings_remove(start, length, last);
    return result;
}

TRIB_CALL void *mremap(void *start, size_t length, size_t new_length, int flags, ...) {
    va_list rest;

    va_start(rest, flags);
    void *wanted = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? va_arg(rest, void *) : NULL;
    va_end(rest);
    bool exist = trib_mappings_exist();
    uint64_t last = trib_mappings_newest();
    if (exist && flags & MREMAP_FIXED) /* what is unmapped by this, while it is there */
        trib_mappings_sync(wanted, new_length);
    if (exist && new_length < length)
        trib_mappings_sync((char *)start + new_length, length - new_length);
    if (flags & MREMAP_FIXED)
        trib_ring_unmapped(wanted, new_length);
    trib_ring_unmapped(start, length); /* nobody follows a ring that moves */
    void *moved = TRIB_NEXT(mremap)(start, length, new_length, flags, wanted);
    if (!exist || moved == MAP_FAILED)
        return moved;
    if (flags & MREMAP_FIXED)
        trib_mappings_remove(moved, new_length, last);
    trib_mappings_move(&(struct trib_moved){.from = start,
                                            .to = moved,
                                            .from_bytes = length ? length : new_length, /* 0: once more */
                                            .to_bytes = new_length,
                                            .stays = length == 0 || flags & MREMAP_DONTUNMAP},
                       last);
    return moved;
}

/* MS_ASYNC starts nothing on Linux; the pages stay dirty. */
TRIB_CALL int msync(void *start, size_t length, int flags) {
    if (flags & MS_SYNC && trib_mappings_exist())
        trib_mappings_sync(start, length);
    return TRIB_NEXT(msync)(start, length, flags);
}

/* Without a table, what is not in it is asked: only for a program of one thread. With more, each has a stack of
 * megabytes, and our tables decide nothing. */
static bool give_back_all(void) {
    uint64_t all = UINT64_MAX, before = 0;

    if (!trib_ask_begin())
        return false;
    TRIB_RAW(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof all);
    bool is_alone = trib_memory_is_alone();
    if (is_alone) {
        trib_signature_give_back_all();
        trib_slots_give_back();
    }
    TRIB_RAW(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof before);
    trib_ask_end();
    return is_alone;
}

/* Later it would be locked whole. */
static void prepare(void) {
    trib_signature_prepare();
    trib_slots_extend();
}

/* What is reserved and not in use would be filled with pages, and count against the program's limit, whether it is
 * reserved now or later. */
TRIB_CALL int mlockall(int flags) {
    int kept = errno;

    if (flags & (MCL_CURRENT | MCL_FUTURE) && !trib_in_vfork && trib_sink_wanted()) {
        if (trib_ask_begin()) {
            prepare();
            trib_ask_end();
        }
        trib_signature_give_back();
    }
    int result = TRIB_NEXT(mlockall)(flags);
    if (result == 0 || errno != ENOMEM || trib_in_vfork || !trib_sink_wanted() || !give_back_all())
        return result;
    errno = kept;
    return TRIB_NEXT(mlockall)(flags);
}
