/* SPDX-License-Identifier: Apache-2.0 */
/* The program locks itself in. Noted before the call, because a signal may come right after it; taken back if it
 * fails. */
#include <stdarg.h>
#include <sys/prctl.h>
#include <time.h>

#include <linux/seccomp.h>

#include "calls/calls.h"
#include "files/descriptors.h"
#include "libc/next.h"
#include "libc/raw.h"
#include "quiet.h"
#include "sink.h"

#define WAIT_NS    50000u
#define WAIT_TURNS 5000u /* 250 ms, as long as a join may take: a handler may stand in its own thread's question */

_Atomic(int) trib_quiet_calls, trib_asking;
_Thread_local int trib_quiet_child;

enum { ASKS_NOTHING = 1, RECORDS_NOTHING };

/* PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11: system calls from outside a range of code become signals. */
enum { USER_DISPATCH = 59, USER_DISPATCH_ON = 1 };

static void wait_for_asking(void) {
    const struct timespec pause = {.tv_nsec = WAIT_NS};

    for (unsigned turn = 0; turn < WAIT_TURNS && atomic_load(&trib_asking) > 0; turn++)
        TRIB_RAW(SYS_nanosleep, &pause, 0);
}

/* In strict mode, and where the program wants a signal for it, the processor's clock cannot be read: an event
 * without a time is none. */
static void quieten(bool has_clock) {
    if (trib_in_vfork)
        trib_quiet_child = has_clock ? ASKS_NOTHING : RECORDS_NOTHING;
    else if (atomic_fetch_add(&trib_quiet_calls, 1) == 0)
        wait_for_asking();
    if (!has_clock)
        trib_sink_pause(true);
}

static long end_quieten(bool has_clock, long result) {
    if (result >= 0)
        return result;
    if (!has_clock)
        trib_sink_pause(false);
    if (trib_in_vfork)
        trib_quiet_child = 0;
    else
        atomic_fetch_sub(&trib_quiet_calls, 1);
    return result;
}

void trib_quiet_child_gone(void) {
    if (trib_quiet_child == RECORDS_NOTHING)
        trib_sink_pause(false);
    trib_quiet_child = 0;
}

static bool is_quieting(int option, unsigned long value) {
    return option == PR_SET_SECCOMP || (option == PR_SET_TSC && value == PR_TSC_SIGSEGV) ||
           (option == USER_DISPATCH && value == USER_DISPATCH_ON);
}

static bool keeps_clock(int option, unsigned long value) {
    return option == USER_DISPATCH || (option == PR_SET_SECCOMP && value != SECCOMP_MODE_STRICT);
}

/* libc, too, reads four arguments whether they are there or not. */
TRIB_CALL int prctl(int option, ...) {
    unsigned long arguments[4];
    va_list rest;

    va_start(rest, option);
    for (unsigned i = 0; i < 4; i++)
        arguments[i] = va_arg(rest, unsigned long);
    va_end(rest);
    bool has_clock = keeps_clock(option, arguments[0]);
    if (!is_quieting(option, arguments[0]))
        return TRIB_NEXT(prctl)(option, arguments[0], arguments[1], arguments[2], arguments[3]);
    quieten(has_clock);
    int result = TRIB_NEXT(prctl)(option, arguments[0], arguments[1], arguments[2], arguments[3]);
    return (int)end_quieten(has_clock, result);
}

long trib_raw_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    bool has_clock = keeps_clock(option, a);

    if (!is_quieting(option, a))
        return trib_syscall(SYS_prctl, option, a, b, c, d);
    quieten(has_clock);
    return end_quieten(has_clock, trib_syscall(SYS_prctl, option, a, b, c, d));
}

long trib_raw_seccomp(unsigned operation, unsigned flags, void *arguments) {
    bool has_clock = operation != SECCOMP_SET_MODE_STRICT;

    if (operation != SECCOMP_SET_MODE_STRICT && operation != SECCOMP_SET_MODE_FILTER)
        return trib_syscall(SYS_seccomp, operation, flags, arguments);
    quieten(has_clock);
    return end_quieten(has_clock, trib_syscall(SYS_seccomp, operation, flags, arguments));
}
