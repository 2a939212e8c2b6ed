/* SPDX-License-Identifier: Apache-2.0 */
/* For a library that comes into a running program, too late for the loader to bind anything to it: every loaded
 * object's import of a function that this library exports is pointed at ours, but for those of libc and the loader.
 * Only what leads to where our own calls go, or is not bound yet: another interposer stays where it is.
 *
 * Thread safety: any thread, also beside dlopen and dlclose of others. Not from signal handlers. */
#ifndef TRIB_PATCH_IMPORTS_H
#define TRIB_PATCH_IMPORTS_H

#include <tributary/error.h>

TRIB_C_BEGIN

/* Where our own calls of `name` go; NULL: nowhere. Asked outside the loader's list. */
typedef void *trib_patch_next(const char *name);

/* Number of slots patched; -ENOTSUP, -ENOMEM, or what mprotect says if that kept all of them from being patched. */
int trib_patch_imports(trib_patch_next *next);

TRIB_C_END
#endif
