/* SPDX-License-Identifier: Apache-2.0 */
#include "producer/aside.h"

#include <errno.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <sys/wait.h>

#include "base/raw.h"

/* A thread, so that nobody can wait for it, and a program that has asked for its children to live in another PID
 * namespace (unshare) does not lose the place of their init to it: clone refuses then. The kernel clears a word and
 * wakes who waits for it once the thread uses the memory no more. */
#define THREAD_FLAGS ((long)(CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_FILES | CLONE_CHILD_CLEARTID))
#define GONE_TURNS   10000u /* looks at whether the thread has gone; some 5 ms */

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".globl trib_aside_clone\n"
        ".hidden trib_aside_clone\n"
        ".type trib_aside_clone, @function\n"
        "trib_aside_clone:\n"
        "    .cfi_startproc\n"
        "    mov %r8, %r10\n" /* the word that is cleared */
        "    mov %rdx, %r8\n" /* work: the kernel reads r8 only with CLONE_SETTLS */
        "    mov %rcx, %r9\n" /* arg */
        "    xor %edx, %edx\n"
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
long trib_aside_clone(long flags, void *stack_top, int (*work)(void *arg), void *arg, int *cleared) {
    int pid = clone(work, stack_top, (int)flags, arg, NULL, NULL, cleared);

    return pid < 0 ? -errno : pid;
}
#endif

/* Descriptors of its own, of which there are none. A table that is copied and then emptied would flush every file of
 * the program, and wait for whoever serves it (FUSE, NFS): before 5.9, and for the first 64 of some later kernels. */
static int leave_descriptors(void) {
    if (TRIB_RAW(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) == 0)
        return 0;
    return (int)TRIB_RAW(SYS_unshare, CLONE_FILES);
}

struct task {
    int lives; /* cleared by the kernel */
    int code;
    int (*work)(void *arg);
    void *arg;
};

static int begin(void *arg) {
    struct task *task = arg;

    task->code = leave_descriptors();
    if (task->code == 0)
        task->code = task->work(task->arg);
    return 0;
}

/* The word is cleared a moment before the kernel forgets the thread, and calls that only a process of one thread may
 * make (unshare, setns) would see it. */
static void await_end(struct task *task, long thread) {
    long self = TRIB_RAW(SYS_getpid);

    while (__atomic_load_n(&task->lives, __ATOMIC_ACQUIRE))
        TRIB_RAW(SYS_futex, &task->lives, FUTEX_WAIT, 1, 0);
    for (unsigned turn = 0; turn < GONE_TURNS && TRIB_RAW(SYS_tgkill, self, thread, 0) != -ESRCH; turn++)
        TRIB_RAW(SYS_sched_yield);
}

int trib_aside(int (*work)(void *arg), void *arg, void *stack) {
    struct task *task = stack;
    char *top = (char *)stack + TRIB_ASIDE_STACK_BYTES;

    *task = (struct task){.lives = 1, .work = work, .arg = arg};
    long thread = trib_aside_clone(THREAD_FLAGS, top, begin, task, &task->lives);
    if (thread < 0)
        return (int)thread;
    await_end(task, thread);
    return task->code;
}

int trib_aside_as_process(int (*work)(void *arg), void *arg, void *stack) {
    int status = 0;
    long pid = trib_aside_clone(CLONE_VM | CLONE_VFORK, (char *)stack + TRIB_ASIDE_STACK_BYTES, work, arg, NULL);

    while (pid > 0 && TRIB_RAW(SYS_wait4, pid, &status, __WALL, 0) == -EINTR)
        ;
    if (pid < 0)
        return (int)pid;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}
