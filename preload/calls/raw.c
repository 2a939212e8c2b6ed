/* SPDX-License-Identifier: Apache-2.0 */
/* System calls by number, through libc's syscall(): what programs call that way because their libc was too old for it,
 * and rings of io_uring without liburing. Everything else goes on to libc with registers and stack as they came. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/io_uring.h>

#include "calls/calls.h"
#include "files/rings.h"
#include "libc/next.h"
#include "libc/raw.h"
#include "record.h"
#include "sink.h"

/* ---- rings ---- */

#define ENTER_BY_INDEX (1u << 4) /* IORING_ENTER_REGISTERED_RING, Linux 5.18: the number is no descriptor */

static long raw_io_uring_setup(unsigned count, struct io_uring_params *params) {
    long fd = trib_syscall(SYS_io_uring_setup, count, params);

    if (fd >= 0 && trib_sink_wanted())
        trib_ring_made((int)fd, params);
    return fd;
}

static long raw_io_uring_enter(unsigned fd, unsigned submit, unsigned wait, unsigned flags, void *argument,
                               size_t argument_bytes) {
    if (submit && !(flags & ENTER_BY_INDEX) && trib_sink_wanted())
        trib_ring_entering((int)fd, submit, TRIB_FRAME_HERE());
    return trib_syscall(SYS_io_uring_enter, fd, submit, wait, flags, argument, argument_bytes);
}

/* Memory that goes by number may be a ring's, which is read when it is entered. Mapped files are followed by name
 * alone: what stands behind the interposed function may make the call by number, and pages would count twice. */
static long raw_mmap(void *wanted, size_t length, int access, int flags, int fd, off_t offset) {
    if (flags & MAP_FIXED)
        trib_ring_unmapped(wanted, length);
    return trib_syscall(SYS_mmap, wanted, length, access, flags, fd, offset);
}
static long raw_munmap(void *start, size_t length) {
    trib_ring_unmapped(start, length);
    return trib_syscall(SYS_munmap, start, length);
}
static long raw_mremap(void *start, size_t length, size_t new_length, int flags, void *wanted) {
    trib_ring_unmapped(start, length);
    if (flags & MREMAP_FIXED)
        trib_ring_unmapped(wanted, new_length);
    return trib_syscall(SYS_mremap, start, length, new_length, flags, wanted);
}

/* ---- by number ---- */

/* What is no cancellation point in libc either goes to the interposed function, unless that looks at its caller. What
 * returns an int must be widened, or -1 would not be. */
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
static long raw_truncate(const char *path, off_t length) {
    return truncate(path, length);
}
static long raw_dup(int fd) {
    return dup(fd);
}
static long raw_dup2(int fd, int to) {
    return dup2(fd, to);
}
static long raw_dup3(int fd, int to, int flags) {
    return dup3(fd, to, flags);
}
static long raw_chdir(const char *path) {
    return chdir(path);
}
static long raw_fchdir(int fd) {
    return fchdir(fd);
}

static long raw_mlockall(int flags) {
    return mlockall(flags);
}
static long raw_sigaltstack(const stack_t *wanted, stack_t *former) {
    return sigaltstack(wanted, former);
}

/* As a number for the assembler, too. */
#define LAST_CALL 437
_Static_assert(LAST_CALL == SYS_openat2, "the last entry of the table");
#define TEXT_OF(number)       #number
#define TEXT_OF_VALUE(number) TEXT_OF(number)

/* The code of the stub below: arguments moved by one, as if the program had called the function. */
void *const trib_raw_calls[LAST_CALL + 1] __attribute__((visibility("hidden"))) = {
    [SYS_write] = (void *)trib_raw_write,
    [SYS_writev] = (void *)trib_raw_writev,
    [SYS_pwrite64] = (void *)trib_raw_pwrite,
    [SYS_pwritev] = (void *)trib_raw_pwritev,
    [SYS_sendfile] = (void *)sendfile,
    [SYS_splice] = (void *)trib_raw_splice,
    [SYS_copy_file_range] = (void *)trib_raw_copy_file_range,
    [SYS_io_submit] = (void *)trib_raw_io_submit,
    [SYS_open] = (void *)trib_raw_open,
    [SYS_openat] = (void *)trib_raw_openat,
    [SYS_openat2] = (void *)trib_raw_openat2,
    [SYS_creat] = (void *)trib_raw_creat,
    [SYS_close] = (void *)trib_raw_close,
    [SYS_close_range] = (void *)raw_close_range,
    [SYS_dup] = (void *)raw_dup,
    [SYS_dup2] = (void *)raw_dup2,
    [SYS_dup3] = (void *)raw_dup3,
    [SYS_fcntl] = (void *)trib_raw_fcntl,
    [SYS_lseek] = (void *)lseek,
    [SYS_sendmsg] = (void *)trib_raw_sendmsg,
    [SYS_fsync] = (void *)trib_raw_fsync,
    [SYS_fdatasync] = (void *)trib_raw_fdatasync,
    [SYS_fallocate] = (void *)trib_raw_fallocate,
    [SYS_truncate] = (void *)raw_truncate,
    [SYS_ftruncate] = (void *)trib_raw_ftruncate,
    [SYS_unlink] = (void *)raw_unlink,
    [SYS_unlinkat] = (void *)raw_unlinkat,
    [SYS_rename] = (void *)raw_rename,
    [SYS_renameat] = (void *)raw_renameat,
    [SYS_renameat2] = (void *)raw_renameat2,
    [SYS_chdir] = (void *)raw_chdir,
    [SYS_fchdir] = (void *)raw_fchdir,
    [SYS_mmap] = (void *)raw_mmap,
    [SYS_munmap] = (void *)raw_munmap,
    [SYS_mremap] = (void *)raw_mremap,
    [SYS_mlockall] = (void *)raw_mlockall,
    [SYS_sigaltstack] = (void *)raw_sigaltstack,
    [SYS_prctl] = (void *)trib_raw_prctl,
    [SYS_seccomp] = (void *)trib_raw_seccomp,
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
        "    cmp $" TEXT_OF_VALUE(
            LAST_CALL) ", %rdi\n"
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
