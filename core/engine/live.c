/* SPDX-License-Identifier: Apache-2.0 */
/* The live half of a pipeline, in a process of its own. A maintenance thread takes events out of the rings of all
 * processes that have joined, in the order of time (recorder/recorder.h), writes them to the trace and runs the flow.
 * It polls instead of being woken, so that no write pays for a wake-up: every 16 ms, more often while events come fast,
 * and as a batch thread, so that its own wake-up takes no core from a thread of an engine. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/seen.h"
#include "flow.h"
#include "live_tables.h"
#include "log/log.h"
#include "metrics_file.h"
#include "producer/coverage.h"
#include "recorder/recorder.h"

#define BATCH_EVENTS 4096u
#define POLL_NS_MIN  1000000l
#define POLL_NS_MAX  16000000l
#define SNAPSHOT_NS  50000000ull    /* how old a status may be when somebody asked for one before */
#define TABLES_NS    500000000ull   /* how old its tables may be: they cost a walk over all rows */
#define ENDING_NS    10000000000ull /* at the end, for what waits in the rings; the rest is lost, and counted */
#define FRESH_NS     100000000ull   /* waited for a status of what was submitted before it was asked for */

struct trib_live {
    struct trib_pipeline *pipeline;
    struct trib_recorder *recorder;
    struct trib_texts_sink sink;
    uint64_t starts_uncovered; /* under the state's lock, with the next */
    char uncovered[sizeof((struct trib_status *)NULL)->uncovered];
    _Atomic(uint64_t) done_ns; /* everything submitted before was processed */
    _Atomic(bool) stop;

    pthread_t thread;
    uint64_t began_ns;
    struct trib_trace_writer *trace;
    uint64_t gap_events, gap_bytes; /* drops that are in the trace and the clock */
    uint64_t refused_from_bytes;    /* written when the drive refused a write first */
    int first_error;
    bool trace_stopped;          /* what it refuses from then on is no error of its own */
    trib_seen_table seen;        /* signatures whose frames are in the trace */
    _Atomic(uint64_t) paused_ns; /* since when, 0: not */
    struct trib_paths *paths;
    struct trib_metrics_file *metrics; /* NULL: nobody asked for one */
    struct trib_event batch[BATCH_EVENTS];

    pthread_mutex_t snapshot_mutex; /* held for a copy, so that whoever asks never waits for the flow */
    pthread_cond_t snapshot_taken;
    struct trib_status snapshot;
    uint64_t snapshot_ns, complete_ns; /* when, and everything submitted before this is in it */
    struct trib_status_tables tables;  /* with the snapshot, under its mutex */
    uint64_t tables_ns;
    struct trib_status_tables filled; /* the maintenance thread's */
    struct trib_status_tables shown;  /* the recorder's thread's, which answers */
    struct trib_status_tables metrics_shown;
    _Atomic(bool) is_over;                            /* the maintenance thread has ended */
    _Atomic(uint32_t) snapshot_wanted, tables_wanted; /* by so many threads */
};

/* ---- recorder ---- */

/* The writer's own reason says more than a number: which bound, or whose file. */
static void log_stop(const struct trib_live *live, int code) {
    const char *why = live->trace ? trib_trace_writer_stopped(live->trace) : "";

    trib_log(TRIB_LOG_ERROR, "trace: %s; recording stops, the program goes on", *why ? why : strerror(-code));
}

static void check_trace(struct trib_live *live, int rc) {
    if (rc == 0 || live->trace_stopped)
        return;
    live->trace_stopped = live->trace && *trib_trace_writer_stopped(live->trace);
    if (live->pipeline->counters.trace_errors++ == 0)
        log_stop(live, rc);
    if (!live->first_error)
        live->first_error = rc;
}

static void record(struct trib_live *live, const struct trib_event *event) {
    check_trace(live, trib_trace_write(live->trace, event));
}

static void record_gap(struct trib_live *live) {
    struct trib_recorder_counts counts;

    trib_recorder_count(live->recorder, &counts);
    if (counts.events_dropped == live->gap_events)
        return;
    trib_recorder_say_losses(live->recorder);
    uint64_t bytes = counts.bytes_dropped - live->gap_bytes;
    if (live->trace)
        check_trace(live, trib_trace_write_gap(live->trace, counts.events_dropped - live->gap_events, bytes));
    trib_pipeline_skip(live->pipeline, bytes);
    live->gap_events = counts.events_dropped;
    live->gap_bytes = counts.bytes_dropped;
}

/* ---- what processes say besides events ---- */

static void on_name(void *arg, uint64_t file, const char *path) {
    struct trib_live *live = arg;

    if (live->trace)
        check_trace(live, trib_trace_write_name(live->trace, file, path));
}

static void on_module(void *arg, uint32_t index, const struct trib_module *module) {
    struct trib_live *live = arg;

    trib_paths_module(live->paths, index, module);
    if (live->trace)
        check_trace(live, trib_trace_write_module(live->trace, index, module));
}

static void on_signature(void *arg, uint64_t signature, const struct trib_frame *frames, uint32_t count) {
    struct trib_live *live = arg;

    trib_paths_signature(live->paths, signature, frames, count);
    for (uint32_t i = 0; i < count; i++)
        if (frames[i].module == TRIB_TEXTS_UNSENT)
            return; /* the trace gets it once it is whole */
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

/* A trace says where nothing was recorded: what is written meanwhile is no gap that anybody counts. */
static void note_pause(struct trib_live *live) {
    uint64_t since_ns = atomic_load(&live->paused_ns), now_ns = trib_now_ns();
    char note[64] = "paused: what is written from here on is not recorded";

    if (trib_recorder_is_paused(live->recorder) == (since_ns != 0))
        return;
    if (since_ns)
        snprintf(note, sizeof note, "resumed after %.1f s", (double)(now_ns - since_ns) / 1e9);
    atomic_store(&live->paused_ns, since_ns ? 0 : now_ns);
    if (live->trace)
        check_trace(live, trib_trace_write_note(live->trace, note));
}

static void say_refused(struct trib_live *live, int code) {
    const struct trib_pipeline *pipeline = live->pipeline;
    bool is_full = code == -ENOSPC && strcmp(pipeline->settings.drive, "emulated") == 0; /* no disk is */

    live->refused_from_bytes = trib_state_clock(pipeline->state) - pipeline->opened_clock_bytes;
    trib_log(TRIB_LOG_ERROR, "event %llu: %s; the program goes on", (unsigned long long)pipeline->counters.events,
             is_full ? "the emulated drive is full, raise capacity=" : strerror(-code));
}

/* ---- maintenance thread ---- */

static unsigned take_batch(struct trib_live *live) {
    unsigned count = trib_recorder_take(live->recorder, live->batch, BATCH_EVENTS, &live->sink);

    for (unsigned i = 0; i < count; i++) {
        uint64_t *wall_ns = &live->batch[i].wall_ns;
        *wall_ns = *wall_ns > live->began_ns ? *wall_ns - live->began_ns : 0;
    }
    return count;
}

/* What a process may ask for by trib_client_place: each context's stream as of its last write, and that of a call path
 * not met before, which policies that go by kind, level or hint know as well. */
static void publish_place(struct trib_live *live, const struct trib_event *event) {
    struct trib_context unmet = event->who;

    if (event->kind != TRIB_EVENT_WRITE || !trib_recorder_wants_places(live->recorder))
        return;
    unmet.signature = TRIB_SIGNATURE_UNMET;
    trib_recorder_publish(live->recorder, &event->who, trib_pipeline_place(live->pipeline, &event->who));
    trib_recorder_publish(live->recorder, &unmet, trib_pipeline_place(live->pipeline, &unmet));
}

static void take_snapshot(struct trib_live *live) {
    struct trib_status status;

    if (!atomic_load(&live->snapshot_wanted))
        return;
    trib_pipeline_status(live->pipeline, &status);
    bool with_tables = atomic_load(&live->tables_wanted) && trib_now_ns() - live->tables_ns > TABLES_NS;
    if (with_tables) {
        trib_state_lock(live->pipeline->state);
        trib_tables_fill(&live->filled, live->pipeline, live->paths, live->recorder);
        trib_state_unlock(live->pipeline->state);
    }
    pthread_mutex_lock(&live->snapshot_mutex);
    if (with_tables) {
        live->tables = live->filled;
        live->tables_ns = trib_now_ns();
    }
    live->snapshot = status;
    live->snapshot_ns = trib_now_ns();
    live->complete_ns = atomic_load(&live->done_ns);
    pthread_cond_broadcast(&live->snapshot_taken);
    pthread_mutex_unlock(&live->snapshot_mutex);
}

static unsigned run_batch(struct trib_live *live) {
    struct trib_pipeline *pipeline = live->pipeline;

    trib_state_lock(pipeline->state);
    unsigned count = take_batch(live);
    for (unsigned i = 0; i < count; i++) {
        struct trib_event *event = &live->batch[i];
        event->clock_bytes = trib_state_clock(pipeline->state);
        if (live->trace)
            record(live, event);
        int rc = trib_flow_run(pipeline, event);
        if (rc && pipeline->counters.drive_errors++ == 0)
            say_refused(live, rc);
        publish_place(live, event);
    }
    record_gap(live);
    note_pause(live);
    if (live->trace && count == 0)
        check_trace(live, trib_trace_flush(live->trace)); /* idle: let readers catch up */
    trib_state_unlock(pipeline->state);
    atomic_store_explicit(&live->done_ns, trib_recorder_complete_ns(live->recorder), memory_order_release);
    return count;
}

/* The next sleep: half as long after more than an eighth of the ring came in one, twice as long after less than a
 * thirty-second. */
static long next_sleep_ns(const struct trib_live *live, long sleep_ns, uint64_t events) {
    uint64_t slots = live->pipeline->settings.process_ring;

    if (events > slots / 8)
        sleep_ns /= 2;
    else if (events < slots / 32)
        sleep_ns *= 2;
    return sleep_ns < POLL_NS_MIN ? POLL_NS_MIN : sleep_ns > POLL_NS_MAX ? POLL_NS_MAX : sleep_ns;
}

static void *maintain(void *arg) {
    struct trib_live *live = arg;
    long sleep_ns = POLL_NS_MIN;
    uint64_t events = 0, ends_ns = 0; /* since the last sleep; when patience ends */

    pthread_setname_np(pthread_self(), "tributary");
    (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &(struct sched_param){0});
    for (;;) {
        bool stopping = atomic_load_explicit(&live->stop, memory_order_acquire);
        if (stopping)
            trib_recorder_stop(live->recorder);
        ends_ns = stopping && !ends_ns ? trib_now_ns() + ENDING_NS : ends_ns;
        if (ends_ns && trib_now_ns() > ends_ns)
            trib_recorder_give_up(live->recorder);
        unsigned count = run_batch(live);
        take_snapshot(live);
        events += count;
        if (count == BATCH_EVENTS || trib_recorder_has_more(live->recorder))
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
    uint64_t target_ns = trib_now_ns();

    while (live && atomic_load_explicit(&live->done_ns, memory_order_acquire) < target_ns)
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS_MIN / 4}, NULL);
}

static void fill_pause(const struct trib_live *live, struct trib_status *out) {
    uint64_t since_ns = atomic_load(&live->paused_ns);

    out->paused = trib_recorder_is_paused(live->recorder);
    out->paused_seconds = out->paused && since_ns ? (trib_now_ns() - since_ns) / 1000000000u : 0;
}

void trib_live_status(const struct trib_live *live, struct trib_status *out) {
    struct trib_recorder_counts counts;

    trib_recorder_count(live->recorder, &counts);
    out->events_dropped = counts.events_dropped;
    out->bytes_dropped = counts.bytes_dropped;
    out->lost_full = counts.lost[TRIB_LOSS_FULL];
    out->lost_killed = counts.lost[TRIB_LOSS_KILLED];
    out->lost_alone = counts.lost[TRIB_LOSS_ALONE];
    out->processes = counts.processes;
    out->processes_live = counts.processes_live;
    out->joins_refused = counts.refused;
    out->joins_again = counts.rejoined;
    out->broken = counts.broken;
    out->rings_damaged = counts.damaged;
    out->names_lost = counts.names_lost;
    out->starts_uncovered = live->starts_uncovered;
    memcpy(out->uncovered, live->uncovered, sizeof out->uncovered);
    if (live->trace)
        snprintf(out->trace_stopped, sizeof out->trace_stopped, "%s", trib_trace_writer_stopped(live->trace));
    out->metrics_errors = live->metrics ? trib_metrics_file_errors(live->metrics) : 0;
    out->pid = (uint32_t)getpid();
    fill_pause(live, out);
    out->drive_refused_from_bytes = live->refused_from_bytes;
    out->uptime_seconds = (trib_now_ns() - live->began_ns) / 1000000000u;
    out->trace_bytes = live->trace ? trib_trace_writer_bytes(live->trace) : 0;
}

static struct timespec time_of(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

/* Of everything submitted before; with tables, unless somebody asked a moment ago: collectors must not hold up those
 * who join. tables: NULL = the numbers alone. */
static void look(struct trib_live *live, struct trib_status *out, struct trib_status_tables *tables) {
    uint64_t now_ns = trib_now_ns();
    struct timespec limit = time_of(now_ns + FRESH_NS);
    int rc = 0;

    pthread_mutex_lock(&live->snapshot_mutex);
    bool is_stale = !tables || now_ns - live->snapshot_ns > SNAPSHOT_NS || now_ns - live->tables_ns > TABLES_NS;
    atomic_fetch_add(&live->tables_wanted, tables != NULL);
    atomic_fetch_add(&live->snapshot_wanted, is_stale);
    while (is_stale && live->complete_ns < now_ns && rc == 0)
        rc = pthread_cond_timedwait(&live->snapshot_taken, &live->snapshot_mutex, &limit);
    atomic_fetch_sub(&live->snapshot_wanted, is_stale);
    atomic_fetch_sub(&live->tables_wanted, tables != NULL);
    *out = live->snapshot;
    if (tables)
        *tables = live->tables;
    pthread_mutex_unlock(&live->snapshot_mutex);
    fill_pause(live, out); /* whoever just paused it wants to see that */
}

/* On the recorder's thread. */
static long answer_status(void *arg, uint32_t format, char *text, size_t capacity) {
    struct trib_live *live = arg;
    struct trib_status status;

    look(live, &status, format == TRIB_STATUS_RECORD ? NULL : &live->shown);
    if (format != TRIB_STATUS_RECORD)
        return trib_tables_format(&status, &live->shown, format, text, capacity);
    memcpy(text, &status, sizeof status);
    return sizeof status;
}

/* On the thread of the metrics; the last time when nobody else is left. */
static long metrics_text(void *arg, char *text, size_t capacity) {
    struct trib_live *live = arg;
    struct trib_status status;

    if (!atomic_load(&live->is_over)) {
        look(live, &status, &live->metrics_shown);
    } else {
        trib_pipeline_status(live->pipeline, &status);
        trib_tables_fill(&live->metrics_shown, live->pipeline, live->paths, live->recorder);
    }
    return trib_tables_format(&status, &live->metrics_shown, TRIB_STATUS_PROMETHEUS, text, capacity);
}

void trib_pipeline_pause(struct trib_pipeline *pipeline, bool pause) {
    if (pipeline->live)
        trib_recorder_pause(pipeline->live->recorder, pause);
}

bool trib_pipeline_is_asked_to_stop(const struct trib_pipeline *pipeline) {
    return pipeline->live && trib_recorder_is_asked_to_stop(pipeline->live->recorder);
}

/* ---- open and close ---- */

static int start_thread(struct trib_live *live) {
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals belong to the daemon's first thread */
    int rc = -pthread_create(&live->thread, NULL, maintain, live);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

static void free_live(struct trib_live *live) {
    trib_recorder_close(live->recorder); /* first: its thread asks for the status */
    if (live->trace)
        trib_trace_writer_close(live->trace);
    pthread_cond_destroy(&live->snapshot_taken);
    pthread_mutex_destroy(&live->snapshot_mutex);
    trib_paths_close(live->paths);
    free(live);
}

static int open_recorder(struct trib_live *live, struct trib_error *error) {
    const struct trib_pipeline_settings *settings = &live->pipeline->settings;
    struct trib_recorder_config config = {.address = settings->session,
                                          .listener = settings->session_socket ? (int)settings->session_socket : -1,
                                          .ring_events = settings->process_ring,
                                          .status = answer_status,
                                          .status_arg = live};

    live->sink = (struct trib_texts_sink){.arg = live,
                                          .name = on_name,
                                          .module = on_module,
                                          .signature = on_signature,
                                          .program = on_program,
                                          .uncovered = on_uncovered};
    int rc = trib_access_parse(&config.access, settings->allow, error);
    return rc ? rc : trib_recorder_open(&live->recorder, &config, error);
}

static int open_metrics(struct trib_live *live, struct trib_error *error) {
    struct trib_metrics_file_config config = {.path = live->pipeline->settings.metrics_file,
                                              .every_seconds = live->pipeline->settings.metrics_every_seconds,
                                              .text = metrics_text,
                                              .arg = live};

    return trib_metrics_file_open(&live->metrics, &config, error);
}

/* What joins before the maintenance thread runs waits in its ring. Nobody is answered before all is there. */
int trib_live_open(struct trib_live **out, struct trib_pipeline *pipeline, struct trib_error *error) {
    const char *path = pipeline->settings.trace;
    struct trib_live *live = aligned_alloc(64, (sizeof *live + 63) / 64 * 64);
    int rc = 0;

    if (!live)
        return trib_fail(error, -ENOMEM, "out of memory for a recorder");
    if (!pipeline->settings.session[0]) {
        free(live);
        return trib_fail(error, -EINVAL, "a live pipeline needs option 'session', the socket that processes join");
    }
    memset(live, 0, sizeof *live);
    pthread_mutex_init(&live->snapshot_mutex, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&live->snapshot_taken, &monotonic);
    pthread_condattr_destroy(&monotonic);
    live->pipeline = pipeline;
    live->began_ns = trib_now_ns();
    live->paths = trib_paths_open();
    if (!live->paths)
        rc = trib_fail(error, -ENOMEM, "out of memory for a recorder");
    if (rc == 0)
        rc = open_recorder(live, error); /* first: a second daemon of this name touches no trace */
    if (rc == 0 && path[0])
        rc = trib_trace_writer_open_within(&live->trace, path, &pipeline->settings.trace_limits, error);
    if (rc == 0 && pipeline->settings.metrics_file[0])
        rc = open_metrics(live, error);
    *out = live; /* before there are threads, which look at it */
    if (rc == 0 && ((rc = trib_recorder_start(live->recorder)) || (rc = start_thread(live))))
        trib_fail(error, rc, "cannot start the recorder's threads: %s", strerror(-rc));
    if (rc) {
        trib_metrics_file_close(live->metrics);
        free_live(live);
        *out = NULL;
    }
    return rc;
}

int trib_live_close(struct trib_live *live) {
    atomic_store_explicit(&live->stop, true, memory_order_release);
    pthread_join(live->thread, NULL);
    atomic_store(&live->is_over, true);
    trib_metrics_file_close(live->metrics);
    live->metrics = NULL;
    struct trib_trace_writer *trace = live->trace;
    live->trace = NULL; /* gone, whatever closing says */
    if (trace)
        check_trace(live, trib_trace_writer_close(trace));
    int rc = live->first_error;
    free_live(live);
    return rc;
}
