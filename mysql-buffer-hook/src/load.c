/* SPDX-License-Identifier: Apache-2.0 */
/* libtributary-mysql.so comes to life: preloaded before main, or opened by a running server. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "front.h"
#include "identify.h"
#include "options.h"
#include "server.h"
#include "shim.h"
#include "status.h"

/* Preloaded, this library's write() is the one that the program finds. (RTLD_DEFAULT would find ours in either case: linked
 * with -Bsymbolic, this library looks into itself first.) */
static bool is_preloaded(void) {
    Dl_info mine, theirs;
    void *program = dlopen(NULL, RTLD_LAZY), *found = program ? dlsym(program, "pwrite64") : NULL;

    return found && dladdr((void *)is_preloaded, &mine) && dladdr(found, &theirs) && mine.dli_fbase == theirs.dli_fbase;
}

__attribute__((constructor)) static void load(void) {
    trib_identify_innodb(trib_server()->kind != TRIB_SERVER_NONE);
    trib_front_start();
    trib_shim_identify_with(trib_buffer_identify);
    if (is_preloaded())
        return;
    int slots = trib_shim_patch_imports();
    if (slots < 0)
        fprintf(stderr, "tributary: this program's imports cannot be changed (%s); preload the library instead\n",
                strerror(-slots));
}

__attribute__((destructor)) static void unload(void) {
    char text[512];

    if (!trib_buffer_settings()->report || trib_server()->kind == TRIB_SERVER_NONE)
        return;
    (void)trib_buffer_status(text, sizeof text);
    fprintf(stderr, "tributary: %s\n", text);
}
