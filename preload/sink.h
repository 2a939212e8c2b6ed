/* SPDX-License-Identifier: Apache-2.0 */
/* Where events go: the producer of a session (TRIBUTARY_SESSION=path), else a live pipeline of this process
 * (TRIBUTARY=options), else nowhere. Opened by the first event, so that a process which writes no file pays nothing.
 *
 * The child of a fork joins the session again by itself; a pipeline belongs to the process that was started with it,
 * and to what that becomes by exec. Whatever fails makes the process inert: the program never hears of it, but for one
 * line on standard error when the options are wrong.
 *
 * Thread safety: any thread, and signal handlers once the first event is out. Keeps errno. */
#ifndef TRIB_PRELOAD_SINK_H
#define TRIB_PRELOAD_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/event.h>
#include <tributary/pipeline.h>
#include <tributary/session.h>

/* Whether anybody listens: false sends every interposed call straight on. */
bool trib_sink_wanted(void);

/* Whether events go, or would go, to a pipeline of this process. */
bool trib_sink_is_pipeline(void);

/* Whether they go, or would go, to a session. */
bool trib_sink_is_session(void);

void trib_sink_submit(const struct trib_event *event);
void trib_sink_name(uint64_t file, const char *path);
/* In a session: a call path of this process that events of others will carry. */
void trib_sink_name_signature(uint64_t signature);
/* Joins the session now, before the first event. */
void trib_sink_join(void);
/* Whether the session's file is closed to who this process is now: whatever it starts, or forks, cannot join. */
bool trib_sink_is_barred(void);
/* In a session: such a program is about to start. */
void trib_sink_uncovered(const char *path, enum trib_uncovered why);

/* Whether this thread is Tributary's own now: opening the sink, or the pipeline's. Asks the kernel. */
bool trib_sink_is_own_thread(void);

/* Whether streams are to reach the kernel as write-life hints of files: TRIBUTARY_HINTS=1. */
bool trib_sink_wants_hints(void);

/* The stream that a write of this context should carry now; 0 = unknown. */
uint16_t trib_sink_place(const struct trib_context *who);

/* Reads the environment; before main, or by the first interposed call if that comes earlier. */
void trib_sink_start(void);

/* For a library that is loaded with options: a pipeline of this process, opened now, unless the environment has said
 * where events go. 0, or -errno with a sentence. */
int trib_sink_start_with(const char *options, struct trib_error *error);

/* Nobody listens for a while; what is open stays open. */
void trib_sink_pause(bool pause);

/* What the pipeline of this process has counted. False: there is none. */
bool trib_sink_status(struct trib_status *out);

/* The process ends here and now, perhaps in a signal handler: nothing may be closed, but the pipeline's thread gets
 * time for a last look. */
void trib_sink_settle(void);

/* At the end of the process: drains and closes a pipeline. A session's ring is emptied by its recorder. */
void trib_sink_stop(void);

#endif
