/* SPDX-License-Identifier: Apache-2.0 */
#include "files/uring_queue.h"

#include <stddef.h>
#include <sys/uio.h>

#include <tributary/event.h>

#include "base/safe_copy.h"
#include "files/ranges.h"
#include "libc/raw.h"
#include "quiet.h"
#include "record.h"

/* At most this many are looked at one by one; writes of more count with the bytes of these. */
#define PARTS_MAX  64u
#define LENGTH_MAX 0x7ffff000u /* of one write, to Linux */

/* The array of a vectored write is read by nobody until the kernel takes the request, and may lie anywhere: it is
 * copied by the kernel, which says no where libc's caller would fault. 0: it did, or may not be asked. */
static unsigned copy_parts(const struct io_uring_sqe *entry, struct iovec parts[PARTS_MAX]) {
    unsigned count = entry->len < PARTS_MAX ? entry->len : PARTS_MAX;
    const void *there = (const void *)(uintptr_t)entry->addr;

    return TRIB_ASK(false, trib_safe_copy(parts, there, count * sizeof *parts)) ? count : 0;
}

/* What the kernel is going to refuse must not be recorded. 0: that, or nothing to write. */
static uint64_t length_of(const struct io_uring_sqe *entry, const struct trib_shim_write *write) {
    uint64_t sum = 0;

    for (int i = 0; i < write->part_count; i++) {
        if (write->parts[i].iov_len > LENGTH_MAX - sum)
            return 0;
        sum += write->parts[i].iov_len;
    }
    return entry->off == UINT64_MAX || entry->off <= INT64_MAX - sum ? sum : 0;
}

static void record_parts(const struct io_uring_sqe *entry, struct trib_descriptor *known,
                         struct trib_shim_write *write) {
    write->length_bytes = length_of(entry, write);
    if (write->length_bytes == 0)
        return;
    if (entry->off == UINT64_MAX) { /* at the descriptor's position, which moves when it is done */
        trib_descriptor_shared(known->fd);
        write->offset_bytes = trib_descriptor_advance(known, 0);
    }
    if (known->appends) /* the end as it is now: entries of one submission may meet there */
        trib_record_at_end(known, write);
    else
        trib_record_write(known, write);
}

static void __attribute__((noinline))
record_vector(const struct io_uring_sqe *entry, struct trib_descriptor *known, void *frame) {
    struct iovec parts[PARTS_MAX];
    struct trib_shim_write write = {
        .frame = frame, .parts = parts, .part_count = (int)copy_parts(entry, parts), .offset_bytes = entry->off};

    record_parts(entry, known, &write);
}

static void record_write(const struct io_uring_sqe *entry, struct trib_descriptor *known, void *frame) {
    struct iovec part = {(void *)(uintptr_t)entry->addr, entry->len};
    struct trib_shim_write write = {.frame = frame, .parts = &part, .part_count = 1, .offset_bytes = entry->off};

    if (entry->opcode == IORING_OP_WRITEV)
        record_vector(entry, known, frame);
    else
        record_parts(entry, known, &write);
}

void trib_uring_record(const struct io_uring_sqe *entry, void *frame) {
    struct trib_descriptor known;
    int fd = entry->fd;

    if (entry->flags & IOSQE_FIXED_FILE)
        return;
    if (entry->opcode == IORING_OP_CLOSE) {
        trib_descriptor_forget(fd);
        return;
    }
    switch (entry->opcode) {
    case IORING_OP_WRITE:
    case IORING_OP_WRITEV:
    case IORING_OP_WRITE_FIXED:
        if (trib_descriptor_look(fd, frame, &known))
            record_write(entry, &known, frame);
        break;
    case IORING_OP_FSYNC:
        if (trib_descriptor_look(fd, frame, &known))
            trib_record_sync(known.file, 0, TRIB_LENGTH_TO_END, TRIB_CAUSE_FSYNC);
        break;
    case IORING_OP_FALLOCATE: /* addr is the length, len the mode */
        if (trib_descriptor_look(fd, frame, &known))
            trib_record_fallocated(&known, (int)entry->len, (int64_t)entry->off, (int64_t)entry->addr);
        break;
    default:
        break;
    }
}
