/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel itself, past everything that stands in front of libc. All that the shim asks on its own account is
 * TRIB_RAW (base/raw.h), and only while trib_may_ask() (quiet.h). */
#ifndef TRIB_PRELOAD_RAW_H
#define TRIB_PRELOAD_RAW_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/raw.h"

/* As syscall(2): -1 and errno on failure. For what the program asked for. */
long trib_syscall(long number, ...) __attribute__((visibility("hidden")));

static inline int trib_raw_fstat(int fd, struct stat *out) {
    return (int)TRIB_RAW(SYS_fstat, fd, out);
}

/* As libc returns it: errno, too. */
static inline long trib_raw_result(long result) {
    /* NOLINTNEXTLINE(bugprone-reserved-identifier): not ours to name */
    extern int *__errno_location(void) __attribute__((const));

    if (result >= -4095 && result < 0) {
        *__errno_location() = (int)-result;
        return -1;
    }
    return result;
}

#endif
