/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for libaio: the one function of it that the shim interposes. And behind the shim's munmap and mremap: what
 * another thread may do once the kernel has freed a range, before the call is back in the shim. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
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

__attribute__((visibility("default"))) void (*preload_once_free)(void *start, size_t length);
int munmap(void *start, size_t length) __attribute__((visibility("default")));
void *mremap(void *start, size_t length, size_t new_length, int flags, ...) __attribute__((visibility("default")));

static void be_another_thread(void *start, size_t length) {
    void (*act)(void *, size_t) = preload_once_free;

    preload_once_free = NULL;
    if (act)
        act(start, length);
}

int munmap(void *start, size_t length) {
    int result = (int)syscall(SYS_munmap, start, length);

    if (result == 0)
        be_another_thread(start, length);
    return result;
}

void *mremap(void *start, size_t length, size_t new_length, int flags, ...) {
    va_list rest;

    va_start(rest, flags);
    void *wanted = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? va_arg(rest, void *) : NULL;
    va_end(rest);
    void *moved = (void *)syscall(SYS_mremap, start, length, new_length, flags, wanted);
    if (moved != MAP_FAILED && moved != start)
        be_another_thread(start, length);
    return moved;
}
