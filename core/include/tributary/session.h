/* SPDX-License-Identifier: Apache-2.0 */
/* A session: one recorder and any number of processes that write. The recorder is a live pipeline opened with option
 * session=PATH; it owns trace, policy, state and drive, and runs the flow. Each process joins with the file's path and
 * gets a ring of its own in shared memory, so that a process needs no thread, no file of its own and no lock, may live
 * for a millisecond, and may be killed at any instant without harm to the others. The recorder merges the rings by
 * time.
 *
 * Order: within a process as submitted; between processes by the monotonic clock at submit, so a cause (a compiler
 * that wrote and exited) always comes before its effect (the make that deletes). Why: docs/decisions/0009-sessions.md.
 *
 * Thread safety: submit, name_file and place from any thread; join and leave once. After fork the child has no
 * producer: it joins again (its parent's ring is not its own), while its copy is inert. A process that just ends, by
 * exit or by SIGKILL, need not leave: the recorder sees it and empties the ring. A process that calls exec may join
 * again; what its former image left is recorded. Limits: 2048 processes at once; the program's number and the
 * process's are modulo 4096 and 2^20, a thread's modulo 4096. */
#ifndef TRIBUTARY_SESSION_H
#define TRIBUTARY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>
#include <tributary/event.h>

TRIB_C_BEGIN

struct trib_producer;

/* Joins the session at `path`. 0; -ENOENT, -EACCES; -EPROTO (not a session, or another version); -ENOTCONN (its
 * recorder is gone); -EUSERS (all of its rings are taken); -ENOMEM (also a full file system). Never creates the file.
 * 40 to 200 us; opens files, which it closes again. */
TRIB_EXPORT int trib_producer_join(struct trib_producer **out, const char *path, struct trib_error *error);

/* Queues an event; fills in thread (process number << 12 | thread's number in it), tenant (number of the program,
 * dense from 0) and time. The frames of a signature that the session has not seen go along. Never blocks, never makes
 * a system call but the clock's, keeps errno. False: dropped (ring full, recorder gone) and counted. */
TRIB_EXPORT bool trib_producer_submit(struct trib_producer *producer, const struct trib_event *event);

/* Tells the frames of a call path of this process that other processes' events will carry: they know its id alone.
 * Nothing if the session has seen them. Like submit otherwise. */
TRIB_EXPORT void trib_producer_name_signature(struct trib_producer *producer, uint64_t signature);

/* Names a file in the trace so that people can read it. Dropped silently when there is no room. */
TRIB_EXPORT void trib_producer_name_file(struct trib_producer *producer, uint64_t file, const char *path);

/* The stream that the recorder's policy gave this context at its last write, a poll (up to 16 ms) ago. Of a call path
 * that it has not met: what it says of such writes by an unknown one, as trib_pipeline_place does. 0 = unknown:
 * nothing like it was written since the first call in the session, or it lost its place in the table of 16384 contexts
 * to another. For drives that take streams from the caller; the first call should come before the first write. */
TRIB_EXPORT uint16_t trib_producer_place(struct trib_producer *producer, const struct trib_context *who);

/* Why nothing that a program writes is told: no loader puts a library into it, or it makes its system calls itself. */
enum trib_uncovered {
    TRIB_COVERED = 0,
    TRIB_UNCOVERED_SETUID = 1,      /* setuid, setgid, file capabilities: LD_PRELOAD is ignored */
    TRIB_UNCOVERED_STATIC = 2,      /* there is no loader */
    TRIB_UNCOVERED_GO = 3,          /* linked with libc or not, it does not write through it */
    TRIB_UNCOVERED_MACHINE = 4,     /* for another machine, or 32 bits */
    TRIB_UNCOVERED_ENVIRONMENT = 5, /* started without the session's variables */
    TRIB_UNCOVERED_USER = 6,        /* another user, to whom the session is closed: session-users */
    TRIB_UNCOVERED_COUNT = 7,
};
static inline const char *trib_uncovered_name(uint32_t why) {
    static const char *const names[TRIB_UNCOVERED_COUNT] = {"covered", "setuid", "static", "Go", "another machine",
                                                            "cleared environment", "another user"};
    return why < TRIB_UNCOVERED_COUNT ? names[why] : "?";
}

/* Judges a program by the head of its file; TRIB_COVERED also for scripts and for what cannot be read.
 * Async-signal-safe, keeps errno; some microseconds. */
TRIB_EXPORT enum trib_uncovered trib_program_uncovered(const char *path);

/* Tells the recorder that such a program is being started; trib_status counts them. */
TRIB_EXPORT void trib_producer_note_uncovered(struct trib_producer *producer, const char *path,
                                              enum trib_uncovered why);

/* Gives the ring back once the recorder has emptied it. NULL is fine. In a fork's child: unmaps only. In a process with
 * threads the mapping stays, so that one of them may still be inside submit. */
TRIB_EXPORT void trib_producer_leave(struct trib_producer *producer);

TRIB_C_END
#endif
