/* SPDX-License-Identifier: Apache-2.0 */
/* The write family. Each: look at the descriptor, call libc, record what it took. */
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "calls/calls.h"
#include "libc/libc_entry.h"
#include "libc/next.h"
#include "libc/raw.h"
#include "record.h"

#define FROM(frame_, parts_, count_, done_)                                                                            \
    { .frame = (frame_), .parts = (parts_), .part_count = (count_), .length_bytes = (uint64_t)(done_) }

/* A positioned write; the kernel appends all the same if the descriptor says so. */
static void record_at(struct trib_descriptor *known, struct trib_shim_write *write, off_t offset) {
    write->offset_bytes = (uint64_t)offset;
    if (known->appends)
        trib_record_at_end(known, write);
    else
        trib_record_write(known, write);
}

/* ---- at the descriptor's position ---- */

static void record_written(struct trib_descriptor *known, const void *buffer, ssize_t done, void *frame) {
    struct iovec part = {(void *)(uintptr_t)buffer, (size_t)done};
    struct trib_shim_write write = FROM(frame, &part, 1, done);

    trib_record_append(known, &write);
}

/* What libc's own write() becomes: libc's stdio and exit come this way, too. */
ssize_t trib_write(int fd, const void *buffer, size_t length) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(fd, TRIB_FRAME_HERE(), &known);
    ssize_t done = trib_entry_write(fd, buffer, length);

    if (tracked && done > 0)
        record_written(&known, buffer, done, TRIB_FRAME_HERE());
    return done;
}

/* The interposed symbol, where libc's write is as it was. */
static ssize_t write_unpatched(int fd, const void *buffer, size_t length) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(fd, TRIB_FRAME_HERE(), &known);
    ssize_t done = TRIB_NEXT(write)(fd, buffer, length);

    if (tracked && done > 0)
        record_written(&known, buffer, done, TRIB_FRAME_HERE());
    return done;
}

/* Where it is patched, the symbol only passes on, to whoever comes next: libc's entry tells. A jump, so that the call
 * path there is the program's. */
ssize_t (*trib_write_goes_to)(int, const void *, size_t) __attribute__((visibility("hidden"))) = write_unpatched;

void trib_write_pass_on(bool passes) {
    trib_write_goes_to = passes ? TRIB_NEXT(write) : write_unpatched;
}

#ifdef __x86_64__
__asm__(".pushsection .text\n"
        ".globl write\n"
        ".type write, @function\n"
        "write:\n"
        "    .cfi_startproc\n"
        "    jmp *trib_write_goes_to(%rip)\n"
        "    .cfi_endproc\n"
        ".size write, .-write\n"
        ".popsection\n");
#else
TRIB_CALL ssize_t write(int fd, const void *buffer, size_t length) __attribute__((alias("write_unpatched")));
#endif

static void record_parts(struct trib_descriptor *known, const struct iovec *parts, int count, ssize_t done,
                         void *frame) {
    struct trib_shim_write write = FROM(frame, parts, count, done);

    trib_record_append(known, &write);
}

TRIB_CALL ssize_t writev(int fd, const struct iovec *parts, int count) {
    void *frame = TRIB_FRAME_HERE();
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(fd, frame, &known);
    ssize_t done = TRIB_NEXT(writev)(fd, parts, count);

    if (tracked && done > 0)
        record_parts(&known, parts, count, done, frame);
    return done;
}

/* ---- at an offset ---- */

static void record_written_at(struct trib_descriptor *known, const void *buffer, ssize_t done, off_t offset,
                              void *frame) {
    struct iovec part = {(void *)(uintptr_t)buffer, (size_t)done};
    struct trib_shim_write write = FROM(frame, &part, 1, done);

    record_at(known, &write, offset);
}

TRIB_CALL ssize_t pwrite(int fd, const void *buffer, size_t length, off_t offset) {
    void *frame = TRIB_FRAME_HERE();
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(fd, frame, &known);
    ssize_t done = TRIB_NEXT(pwrite)(fd, buffer, length, offset);

    if (tracked && done > 0)
        record_written_at(&known, buffer, done, offset, frame);
    return done;
}
TRIB_SAME(pwrite) ssize_t pwrite64(int fd, const void *buffer, size_t length, off64_t offset);

TRIB_CALL ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    void *frame = TRIB_FRAME_HERE();
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(fd, frame, &known);
    ssize_t done = TRIB_NEXT(pwritev)(fd, parts, count, offset);

    if (tracked && done > 0) {
        struct trib_shim_write write = FROM(frame, parts, count, done);
        record_at(&known, &write, offset);
    }
    return done;
}
TRIB_SAME(pwritev) ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset);

TRIB_CALL ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    void *frame = TRIB_FRAME_HERE();
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(fd, frame, &known);
    ssize_t done = TRIB_NEXT(pwritev2)(fd, parts, count, offset, flags);

    if (!tracked || done <= 0)
        return done;
    struct trib_shim_write write = FROM(frame, parts, count, done);
    if (offset == -1) {
        trib_record_append(&known, &write);
    } else {
        known.appends |= (flags & RWF_APPEND) != 0;
        record_at(&known, &write, offset);
    }
    return done;
}
TRIB_SAME(pwritev2) ssize_t pwritev64v2(int fd, const struct iovec *parts, int count, off64_t offset, int flags);

/* ---- by number, where no call is a cancellation point: calls/raw.c ---- */

long trib_raw_write(int fd, const void *buffer, size_t length) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(fd, TRIB_FRAME_HERE(), &known);
    long done = trib_syscall(SYS_write, fd, buffer, length);

    if (tracked && done > 0)
        record_written(&known, buffer, done, TRIB_FRAME_HERE());
    return done;
}

long trib_raw_writev(int fd, const struct iovec *parts, int count) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(fd, TRIB_FRAME_HERE(), &known);
    long done = trib_syscall(SYS_writev, fd, parts, count);

    if (tracked && done > 0)
        record_parts(&known, parts, count, done, TRIB_FRAME_HERE());
    return done;
}

long trib_raw_pwrite(int fd, const void *buffer, size_t length, off_t offset) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(fd, TRIB_FRAME_HERE(), &known);
    long done = trib_syscall(SYS_pwrite64, fd, buffer, length, offset);

    if (tracked && done > 0)
        record_written_at(&known, buffer, done, offset, TRIB_FRAME_HERE());
    return done;
}

/* On 64 bits the kernel takes the whole offset from the fourth argument. */
long trib_raw_pwritev(int fd, const struct iovec *parts, int count, off_t offset, long unused) {
    struct trib_descriptor known;
    bool tracked = trib_descriptor_look(fd, TRIB_FRAME_HERE(), &known);
    long done = trib_syscall(SYS_pwritev, fd, parts, count, offset, unused);

    if (tracked && done > 0) {
        struct trib_shim_write write = FROM(TRIB_FRAME_HERE(), parts, count, done);
        record_at(&known, &write, offset);
    }
    return done;
}
