/* SPDX-License-Identifier: Apache-2.0 */
#include "libc/libc_entry.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "patch/code.h"
#include "patch/objects.h"

typedef ssize_t write_call(int fd, const void *buffer, size_t length);
typedef off_t lseek_call(int fd, off_t offset, int whence);

static struct trib_patch write_patch, lseek_patch;
static _Atomic(bool) sees_moves;
static int patch_code = -ECANCELED;

int trib_entry_code(void) {
    return patch_code;
}

bool trib_entry_sees_moves(void) {
    return atomic_load_explicit(&sees_moves, memory_order_relaxed);
}

ssize_t trib_entry_write(int fd, const void *buffer, size_t length) {
    return ((write_call *)write_patch.go_on)(fd, buffer, length);
}

off_t trib_entry_lseek(int fd, off_t offset, int whence) {
    return ((lseek_call *)lseek_patch.go_on)(fd, offset, whence);
}

/* Early: before main, and mostly the only thread. */
static int patch(struct trib_patch *out, const char *name, const void *instead, bool is_early) {
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), *function = libc ? dlsym(libc, name) : NULL;
    int code = function ? trib_patch_put(out, function, instead, !is_early) : -ENOTSUP;

    if (libc)
        dlclose(libc);
    return code;
}

int trib_entry_patch(void) {
    bool is_early = trib_loaded_early();

    trib_write_pass_on(true); /* before: a write of another thread may go unseen now, but not be recorded twice */
    patch_code = patch(&write_patch, "write", (void *)trib_write, is_early);
    if (patch_code) {
        trib_write_pass_on(false);
        return patch_code;
    }
    if (patch(&lseek_patch, "lseek", (void *)trib_lseek, is_early) == 0)
        atomic_store(&sees_moves, true);
    return 0;
}
