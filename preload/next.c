/* SPDX-License-Identifier: Apache-2.0 */
#include "next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

static long absent(void) {
    errno = ENOSYS;
    return -1;
}

static bool is_ours(const void *function) {
    Dl_info here, there;

    return dladdr((void *)is_ours, &here) && dladdr(function, &there) && here.dli_fbase == there.dli_fbase;
}

void *trib_next_look(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);

    if (found)
        return found;
    void *program = dlopen(NULL, RTLD_LAZY);
    found = program ? dlsym(program, name) : NULL;
    return found && !is_ours(found) ? found : NULL;
}

void *trib_next_find(const char *name, _Atomic(void *) *slot) {
    int kept = errno;
    void *found = trib_next_look(name);

    if (!found)
        found = (void *)absent;
    atomic_store_explicit(slot, found, memory_order_relaxed);
    errno = kept;
    return found;
}
