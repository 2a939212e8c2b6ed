/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that the shim stands in front of: the next definition in the loader's search order, which is libc's or
 * another interposer's. All are looked up at start-up, because the loader's lock may be held by anybody later: by a
 * thread that the parent of this process had, by code that a signal interrupts. 59 names cost 17 to 36 us a process
 * (cold; most of it are page faults in libc's tables). Thread safety: any thread; two threads may look up the same
 * name, with the same result. */
#ifndef TRIB_PRELOAD_NEXT_H
#define TRIB_PRELOAD_NEXT_H

#include <stdatomic.h>
#include <stdbool.h>

#define TRIB_CALL __attribute__((visibility("default"))) /* an interposed function */

/* One for each use of TRIB_NEXT, side by side in a section. As long as it is aligned: no compiler leaves gaps. */
struct trib_next {
    const char *name;
    _Atomic(void *) found;
    bool comes_later; /* by a library that the program may open when it runs */
} __attribute__((aligned(32)));

/* Finds all that any library has. Once, in a constructor. */
void trib_next_start(void);

/* What was not found: a function that fails with ENOSYS. Looks now where start-up is not over, or where comes_later. */
void *trib_next_find(struct trib_next *next);

/* NULL where no library has it. Loaded late, this library comes behind libc, but not behind what the program itself was
 * linked with: those are found through the program. Takes the loader's lock. */
void *trib_next_look(const char *name);

#define TRIB_NEXT_ENTRY(function_, comes_later_)                                                                       \
    __extension__({                                                                                                    \
        static struct trib_next next_entry                                                                             \
            __attribute__((section("trib_next"), used, aligned(32))) = {#function_, NULL, comes_later_};               \
        void *next_found = atomic_load_explicit(&next_entry.found, memory_order_relaxed);                              \
        (__typeof__(&(function_)))(__builtin_expect(!next_found, 0) ? trib_next_find(&next_entry) : next_found);       \
    })

#define TRIB_NEXT(name) TRIB_NEXT_ENTRY(name, false)

/* For a function of a library that need not be there when the program starts (liburing): the one kind of call that may
 * ask the loader later, each time until the library is there. Who opens a library in one thread and submits from a
 * signal handler in another may meet the loader's lock. */
#define TRIB_NEXT_LATER(name) TRIB_NEXT_ENTRY(name, true)

/* On LP64 the calls with 64-bit offsets are the same functions under another name. */
#define TRIB_SAME(name) __attribute__((visibility("default"), alias(#name)))

#endif
