/* SPDX-License-Identifier: Apache-2.0 */
/* The live half of a pipeline. Doors push events into a bounded ring (many producers, one consumer; Vyukov's bounded
 * queue); one maintenance thread takes them out in ring order, records them and runs the flow. A producer does one
 * compare-and-swap and one 64-byte copy; it never waits, allocates, takes a lock or makes a system call. A full ring
 * drops the event and counts it; the last sixteenth is kept for deaths, because a lost death hurts longer than a lost
 * write. The thread polls instead of being woken, so that no write pays for a wake-up: every 16 ms, more often while
 * events come fast, and as a batch thread, so that its own wake-up takes no core from a thread of the engine. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/log.h"
#include "flow.h"

#define BATCH_EVENTS 4096u
#define POLL_NS_MIN 1000000l
#define POLL_NS_MAX 16000000l
#define NAMES_MAX 1024u
#define SEEN_SLOTS 65536u

struct pending_name {
    uint64_t file;
    char path[256];
};

struct trib_live {
    struct trib_pipeline *pipeline;
    struct trib_event *events;
    _Atomic(uint64_t) *turns; /* slot i is free for ticket t when turns[i] == t, filled when t + 1 */
    uint64_t mask;
    int64_t limit;   /* events waiting before all but deaths are dropped; in a fork's copy, which drops all, lowest */
    int64_t reserve; /* slots beyond that for deaths */

    _Alignas(64) _Atomic(uint64_t) tail; /* next ticket */
    _Alignas(64) _Atomic(uint64_t) head; /* events before it are out of the ring */
    _Atomic(uint64_t) done;              /* events before it have been processed */
    _Alignas(64) _Atomic(uint64_t) dropped_events;
    _Atomic(uint64_t) dropped_bytes;
    _Atomic(bool) stop, orphaned; /* orphaned: this is a fork's copy, without the thread */

    pthread_t thread;
    struct timespec began;
    struct trib_trace_writer *trace;
    uint64_t gap_events, gap_bytes; /* drops already told to the trace and the clock */
    int first_error;
    uint64_t seen[SEEN_SLOTS]; /* signatures whose frames are in the trace */
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

static uint32_t thread_number(void) {
    static _Atomic(uint32_t) last;
    static _Thread_local uint32_t number;

    if (TRIB_UNLIKELY(number == 0))
        number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    return number;
}

static bool drop(struct trib_live *live, const struct trib_event *event) {
    uint64_t bytes = event->kind == TRIB_EVENT_WRITE ? event->length_bytes : 0;

    atomic_fetch_add_explicit(&live->dropped_bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&live->dropped_events, 1, memory_order_release);
    return false;
}

bool trib_pipeline_submit(struct trib_pipeline *pipeline, const struct trib_event *event) {
    struct trib_live *live = pipeline->live;
    int64_t limit = live->limit + (event->kind == TRIB_EVENT_DEATH ? live->reserve : 0);
    uint64_t ticket = atomic_load_explicit(&live->tail, memory_order_relaxed);

    for (;;) {
        uint64_t turn = atomic_load_explicit(&live->turns[ticket & live->mask], memory_order_acquire);
        uint64_t head = atomic_load_explicit(&live->head, memory_order_relaxed);
        if (turn < ticket || (int64_t)(ticket - head) >= limit)
            return drop(live, event);
        if (turn > ticket) /* another producer took it */
            ticket = atomic_load_explicit(&live->tail, memory_order_relaxed);
        else if (atomic_compare_exchange_weak_explicit(&live->tail, &ticket, ticket + 1,
                                                       memory_order_relaxed, memory_order_relaxed))
            break;
    }
    struct trib_event *slot = &live->events[ticket & live->mask];
    *slot = *event;
    slot->thread = thread_number();
    atomic_store_explicit(&live->turns[ticket & live->mask], ticket + 1, memory_order_release);
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

/* Frames go into the trace the first time a signature is seen with them; a full table forgets, which only repeats a
 * dictionary entry. */
static void record_signature(struct trib_live *live, uint64_t signature) {
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX];
    uint64_t *slot = &live->seen[signature % SEEN_SLOTS];

    if (*slot == signature)
        return;
    unsigned count = trib_signature_frames(signature, frames, TRIB_SIGNATURE_DEPTH_MAX);
    if (count == 0)
        return;
    *slot = signature;
    check_trace(live, trib_trace_write_signature(live->trace, signature, frames, count));
}

static void record(struct trib_live *live, const struct trib_event *event) {
    if (event->who.signature)
        record_signature(live, event->who.signature);
    check_trace(live, trib_trace_write(live->trace, event));
}

static void record_gap(struct trib_live *live) {
    uint64_t events = atomic_load_explicit(&live->dropped_events, memory_order_acquire);
    uint64_t bytes = atomic_load_explicit(&live->dropped_bytes, memory_order_relaxed);

    if (events == live->gap_events)
        return;
    if (live->gap_events == 0)
        trib_log(TRIB_LOG_WARNING, "the event ring is full and drops events; raise option 'ring'");
    if (live->trace)
        check_trace(live, trib_trace_write_gap(live->trace, events - live->gap_events,
                                               bytes - live->gap_bytes));
    trib_pipeline_skip(live->pipeline, bytes - live->gap_bytes);
    live->gap_events = events;
    live->gap_bytes = bytes;
}

/* ---- maintenance thread ---- */

static unsigned take_batch(struct trib_live *live) {
    uint64_t ticket = atomic_load_explicit(&live->head, memory_order_relaxed);
    unsigned count = 0;

    for (; count < BATCH_EVENTS; count++, ticket++) {
        _Atomic(uint64_t) *turn = &live->turns[ticket & live->mask];
        if (atomic_load_explicit(turn, memory_order_acquire) != ticket + 1)
            break;
        live->batch[count] = live->events[ticket & live->mask];
        atomic_store_explicit(turn, ticket + live->mask + 1, memory_order_release);
    }
    atomic_store_explicit(&live->head, ticket, memory_order_release);
    return count;
}

static uint64_t elapsed_ns(const struct trib_live *live) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)((now.tv_sec - live->began.tv_sec) * 1000000000ll + now.tv_nsec - live->began.tv_nsec);
}

static unsigned run_batch(struct trib_live *live) {
    struct trib_pipeline *pipeline = live->pipeline;
    unsigned count = take_batch(live);
    uint64_t wall_ns = count ? elapsed_ns(live) : 0; /* stamped here, to the poll: no clock on a write path */

    trib_state_lock(pipeline->state);
    if (live->trace)
        record_names(live);
    for (unsigned i = 0; i < count; i++) {
        struct trib_event *event = &live->batch[i];
        event->clock_bytes = trib_state_clock(pipeline->state);
        event->wall_ns = wall_ns;
        if (live->trace)
            record(live, event);
        int rc = trib_flow_run(pipeline, event);
        if (rc && pipeline->counters.drive_errors++ == 0)
            trib_log(TRIB_LOG_ERROR, "event %llu: %s; the program goes on",
                     (unsigned long long)pipeline->counters.events, strerror(-rc));
    }
    record_gap(live);
    if (live->trace && count == 0)
        check_trace(live, trib_trace_flush(live->trace)); /* idle: let readers catch up */
    trib_state_unlock(pipeline->state);
    atomic_fetch_add_explicit(&live->done, count, memory_order_release);
    return count;
}

/* The next sleep: half as long after more than an eighth of the ring came in one, twice as long after less than a
 * thirty-second. */
static long next_sleep_ns(const struct trib_live *live, long sleep_ns, uint64_t events) {
    if (events > live->mask / 8)
        sleep_ns /= 2;
    else if (events < live->mask / 32)
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
    uint64_t target = atomic_load(&live->tail);
    while (atomic_load_explicit(&live->done, memory_order_acquire) < target)
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS_MIN / 4}, NULL);
}

void trib_live_status(const struct trib_live *live, struct trib_status *out) {
    out->events_dropped = atomic_load(&live->dropped_events);
    out->bytes_dropped = atomic_load(&live->dropped_bytes);
    out->trace_bytes = live->trace ? trib_trace_writer_bytes(live->trace) : 0;
}

/* ---- open, fork, close ---- */

/* The child of a fork has the ring but not the thread: it must not fill the trace of its parent, so it drops. */
static void orphan_all(void) {
    for (struct trib_live *live = all_live; live; live = live->next) {
        atomic_store(&live->orphaned, true);
        live->limit = INT64_MIN;
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
    free(live->turns);
    free(live->events);
    free(live);
}

static struct trib_live *allocate(struct trib_pipeline *pipeline) {
    struct trib_live *live = aligned_alloc(64, (sizeof *live + 63) / 64 * 64);
    uint64_t slots = 1024;

    while (slots < pipeline->settings.ring)
        slots *= 2;
    if (!live)
        return NULL;
    memset(live, 0, sizeof *live);
    pthread_mutex_init(&live->names_mutex, NULL);
    live->pipeline = pipeline;
    live->mask = slots - 1;
    live->reserve = (int64_t)(slots / 16);
    live->limit = (int64_t)slots - live->reserve;
    live->events = aligned_alloc(64, slots * sizeof *live->events);
    live->turns = aligned_alloc(64, slots * sizeof *live->turns);
    live->names = malloc(NAMES_MAX * sizeof *live->names);
    live->names_taken = malloc(NAMES_MAX * sizeof *live->names);
    if (!live->events || !live->turns || !live->names || !live->names_taken) {
        free_live(live);
        return NULL;
    }
    memset(live->events, 0, slots * sizeof *live->events); /* no page fault on a write path */
    for (uint64_t i = 0; i < slots; i++)
        atomic_init(&live->turns[i], i);
    clock_gettime(CLOCK_MONOTONIC, &live->began);
    return live;
}

int trib_live_open(struct trib_live **out, struct trib_pipeline *pipeline, struct trib_error *error) {
    const char *path = pipeline->settings.trace;
    struct trib_live *live = allocate(pipeline);
    int rc = 0;

    if (!live)
        return trib_fail(error, -ENOMEM, "out of memory for the event ring");
    if (path[0])
        rc = trib_trace_writer_open(&live->trace, path, error);
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
