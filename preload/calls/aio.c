/* SPDX-License-Identifier: Apache-2.0 */
/* Linux AIO. What the kernel has taken is recorded right after it said so, with the length asked for: only then is
 * the program's memory known to be readable, and what it refused is not recorded. A thread that waits for
 * completions may be quicker: a request that it has put to new use by then is recorded as that. Its memory may be
 * used anew, but a program that gives it back to the kernel while its submitter has not returned would be read where
 * nothing is (docs/decisions/0010-what-libc-does-inside.md).
 *
 * libaio's io_submit is the system call and nothing more, so this one needs no libaio and serves both versions of
 * the symbol: one without a version fits any. */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/aio_abi.h>

#include "calls/calls.h"
#include "libc/next.h"
#include "libc/raw.h"
#include "record.h"
#include "sink.h"

#define LENGTH_MAX 0x7ffff000u /* of one write, to Linux: it takes longer requests and writes so much of them */

static void record_request(const struct iocb *request, void *frame) {
    bool vector = request->aio_lio_opcode == IOCB_CMD_PWRITEV;
    struct iovec part = {(void *)(uintptr_t)request->aio_buf, request->aio_nbytes};
    struct trib_shim_write write = {
        .frame = frame,
        .parts = vector ? (const struct iovec *)(uintptr_t)request->aio_buf : &part,
        .part_count = vector ? (int)request->aio_nbytes : 1,
        .offset_bytes = (uint64_t)request->aio_offset,
    };
    struct trib_descriptor known;

    if (!vector && request->aio_lio_opcode != IOCB_CMD_PWRITE)
        return;
    if (!trib_descriptor_look((int)request->aio_fildes, frame, &known))
        return;
    for (int i = 0; i < write.part_count && write.length_bytes < LENGTH_MAX; i++) {
        uint64_t room = LENGTH_MAX - write.length_bytes;
        write.length_bytes += write.parts[i].iov_len < room ? write.parts[i].iov_len : room;
    }
    if (write.length_bytes)
        trib_record_write(&known, &write);
}

static long submit(aio_context_t context, long count, struct iocb **requests, void *frame) {
    long taken = TRIB_RAW(SYS_io_submit, context, count, requests);
    int kept = errno;

    for (long i = 0; i < taken && trib_sink_wanted(); i++)
        record_request(requests[i], frame);
    errno = kept;
    return taken;
}

/* As libaio's: the negative errno is the result, errno stays. */
int io_submit(aio_context_t context, long count, struct iocb **requests);

TRIB_CALL int io_submit(aio_context_t context, long count, struct iocb **requests) {
    return (int)submit(context, count, requests, TRIB_FRAME_HERE());
}

/* By number: calls/raw.c. */
long trib_raw_io_submit(aio_context_t context, long count, struct iocb **requests) {
    return trib_raw_result(submit(context, count, requests, TRIB_FRAME_HERE()));
}
