/* SPDX-License-Identifier: Apache-2.0 */
#include "sink.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tributary/client.h>

#include "base/line.h"
#include "copies.h"
#include "libc/raw.h"
#include "quiet.h"

enum mode { UNREAD, OFF, ON };

static _Atomic(int) mode;
static _Atomic(bool) paused;
static bool hints, is_private;
static char address[128]; /* of the daemon */
static struct trib_client *client;

/* ---- what the environment asks for ---- */

static void complain(const char *what) {
    (void)trib_line((const char *[]){what, "; running without", NULL});
}

/* Where the program has locked itself in, joining would be a system call of ours. */
static int open_client(struct trib_error *error) {
    int code = trib_client_open(&client, address, error);

    if (code == 0)
        trib_client_guard(client, trib_ask_begin, trib_ask_end);
    return code;
}

/* A daemon for whoever names the same options: this process, and whatever it starts. Each keeps a ring from its start
 * on, which keeps the daemon. */
static int start_private(const char *options, struct trib_error *error) {
    int code = trib_client_start_daemon(options, address, sizeof address, error);

    if (code == 0)
        code = open_client(error);
    if (code)
        return code;
    is_private = true;
    code = trib_client_join(client);
    if (code == -ETIMEDOUT) /* the machine is busy: a later write joins */
        code = 0;
    if (code)
        snprintf(error->text, sizeof error->text, "the daemon at %s: %s", address, strerror(-code));
    return code;
}

/* By a filter that whoever began the session did not have: it may end this process for a call of ours. */
static bool is_locked_in(struct trib_error *error) {
    const char *known = secure_getenv("TRIBUTARY_FILTERS");
    unsigned filters = trib_client_filters();

    if (filters <= (known ? strtoul(known, NULL, 10) : 0))
        return false;
    bool is_one = filters == 1;
    snprintf(error->text, sizeof error->text,
             "its system calls are filtered (seccomp, %u %s it join a daemon, say so with TRIBUTARY_FILTERS=%u",
             filters, is_one ? "filter); if this lets" : "filters); if these let", filters);
    return true;
}

static enum mode read_mode(void) {
    const char *session = secure_getenv("TRIBUTARY_SESSION"), *options = secure_getenv("TRIBUTARY");
    const char *hint = secure_getenv("TRIBUTARY_HINTS");
    struct trib_error error = {.text = ""};
    int code;

    if ((!(session && *session) && !(options && *options)) || trib_copies_is_second())
        return OFF;
    if (is_locked_in(&error)) {
        code = -EPERM;
    } else if (session && *session) {
        snprintf(address, sizeof address, "%s", session);
        code = open_client(&error);
    } else {
        code = start_private(options, &error);
    }
    hints = hint && strcmp(hint, "1") == 0;
    if (code)
        complain(error.text);
    return code ? OFF : ON;
}

/* Before main, by one thread; what comes earlier, from another constructor, finds it OFF. */
void trib_sink_start(void) {
    int kept = errno, unread = UNREAD;

    if (!atomic_compare_exchange_strong(&mode, &unread, OFF))
        return;
    trib_line_start();
    atomic_store_explicit(&mode, (int)read_mode(), memory_order_release);
    errno = kept;
}

bool trib_sink_has_started(void) {
    return atomic_load_explicit(&mode, memory_order_acquire) != UNREAD;
}

bool trib_sink_wanted(void) {
    int now = atomic_load_explicit(&mode, memory_order_acquire);

    if (__builtin_expect(now == UNREAD, 0)) {
        trib_sink_start();
        now = atomic_load_explicit(&mode, memory_order_acquire);
    }
    return now == ON && !atomic_load_explicit(&paused, memory_order_relaxed) && trib_client_wanted(client);
}

void trib_sink_pause(bool pause) {
    atomic_store(&paused, pause);
}

bool trib_sink_wants_hints(void) {
    return hints;
}

bool trib_sink_is_private(void) {
    return atomic_load_explicit(&mode, memory_order_acquire) == ON && is_private;
}

int trib_sink_start_with(const char *options, struct trib_error *error) {
    trib_sink_start();
    if (atomic_load(&mode) != OFF)
        return 0;
    int code = is_locked_in(error) ? -EPERM : start_private(options, error);
    if (code == 0)
        atomic_store_explicit(&mode, ON, memory_order_release);
    return code;
}

/* ---- use ---- */

void trib_sink_submit(const struct trib_event *event) {
    if (trib_sink_wanted())
        (void)trib_client_submit(client, event);
}

bool trib_sink_name(uint64_t file, const char *path) {
    return trib_sink_wanted() && trib_client_name_file(client, file, path);
}

void trib_sink_lose_name(void) {
    if (trib_sink_wanted())
        trib_client_lose_name(client);
}

void trib_sink_name_signature(uint64_t signature) {
    if (trib_sink_wanted())
        trib_client_name_signature(client, signature);
}

void trib_sink_join(void) {
    if (trib_sink_wanted())
        (void)trib_client_join(client);
}

/* Asked for the effective ids, and not where anybody gets in. The daemon's list is its own; a socket that this user may
 * connect to is taken for one whose daemon takes him. What lets this process in beyond that (PR_SET_KEEPCAPS) ends with
 * the exec that it prepares: without an access-control list, owner and mode say what is left. */
bool trib_sink_is_barred(void) {
    uid_t self = (uid_t)TRIB_RAW(SYS_geteuid);
    struct stat status;

    if (self == 0 || !trib_sink_wanted())
        return false;
    long code = TRIB_RAW(SYS_newfstatat, AT_FDCWD, address, &status, 0);
    if (code)
        return code == -EACCES;
    if (status.st_uid == self || status.st_mode & S_IWOTH)
        return false;
    return !(status.st_mode & S_IWGRP) || TRIB_RAW(SYS_faccessat2, AT_FDCWD, address, W_OK, AT_EACCESS) == -EACCES;
}

void trib_sink_uncovered(const char *path, enum trib_uncovered why) {
    if (trib_sink_wanted())
        trib_client_note_uncovered(client, path, why);
}

uint16_t trib_sink_place(const struct trib_context *who) {
    return trib_sink_wanted() ? trib_client_place(client, who) : 0;
}

bool trib_sink_status(struct trib_status *out) {
    return atomic_load(&mode) == ON && trib_client_status(client, out) == 0;
}
