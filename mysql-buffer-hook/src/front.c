/* SPDX-License-Identifier: Apache-2.0 */
#include "front.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "patch/code.h"

enum state { IDLE, WAITING, HOOKED, OFF };

static const struct trib_front *adapter;
static _Atomic(int) state = IDLE;
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
static char reason[160] = "no MySQL or MariaDB server";

static void refuse(const char *why) {
    snprintf(reason, sizeof reason, "%s", why);
    fprintf(stderr, "tributary: no front-end signatures: %s; pages go by their content\n", why);
}

static void hook(void) {
    char text[160];
    int rc = adapter->hook(trib_server());

    if (rc) {
        snprintf(text, sizeof text, "%s cannot be hooked (%s)", adapter->name, trib_patch_reason(rc));
        refuse(text);
    }
    atomic_store(&state, rc ? OFF : HOOKED);
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
        refuse(why);
        atomic_store(&state, OFF);
    } else if (adapter->waits) {
        atomic_store(&state, WAITING);
    } else {
        hook();
    }
}

void trib_front_ready(void) {
    if (__builtin_expect(atomic_load_explicit(&state, memory_order_relaxed) != WAITING, 1))
        return;
    pthread_mutex_lock(&changing);
    if (atomic_load(&state) == WAITING)
        hook();
    pthread_mutex_unlock(&changing);
}

void trib_front_retire(const char *why) {
    pthread_mutex_lock(&changing);
    int before = atomic_exchange(&state, OFF);
    if (before == HOOKED)
        adapter->unhook();
    if (before != OFF && why)
        refuse(why);
    else if (before != OFF)
        snprintf(reason, sizeof reason, "the engine notes its pages itself");
    pthread_mutex_unlock(&changing);
}

bool trib_front_is_hooked(void) {
    return atomic_load_explicit(&state, memory_order_relaxed) == HOOKED;
}

void trib_front_describe(char *text, unsigned capacity) {
    int now = atomic_load(&state);

    if (now == HOOKED || now == WAITING)
        snprintf(text, capacity, "%s %s", adapter->name, now == HOOKED ? "hooked" : "waits for the first page");
    else
        snprintf(text, capacity, "off: %s", reason);
}
