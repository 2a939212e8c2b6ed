/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread_number.h"

#include <stdatomic.h>

#include "base/likely.h"

uint32_t trib_thread_number(void) {
    static _Atomic(uint32_t) last;
    /* initial-exec: no allocation on the first access, whatever the library is loaded into */
    static _Thread_local uint32_t number __attribute__((tls_model("initial-exec")));

    if (TRIB_UNLIKELY(number == 0))
        number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    return number;
}
