/* SPDX-License-Identifier: Apache-2.0 */
/* A task for a moment that shares this process's memory but has descriptors, limits and signal dispositions of its own:
 * what it opens, closes or waits for, this process never sees. The calling thread is suspended meanwhile, as by vfork.
 * Async-signal-safe; any thread. */
#ifndef TRIB_PRODUCER_ASIDE_H
#define TRIB_PRODUCER_ASIDE_H

#include <stddef.h>

#define TRIB_ASIDE_STACK_BYTES 16384u

/* Runs work(arg) on `stack` (16-aligned, TRIB_ASIDE_STACK_BYTES) with all signals blocked. work uses raw system calls
 * only (base/raw.h), no thread-local memory, no libc that has any. Its result, 0..255; or -errno of the clone. */
int trib_aside(int (*work)(void *arg), void *arg, void *stack);

/* clone(2): a task that runs work(arg) and ends with its result; its id, or -errno. For tasks that start tasks. */
long trib_aside_clone(long flags, void *stack_top, int (*work)(void *arg), void *arg)
    __attribute__((visibility("hidden")));

#endif
