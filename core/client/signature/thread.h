/* SPDX-License-Identifier: Apache-2.0 */
/* What a capturing thread owns: its memo, its stack bounds, its counters. One pointer of static TLS
 * finds it (the initial-exec model: 8 bytes of the room that glibc keeps for libraries opened
 * late); the rest is mapped.
 *
 * Thread safety: lock-free. A record is claimed on a thread's first capture and given back by a
 * pthread key destructor: its pages go back to the kernel, the record itself is reused and never
 * unmapped, so counters can be summed at any time. After fork the child keeps its own record and
 * takes back those of threads that it does not have. */
#ifndef TRIB_SIGNATURE_THREAD_H
#define TRIB_SIGNATURE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/signature.h>

#include "base/atomic.h"
#include "memo.h"
#include "stack.h"

struct trib_thread {
    struct trib_stack stack; /* of the thread; low == high if unknown */
    uint32_t generation;     /* of the module map, that the memo is valid for */
    uint32_t arena_used;
    /* Frame address of the capture in progress, 0 = none. A nested one (a signal handler's) leaves
     * the memo alone. */
    TRIB_ATOMIC(uintptr_t) busy;
    TRIB_ATOMIC(uint64_t) hits, misses, rejected; /* written by the owner only */
    TRIB_ATOMIC(bool) owned;
    struct trib_thread *next;
    struct trib_memo memo;
};

extern __thread struct trib_thread *trib_thread_current
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Claims a record for the calling thread and reads its stack bounds; `frame` is an address on the
 * stack in use. NULL without memory. Async-signal-safe with signals blocked. */
struct trib_thread *trib_thread_claim(uintptr_t frame);

/* Adds the counters of all threads, also of those that ended. */
void trib_thread_count(struct trib_signature_stats *stats);

#endif
