/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for people, on standard error or wherever an adapter sends them. Thread-safe. Never on a write path. */
#ifndef TRIB_BASE_LOG_H
#define TRIB_BASE_LOG_H

#include <tributary/error.h>

TRIB_C_BEGIN

enum trib_log_level { TRIB_LOG_ERROR, TRIB_LOG_WARNING, TRIB_LOG_INFO };

typedef void trib_log_sink(void *arg, enum trib_log_level level, const char *line);

/* Replaces the sink (default: standard error, warnings and errors only). NULL restores it. */
void trib_log_to(trib_log_sink *sink, void *arg);

TRIB_EXPORT void trib_log(enum trib_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

TRIB_C_END
#endif
