/* SPDX-License-Identifier: Apache-2.0 */
/* Linux AIO. A request is told of before it is submitted, with the length that it asks for: once the kernel has it,
 * its buffers may be filled anew at any moment, and who waits for it may be another thread, long after. What the
 * kernel then refuses was told in vain; submitted again, it counts as overwritten.
 *
 * libaio's io_submit is the system call and nothing more, so this one needs no libaio and serves both versions of the
 * symbol: one without a version fits any. */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/aio_abi.h>

#include "next.h"
#include "raw.h"
#include "sink.h"
#include "record.h"

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
    for (int i = 0; i < write.part_count; i++)
        write.length_bytes += write.parts[i].iov_len;
    if (write.length_bytes)
        trib_record_write(&known, &write);
}

/* As libaio's: the negative errno is the result, errno stays. */
int io_submit(aio_context_t context, long count, struct iocb **requests);

TRIB_CALL int io_submit(aio_context_t context, long count, struct iocb **requests) {
    int kept = errno;

    for (long i = 0; i < count && trib_sink_wanted(); i++)
        record_request(requests[i], TRIB_FRAME_HERE());
    long submitted = trib_syscall(SYS_io_submit, context, count, requests);
    long result = submitted < 0 ? -errno : submitted;
    errno = kept;
    return (int)result;
}
