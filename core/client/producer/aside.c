/* SPDX-License-Identifier: Apache-2.0 */
#include "producer/aside.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/wait.h>

#include "base/raw.h"

/* No exit signal: the program's SIGCHLD handler and its wait for any child know nothing of the task (wait(2), __WALL).
 */
#define FLAGS ((long)(CLONE_VM | CLONE_VFORK))

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".globl trib_aside_clone\n"
        ".hidden trib_aside_clone\n"
        ".type trib_aside_clone, @function\n"
        "trib_aside_clone:\n"
        "    .cfi_startproc\n"
        "    mov %rdx, %r8\n" /* work: the kernel reads r8 only with CLONE_SETTLS */
        "    mov %rcx, %r9\n" /* arg */
        "    xor %edx, %edx\n"
        "    xor %r10d, %r10d\n"
        "    mov $56, %eax\n" /* SYS_clone */
        "    syscall\n"
        "    test %rax, %rax\n"
        "    jz 1f\n"
        "    ret\n"
        "1:  .cfi_undefined %rip\n"
        "    xor %ebp, %ebp\n"
        "    mov %r9, %rdi\n"
        "    call *%r8\n"
        "    mov %eax, %edi\n"
        "    mov $60, %eax\n" /* SYS_exit */
        "    syscall\n"
        "    hlt\n"
        "    .cfi_endproc\n"
        ".size trib_aside_clone, .-trib_aside_clone\n"
        ".popsection\n");
_Static_assert(SYS_clone == 56 && SYS_exit == 60, "the numbers above");
#else
long trib_aside_clone(long flags, void *stack_top, int (*work)(void *arg), void *arg) {
    int pid = clone(work, stack_top, (int)flags, arg);

    return pid < 0 ? -errno : pid;
}
#endif

int trib_aside(int (*work)(void *arg), void *arg, void *stack) {
    int status = 0;
    long pid = trib_aside_clone(FLAGS, (char *)stack + TRIB_ASIDE_STACK_BYTES, work, arg);
    while (pid > 0 && TRIB_RAW(SYS_wait4, pid, &status, __WALL, 0) == -EINTR)
        ;
    if (pid < 0)
        return (int)pid;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}
