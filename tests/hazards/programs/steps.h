/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads in a process of their own, the first of which is stopped right before one of its system calls while the
 * second runs: what a busy machine does to them once in a while, at a moment that the caller chooses. The caller traces
 * both (ptrace), has one thread and no other children. */
#ifndef TRIB_HAZARD_STEPS_H
#define TRIB_HAZARD_STEPS_H

#include <pthread.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "hazard.h"

#define STEPS_ANY_CALL (-1L)

struct steps {
    void (*first)(void), (*second)(void); /* in threads of the process */
    int (*end)(void);                     /* in its main thread, when both are done: the exit status */
    long call;                            /* the first is stopped before this system call, */
    int number;                           /* after so many of the kind */
    int second_calls; /* after so many of the second's it waits, and the first goes on; 0: it comes to its end */
    bool is_over;     /* set if the first came to its end before */
};

/* In memory that the processes share. */
static struct { volatile int thread[2], is_done[2]; } * steps_shared;

static const struct steps *steps_now; /* in that process */

static void *steps_thread(void *number) {
    int self = (int)(intptr_t)number;

    steps_shared->thread[self] = gettid();
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
        _exit(NOT_POSSIBLE);
    syscall(SYS_tgkill, getpid(), gettid(), SIGSTOP); /* stops this thread alone, which is traced */
    (self ? steps_now->second : steps_now->first)();
    steps_shared->is_done[self] = 1;
    return NULL;
}

static void steps_process(const struct steps *steps) {
    pthread_t threads[2];

    steps_now = steps;
    for (intptr_t i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, steps_thread, (void *)i))
            _exit(NOT_POSSIBLE);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    _exit(steps->end());
}

/* Runs the thread until it is about to make a system call. False: it has ended. */
static bool steps_next(pid_t thread, long *call) {
    struct __ptrace_syscall_info info = {0};
    long caught = 0;
    int status;

    while (ptrace(PTRACE_SYSCALL, thread, NULL, (void *)caught) == 0) {
        if (waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status))
            return false;
        caught = WSTOPSIG(status);
        if (caught != (SIGTRAP | 0x80))
            continue; /* a signal, which it gets */
        caught = 0;
        ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *)sizeof info, &info);
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
            *call = (long)info.entry.nr;
            return true;
        }
    }
    return false;
}

static void steps_interleave(struct steps *steps) {
    const volatile int *threads = steps_shared->thread, *is_done = steps_shared->is_done;
    int number = 0, second_calls = 0;
    long call;

    while (steps_next(threads[0], &call) && !is_done[0])
        if ((steps->call == STEPS_ANY_CALL || call == steps->call) && number++ == steps->number)
            break;
    steps->is_over = is_done[0];
    while (!steps->is_over && !is_done[1] && (!steps->second_calls || second_calls++ < steps->second_calls))
        if (!steps_next(threads[1], &call))
            break;
    ptrace(PTRACE_DETACH, threads[0], NULL, NULL);
    for (int ms = 0; !is_done[0] && !is_done[1] && ms < 20000; ms++)
        pause_ms(1);
    ptrace(PTRACE_DETACH, threads[1], NULL, NULL);
}

/* How the process ended, as waitpid has it; that of NOT_POSSIBLE where nobody may be traced. */
static int steps_run(struct steps *steps) {
    int status = 0;

    if (!steps_shared)
        steps_shared = mmap(NULL, sizeof *steps_shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(steps_shared, 0, sizeof *steps_shared);
    pid_t process = fork();
    if (process == 0)
        steps_process(steps);
    for (int i = 0; i < 2; i++) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (!WIFSTOPPED(status))
            return status;
        if (ptrace(PTRACE_SETOPTIONS, thread, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))
            return NOT_POSSIBLE << 8;
    }
    steps_interleave(steps);
    waitpid(process, &status, __WALL);
    return status;
}

#endif
