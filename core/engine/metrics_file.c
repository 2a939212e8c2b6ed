/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "log/log.h"

#define TEXT_BYTES_MAX (128u << 10)

struct trib_metrics_file {
    struct trib_metrics_file_config config;
    char path[TRIB_OPTION_TEXT_MAX], part[TRIB_OPTION_TEXT_MAX + 8];
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool end;
    int held; /* the version that is there, locked: another daemon sees that somebody writes it */
    _Atomic(uint64_t) errors;
    char text[TEXT_BYTES_MAX];
};

static int write_all(int fd, const char *text, size_t length) {
    while (length) {
        ssize_t done = write(fd, text, length);
        if (done < 0 && errno != EINTR)
            return -errno;
        text += done > 0 ? done : 0;
        length -= done > 0 ? (size_t)done : 0;
    }
    return 0;
}

static int open_version(const struct trib_metrics_file *file) {
    return open(file->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

static void hold_version(struct trib_metrics_file *file) {
    int fd = open_version(file), before = file->held;

    if (fd >= 0)
        (void)flock(fd, LOCK_SH | LOCK_NB);
    file->held = fd;
    if (before >= 0)
        close(before);
}

/* A warning and no more: any user who may read the file could hold such a lock. */
static void warn_of_another(const struct trib_metrics_file *file) {
    int fd = open_version(file);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        trib_log(TRIB_LOG_WARNING, "metrics-file %s: another daemon writes it, too; name another file", file->path);
    if (fd >= 0)
        close(fd);
}

/* O_EXCL: nobody's link is followed, and nobody's file is written. */
static int write_version(struct trib_metrics_file *file) {
    long length = file->config.text(file->config.arg, file->text, sizeof file->text);

    if (length < 0)
        return (int)length;
    (void)unlink(file->part); /* of a daemon that was killed */
    int fd = open(file->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int code = write_all(fd, file->text, (size_t)length);
    if (code == 0 && fchmod(fd, 0644) != 0)
        code = -errno;
    if (close(fd) != 0 && code == 0)
        code = -errno;
    if (code == 0 && rename(file->part, file->path) != 0)
        code = -errno;
    if (code)
        (void)unlink(file->part);
    else
        hold_version(file);
    return code;
}

/* One line when it begins to fail, one when it works again. */
static void try_version(struct trib_metrics_file *file, bool *is_failing) {
    int code = write_version(file);

    if (code)
        atomic_fetch_add(&file->errors, 1);
    if (code && !*is_failing)
        trib_log(TRIB_LOG_WARNING, "metrics-file %s: %s; tried again every %u s", file->path, strerror(-code),
                 file->config.every_seconds);
    else if (!code && *is_failing)
        trib_log(TRIB_LOG_WARNING, "metrics-file %s: is written again", file->path);
    *is_failing = code != 0;
}

static void *run(void *arg) {
    struct trib_metrics_file *file = arg;
    struct timespec next;
    bool is_failing = false, end = false;

    pthread_setname_np(pthread_self(), "trib-metrics");
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (!end) {
        try_version(file, &is_failing);
        next.tv_sec += file->config.every_seconds;
        pthread_mutex_lock(&file->mutex);
        while (!file->end && pthread_cond_timedwait(&file->ended, &file->mutex, &next) != ETIMEDOUT)
            continue;
        end = file->end;
        pthread_mutex_unlock(&file->mutex);
    }
    try_version(file, &is_failing);
    return NULL;
}

static int start(struct trib_metrics_file *file) {
    pthread_condattr_t monotonic;
    sigset_t all, before;

    pthread_mutex_init(&file->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&file->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals belong to the daemon's first thread */
    int code = -pthread_create(&file->thread, NULL, run, file);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static bool ends_in(const char *text, const char *ending) {
    size_t length = strlen(text), wanted = strlen(ending);

    return length > wanted && strcmp(text + length - wanted, ending) == 0;
}

int trib_metrics_file_open(struct trib_metrics_file **out, const struct trib_metrics_file_config *config,
                           struct trib_error *error) {
    if (config->path[0] != '/' || !ends_in(config->path, ".prom"))
        return trib_fail(error, -EINVAL, "metrics-file '%.200s': an absolute path that ends in .prom is wanted",
                         config->path);
    struct trib_metrics_file *file = calloc(1, sizeof *file);
    if (!file)
        return trib_fail(error, -ENOMEM, "out of memory for the metrics");
    file->config = *config;
    snprintf(file->path, sizeof file->path, "%s", config->path);
    snprintf(file->part, sizeof file->part, "%s.part", file->path);
    file->held = -1;
    warn_of_another(file);
    int code = start(file);
    if (code) {
        free(file);
        return trib_fail(error, code, "metrics-file: no thread: %s", strerror(-code));
    }
    *out = file;
    return 0;
}

void trib_metrics_file_close(struct trib_metrics_file *file) {
    if (!file)
        return;
    pthread_mutex_lock(&file->mutex);
    file->end = true;
    pthread_cond_signal(&file->ended);
    pthread_mutex_unlock(&file->mutex);
    pthread_join(file->thread, NULL);
    if (file->held >= 0)
        close(file->held);
    pthread_cond_destroy(&file->ended);
    pthread_mutex_destroy(&file->mutex);
    free(file);
}

uint64_t trib_metrics_file_errors(const struct trib_metrics_file *file) {
    return atomic_load(&file->errors);
}
