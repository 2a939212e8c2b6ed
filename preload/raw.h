/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel itself, past everything that stands in front of libc's syscall(). */
#ifndef TRIB_PRELOAD_RAW_H
#define TRIB_PRELOAD_RAW_H

#include <sys/stat.h>
#include <sys/syscall.h>

/* As syscall(2): -1 and errno on failure. */
long trib_syscall(long number, ...) __attribute__((visibility("hidden")));

/* As fstat(2), of a number that another thread may be closing or opening: TSan takes libc's for an access to that file. */
static inline int trib_raw_fstat(int fd, struct stat *out) {
    return (int)trib_syscall(SYS_fstat, fd, out);
}

#endif
