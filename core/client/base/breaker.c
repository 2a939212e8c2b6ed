/* SPDX-License-Identifier: Apache-2.0 */
#include "base/breaker.h"

_Atomic(uint32_t) trib_broken;

void trib_break(enum trib_check check) {
    atomic_fetch_or_explicit(&trib_broken, 1u << check, memory_order_relaxed);
}

uint32_t trib_broken_checks(void) {
    return (uint32_t)__builtin_popcount(atomic_load_explicit(&trib_broken, memory_order_relaxed));
}
