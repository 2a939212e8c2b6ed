/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the shim may make system calls of its own. Once the program has locked itself in (seccomp), a call that it
 * did not foresee ends it: from before that moment on nothing is asked, nobody joins. What is known by then goes on
 * being recorded, because a ring needs no system call; but in strict mode, which takes the processor's clock away
 * (so does PR_SET_TSC), nothing is. Filters from before the program's start are its environment's, as in a
 * container.
 *
 * Thread safety: any thread, signal handlers. The child of a fork inherits it; that of a vfork quietens itself
 * alone. */
#ifndef TRIB_PRELOAD_QUIET_H
#define TRIB_PRELOAD_QUIET_H

#include <stdatomic.h>
#include <stdbool.h>

extern _Atomic(int) trib_quiet_calls __attribute__((visibility("hidden"))); /* that may have locked the process in */
extern _Thread_local int trib_quiet_child __attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline bool trib_may_ask(void) {
    return atomic_load_explicit(&trib_quiet_calls, memory_order_relaxed) == 0 && !trib_quiet_child;
}

/* Another thread may lock the process in at any time, between that look and our call: whoever asks says so, and who
 * locks in waits for him. */
extern _Atomic(int) trib_asking __attribute__((visibility("hidden")));

static inline void trib_ask_end(void) {
    atomic_fetch_sub(&trib_asking, 1);
}
static inline bool trib_ask_begin(void) {
    atomic_fetch_add(&trib_asking, 1);
    if (atomic_load(&trib_quiet_calls) == 0 && !trib_quiet_child)
        return true;
    trib_ask_end();
    return false;
}

/* What `question` answers, or `otherwise` if it may not be asked. */
#define TRIB_ASK(otherwise, question)                                                                                  \
    ({                                                                                                                 \
        __typeof__(question) trib_answer = (otherwise);                                                                \
        if (trib_ask_begin()) {                                                                                        \
            trib_answer = (question);                                                                                  \
            trib_ask_end();                                                                                            \
        }                                                                                                              \
        trib_answer;                                                                                                   \
    })

/* In the child of a fork: whoever was asking is not here. */
static inline void trib_ask_inherited(void) {
    if (atomic_load_explicit(&trib_asking, memory_order_relaxed))
        atomic_store_explicit(&trib_asking, 0, memory_order_relaxed);
}

/* After a vfork, in the parent, on whose memory the child ran. */
void trib_quiet_child_gone(void);

#endif
