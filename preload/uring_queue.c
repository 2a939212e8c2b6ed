/* SPDX-License-Identifier: Apache-2.0 */
#include "uring_queue.h"

#include <errno.h>
#include <stddef.h>
#include <sys/uio.h>

#include <tributary/event.h>

#include "ranges.h"
#include "record.h"

static uint64_t total_bytes(const struct iovec *parts, int count) {
    uint64_t bytes = 0;

    for (int i = 0; i < count; i++)
        bytes += parts[i].iov_len;
    return bytes;
}

static void record_write(const struct io_uring_sqe *entry, struct trib_descriptor *known, void *frame) {
    struct iovec part = {(void *)(uintptr_t)entry->addr, entry->len};
    bool vector = entry->opcode == IORING_OP_WRITEV;
    struct trib_shim_write write = {
        .frame = frame,
        .parts = vector ? (const struct iovec *)(uintptr_t)entry->addr : &part,
        .part_count = vector ? (int)entry->len : 1,
        .offset_bytes = entry->off,
    };

    write.length_bytes = total_bytes(write.parts, write.part_count);
    if (write.length_bytes == 0)
        return;
    if (entry->off == UINT64_MAX) { /* at the descriptor's position, which moves when it is done */
        trib_descriptor_shared(known->fd);
        write.offset_bytes = trib_descriptor_advance(known, 0);
    }
    if (known->appends) /* the end as it is now: entries of one submission may meet there */
        trib_record_at_end(known, &write);
    else
        trib_record_write(known, &write);
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
