/* SPDX-License-Identifier: Apache-2.0 */
/* The live half of a pipeline. Adapters push events into a ring (base/ring.h); one maintenance thread takes them out in ring
 * order, records them and runs the flow. With a session they come from the rings of its processes instead, in the order of
 * time (session/recorder.h). The thread polls instead of being woken, so that no write pays for a wake-up: every 16 ms,
 * more often while events come fast, and as a batch thread, so that its own wake-up takes no core from a thread of the
 * engine. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "log/log.h"
#include "ring/ring.h"
#include "base/seen.h"
#include "base/thread_number.h"
#include "flow.h"
#include "producer/coverage.h"
#include "recorder/recorder.h"

#define BATCH_EVENTS 4096u
#define POLL_NS_MIN 1000000l
#define POLL_NS_MAX 16000000l
#define NAMES_MAX 1024u

struct pending_name {
    uint64_t file;
    char path[256];
};

struct trib_live {
    struct trib_pipeline *pipeline;
    struct trib_ring ring; /* of this process; drops everything in a session and in a fork's copy */
    void *ring_memory;
    struct trib_session *session; /* NULL: this process only */
    struct trib_session_sink sink;
    uint64_t starts_uncovered; /* under the state's lock, with the next */
    char uncovered[sizeof ((struct trib_status *)NULL)->uncovered];
    _Alignas(64) _Atomic(uint64_t) done; /* processed: events of the ring, or nanoseconds of a session */
    _Atomic(bool) stop, orphaned; /* orphaned: this is a fork's copy, without the thread */

    pthread_t thread;
    uint64_t began_ns;
    struct trib_trace_writer *trace;
    uint64_t gap_events, gap_bytes; /* drops already told to the trace and the clock */
    int first_error;
    trib_seen_table seen; /* signatures whose frames are in the trace */
    struct trib_event batch[BATCH_EVENTS];

    pthread_mutex_t names_mutex; /* held for a copy or a swap, never while anything is written */
    struct pending_name *names, *names_taken;
    unsigned name_count, names_lost;
    struct trib_live *next; /* list of all, for fork */
};

static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct trib_live *all_live;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* ---- producers ---- */

bool trib_pipeline_submit(struct trib_pipeline *pipeline, const struct trib_event *event) {
    struct trib_live *live = pipeline->live;
    uint64_t ticket;
    struct trib_event *slot = trib_ring_claim(&live->ring, event, &ticket);

    if (!slot)
        return false;
    *slot = *event;
    slot->thread = trib_thread_number();
    trib_ring_publish(&live->ring, ticket);
    return true;
}

void trib_pipeline_name_file(struct trib_pipeline *pipeline, uint64_t file, const char *path) {
    struct trib_live *live = pipeline->live;

    if (!live || !live->trace || atomic_load_explicit(&live->orphaned, memory_order_relaxed))
        return;
    pthread_mutex_lock(&live->names_mutex);
    if (live->name_count == NAMES_MAX) {
        live->names_lost++;
    } else {
        struct pending_name *name = &live->names[live->name_count++];
        size_t length = strlen(path), size = sizeof name->path;
        /* The end of a long path tells more than its beginning. */
        const char *kept = length < size ? path : path + length - (size - 1);
        name->file = file;
        memcpy(name->path, kept, strlen(kept) + 1);
    }
    pthread_mutex_unlock(&live->names_mutex);
}

/* ---- recorder ---- */

static void check_trace(struct trib_live *live, int rc) {
    if (rc == 0)
        return;
    if (live->pipeline->counters.trace_errors++ == 0)
        trib_log(TRIB_LOG_ERROR, "trace: %s; recording stops, the program goes on", strerror(-rc));
    if (!live->first_error)
        live->first_error = rc;
}

static void record_names(struct trib_live *live) {
    pthread_mutex_lock(&live->names_mutex);
    struct pending_name *names = live->names;
    unsigned count = live->name_count, lost = live->names_lost;
    live->names = live->names_taken;
    live->names_taken = names;
    live->name_count = 0;
    live->names_lost = 0;
    pthread_mutex_unlock(&live->names_mutex);
    for (unsigned i = 0; i < count; i++)
        check_trace(live, trib_trace_write_name(live->trace, names[i].file, names[i].path));
    if (lost)
        trib_log(TRIB_LOG_WARNING, "%u files stay without a name in the trace: too many at once", lost);
}

/* Frames go into the trace the first time a signature is seen with them. */
static void record_signature(struct trib_live *live, uint64_t signature) {
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX];

    if (trib_seen(live->seen, signature))
        return;
    unsigned count = trib_signature_frames(signature, frames, TRIB_SIGNATURE_DEPTH_MAX);
    if (count == 0)
        return;
    trib_seen_add(live->seen, signature);
    check_trace(live, trib_trace_write_signature(live->trace, signature, frames, count));
}

static void record(struct trib_live *live, const struct trib_event *event) {
    if (event->who.signature && !live->session)
        record_signature(live, event->who.signature);
    check_trace(live, trib_trace_write(live->trace, event));
}

static void read_drops(const struct trib_live *live, uint64_t *events, uint64_t *bytes) {
    struct trib_session_status status = {0};

    if (live->session)
        trib_session_status(live->session, &status);
    *events = status.events_dropped + atomic_load_explicit(&live->ring.ends->dropped_events, memory_order_acquire);
    *bytes = status.bytes_dropped + atomic_load_explicit(&live->ring.ends->dropped_bytes, memory_order_relaxed);
}

static void record_gap(struct trib_live *live) {
    uint64_t events, bytes;

    read_drops(live, &events, &bytes);
    if (events == live->gap_events)
        return;
    if (live->gap_events == 0)
        trib_log(TRIB_LOG_WARNING, "events are lost: a ring is full (raise option '%s')%s",
                 live->session ? "process-ring" : "ring", live->session ? ", or a process was killed" : "");
    if (live->trace)
        check_trace(live, trib_trace_write_gap(live->trace, events - live->gap_events,
                                               bytes - live->gap_bytes));
    trib_pipeline_skip(live->pipeline, bytes - live->gap_bytes);
    live->gap_events = events;
    live->gap_bytes = bytes;
}

/* ---- what processes of a session tell ---- */

static void on_name(void *arg, uint64_t file, const char *path) {
    struct trib_live *live = arg;

    if (live->trace)
        check_trace(live, trib_trace_write_name(live->trace, file, path));
}

static void on_module(void *arg, uint32_t index, const struct trib_module *module) {
    struct trib_live *live = arg;

    if (live->trace)
        check_trace(live, trib_trace_write_module(live->trace, index, module));
}

static void on_signature(void *arg, uint64_t signature, const struct trib_frame *frames, uint32_t count) {
    struct trib_live *live = arg;

    if (!live->trace || trib_seen(live->seen, signature))
        return;
    trib_seen_add(live->seen, signature);
    check_trace(live, trib_trace_write_frames(live->trace, signature, frames, count));
}

static void on_program(void *arg, uint32_t number, const char *path) {
    struct trib_live *live = arg;
    char note[1100];

    snprintf(note, sizeof note, "tenant %u: %s", number, path);
    if (live->trace)
        check_trace(live, trib_trace_write_note(live->trace, note));
}

static void on_uncovered(void *arg, enum trib_uncovered why, const char *path) {
    struct trib_live *live = arg;
    char note[1200];

    live->starts_uncovered++;
    if (!trib_uncovered_add(live->uncovered, sizeof live->uncovered, path, why) || !live->trace)
        return;
    snprintf(note, sizeof note, "not covered: %s (%s)", path, trib_uncovered_name(why));
    check_trace(live, trib_trace_write_note(live->trace, note));
}

/* ---- maintenance thread ---- */

static unsigned take_batch(struct trib_live *live) {
    struct trib_ring *ring = &live->ring;
    uint64_t ticket = atomic_load_explicit(&ring->ends->head, memory_order_relaxed);
    unsigned count = 0;

    for (; count < BATCH_EVENTS && trib_ring_turn(ring, ticket) == TRIB_RING_FILLED; count++, ticket++) {
        live->batch[count] = *trib_ring_event(ring, ticket);
        trib_ring_release(ring, ticket);
    }
    atomic_store_explicit(&ring->ends->head, ticket, memory_order_release);
    /* Stamped here, to the poll: no clock on a write path. */
    uint64_t wall_ns = count ? trib_session_now_ns() - live->began_ns : 0;
    for (unsigned i = 0; i < count; i++)
        live->batch[i].wall_ns = wall_ns;
    return count;
}

static unsigned take_of_session(struct trib_live *live) {
    unsigned count = trib_session_take(live->session, live->batch, BATCH_EVENTS, &live->sink);

    for (unsigned i = 0; i < count; i++) {
        uint64_t *wall_ns = &live->batch[i].wall_ns;
        *wall_ns = *wall_ns > live->began_ns ? *wall_ns - live->began_ns : 0;
    }
    return count;
}

/* What a process may ask for by trib_producer_place: each context's stream as of its last write, and that of a call path
 * not met before, which policies that go by kind, level or hint know as well. */
static void publish_place(struct trib_live *live, const struct trib_event *event) {
    struct trib_context unmet = event->who;

    if (event->kind != TRIB_EVENT_WRITE || !trib_session_wants_places(live->session))
        return;
    unmet.signature = TRIB_SESSION_UNMET;
    trib_session_publish(live->session, &event->who, trib_pipeline_place(live->pipeline, &event->who));
    trib_session_publish(live->session, &unmet, trib_pipeline_place(live->pipeline, &unmet));
}

static unsigned run_batch(struct trib_live *live) {
    struct trib_pipeline *pipeline = live->pipeline;

    trib_state_lock(pipeline->state);
    unsigned count = live->session ? take_of_session(live) : take_batch(live);
    if (live->trace)
        record_names(live);
    for (unsigned i = 0; i < count; i++) {
        struct trib_event *event = &live->batch[i];
        event->clock_bytes = trib_state_clock(pipeline->state);
        if (live->trace)
            record(live, event);
        int rc = trib_flow_run(pipeline, event);
        if (rc && pipeline->counters.drive_errors++ == 0)
            trib_log(TRIB_LOG_ERROR, "event %llu: %s; the program goes on",
                     (unsigned long long)pipeline->counters.events, strerror(-rc));
        if (live->session)
            publish_place(live, event);
    }
    record_gap(live);
    if (live->trace && count == 0)
        check_trace(live, trib_trace_flush(live->trace)); /* idle: let readers catch up */
    trib_state_unlock(pipeline->state);
    uint64_t done = live->session ? trib_session_complete_ns(live->session)
                                  : atomic_load_explicit(&live->ring.ends->head, memory_order_relaxed);
    atomic_store_explicit(&live->done, done, memory_order_release);
    return count;
}

/* The next sleep: half as long after more than an eighth of the ring came in one, twice as long after less than a
 * thirty-second. */
static long next_sleep_ns(const struct trib_live *live, long sleep_ns, uint64_t events) {
    uint64_t slots = live->session ? live->pipeline->settings.process_ring : live->ring.mask;

    if (events > slots / 8)
        sleep_ns /= 2;
    else if (events < slots / 32)
        sleep_ns *= 2;
    return sleep_ns < POLL_NS_MIN ? POLL_NS_MIN : sleep_ns > POLL_NS_MAX ? POLL_NS_MAX : sleep_ns;
}

static void *maintain(void *arg) {
    struct trib_live *live = arg;
    long sleep_ns = POLL_NS_MIN;
    uint64_t events = 0; /* since the last sleep */

    pthread_setname_np(pthread_self(), "tributary");
    (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &(struct sched_param){0});
    for (;;) {
        bool stopping = atomic_load_explicit(&live->stop, memory_order_acquire);
        if (stopping && live->session)
            trib_session_stop(live->session);
        unsigned count = run_batch(live);
        events += count;
        if (count == BATCH_EVENTS)
            continue;
        if (stopping && count == 0)
            return NULL;
        sleep_ns = stopping ? POLL_NS_MIN : next_sleep_ns(live, sleep_ns, events);
        events = 0;
        nanosleep(&(struct timespec){.tv_nsec = sleep_ns}, NULL);
    }
}

void trib_pipeline_drain(struct trib_pipeline *pipeline) {
    struct trib_live *live = pipeline->live;

    if (!live || atomic_load(&live->orphaned))
        return;
    uint64_t target = live->session ? trib_session_now_ns() : atomic_load(&live->ring.ends->tail);
    while (atomic_load_explicit(&live->done, memory_order_acquire) < target)
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS_MIN / 4}, NULL);
}

void trib_live_status(const struct trib_live *live, struct trib_status *out) {
    struct trib_session_status session = {0};

    read_drops(live, &out->events_dropped, &out->bytes_dropped);
    if (live->session)
        trib_session_status(live->session, &session);
    out->processes = session.processes;
    out->processes_live = session.processes_live;
    out->starts_uncovered = live->starts_uncovered;
    memcpy(out->uncovered, live->uncovered, sizeof out->uncovered);
    out->trace_bytes = live->trace ? trib_trace_writer_bytes(live->trace) : 0;
}

/* ---- open, fork, close ---- */

/* The child of a fork has the ring but not the thread: it must not fill the trace of its parent, so it drops. */
static void orphan_all(void) {
    for (struct trib_live *live = all_live; live; live = live->next) {
        atomic_store(&live->orphaned, true);
        live->ring.limit = INT64_MIN;
    }
    pthread_mutex_init(&all_mutex, NULL);
}

static void register_fork(void) {
    pthread_atfork(NULL, NULL, orphan_all);
}

static int start_thread(struct trib_live *live) {
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals belong to the engine's threads */
    int rc = -pthread_create(&live->thread, NULL, maintain, live);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

static void free_live(struct trib_live *live) {
    if (!live)
        return;
    if (live->trace)
        trib_trace_writer_close(live->trace);
    pthread_mutex_destroy(&live->names_mutex);
    free(live->names);
    free(live->names_taken);
    trib_session_close(live->session);
    free(live->ring_memory);
    free(live);
}

static struct trib_live *allocate(struct trib_pipeline *pipeline) {
    struct trib_live *live = aligned_alloc(64, (sizeof *live + 63) / 64 * 64);
    bool is_session = pipeline->settings.session[0];
    uint64_t slots = 1024;

    while (slots < pipeline->settings.ring && !is_session)
        slots *= 2;
    if (!live)
        return NULL;
    memset(live, 0, sizeof *live);
    pthread_mutex_init(&live->names_mutex, NULL);
    live->pipeline = pipeline;
    live->ring_memory = aligned_alloc(64, trib_ring_bytes(slots));
    live->names = malloc(NAMES_MAX * sizeof *live->names);
    live->names_taken = malloc(NAMES_MAX * sizeof *live->names);
    if (!live->ring_memory || !live->names || !live->names_taken) {
        free_live(live);
        return NULL;
    }
    memset(live->ring_memory, 0, trib_ring_bytes(slots)); /* no page fault on a write path */
    trib_ring_bind(&live->ring, live->ring_memory, slots);
    if (is_session)
        live->ring.limit = INT64_MIN;
    live->began_ns = trib_session_now_ns();
    return live;
}

static int open_session(struct trib_live *live, struct trib_error *error) {
    const struct trib_pipeline_settings *settings = &live->pipeline->settings;
    struct trib_session_config config = {.path = settings->session,
                                         .ring_events = settings->process_ring,
                                         .all_users = settings->session_users};

    live->sink = (struct trib_session_sink){.arg = live,
                                            .name = on_name,
                                            .module = on_module,
                                            .signature = on_signature,
                                            .program = on_program,
                                            .uncovered = on_uncovered};
    return trib_session_open(&live->session, &config, error);
}

int trib_live_open(struct trib_live **out, struct trib_pipeline *pipeline, struct trib_error *error) {
    const char *path = pipeline->settings.trace;
    struct trib_live *live = allocate(pipeline);
    int rc = 0;

    if (!live)
        return trib_fail(error, -ENOMEM, "out of memory for the event ring");
    if (path[0])
        rc = trib_trace_writer_open(&live->trace, path, error);
    if (rc == 0 && pipeline->settings.session[0])
        rc = open_session(live, error);
    if (rc == 0 && (rc = start_thread(live)))
        trib_fail(error, rc, "cannot start the maintenance thread: %s", strerror(-rc));
    if (rc) {
        free_live(live);
        return rc;
    }
    pthread_once(&fork_once, register_fork);
    pthread_mutex_lock(&all_mutex);
    live->next = all_live;
    all_live = live;
    pthread_mutex_unlock(&all_mutex);
    *out = live;
    return 0;
}

bool trib_live_orphaned(const struct trib_live *live) {
    return live && atomic_load(&live->orphaned);
}

int trib_live_close(struct trib_live *live) {
    pthread_mutex_lock(&all_mutex);
    for (struct trib_live **link = &all_live; *link; link = &(*link)->next)
        if (*link == live) {
            *link = live->next;
            break;
        }
    pthread_mutex_unlock(&all_mutex);
    atomic_store_explicit(&live->stop, true, memory_order_release);
    pthread_join(live->thread, NULL);
    if (live->trace)
        check_trace(live, trib_trace_writer_close(live->trace));
    live->trace = NULL;
    int rc = live->first_error;
    free_live(live);
    return rc;
}
