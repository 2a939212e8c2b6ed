/* SPDX-License-Identifier: Apache-2.0 */
#include "producer/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "base/raw.h"

/* A thread, which nobody can wait for. The kernel clears a word and wakes who waits for it once the thread uses the
 * memory no more. */
#define THREAD_FLAGS                                                                                                   \
    ((long)(CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_FILES | CLONE_CHILD_CLEARTID))
#define COPIED_MAX 64 /* descriptors that the kernel copies at least, even if all are to be closed */

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

/* ---- a thread with descriptors of its own ---- */

/* File systems that do nothing when one of several descriptors of a file is closed. Others (NFS, FUSE, message queues)
 * write pages, wait for their server, take the error that the program would have got, or end its notification. */
static bool is_indifferent(long type) {
    static const unsigned known[] = {0xef53 /* ext2 to ext4 */, 0x58465342 /* xfs */,   0x9123683e /* btrfs */,
                                     0xf2f52010 /* f2fs */,     0x2fc12fc1 /* zfs */,   0xca451a4e /* bcachefs */,
                                     0x01021994 /* tmpfs */,    0x858458f6 /* ramfs */, 0x794c7630 /* overlay */,
                                     0x4d44 /* vfat */,         0x2011bab0 /* exfat */, 0x9660 /* iso */,
                                     0x73717368 /* squashfs */, 0xe0f5e1e2 /* erofs */, 0x958458f6 /* hugetlbfs */,
                                     0x9fa0 /* proc */,         0x62656572 /* sysfs */, 0x63677270 /* cgroup2 */};

    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == (unsigned)type)
            return true;
    return false;
}

/* statmount(2), Linux 6.8: what the kernel knows of a mount, where statfs asks the server, which may never answer. Not
 * below a filter of system calls, which may end the process for a call that is newer than the filter. */
#define SYS_STATMOUNT   457
#define STATX_MOUNT     0x4000u /* STATX_MNT_ID_UNIQUE */
#define STATMOUNT_SUPER 1u      /* STATMOUNT_SB_BASIC */
#define PRCTL_SECCOMP   21      /* PR_GET_SECCOMP */

static long type_of_mount(uint64_t mount) {
    struct {
        uint32_t size, unused;
        uint64_t mount, wanted;
    } request = {24, 0, mount, STATMOUNT_SUPER};
    struct {
        uint32_t size, unused;
        uint64_t mask;
        uint32_t device[2];
        uint64_t type;
        uint8_t rest[480];
    } answer;

    answer.mask = answer.type = 0;
    if (TRIB_RAW(SYS_prctl, PRCTL_SECCOMP, 0, 0, 0, 0) != 0 ||
        TRIB_RAW(SYS_STATMOUNT, &request, &answer, sizeof answer, 0) != 0 || !(answer.mask & STATMOUNT_SUPER))
        return -1;
    return (long)answer.type;
}

static bool may_copy(int fd) {
    struct statx status;
    struct statfs system;

    status.stx_mask = 0;
    status.stx_mode = 0;
    system.f_type = 0;
    long code = TRIB_RAW(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MOUNT, &status);
    if (code == -EBADF || (code == 0 && !S_ISREG(status.stx_mode) && !S_ISDIR(status.stx_mode)))
        return true;
    if (code == 0 && status.stx_mask & STATX_MOUNT) {
        long type = type_of_mount(status.stx_mnt_id);
        if (type >= 0)
            return is_indifferent(type);
    }
    return TRIB_RAW(SYS_fstatfs, fd, &system) == 0 && is_indifferent((long)system.f_type);
}

/* An empty table: Linux 5.9 copies the first descriptors, and closes them. */
static int leave_descriptors(void) {
    for (int fd = 0; fd < COPIED_MAX; fd++)
        if (!may_copy(fd))
            return -EOPNOTSUPP;
    return (int)TRIB_RAW(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE);
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

/* A real-time thread whose children start as ordinary ones would wait for whatever goes before them. */
static bool begins_low(void) {
    long policy = TRIB_RAW(SYS_sched_getscheduler, 0);

    return policy == (SCHED_FIFO | SCHED_RESET_ON_FORK) || policy == (SCHED_RR | SCHED_RESET_ON_FORK);
}

static int run_in_thread(int (*begin_with)(void *task), int (*work)(void *arg), void *arg, void *stack) {
    struct task *task = stack;
    char *top = (char *)stack + TRIB_ASIDE_STACK_BYTES;

    if (begins_low())
        return -EBUSY;
    *task = (struct task){.lives = 1, .work = work, .arg = arg};
    long thread = trib_aside_clone(THREAD_FLAGS, top, begin_with, task, &task->lives);
    if (thread < 0)
        return (int)thread;
    while (__atomic_load_n(&task->lives, __ATOMIC_ACQUIRE))
        TRIB_RAW(SYS_futex, &task->lives, FUTEX_WAIT, 1, 0);
    return task->code;
}

int trib_aside_in_thread(int (*work)(void *arg), void *arg, void *stack) {
    return run_in_thread(begin, work, arg, stack);
}

/* unshare of memory that nobody shares does nothing, and is refused where somebody does: then others would see
 * descriptors come and go, take their numbers, or inherit them. */
int trib_aside(int (*work)(void *arg), void *arg, void *stack) {
    if (TRIB_RAW(SYS_unshare, CLONE_VM) == 0) {
        int code = work(arg);
        if (code != -EMFILE)
            return code;
    }
    return run_in_thread(begin, work, arg, stack);
}

/* ---- a process ---- */

static int end_at_once(void *task) {
    (void)task;
    return 0;
}

int trib_aside_as_process(int (*work)(void *arg), void *arg, void *stack) {
    int status = 0;

    /* A thread cannot be where the first child would be the init of a PID namespace, whose end ends it. */
    if (run_in_thread(end_at_once, 0, 0, stack) == -EINVAL)
        return -EINVAL;
    long pid = trib_aside_clone(CLONE_VM | CLONE_VFORK, (char *)stack + TRIB_ASIDE_STACK_BYTES, work, arg, NULL);

    while (pid > 0 && TRIB_RAW(SYS_wait4, pid, &status, __WALL, 0) == -EINTR)
        ;
    if (pid < 0)
        return (int)pid;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}
