/* SPDX-License-Identifier: Apache-2.0 */
/* System calls by number, through libc's syscall(): what programs call that way because their libc was too old for it,
 * and rings of io_uring without liburing. Everything else goes on to libc with registers and stack as they came. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/io_uring.h>

#include "next.h"
#include "raw.h"
#include "rings.h"
#include "sink.h"
#include "record.h"
#include "uring_queue.h"

/* ---- rings ---- */

struct ring {
    _Atomic(int) fd; /* + 1; 0: free */
    struct io_uring_params params;
    _Atomic(uintptr_t) queue, entries;
};

static struct ring rings[64];

static struct ring *find_ring(int fd) {
    for (unsigned i = 0; i < sizeof rings / sizeof *rings; i++)
        if (atomic_load_explicit(&rings[i].fd, memory_order_acquire) == fd + 1)
            return &rings[i];
    return NULL;
}

void trib_ring_made(int fd, const struct io_uring_params *params) {
    struct ring *ring = find_ring(fd); /* of an earlier life of the number */

    for (unsigned i = 0; !ring && i < sizeof rings / sizeof *rings; i++) {
        int free_fd = 0;
        if (atomic_compare_exchange_strong(&rings[i].fd, &free_fd, -1))
            ring = &rings[i];
    }
    if (!ring)
        return;
    ring->params = *params;
    atomic_store(&ring->queue, 0);
    atomic_store(&ring->entries, 0);
    atomic_store_explicit(&ring->fd, fd + 1, memory_order_release);
}

void trib_ring_mapped(int fd, void *start, uint64_t offset_bytes) {
    struct ring *ring = find_ring(fd);

    if (ring && offset_bytes == IORING_OFF_SQ_RING)
        atomic_store(&ring->queue, (uintptr_t)start);
    else if (ring && offset_bytes == IORING_OFF_SQES)
        atomic_store(&ring->entries, (uintptr_t)start);
}

void trib_ring_entering(int fd, unsigned count, void *frame) {
    struct ring *ring = find_ring(fd);
    const char *queue = ring ? (const char *)atomic_load(&ring->queue) : NULL;
    const struct io_uring_sqe *entries = ring ? (const struct io_uring_sqe *)atomic_load(&ring->entries) : NULL;

    if (!queue || !entries)
        return;
    const struct io_sqring_offsets *at = &ring->params.sq_off;
    unsigned head = *(const unsigned *)(const void *)(queue + at->head);
    unsigned tail = *(const unsigned *)(const void *)(queue + at->tail);
    unsigned mask = *(const unsigned *)(const void *)(queue + at->ring_mask);
    const unsigned *array = (const unsigned *)(const void *)(queue + at->array);
    unsigned wide = ring->params.flags & IORING_SETUP_SQE128 ? 1 : 0;
    bool direct = ring->params.flags & (1u << 16); /* IORING_SETUP_NO_SQARRAY, Linux 6.6 */
    for (; count && head != tail; count--, head++) {
        unsigned entry = direct ? head & mask : array[head & mask] & mask;
        trib_uring_record(&entries[(size_t)entry << wide], frame);
    }
}

static long raw_io_uring_setup(unsigned count, struct io_uring_params *params) {
    long fd = trib_syscall(SYS_io_uring_setup, count, params);

    if (fd >= 0 && trib_sink_wanted())
        trib_ring_made((int)fd, params);
    return fd;
}

static long raw_io_uring_enter(unsigned fd, unsigned submit, unsigned wait, unsigned flags, void *argument,
                               size_t argument_bytes) {
    int kept = errno;

    if (submit && trib_sink_wanted())
        trib_ring_entering((int)fd, submit, TRIB_FRAME_HERE());
    errno = kept;
    return trib_syscall(SYS_io_uring_enter, fd, submit, wait, flags, argument, argument_bytes);
}

/* ---- by number ---- */

/* What returns an int must be widened, or -1 would not be. */
static long raw_close(int fd) {
    return close(fd);
}
static long raw_close_range(unsigned first, unsigned last, int flags) {
    return close_range(first, last, flags);
}
static long raw_unlink(const char *path) {
    return unlink(path);
}
static long raw_unlinkat(int folder, const char *path, int flags) {
    return unlinkat(folder, path, flags);
}
static long raw_rename(const char *old_path, const char *path) {
    return rename(old_path, path);
}
static long raw_renameat(int old_folder, const char *old_path, int folder, const char *path) {
    return renameat(old_folder, old_path, folder, path);
}
static long raw_renameat2(int old_folder, const char *old_path, int folder, const char *path, unsigned flags) {
    return renameat2(old_folder, old_path, folder, path, flags);
}

/* As a number for the assembler, too. */
#define LAST_CALL 436
_Static_assert(LAST_CALL == SYS_close_range, "the last entry of the table");
#define TEXT_OF(number) #number
#define TEXT_OF_VALUE(number) TEXT_OF(number)

/* The code of the stub below: arguments moved by one, as if the program had called the function. */
void *const trib_raw_calls[LAST_CALL + 1] __attribute__((visibility("hidden"))) = {
    [SYS_write] = (void *)write,
    [SYS_writev] = (void *)writev,
    [SYS_pwrite64] = (void *)pwrite,
    [SYS_pwritev] = (void *)pwritev,
    [SYS_sendfile] = (void *)sendfile,
    [SYS_splice] = (void *)splice,
    [SYS_copy_file_range] = (void *)copy_file_range,
    [SYS_close] = (void *)raw_close,
    [SYS_close_range] = (void *)raw_close_range,
    [SYS_unlink] = (void *)raw_unlink,
    [SYS_unlinkat] = (void *)raw_unlinkat,
    [SYS_rename] = (void *)raw_rename,
    [SYS_renameat] = (void *)raw_renameat,
    [SYS_renameat2] = (void *)raw_renameat2,
    [SYS_io_uring_setup] = (void *)raw_io_uring_setup,
    [SYS_io_uring_enter] = (void *)raw_io_uring_enter,
};

#ifdef __x86_64__
/* syscall() may return twice (clone, vfork), and on another stack: nothing may be kept on this one. */
__asm__(".pushsection .text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        "    .cfi_startproc\n"
        "    cmp $" TEXT_OF_VALUE(LAST_CALL) ", %rdi\n"
        "    ja trib_syscall\n"
        "    lea trib_raw_calls(%rip), %rax\n"
        "    mov (%rax,%rdi,8), %rax\n"
        "    test %rax, %rax\n"
        "    je trib_syscall\n"
        "    mov %rsi, %rdi\n"
        "    mov %rdx, %rsi\n"
        "    mov %rcx, %rdx\n"
        "    mov %r8, %rcx\n"
        "    mov %r9, %r8\n"
        "    mov 8(%rsp), %r9\n"
        "    jmp *%rax\n"
        "    .cfi_endproc\n"
        ".size syscall, .-syscall\n"
        ".globl trib_syscall\n"
        ".hidden trib_syscall\n"
        ".type trib_syscall, @function\n"
        "trib_syscall:\n"
        "    .cfi_startproc\n"
        "    mov %rdi, %rax\n"
        "    mov %rsi, %rdi\n"
        "    mov %rdx, %rsi\n"
        "    mov %rcx, %rdx\n"
        "    mov %r8, %r10\n"
        "    mov %r9, %r8\n"
        "    mov 8(%rsp), %r9\n"
        "    syscall\n"
        "    cmp $-4095, %rax\n"
        "    jae trib_syscall_failed\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size trib_syscall, .-trib_syscall\n"
        /* Jumped to with -errno in rax and the caller's return address on top of the stack. */
        ".globl trib_syscall_failed\n"
        ".hidden trib_syscall_failed\n"
        ".type trib_syscall_failed, @function\n"
        "trib_syscall_failed:\n"
        "    .cfi_startproc\n"
        "    neg %rax\n"
        "    push %rax\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    call __errno_location@PLT\n"
        "    pop %rcx\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    mov %ecx, (%rax)\n"
        "    mov $-1, %rax\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size trib_syscall_failed, .-trib_syscall_failed\n"
        ".popsection\n");
#endif
