/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that may not be there: the kernel copies it, which says no where a load would fault. Costs a system call, so
 * for what is asked seldom. Async-signal-safe, keeps errno. */
#ifndef TRIB_BASE_SAFE_COPY_H
#define TRIB_BASE_SAFE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "base/raw.h"

/* False: not all of it is readable, or the system lets nobody ask. */
static inline bool trib_safe_copy(void *to, const void *from, size_t bytes) {
    struct iovec here = {to, bytes}, there = {(void *)from, bytes};

    return TRIB_RAW(SYS_process_vm_readv, TRIB_RAW(SYS_getpid), &here, 1, &there, 1, 0) == (long)bytes;
}

#endif
