/* SPDX-License-Identifier: Apache-2.0 */
/* libtributary-mysql.so comes to life: preloaded before main, or opened by a running server. */
#include <dlfcn.h>
#include <string.h>

#include <tributary/signature.h>

#include "base/line.h"
#include "copies.h"
#include "identify.h"
#include "options.h"
#include "patch/objects.h"
#include "server/front.h"
#include "server/server.h"
#include "shim.h"
#include "status.h"

const char *const trib_copies_symbol = "tributary_status";

static bool is_mine(const void *function) {
    Dl_info mine, theirs;

    return dladdr((void *)is_mine, &mine) && dladdr(function, &theirs) && mine.dli_fbase == theirs.dli_fbase;
}

/* `trib record` preloads libtributary-preload.so into whatever it starts: that shim would record each write again,
 * without the page's context. It may lie before this library or behind it. First of the constructors (100 and below are
 * the compiler's): what the next ones say on standard error would be recorded. */
__attribute__((constructor(101))) static void quiet_other_shim(void) {
    void *found[] = {trib_copies_first("trib_shim_pause"), dlsym(RTLD_NEXT, "trib_shim_pause")};

    for (unsigned i = 0; i < sizeof found / sizeof found[0]; i++)
        if (found[i] && !is_mine(found[i]))
            ((void (*)(bool))found[i])(true);
}

__attribute__((constructor)) static void load(void) {
    trib_line_start();
    if (trib_copies_is_second())
        return;
    trib_buffer_options_start();
    trib_server_start();
    trib_identify_innodb(trib_server()->kind != TRIB_SERVER_NONE);
    trib_front_start();
    trib_shim_identify_with(trib_buffer_identify);
    trib_signature_prepare(); /* pages are noted before the first write, and by processes that write none */
    if (trib_loaded_early())
        return;
    int slots = trib_shim_patch_imports();
    if (slots < 0)
        (void)trib_line((const char *[]){"this program's imports cannot be changed (", strerror(-slots),
                                         "); preload the library instead", NULL});
}

__attribute__((destructor)) static void unload(void) {
    char text[512];

    if (!trib_buffer_settings()->report || trib_server()->kind == TRIB_SERVER_NONE)
        return;
    (void)trib_buffer_status(text, sizeof text);
    (void)trib_line((const char *[]){text, NULL});
}
