/* SPDX-License-Identifier: Apache-2.0 */
/* Which process is this, and does it still live? No allocation; what /proc does not say is unknown (0). */
#ifndef TRIB_SESSION_PROCESS_H
#define TRIB_SESSION_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct trib_process_identity {
    pid_t pid;
    uint64_t start_time;    /* clock ticks since boot */
    uint64_t image;         /* changes with exec */
    uint64_t pid_namespace; /* inode */
};

void trib_process_self(struct trib_process_identity *out);
uint64_t trib_process_namespace(void);

/* Of the caller's namespace. A zombie without threads is gone. start_time 0: any. thorough: reads /proc, which tells a
 * zombie and a reused id, else a kill(2) with signal 0 only. */
bool trib_process_is_gone(pid_t pid, uint64_t start_time, bool thorough);

/* Path of the program's file, for people and as its identity. */
void trib_process_program(char *path, size_t capacity);

#endif
