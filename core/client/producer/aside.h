/* SPDX-License-Identifier: Apache-2.0 */
/* Work whose descriptors the program never sees: in a process of one thread it is done at once, else in a thread with a
 * table of its own, which the calling one waits for. Async-signal-safe; any thread. */
#ifndef TRIB_PRODUCER_ASIDE_H
#define TRIB_PRODUCER_ASIDE_H

#include <stddef.h>
#include <stdint.h>

#include "base/raw.h"

#define TRIB_ASIDE_STACK_BYTES 16384u

/* Runs work(arg), perhaps on `stack` (16-aligned, TRIB_ASIDE_STACK_BYTES) and perhaps twice: if it says -EMFILE, again
 * with an empty table. The caller has all signals blocked (trib_aside_block), else a handler of the program could run
 * in the middle. work uses raw system calls only (base/raw.h), no thread-local memory, no libc that has any, and closes
 * what it opens. Its result; -EOPNOTSUPP: several threads, and a file whose descriptor must not be copied; -errno of
 * clone, EINVAL where the process's children have another PID namespace; -ENOSYS: several threads before Linux 5.9. */
int trib_aside(int (*work)(void *arg), void *arg, void *stack);

/* Always in a thread with an empty table: what work closes there drops no POSIX lock of the program, whose owner is a
 * table. */
int trib_aside_in_thread(int (*work)(void *arg), void *arg, void *stack);

/* The same in a process that shares memory, and whose children are not the program's; with copies of its descriptors.
 * For the start of a process only: a child can be waited for (__WALL). Result 0..255; -errno of clone. -EINVAL: it
 * would be the init of the PID namespace of the program's children. */
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
