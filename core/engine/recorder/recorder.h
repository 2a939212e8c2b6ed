/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's side of a session: makes the file, takes events out of all rings in the order of time, hears names and
 * call paths, gives the slots of ended processes to the next, and says which stream a context has. The file may be
 * damaged by any process under it; the recorder then loses what that process had to say, no more.
 *
 * Thread safety: one owner (the maintenance thread); status may be read by any thread. */
#ifndef TRIB_SESSION_RECORDER_H
#define TRIB_SESSION_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>
#include <tributary/event.h>

#include "ring/layout.h"
#include "recorder/texts.h"

struct trib_session;

struct trib_session_config {
    const char *path;
    uint32_t ring_events; /* per process; rounded up to a power of two */
    bool all_users;       /* mode 0666 instead of 0600 */
};

/* Creates the file; replaces that of a recorder that is gone. 0; -EEXIST (a session in use, or another file); -ENOMEM;
 * -errno of the file system. */
int trib_session_open(struct trib_session **out, const struct trib_session_config *config, struct trib_error *error);

/* From here on processes are told that the recorder is gone, and the path is free; what waits can still be taken. */
void trib_session_stop(struct trib_session *session);
void trib_session_close(struct trib_session *session); /* stops, too; NULL is fine */

/* The next events in order, at most `capacity`, wall_ns by CLOCK_MONOTONIC. What was told before them goes to the sink.
 * After stop: all that is left, whatever its time; 0 then means empty. */
unsigned trib_session_take(struct trib_session *session, struct trib_event *batch, unsigned capacity,
                           const struct trib_session_sink *sink);

/* Every event that was submitted before this time (CLOCK_MONOTONIC) and returned has been taken. */
uint64_t trib_session_complete_ns(const struct trib_session *session);

struct trib_session_status {
    uint64_t events_dropped, bytes_dropped; /* rings full, processes killed in the middle of an event, nonsense */
    uint64_t processes, processes_live;     /* live: also ended ones whose rings are not yet empty */
};
void trib_session_status(const struct trib_session *session, struct trib_session_status *out);

/* For trib_producer_place. */
bool trib_session_wants_places(const struct trib_session *session);
void trib_session_publish(struct trib_session *session, const struct trib_context *who, uint16_t stream);

#endif
