/* SPDX-License-Identifier: Apache-2.0 */
#include "libc/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

/* Made by the linker for a section whose name is an identifier. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier): not ours to name */
extern struct trib_next __start_trib_next[] __attribute__((visibility("hidden")));
/* NOLINTNEXTLINE(bugprone-reserved-identifier): not ours to name */
extern struct trib_next __stop_trib_next[] __attribute__((visibility("hidden")));

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

void *trib_next_find(struct trib_next *next) {
    int kept = errno;
    void *found = trib_next_look(next->name);

    if (found || !next->comes_later)
        atomic_store_explicit(&next->found, found ? found : (void *)absent, memory_order_relaxed);
    errno = kept;
    return found ? found : (void *)absent;
}

static int is_liburing(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    return info->dlpi_name && strstr(info->dlpi_name, "liburing");
}

/* Looking for what is not there costs most, and allocates: those that come later only where their library is. */
void trib_next_start(void) {
    bool all = dl_iterate_phdr(is_liburing, NULL);

    for (struct trib_next *next = __start_trib_next; next < __stop_trib_next; next++)
        if ((all || !next->comes_later) && !atomic_load_explicit(&next->found, memory_order_relaxed))
            (void)trib_next_find(next);
}
