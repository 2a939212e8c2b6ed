/* SPDX-License-Identifier: Apache-2.0 */
/* The breaker: where a check finds broken what can only be broken by a fault of ours, or by a wild write of the
 * program's, nothing stops and nothing is mended: this process goes unrecorded from then on, and the daemon is told how
 * many checks failed. All checks stand where a write does not pass every time.
 *
 * Thread safety: any thread, signal handlers, no lock. The child of a fork inherits it, with its memory. */
#ifndef TRIB_BASE_BREAKER_H
#define TRIB_BASE_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

#ifdef __cplusplus
extern "C" {
#endif

enum trib_check {
    TRIB_CHECK_RING,        /* more events wait than there are slots */
    TRIB_CHECK_TEXTS,       /* more bytes wait than the ring of texts has */
    TRIB_CHECK_ATTACHMENT,  /* where the rings are is not what was written down when they came */
    TRIB_CHECK_DESCRIPTORS, /* an entry says two things that exclude each other */
    TRIB_CHECK_MEMO,        /* an entry of a memo lies outside it */
};

extern TRIB_ATOMIC(uint32_t) trib_broken __attribute__((visibility("hidden"))); /* a bit for each check */

void trib_break(enum trib_check check) __attribute__((visibility("hidden")));
uint32_t trib_broken_checks(void) __attribute__((visibility("hidden")));

#ifdef __cplusplus
}
#else
static inline bool trib_is_broken(void) {
    return atomic_load_explicit(&trib_broken, memory_order_relaxed) != 0;
}
#endif
#endif
