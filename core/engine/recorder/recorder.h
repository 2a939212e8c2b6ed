/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's side of the hand-over: listens on a socket, gives each process a ring, takes events out of all rings in
 * the order of time, reads names and call paths, takes the rings of ended processes back, and says which stream a
 * context has. A process may damage its own ring as it likes: the daemon then loses what that process had to say, no
 * more.
 *
 * Thread safety: take, publish, stop and close belong to one owner (the maintenance thread); the rest to any thread. A
 * thread of the recorder's own answers the socket. */
#ifndef TRIB_RECORDER_RECORDER_H
#define TRIB_RECORDER_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>
#include <tributary/event.h>
#include <tributary/status.h>

#include "recorder/access.h"
#include "recorder/texts.h"

struct trib_recorder;

struct trib_recorder_config {
    const char *address;  /* the socket's path, absolute */
    int listener;         /* a listening SOCK_SEQPACKET socket that somebody else made (systemd), or -1 */
    uint32_t ring_events; /* per process; rounded up to a power of two, 1024 to 2^20 */
    struct trib_access access;
    /* Answers a request for status on the recorder's thread: bytes written, or -errno. NULL: there is none. */
    long (*status)(void *arg, uint32_t format, char *text, size_t capacity);
    void *status_arg;
};

/* Listens, and answers nobody before start. A socket of a daemon that is gone is replaced. 0; -EADDRINUSE (a daemon
 * answers there), -ENAMETOOLONG, -ENOMEM, -errno of the file system. */
int trib_recorder_open(struct trib_recorder **out, const struct trib_recorder_config *config, struct trib_error *error);
/* From now on requests are answered, on a thread of its own: what `status` reads must be there. 0, -EAGAIN. */
int trib_recorder_start(struct trib_recorder *recorder);

/* From here on processes know that the daemon is gone, and the path is free; what waits can still be taken. */
void trib_recorder_stop(struct trib_recorder *recorder);
/* After stop: what still waits is counted as lost, and take finds nothing more. */
void trib_recorder_give_up(struct trib_recorder *recorder);
void trib_recorder_close(struct trib_recorder *recorder); /* stops, too; NULL is fine */

/* The next events in order, at most `capacity`, and after 64 MiB no more; wall_ns by CLOCK_MONOTONIC, thread and tenant
 * filled in. What was said before them goes to the sink. After stop: all that is left, whatever its time; 0 then means
 * empty. */
unsigned trib_recorder_take(struct trib_recorder *recorder, struct trib_event *batch, unsigned capacity,
                            const struct trib_texts_sink *sink);

/* Of what this round found, something is left to take. */
bool trib_recorder_has_more(const struct trib_recorder *recorder);

/* Every event that was submitted before this time (CLOCK_MONOTONIC) and returned has been taken. */
uint64_t trib_recorder_complete_ns(const struct trib_recorder *recorder);

/* Why events were lost: their ring was full; their process was killed in the middle of them, or wrote nonsense; it had
 * no daemon for a while. */
enum trib_loss { TRIB_LOSS_FULL, TRIB_LOSS_KILLED, TRIB_LOSS_ALONE, TRIB_LOSSES };

struct trib_recorder_counts {
    uint64_t events_dropped, bytes_dropped; /* for whatever cause */
    uint64_t lost[TRIB_LOSSES];             /* of events_dropped, by cause */
    uint64_t processes, processes_live;     /* live: also ended ones whose rings are not yet empty */
    uint64_t refused;                       /* joins: not on the list, no room, another version */
    uint64_t rejoined;                      /* joins of processes that had had another daemon before */
    uint64_t broken;                        /* invariants that checks found broken inside processes */
    uint64_t names_lost;                    /* of files, for which a ring of texts had no room */
    uint64_t damaged;                       /* rings that a process has damaged */
};
void trib_recorder_count(const struct trib_recorder *recorder, struct trib_recorder_counts *out);

/* A line for each cause of a loss, once: each has an advice of its own. By who takes. */
void trib_recorder_say_losses(struct trib_recorder *recorder);

/* Processes that are joined: those that lost most first, then those that wrote most. How many there are; at most
 * `capacity` are written. The owner's. */
uint32_t trib_recorder_producers(const struct trib_recorder *recorder, struct trib_status_producer *out,
                                 uint32_t capacity);

/* For trib_client_place. */
bool trib_recorder_wants_places(const struct trib_recorder *recorder);
void trib_recorder_publish(struct trib_recorder *recorder, const struct trib_context *who, uint16_t stream);

/* Processes submit nothing while it is paused. */
void trib_recorder_pause(struct trib_recorder *recorder, bool pause);
bool trib_recorder_is_paused(const struct trib_recorder *recorder);
/* Somebody asked for the end on the socket (TRIB_CONTROL_STOP). */
bool trib_recorder_is_asked_to_stop(const struct trib_recorder *recorder);

#endif
