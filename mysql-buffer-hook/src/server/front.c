/* SPDX-License-Identifier: Apache-2.0 */
#include "server/front.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "base/line.h"
#include "options.h"
#include "patch/code.h"

enum state { IDLE, WAITING, HOOKING, HOOKED, OFF };

static const struct trib_front *adapter;
static _Atomic(int) state = IDLE;
static _Atomic(const char *) reason = "no MySQL or MariaDB server";
static _Atomic(unsigned) refusals;

/* Into the status, the counter and a line; the first reason stays. */
static void refuse(const char *what, const char *why) {
    atomic_store(&reason, why);
    atomic_fetch_add(&refusals, 1);
    (void)trib_line((const char *[]){"no front-end signatures: ", what, why, "; pages go by their content", NULL});
}

static void hook(void) {
    int code = adapter->hook(trib_server()), hooking = HOOKING;

    if (code) {
        atomic_store(&state, OFF);
        refuse(adapter->cannot, trib_patch_reason(code));
    } else if (!atomic_compare_exchange_strong(&state, &hooking, HOOKED)) {
        adapter->unhook(); /* retired meanwhile */
    }
}

static const struct trib_front *adapter_for(enum trib_server_kind kind) {
    return kind == TRIB_SERVER_MYSQL ? &trib_front_mysql : kind == TRIB_SERVER_MARIADB ? &trib_front_mariadb : NULL;
}

void trib_front_start(void) {
    adapter = adapter_for(trib_server()->kind);
    if (!adapter)
        return;
    const char *why = trib_buffer_settings()->front ? adapter->refuses(trib_server()) : "switched off by front=off";
    if (why) {
        atomic_store(&state, OFF);
        refuse("", why);
    } else if (adapter->waits) {
        atomic_store(&state, WAITING);
    } else {
        atomic_store(&state, HOOKING);
        hook();
    }
}

void trib_front_ready(void) {
    int waiting = WAITING;

    if (__builtin_expect(atomic_load_explicit(&state, memory_order_relaxed) != WAITING, 1))
        return;
    if (atomic_compare_exchange_strong(&state, &waiting, HOOKING))
        hook();
}

void trib_front_retire(const char *why) {
    int before = atomic_exchange(&state, OFF);

    if (before == OFF)
        return;
    if (before == HOOKED)
        adapter->unhook();
    if (why)
        refuse("", why);
    else
        atomic_store(&reason, "the engine notes its pages itself");
}

bool trib_front_is_hooked(void) {
    return atomic_load_explicit(&state, memory_order_relaxed) == HOOKED;
}

unsigned trib_front_refusals(void) {
    return atomic_load(&refusals);
}

void trib_front_describe(char *text, unsigned capacity) {
    int now = atomic_load(&state);

    if (now == HOOKED || now == WAITING || now == HOOKING)
        snprintf(text, capacity, "%s %s", adapter->name, now == HOOKED ? "hooked" : "waits for the first page");
    else
        snprintf(text, capacity, "off: %s", atomic_load(&reason));
}
