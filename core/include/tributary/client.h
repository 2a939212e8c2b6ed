/* SPDX-License-Identifier: Apache-2.0 */
/* The client: how a process says what it writes. It runs inside other people's programs, so it holds next to nothing:
 * a ring in shared memory, which a daemon empties, and a table that it may only read, in which the daemon says which
 * stream a context has. Policy, drive, trace and learned state are the daemon's (`trib daemon`, `trib record`).
 *
 * A process joins by itself, at its first event: it asks at the daemon's socket and maps what it is given. That is done
 * by a short-lived task which shares the process's memory but not its descriptors: the process's own descriptor table
 * is never touched, and nothing stays open. A daemon that is gone or silent costs a process its events, nothing else;
 * when one comes back the process joins it again.
 *
 * Order: within a process as submitted; between processes by the monotonic clock at submit, so a cause (a compiler that
 * wrote and exited) always comes before its effect (the make that deletes). Why: docs/decisions/0009-sessions.md.
 *
 * Thread safety: open and close once; everything else from any thread and from signal handlers, without lock or memory
 * of its own, keeps errno. After fork, of whatever kind, the child joins for itself at its first event. A process that
 * ends, by exit or by SIGKILL, need not say so. */
#ifndef TRIBUTARY_CLIENT_H
#define TRIBUTARY_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>
#include <tributary/event.h>
#include <tributary/status.h>

TRIB_C_BEGIN

#define TRIB_CLIENT_VERSION 1 /* of this header; grows with every change that breaks a caller */

struct trib_client;

/* At start-up. address: the daemon's socket, an absolute path of at most 107 bytes. Takes memory, connects to nobody.
 * 0; -ENAMETOOLONG, -EINVAL (not absolute), -ENOMEM. */
TRIB_EXPORT int trib_client_open(struct trib_client **out, const char *address, struct trib_error *error);

/* Gives the ring and the memory back. No other call of this client may be running or follow. NULL is fine. */
TRIB_EXPORT void trib_client_close(struct trib_client *client);

/* False while the daemon has paused: nothing need be submitted. */
TRIB_EXPORT bool trib_client_wanted(const struct trib_client *client);

/* For adapters in whose process a time may come that forbids system calls: whatever makes some asks may_call() before,
 * and calls has_called() after it said yes. At start-up. */
TRIB_EXPORT void trib_client_guard(struct trib_client *client, bool (*may_call)(void), void (*has_called)(void));

/* Joins now if it has not yet. 0; -ENOENT, -ECONNREFUSED, -EACCES (not on the daemon's list), -ETIMEDOUT, -EUSERS,
 * -EPROTO (another version), -ENOMEM, -EAGAIN (tried a moment ago), -EBUSY (a task of another process in this memory),
 * -EPERM (it may make no system calls). */
TRIB_EXPORT int trib_client_join(struct trib_client *client);

/* Of one write or read: no call of Linux moves more. The daemon takes a longer one for damage: split it. */
#define TRIB_EVENT_BYTES_MAX (1ull << 31)

/* Queues an event; the daemon adds who this is (thread, tenant). The frames of a signature that the daemon has not seen
 * go along. Never waits but for a join in progress (250 ms at most). False: dropped and counted. */
TRIB_EXPORT bool trib_client_submit(struct trib_client *client, const struct trib_event *event);

/* Sends the frames of a call path of this process that other processes' events will carry: they know its id alone. */
TRIB_EXPORT void trib_client_name_signature(struct trib_client *client, uint64_t signature);

/* Names a file in the record so that people can read it. False: there was no room; another try may find some. Who gives
 * up says so by lose_name, which the daemon counts (names_lost). */
TRIB_EXPORT bool trib_client_name_file(struct trib_client *client, uint64_t file, const char *path);
TRIB_EXPORT void trib_client_lose_name(struct trib_client *client);

/* The stream that the daemon's policy gave this context at its last write, a poll (up to 16 ms) ago. Of a call path
 * that it has not met: what it says of such writes by an unknown one. 0 = unknown: nothing like it was written since
 * the first call, or it lost its place in the table of 16384 contexts to another. The first call should come before the
 * first write. */
TRIB_EXPORT uint16_t trib_client_place(struct trib_client *client, const struct trib_context *who);

/* The daemon's status. 0, -EPROTO (a daemon of another version), else -errno as for join. Not for write paths: waits up
 * to a second. */
TRIB_EXPORT int trib_client_status(struct trib_client *client, struct trib_status *out);

/* A daemon of its own for whoever has these options (docs/options.md): started if there is none, shared by all
 * processes of this user that name the same options in the same folder; it ends some seconds after the last of them. It
 * is nobody's child and inherits no descriptor. At start-up; waits until it answers (5 s at most). address: at least
 * 108 bytes. 0; -EINVAL with the sentence of the daemon; -ENOENT (no `trib` to be found), -ETIMEDOUT, -ENOMEM, -errno.
 */
TRIB_EXPORT int trib_client_start_daemon(const char *options, char *address, size_t capacity, struct trib_error *error);

/* What a file is for, by its name: the one table of all adapters, and the kinds that the tables of policy `manual`
 * know. enum trib_file_kind of an absolute path; TRIB_FILE_UNKNOWN for an empty one. Rules about folders want the
 * folder's '/' before them: a relative path is given with "./" in front. Pure function, signal handlers: no locale, no
 * memory. */
TRIB_EXPORT uint8_t trib_kind_of(const char *path);

/* How many filters of system calls (seccomp) this process has. Who starts others for a session passes it on to them in
 * TRIBUTARY_FILTERS: one that has more was locked in since, and must not join. At start-up. */
TRIB_EXPORT unsigned trib_client_filters(void);

/* Why nothing that a program writes is recorded: no loader puts a library into it, or it makes its system calls itself.
 */
enum trib_uncovered {
    TRIB_COVERED = 0,
    TRIB_UNCOVERED_SETUID = 1,      /* setuid, setgid, file capabilities: LD_PRELOAD is ignored */
    TRIB_UNCOVERED_STATIC = 2,      /* there is no loader */
    TRIB_UNCOVERED_GO = 3,          /* linked with libc or not, it does not write through it */
    TRIB_UNCOVERED_MACHINE = 4,     /* for another machine, or 32 bits */
    TRIB_UNCOVERED_ENVIRONMENT = 5, /* started without the session's variables */
    TRIB_UNCOVERED_USER = 6,        /* another user, who is not on the daemon's list */
    TRIB_UNCOVERED_STDIO = 7,       /* libc's own write could not be hooked: all but stdio's writes are recorded */
    TRIB_UNCOVERED_COUNT = 8,
};
static inline const char *trib_uncovered_name(uint32_t why) {
    static const char *const names[TRIB_UNCOVERED_COUNT] = {
        "covered",         "setuid",
        "static",          "Go",
        "another machine", "cleared environment",
        "another user",    "writes of stdio: code may not be changed"};
    return why < TRIB_UNCOVERED_COUNT ? names[why] : "?";
}

/* Judges a program by the head of its file; TRIB_COVERED also for scripts and for what cannot be read.
 * Async-signal-safe, keeps errno; some microseconds. */
TRIB_EXPORT enum trib_uncovered trib_program_uncovered(const char *path);

/* Says that such a program is being started; `trib status` counts them. */
TRIB_EXPORT void trib_client_note_uncovered(struct trib_client *client, const char *path, enum trib_uncovered why);

TRIB_C_END
#endif
