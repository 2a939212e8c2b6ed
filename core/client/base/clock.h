/* SPDX-License-Identifier: Apache-2.0 */
/* The clock that all processes of a machine share. */
#ifndef TRIB_BASE_CLOCK_H
#define TRIB_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC; without a system call where the kernel maps its clock. */
static inline uint64_t trib_now_ns(void) {
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
