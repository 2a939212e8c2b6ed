/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that the shim stands in front of: the next definition in the loader's search order, which is libc's or
 * another interposer's. Looked up on first use, because a short-lived program calls few of them.
 * Thread safety: any thread; two threads may look up the same name, with the same result. */
#ifndef TRIB_PRELOAD_NEXT_H
#define TRIB_PRELOAD_NEXT_H

#include <stdatomic.h>

#define TRIB_CALL __attribute__((visibility("default"))) /* an interposed function */

/* NULL where no library has it. Loaded late, this library comes behind libc, but not behind what the program itself was
 * linked with (libaio, liburing): those are found through the program. */
void *trib_next_look(const char *name);

/* Finds `name` and keeps it in *slot. Where no library has it: a function that fails with ENOSYS. */
void *trib_next_find(const char *name, _Atomic(void *) *slot);

#define TRIB_NEXT(name)                                                                                                \
    __extension__({                                                                                                    \
        static _Atomic(void *) next_slot;                                                                              \
        void *next_found = atomic_load_explicit(&next_slot, memory_order_relaxed);                                     \
        (__typeof__(&name))(__builtin_expect(!next_found, 0) ? trib_next_find(#name, &next_slot) : next_found);        \
    })

/* On LP64 the calls with 64-bit offsets are the same functions under another name. */
#define TRIB_SAME(name) __attribute__((visibility("default"), alias(#name)))

#endif
