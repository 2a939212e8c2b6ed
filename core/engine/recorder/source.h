/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder's two threads share: the listener (listener.c) fills a source for a process that joins and marks it
 * when the process has ended; the merger (recorder.c) empties it and frees it. Private to this room. */
#ifndef TRIB_RECORDER_SOURCE_H
#define TRIB_RECORDER_SOURCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include <tributary/client.h>

#include "recorder/recorder.h"
#include "ring/text.h"
#include "ring/wire.h"

enum trib_source_state {
    TRIB_SOURCE_FREE = 0, /* the listener's */
    TRIB_SOURCE_TAKEN,    /* the merger's */
};

struct trib_source {
    _Atomic(uint32_t) state;
    _Atomic(bool) gone; /* the process has ended, or its program; nothing will be added */
    /* Constant while TAKEN. */
    struct trib_ring ring;
    struct trib_text_ring texts;
    void *memory;
    int process; /* a pidfd, or -1: then `pid` is looked at now and then */
    pid_t pid;   /* in the daemon's namespace; 0 = not visible */
    uid_t user;
    uint64_t image;
    _Atomic(uint32_t) generation; /* of the slot: what the listener's poll still says of an earlier one is stale */
    uint32_t number;              /* of the process */
    uint16_t program;
    /* The merger's. */
    uint64_t head;        /* events before it are out */
    uint64_t cursor, end; /* of this round */
    uint64_t cut_bytes;   /* of the event at the cursor, that are out as events of their own */
    uint64_t last_ns;     /* times within a ring never go back */
    uint64_t text_at;
    uint64_t counted_events, counted_bytes; /* drops that are in the totals */
    uint64_t events, bytes;                 /* taken; bytes of writes */
    uint32_t counted_broken, counted_names;
    bool damaged, is_gone;
};

struct trib_waiting {
    uint64_t time_ns;
    uint32_t source;
};

struct trib_listener;

struct trib_recorder {
    struct trib_recorder_config config;
    uint32_t ring_events;
    uint64_t ring_bytes;
    struct trib_shared_table *table;
    int table_fd; /* that processes get: read only */
    struct trib_listener *listener;

    struct trib_source sources[TRIB_PROCESSES_MAX];
    _Atomic(uint32_t) sources_used;        /* sources from here on were never taken */
    char programs[TRIB_PROGRAMS_MAX][256]; /* by number; written before the first source that has it */
    struct trib_numbers program_numbers;   /* the listener's */
    _Atomic(uint32_t) program_count;

    /* The merger's. */
    struct trib_texts texts;
    uint32_t programs_said;
    uint32_t active[TRIB_PROCESSES_MAX], active_count; /* sources of this round */
    struct trib_waiting heap[TRIB_PROCESSES_MAX];
    uint32_t heap_count;
    uint64_t horizon_ns, complete_ns, last_out_ns, checked_ns;
    bool stopped, is_last_round, warned, wants_places;

    /* The listener's: what was said of those who may not join. */
    pid_t refused_pid;
    uint32_t refusals_said;
    uint64_t refusal_ns;

    _Atomic(uint64_t) lost[TRIB_LOSSES]; /* events, by cause: events_dropped is their sum */
    bool loss_said[TRIB_LOSSES];
    _Atomic(uint64_t) events_dropped, bytes_dropped, processes, processes_live, refused, rejoined, broken, damaged;
    _Atomic(uint64_t) names_lost;
    _Atomic(bool) asked_to_stop;
};

/* What a process says of itself; what cannot be moves no total. */
static inline bool trib_recorder_may_have_lost(uint64_t events, uint64_t bytes) {
    return events <= UINT32_MAX && bytes <= events * TRIB_EVENT_BYTES_MAX;
}

static inline void trib_recorder_count_drops(struct trib_recorder *recorder, enum trib_loss why, uint64_t events,
                                             uint64_t bytes) {
    atomic_fetch_add_explicit(&recorder->lost[why], events, memory_order_relaxed);
    atomic_fetch_add_explicit(&recorder->bytes_dropped, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&recorder->events_dropped, events, memory_order_release);
}

/* Counts a join that came to nothing, and says so of the first such processes. The listener's thread. */
void trib_recorder_refuse(struct trib_recorder *recorder, const struct ucred *peer, int code);

/* Sealed memory to share, mapped here for reading and writing. 0, -errno; *fd is for those who get it. */
int trib_memory_make(const char *name, uint64_t bytes, void **memory, int *fd);

/* A socket, and from start on a thread that answers it. close ends both. */
int trib_listener_open(struct trib_listener **out, struct trib_recorder *recorder, struct trib_error *error);
int trib_listener_start(struct trib_listener *listener);
/* Nobody joins any more, and the path is free. */
void trib_listener_stop(struct trib_listener *listener);
void trib_listener_close(struct trib_listener *listener);
/* Any thread, until that. */
void trib_listener_unwatch(struct trib_listener *listener, int fd);

#endif
