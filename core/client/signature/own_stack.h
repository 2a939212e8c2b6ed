/* SPDX-License-Identifier: Apache-2.0 */
/* Where the calling thread's own stack lies, without a system call: pthread_getattr_np allocates and locks, and
 * /proc/self/maps takes 50 ms in a process of 60,000 mappings.
 *
 * The first thread's stack ends at what the kernel put above its arguments and may grow down to RLIMIT_STACK. Any other
 * thread's ends at its control block, and glibc keeps where it begins in that block; at which offset is learned at
 * start-up by value, from a thread whose bounds are known. A walk reads upwards from a live frame only, so that what
 * must be right is the upper end, and whether the frame lies in between.
 *
 * Thread safety: trib_own_stack: any thread, async-signal-safe. */
#ifndef TRIB_SIGNATURE_OWN_STACK_H
#define TRIB_SIGNATURE_OWN_STACK_H

#include "stack.h"

/* At start-up, once each: what needs no lock, and what does. */
void trib_own_stack_start(void);
void trib_own_stack_learn(void);

/* `frame`: an address on the stack in use, which may be another one (an alternate signal stack, a fibre's).
 * low == high if it cannot be found out. */
struct trib_stack trib_own_stack(uintptr_t frame);

#endif
