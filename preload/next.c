/* SPDX-License-Identifier: Apache-2.0 */
#include "next.h"

#include <dlfcn.h>
#include <errno.h>

static long absent(void) {
    errno = ENOSYS;
    return -1;
}

void *trib_next_find(const char *name, _Atomic(void *) *slot) {
    int kept = errno;
    void *found = dlsym(RTLD_NEXT, name);

    if (!found)
        found = (void *)absent;
    atomic_store_explicit(slot, found, memory_order_relaxed);
    errno = kept;
    return found;
}
