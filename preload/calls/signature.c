/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that change what a call path is read from: the alternate signal stack, and the code that is loaded. dlopen is
 * left alone: libc looks at who calls it, for RUNPATH and namespaces, and a call by way of this library would be ours.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>

#include <tributary/signature.h>

#include "calls/calls.h"
#include "files/descriptors.h"
#include "libc/next.h"
#include "libc/raw.h"
#include "quiet.h"
#include "sink.h"

static bool was_early; /* set before the start, by the one thread that there is */

static void note(const stack_t *wanted) {
    if (trib_ask_begin()) {
        trib_signature_prepare();
        trib_ask_end();
    }
    if (wanted->ss_flags & SS_DISABLE)
        trib_signature_alternate_stack(NULL, 0);
    else
        trib_signature_alternate_stack(wanted->ss_sp, wanted->ss_size);
}

/* The kernel has read `wanted`; where `former` lies over it, it has written there since. A sanitizer's runtime sets its
 * stack before any constructor and before it works: nothing may be started for that. */
static void changed(const stack_t *wanted, const stack_t *former) {
    uintptr_t one = (uintptr_t)wanted, other = (uintptr_t)former;
    stack_t now;

    if (!wanted || trib_in_vfork)
        return;
    if (!trib_sink_has_started()) {
        was_early = true;
        return;
    }
    if (!trib_sink_wanted())
        return;
    if (former && one - other + sizeof now < 2 * sizeof now) {
        if (TRIB_RAW(SYS_sigaltstack, 0, &now) != 0)
            return;
        wanted = &now;
    }
    note(wanted);
}

void trib_stack_start(void) {
    stack_t now;

    if (was_early && TRIB_RAW(SYS_sigaltstack, 0, &now) == 0)
        note(&now);
}

TRIB_CALL int sigaltstack(const stack_t *wanted, stack_t *former) {
    int result = TRIB_NEXT(sigaltstack)(wanted, former);

    if (result == 0)
        changed(wanted, former);
    return result;
}

/* In a library of its own before glibc 2.34, which a program may open later. */
TRIB_CALL int dlclose(void *handle) {
    int result = TRIB_NEXT_LATER(dlclose)(handle);

    if (result == 0 && trib_sink_wanted())
        trib_signature_modules_changed();
    return result;
}
