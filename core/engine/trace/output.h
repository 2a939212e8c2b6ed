/* SPDX-License-Identifier: Apache-2.0 */
/* The file behind a trace writer: opened without harm to what is not a trace, written without harm
 * to the process. Thread safety: one owner. Private to the trace room. */
#ifndef TRIB_TRACE_OUTPUT_H
#define TRIB_TRACE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

struct trib_trace_output {
    int fd;
    bool is_file; /* a regular file of ours, locked; else standard output or a character device */
};

/* A new file, 0600, exclusively locked; a trace that stands there is rotated away, an empty file of this user taken. 0;
 * -EEXIST, -ELOOP, -EISDIR (something else stands there), -EBUSY, -errno. */
int trib_trace_output_open(struct trib_trace_output *output, const char *path, uint32_t keep, struct trib_error *error);

/* A new file where nothing stands. */
int trib_trace_output_create(struct trib_trace_output *output, const char *path, struct trib_error *error);

/* The path still leads to this file: nobody moved or replaced it. */
bool trib_trace_output_is_at(const struct trib_trace_output *output, const char *path);

/* Writes all bytes, whatever interrupts. 0 or -errno; never raises SIGPIPE or SIGXFSZ. */
int trib_trace_output_write(const struct trib_trace_output *output, const void *bytes, size_t length_bytes);

/* Takes back what lies beyond `length_bytes`. 0 or -errno; -EINVAL if it is no file. */
int trib_trace_output_cut(const struct trib_trace_output *output, uint64_t length_bytes);

/* What this user may still fill of the file system, UINT64_MAX if that cannot be known. */
uint64_t trib_trace_output_free_bytes(const struct trib_trace_output *output);
/* The same where a file would be made or is; UINT64_MAX for all that is no file. */
uint64_t trib_trace_output_free_at(const char *path);

int trib_trace_output_close(struct trib_trace_output *output); /* 0 or -errno */

#endif
