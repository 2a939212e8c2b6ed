/* SPDX-License-Identifier: Apache-2.0 */
/* A session: one recorder and any number of processes that write. The recorder is a live pipeline opened with option
 * session=PATH; it owns trace, policy, state and drive, and runs the flow. Each process joins with the file's path and
 * gets a ring of its own in shared memory, so that a process needs no thread, no file of its own and no lock, may live
 * for a millisecond, and may be killed at any instant without harm to the others. The recorder merges the rings by time.
 *
 * Order: within a process as submitted; between processes by the monotonic clock at submit, so a cause (a compiler that
 * wrote and exited) always comes before its effect (the make that deletes). Why: docs/decisions/0009-sessions.md.
 *
 * Thread safety: submit and name_file from any thread; join and leave once. After fork the child has no producer: it
 * joins again (its parent's ring is not its own). */
#ifndef TRIBUTARY_SESSION_H
#define TRIBUTARY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>
#include <tributary/event.h>

TRIB_C_BEGIN

struct trib_producer;

/* Joins the session at `path`. 0; -ENOENT, -EACCES; -EPROTO (not a session, or another version); -ENOTCONN (its recorder
 * is gone); -EUSERS (all of its rings are taken); -ENOMEM. Never creates the file. */
TRIB_EXPORT int trib_producer_join(struct trib_producer **out, const char *path, struct trib_error *error);

/* Queues an event; fills in thread (process number << 12 | thread's number in it), tenant (number of the program, dense
 * from 0) and time. The frames of a signature that the session has not seen go along. Never blocks, never makes a system
 * call but the clock's, keeps errno. False: dropped (ring full, recorder gone) and counted. */
TRIB_EXPORT bool trib_producer_submit(struct trib_producer *producer, const struct trib_event *event);

/* Names a file in the trace so that people can read it. Dropped silently when there is no room. */
TRIB_EXPORT void trib_producer_name_file(struct trib_producer *producer, uint64_t file, const char *path);

/* The stream that the recorder's policy gives this context now; 0 = unknown. For drives that take streams from the
 * caller. */
TRIB_EXPORT uint16_t trib_producer_place(struct trib_producer *producer, const struct trib_context *who);

/* Gives the ring back once the recorder has emptied it. NULL is fine. In a fork's child: unmaps only. */
TRIB_EXPORT void trib_producer_leave(struct trib_producer *producer);

TRIB_C_END
#endif
