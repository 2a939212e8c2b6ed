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

static int plan(struct trib_patch_batch *batch, struct trib_patch *out, void *function, const void *instead) {
    /* Early: before main, and mostly the only thread. */
    return function ? trib_patch_add(batch, out, function, instead, !trib_loaded_early()) : -ENOTSUP;
}

/* A stream whose moves go unseen is asked where it is: lseek may fail alone. */
static int patch(void *libc) {
    struct trib_patch_batch batch = {.count = 0};
    int code = plan(&batch, &write_patch, dlsym(libc, "write"), (void *)trib_write);

    if (code)
        return code;
    (void)plan(&batch, &lseek_patch, dlsym(libc, "lseek"), (void *)trib_lseek);
    trib_write_pass_on(true); /* before: a write of another thread may go unseen now, but not be recorded twice */
    code = trib_patch_commit(&batch);
    if (!write_patch.at)
        trib_write_pass_on(false);
    atomic_store(&sees_moves, lseek_patch.at != NULL);
    return write_patch.at ? 0 : code;
}

int trib_entry_patch(void) {
    void *libc = write_patch.at ? NULL : dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

    if (write_patch.at)
        return patch_code;
    patch_code = libc ? patch(libc) : -ENOTSUP;
    if (libc)
        dlclose(libc);
    return patch_code;
}
