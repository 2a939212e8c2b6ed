/* SPDX-License-Identifier: Apache-2.0 */
/* Where events go: to the daemon whose socket TRIBUTARY_SESSION names, else to one of this process and its children
 * with the options of TRIBUTARY, else nowhere. Nothing of it lives in this process but a ring (tributary/client.h).
 *
 * Whatever fails makes the process inert: the program does not notice, but for one line on standard error when the
 * options are wrong. A process that runs as another user than it was started by (AT_SECURE) obeys no environment.
 *
 * Thread safety: any thread and signal handlers. Keeps errno. */
#ifndef TRIB_PRELOAD_SINK_H
#define TRIB_PRELOAD_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/client.h>
#include <tributary/event.h>

/* Whether the start has been, or has begun: every call but this one may begin it. */
bool trib_sink_has_started(void);

/* Whether anybody listens: false sends every interposed call straight on. */
bool trib_sink_wanted(void);

/* Whether the daemon is of this process and its children: each then joins as soon as it begins. */
bool trib_sink_is_private(void);

void trib_sink_submit(const struct trib_event *event);
/* False: there was no room for it. Who gives up says so by lose_name. */
bool trib_sink_name(uint64_t file, const char *path);
void trib_sink_lose_name(void);
/* A call path of this process that events of others will carry. */
void trib_sink_name_signature(uint64_t signature);
/* Joins now, before the first event. */
void trib_sink_join(void);
/* Whether the daemon is closed to who this process is now: whatever it starts, or forks, cannot join. */
bool trib_sink_is_barred(void);
/* Such a program is about to start. */
void trib_sink_uncovered(const char *path, enum trib_uncovered why);

/* Whether streams are to reach the kernel as write-life hints of files: TRIBUTARY_HINTS=1. */
bool trib_sink_wants_hints(void);

/* The stream that a write of this context should carry now; 0 = unknown. */
uint16_t trib_sink_place(const struct trib_context *who);

/* Reads the environment; before main, or by the first interposed call if that comes earlier. */
void trib_sink_start(void);

/* For a library that is loaded with options: a daemon for them, joined now, unless the environment has said where
 * events go. 0, or -errno with a sentence. */
int trib_sink_start_with(const char *options, struct trib_error *error);

/* Nobody listens for a while; what is open stays open. */
void trib_sink_pause(bool pause);

/* What the daemon has counted. False: it does not answer. */
bool trib_sink_status(struct trib_status *out);

#endif
