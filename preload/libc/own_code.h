/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a call comes from this library itself: such writes are not the program's. Pure. */
#ifndef TRIB_PRELOAD_OWN_CODE_H
#define TRIB_PRELOAD_OWN_CODE_H

#include <stdbool.h>

/* frame: that of the interposed function, above which its return address stands. */
static inline bool trib_is_own_code(const void *frame) {
    extern const char __ehdr_start[] __attribute__((visibility("hidden")));
    extern const char _etext[] __attribute__((visibility("hidden")));
    const char *caller = ((const char *const *)frame)[1];

    return caller >= __ehdr_start && caller < _etext;
}

#endif
