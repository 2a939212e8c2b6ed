/* SPDX-License-Identifier: Apache-2.0 */
#include "sink.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <tributary/pipeline.h>
#include <tributary/session.h>

#include "raw.h"

#define SETTLE_NS  40000000l /* two polls of the maintenance thread, and a bit */
#define WAIT_TURNS 10000u /* of 100 us and a bit */

enum mode { UNREAD, OFF, SESSION, PIPELINE };
enum progress { CLOSED, OPENING, OPEN, FAILED };

/* The kernel gives the child of any fork, also one that libc does not know of, this page filled with zeroes: it finds
 * its sink closed, and never writes into its parent's ring. */
struct own_page {
    _Atomic(int) progress;
};

static _Atomic(int) mode;
static _Atomic(bool) paused;
static struct own_page *own;
static bool hints;
static char setting[4096]; /* of the environment, which programs overwrite */
static _Thread_local bool opens_here;
static struct trib_producer *producer;
static struct trib_pipeline *pipeline;

/* ---- what the environment asks for ---- */

/* The first process that was started with TRIBUTARY owns the pipeline; its children would write into the same trace. */
static bool owns_pipeline(void) {
    static char mark[40];
    const char *owner = getenv("TRIBUTARY_PID");

    if (owner)
        return atol(owner) == (long)getpid();
    snprintf(mark, sizeof mark, "TRIBUTARY_PID=%ld", (long)getpid());
    return putenv(mark) == 0;
}

static bool prepare(const char *text) {
    if (strlen(text) >= sizeof setting)
        return false;
    memcpy(setting, text, strlen(text) + 1);
    hints = getenv("TRIBUTARY_HINTS") && strcmp(getenv("TRIBUTARY_HINTS"), "1") == 0;
    own = mmap(NULL, sizeof *own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return own != MAP_FAILED && madvise(own, sizeof *own, MADV_WIPEONFORK) == 0;
}

static enum mode read_mode(void) {
    const char *session = getenv("TRIBUTARY_SESSION"), *options = getenv("TRIBUTARY");
    const char *text = session && *session ? session : options;

    if (!text || !*text || (text == options && !owns_pipeline()) || !prepare(text))
        return OFF;
    return text == options ? PIPELINE : SESSION;
}

void trib_sink_start(void) {
    int kept = errno, unread = UNREAD;

    if (atomic_load_explicit(&mode, memory_order_acquire) != UNREAD)
        return;
    enum mode found = read_mode(); /* one thread: before main */
    atomic_compare_exchange_strong(&mode, &unread, (int)found);
    errno = kept;
}

bool trib_sink_wanted(void) {
    int now = atomic_load_explicit(&mode, memory_order_acquire);

    if (__builtin_expect(now == UNREAD, 0)) {
        trib_sink_start();
        now = atomic_load_explicit(&mode, memory_order_acquire);
    }
    return now != OFF && !atomic_load_explicit(&paused, memory_order_relaxed);
}

void trib_sink_pause(bool pause) {
    atomic_store(&paused, pause);
}

bool trib_sink_is_own_thread(void) {
    char name[16] = "";

    if (opens_here)
        return true;
    return trib_sink_is_pipeline() && atomic_load_explicit(&own->progress, memory_order_acquire) != CLOSED &&
           prctl(PR_GET_NAME, name) == 0 && strcmp(name, "tributary") == 0;
}

bool trib_sink_wants_hints(void) {
    return hints;
}

bool trib_sink_is_pipeline(void) {
    return atomic_load_explicit(&mode, memory_order_relaxed) == PIPELINE;
}

bool trib_sink_is_session(void) {
    return trib_sink_wanted() && atomic_load_explicit(&mode, memory_order_relaxed) == SESSION;
}

/* ---- open ---- */

static int open_pipeline(void) {
    struct trib_error error = {.text = ""};

    if (pipeline) /* a fork's copy */
        return -ECHILD;
    int rc = trib_pipeline_open(&pipeline, setting, true, &error);
    if (rc)
        fprintf(stderr, "tributary: %s; running without\n", error.text[0] ? error.text : strerror(-rc));
    return rc;
}

int trib_sink_start_with(const char *options, struct trib_error *error) {
    trib_sink_start();
    if (atomic_load(&mode) != OFF)
        return 0;
    if (!owns_pipeline()) {
        snprintf(error->text, sizeof error->text, "TRIBUTARY_PID says that another process records");
        return -EBUSY;
    }
    if (!prepare(options)) {
        snprintf(error->text, sizeof error->text, "options longer than %zu characters, or no memory",
                 sizeof setting - 1);
        return -ENOMEM;
    }
    int rc = trib_pipeline_open(&pipeline, setting, true, error);
    if (rc)
        return rc;
    atomic_store_explicit(&own->progress, OPEN, memory_order_release);
    atomic_store_explicit(&mode, PIPELINE, memory_order_release);
    return 0;
}

static int join_session(void) {
    struct trib_error error;

    if (producer) { /* a fork's copy: the ring is the parent's */
        trib_producer_leave(producer);
        producer = NULL;
    }
    return trib_producer_join(&producer, setting, &error);
}

/* Other threads wait for the first, so that nothing is lost; not for ever, as what they hold may be what it needs. */
static bool wait_for_opener(void) {
    struct timespec pause = {.tv_nsec = 100000};
    int kept = errno;

    if (opens_here) /* a signal handler, or code of ours */
        return false;
    for (unsigned turn = 0; turn < WAIT_TURNS && atomic_load(&own->progress) == OPENING; turn++)
        trib_syscall(SYS_nanosleep, &pause, NULL); /* libc's would be a cancellation point */
    errno = kept;
    return atomic_load_explicit(&own->progress, memory_order_acquire) == OPEN;
}

static bool open_sink(void) {
    int closed = CLOSED, kept = errno, cancellable;

    if (!atomic_compare_exchange_strong(&own->progress, &closed, OPENING))
        return closed == OPEN || wait_for_opener();
    opens_here = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
    int rc = atomic_load(&mode) == SESSION ? join_session() : open_pipeline();
    atomic_store_explicit(&own->progress, rc ? FAILED : OPEN, memory_order_release);
    pthread_setcancelstate(cancellable, NULL);
    opens_here = false;
    errno = kept;
    return rc == 0;
}

static bool is_open(void) {
    int progress = atomic_load_explicit(&own->progress, memory_order_acquire);

    return __builtin_expect(progress == OPEN, 1) || (progress < OPEN && open_sink());
}

/* ---- use ---- */

void trib_sink_submit(const struct trib_event *event) {
    if (!is_open())
        return;
    if (producer)
        trib_producer_submit(producer, event);
    else
        trib_pipeline_submit(pipeline, event);
}

void trib_sink_name(uint64_t file, const char *path) {
    if (!is_open())
        return;
    if (producer)
        trib_producer_name_file(producer, file, path);
    else
        trib_pipeline_name_file(pipeline, file, path);
}

void trib_sink_name_signature(uint64_t signature) {
    if (trib_sink_is_session() && is_open())
        trib_producer_name_signature(producer, signature);
}

void trib_sink_join(void) {
    (void)is_open();
}

/* By owner and mode, not access(2): what lets this process in (PR_SET_KEEPCAPS) ends with the exec that it prepares. */
bool trib_sink_is_barred(void) {
    int kept = errno;
    uid_t self = geteuid();
    struct stat status;

    if (self == 0 || !trib_sink_is_session())
        return false;
    bool barred = stat(setting, &status) != 0 ? errno == EACCES
                                              : status.st_uid != self && !(status.st_mode & S_IWOTH);
    errno = kept;
    return barred;
}

void trib_sink_uncovered(const char *path, enum trib_uncovered why) {
    if (is_open() && producer)
        trib_producer_note_uncovered(producer, path, why);
}

uint16_t trib_sink_place(const struct trib_context *who) {
    if (!trib_sink_wanted() || !is_open())
        return 0;
    return producer ? trib_producer_place(producer, who) : trib_pipeline_place(pipeline, who);
}

bool trib_sink_status(struct trib_status *out) {
    bool is_here = trib_sink_is_pipeline() && atomic_load(&own->progress) == OPEN;

    if (is_here)
        trib_pipeline_status(pipeline, out);
    return is_here;
}

void trib_sink_settle(void) {
    struct timespec pause = {.tv_nsec = SETTLE_NS};

    if (trib_sink_is_pipeline() && atomic_load(&own->progress) == OPEN)
        trib_syscall(SYS_nanosleep, &pause, NULL);
}

void trib_sink_stop(void) {
    int open = OPEN;

    if (!pipeline || !own || !atomic_compare_exchange_strong(&own->progress, &open, FAILED))
        return;
    trib_pipeline_close(pipeline);
}
