/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel itself, past everything that stands in front of libc's syscall(). */
#ifndef TRIB_PRELOAD_RAW_H
#define TRIB_PRELOAD_RAW_H

/* As syscall(2): -1 and errno on failure. */
long trib_syscall(long number, ...) __attribute__((visibility("hidden")));

#endif
