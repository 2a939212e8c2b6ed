/* SPDX-License-Identifier: Apache-2.0 */
/* A thread for a moment that has descriptors of its own, none at first: what it opens or closes, the program's other
 * threads never see. The calling thread waits until it has gone. Async-signal-safe; any thread. */
#ifndef TRIB_PRODUCER_ASIDE_H
#define TRIB_PRODUCER_ASIDE_H

#include <stddef.h>
#include <stdint.h>

#include "base/raw.h"

#define TRIB_ASIDE_STACK_BYTES 16384u

/* Runs work(arg) on `stack` (16-aligned, TRIB_ASIDE_STACK_BYTES); the caller has all signals blocked
 * (trib_aside_block), else a handler of the program could run in the task. work uses raw system calls
 * only (base/raw.h), no thread-local memory, no libc that has any. Its result; or -errno: -EINVAL where a new thread
 * would be in another PID namespace than the process's children. */
int trib_aside(int (*work)(void *arg), void *arg, void *stack);

/* The same in a process that shares memory, and whose children are not the program's; with copies of its descriptors.
 * For the start of a process only: a child can be waited for (__WALL). Result 0..255. */
int trib_aside_as_process(int (*work)(void *arg), void *arg, void *stack);

/* All signals of the calling thread, and back to the mask that was returned. */
static inline uint64_t trib_aside_block(void) {
    uint64_t all = UINT64_MAX, before = 0;

    TRIB_RAW(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, &before, sizeof all);
    return before;
}
static inline void trib_aside_unblock(uint64_t before) {
    TRIB_RAW(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &before, 0, sizeof before);
}

/* clone(2): a task that runs work(arg) and ends with its result; its id, or -errno. For tasks that start tasks.
 * cleared: with CLONE_CHILD_CLEARTID. */
long trib_aside_clone(long flags, void *stack_top, int (*work)(void *arg), void *arg, int *cleared)
    __attribute__((visibility("hidden")));

#endif
