/* SPDX-License-Identifier: Apache-2.0 */
/* Counters as OpenMetrics text in a file that node_exporter's textfile collector reads. A reader sees one whole version
 * or the next: each is written beside the file and renamed over it. Readable by everybody (0644), because a collector
 * runs as a user of its own and counters tell no names of files. A thread of its own writes, so that a slow file system
 * holds up nobody; what fails is counted and said once.
 *
 * Thread safety: open and close belong to the owner, errors to any thread. */
#ifndef TRIB_METRICS_FILE_H
#define TRIB_METRICS_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

struct trib_metrics_file;

struct trib_metrics_file_config {
    const char *path;
    uint32_t every_seconds;
    /* Called on the file's thread: bytes written, or -errno. */
    long (*text)(void *arg, char *text, size_t capacity);
    void *arg;
};

/* 0; -EINVAL (a path that is not absolute, or ends in no ".prom": the collector reads no other), -ENOMEM, -errno. */
int trib_metrics_file_open(struct trib_metrics_file **out, const struct trib_metrics_file_config *config,
                           struct trib_error *error);
/* Writes a last version. NULL is fine. */
void trib_metrics_file_close(struct trib_metrics_file *file);

uint64_t trib_metrics_file_errors(const struct trib_metrics_file *file);

TRIB_C_END
#endif
