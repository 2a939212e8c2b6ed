/* SPDX-License-Identifier: Apache-2.0 */
/* The file behind a trace writer: opened without harm to what is not a trace, written without harm
 * to the process. Thread safety: one owner. Private to the trace room. */
#ifndef TRIB_TRACE_OUTPUT_H
#define TRIB_TRACE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include <tributary/error.h>

struct trib_trace_output {
    int fd;
    bool may_break; /* a pipe or socket, whose reader may go away */
    bool is_locked;
};

/* An empty file, exclusively locked; a character device or, for "-", standard output as it is. 0;
 * -EEXIST (not a trace, or no file), -EBUSY, -errno. */
int trib_trace_output_open(struct trib_trace_output *output, const char *path,
                           struct trib_error *error);

/* Writes all bytes, whatever interrupts. 0 or -errno; never raises SIGPIPE. */
int trib_trace_output_write(const struct trib_trace_output *output, const void *bytes,
                            size_t length_bytes);

int trib_trace_output_close(struct trib_trace_output *output); /* 0 or -errno */

#endif
