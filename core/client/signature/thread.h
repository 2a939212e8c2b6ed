/* SPDX-License-Identifier: Apache-2.0 */
/* What a capturing thread owns: its memo, its stack bounds, its counters. One pointer of static TLS finds it (the
 * initial-exec model: 8 bytes of the room that glibc keeps for libraries opened late); the rest is reserved
 * before the first capture.
 *
 * Thread safety: lock-free; claiming allocates nothing and makes no system call. A record is claimed on a thread's
 * first capture and given back by a pthread key destructor (where no key below 32 was free, which glibc keeps in the
 * control block, by the next thread with the same control block). Threads for whom none is left walk each time.
 * After fork the child keeps its own record and takes back those of threads that it does not have; the child of a
 * raw clone has fewer to give. */
#ifndef TRIB_SIGNATURE_THREAD_H
#define TRIB_SIGNATURE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/signature.h>

#include "base/atomic.h"
#include "memo.h"
#include "stack.h"

/* 40 KiB of address space each, 20 MiB in all: mlockall takes what is reserved for memory in use, and a program may
 * limit its own address space at any time. */
#define TRIB_THREADS_MAX  512u
#define TRIB_THREADS_KEPT 64u
#define TRIB_THREADS_FEW  4u /* of a program that may lock no more */

struct trib_thread {
    struct trib_stack stack; /* of the thread; low == high if unknown */
    uint32_t generation;     /* of the module map, that the memo is valid for */
    uint32_t arena_used;
    /* Frame address of the capture in progress, 0 = none. A nested one (a signal handler's) leaves
     * the memo alone. */
    TRIB_ATOMIC(uintptr_t) busy;
    TRIB_ATOMIC(uint64_t) hits, misses, rejected; /* written by the owner only */
    uint64_t check_at;                            /* hits, when the memo is next compared with a walk */
    struct trib_stack alternate;                  /* signal stack, if an adapter said so */
    struct trib_memo memo;
};

extern __thread struct trib_thread *trib_thread_current
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* What takes locks, at start-up: the key. */
void trib_thread_prepare(void);
void trib_thread_child_forked(void); /* in the child */

/* Before the first capture: address space for `count` records, fewer or none without memory. TRIB_THREADS_KEPT of them
 * can be used at once, which is what a system that counts memory when it is reserved (vm.overcommit_memory=2) is asked
 * for; the others after trib_thread_extend. Async-signal-safe. */
void trib_thread_reserve(uint32_t count);
void trib_thread_extend(void);

/* Unmaps the records that nobody has ever used, but for the first `kept`. Any thread. */
void trib_thread_give_back(uint32_t kept);

/* Claims a record for the calling thread and finds its stack bounds; `frame` is an address on the stack in use. NULL if
 * there is none left, or if this is a signal handler in the middle of its thread's claim. Async-signal-safe. */
struct trib_thread *trib_thread_claim(uintptr_t frame);

/* Adds the counters of all threads, also of those that ended. */
void trib_thread_count(struct trib_signature_stats *stats);

#endif
