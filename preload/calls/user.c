/* SPDX-License-Identifier: Apache-2.0 */
/* Another user: once a process has become one, the session's file may be closed to what it starts. It joins while it
 * can, so that it can say so (trib_sink_is_barred, calls/program.c). */
#include <sys/types.h>
#include <unistd.h>

#include "files/descriptors.h"
#include "libc/next.h"
#include "sink.h"

#define UNCHANGED ((uid_t)-1)

static void join_before(uid_t effective) {
    if (effective != UNCHANGED && effective != geteuid() && trib_sink_wanted() && !trib_in_vfork)
        trib_sink_join();
}

TRIB_CALL int setuid(uid_t user) {
    join_before(user);
    return TRIB_NEXT(setuid)(user);
}

TRIB_CALL int seteuid(uid_t user) {
    join_before(user);
    return TRIB_NEXT(seteuid)(user);
}

TRIB_CALL int setreuid(uid_t real, uid_t effective) {
    join_before(effective);
    return TRIB_NEXT(setreuid)(real, effective);
}

TRIB_CALL int setresuid(uid_t real, uid_t effective, uid_t saved) {
    join_before(effective);
    return TRIB_NEXT(setresuid)(real, effective, saved);
}
