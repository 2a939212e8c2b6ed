/* SPDX-License-Identifier: Apache-2.0 */
/* The program locks itself in. Noted before the call, because a signal may come right after it; taken back if it fails. */
#include <stdarg.h>
#include <sys/prctl.h>

#include <linux/seccomp.h>

#include "calls.h"
#include "descriptors.h"
#include "next.h"
#include "quiet.h"
#include "raw.h"

_Atomic(int) trib_quiet_calls;
_Thread_local bool trib_quiet_child;

static void quieten(void) {
    if (trib_in_vfork)
        trib_quiet_child = true;
    else
        atomic_fetch_add(&trib_quiet_calls, 1);
}

static long end_quieten(long result) {
    if (result >= 0)
        return result;
    if (trib_in_vfork)
        trib_quiet_child = false;
    else
        atomic_fetch_sub(&trib_quiet_calls, 1);
    return result;
}

/* libc, too, reads four arguments whether they are there or not. */
TRIB_CALL int prctl(int option, ...) {
    unsigned long arguments[4];
    va_list rest;

    va_start(rest, option);
    for (unsigned i = 0; i < 4; i++)
        arguments[i] = va_arg(rest, unsigned long);
    va_end(rest);
    if (option != PR_SET_SECCOMP)
        return TRIB_NEXT(prctl)(option, arguments[0], arguments[1], arguments[2], arguments[3]);
    __typeof__(&prctl) next = TRIB_NEXT(prctl); /* looked up before */
    quieten();
    return (int)end_quieten(next(option, arguments[0], arguments[1], arguments[2], arguments[3]));
}

long trib_raw_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    if (option != PR_SET_SECCOMP)
        return trib_syscall(SYS_prctl, option, a, b, c, d);
    quieten();
    return end_quieten(trib_syscall(SYS_prctl, option, a, b, c, d));
}

long trib_raw_seccomp(unsigned operation, unsigned flags, void *arguments) {
    if (operation != SECCOMP_SET_MODE_STRICT && operation != SECCOMP_SET_MODE_FILTER)
        return trib_syscall(SYS_seccomp, operation, flags, arguments);
    quieten();
    return end_quieten(trib_syscall(SYS_seccomp, operation, flags, arguments));
}
