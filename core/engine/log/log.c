/* SPDX-License-Identifier: Apache-2.0 */
#include "log/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static pthread_mutex_t sink_mutex = PTHREAD_MUTEX_INITIALIZER;
static trib_log_sink *sink_function;
static void *sink_arg;

void trib_log_to(trib_log_sink *sink, void *arg) {
    pthread_mutex_lock(&sink_mutex);
    sink_function = sink;
    sink_arg = arg;
    pthread_mutex_unlock(&sink_mutex);
}

void trib_log(enum trib_log_level level, const char *format, ...) {
    static const char *const names[] = {"error", "warning", "info"};
    int saved_errno = errno; /* an adapter's errno is the engine's */
    char line[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&sink_mutex);
    if (sink_function)
        sink_function(sink_arg, level, line);
    else if (level < TRIB_LOG_INFO)
        fprintf(stderr, "tributary: %s: %s\n", names[level], line);
    pthread_mutex_unlock(&sink_mutex);
    errno = saved_errno;
}
