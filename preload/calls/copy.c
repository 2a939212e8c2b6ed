/* SPDX-License-Identifier: Apache-2.0 */
/* Written without passing through the program's memory: copied, sent or spliced by the kernel. Offsets that the
 * program gives by address are looked at once the kernel has moved them. What is read from moves, too; but what can be
 * read from is never tracked (descriptors.h). */
#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "calls/calls.h"
#include "libc/next.h"
#include "libc/raw.h"
#include "record.h"

/* `after` is where the call ended, or NULL: at the descriptor's own position. */
static void record_copied(struct trib_descriptor *known, const off64_t *after, ssize_t done, void *frame) {
    struct trib_shim_write write = {.frame = frame, .length_bytes = (uint64_t)done};

    if (!after) {
        trib_record_append(known, &write);
        return;
    }
    write.offset_bytes = (uint64_t)*after - (uint64_t)done;
    trib_record_write(known, &write);
}

TRIB_CALL ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t length,
                                  unsigned flags) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(to, TRIB_FRAME_HERE(), &known);
    ssize_t done = TRIB_NEXT(copy_file_range)(from, from_offset, to, to_offset, length, flags);

    if (tracked && done > 0)
        record_copied(&known, to_offset, done, TRIB_FRAME_HERE());
    return done;
}

TRIB_CALL ssize_t sendfile(int to, int from, off_t *from_offset, size_t length) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(to, TRIB_FRAME_HERE(), &known);
    ssize_t done = TRIB_NEXT(sendfile)(to, from, from_offset, length);

    if (tracked && done > 0)
        record_copied(&known, NULL, done, TRIB_FRAME_HERE());
    return done;
}
TRIB_SAME(sendfile) ssize_t sendfile64(int to, int from, off64_t *from_offset, size_t length);

TRIB_CALL ssize_t splice(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t length, unsigned flags) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(to, TRIB_FRAME_HERE(), &known);
    ssize_t done = TRIB_NEXT(splice)(from, from_offset, to, to_offset, length, flags);

    if (tracked && done > 0)
        record_copied(&known, to_offset, done, TRIB_FRAME_HERE());
    return done;
}

/* ---- by number: calls/raw.c ---- */

long trib_raw_copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t length,
                              unsigned flags) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(to, TRIB_FRAME_HERE(), &known);
    long done = trib_syscall(SYS_copy_file_range, from, from_offset, to, to_offset, length, flags);

    if (tracked && done > 0)
        record_copied(&known, to_offset, done, TRIB_FRAME_HERE());
    return done;
}

long trib_raw_splice(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t length, unsigned flags) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(to, TRIB_FRAME_HERE(), &known);
    long done = trib_syscall(SYS_splice, from, from_offset, to, to_offset, length, flags);

    if (tracked && done > 0)
        record_copied(&known, to_offset, done, TRIB_FRAME_HERE());
    return done;
}
