/* SPDX-License-Identifier: Apache-2.0 */
/* Two copies of one adapter in one process (an installed one and one of a build, or one that is preloaded and one that
 * the server opens): each would record every write. The first in the loader's order works, the others do nothing. */
#include <dlfcn.h>
#include <stddef.h>

#include "copies.h"

void *trib_copies_first(const char *symbol) {
    void *program = dlopen(NULL, RTLD_LAZY); /* RTLD_DEFAULT may begin with this library */
    void *found = program ? dlsym(program, symbol) : NULL;
    Dl_info theirs, mine;

    if (!found || dladdr(found, &theirs) == 0 || dladdr((void *)trib_copies_first, &mine) == 0)
        return NULL;
    return theirs.dli_fbase == mine.dli_fbase ? NULL : found;
}

bool trib_copies_is_second(void) {
    return trib_copies_first(trib_copies_symbol) != NULL;
}
