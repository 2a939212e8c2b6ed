/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for libaio: the one function of it that the shim interposes. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/aio_abi.h>

int io_submit(aio_context_t context, long count, struct iocb **requests) __attribute__((visibility("default")));

int io_submit(aio_context_t context, long count, struct iocb **requests) {
    int kept = errno;
    long result = syscall(SYS_io_submit, context, count, requests);

    if (result < 0)
        result = -errno;
    errno = kept;
    return (int)result;
}
