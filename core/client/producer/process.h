/* SPDX-License-Identifier: Apache-2.0 */
/* Does a process still live? No allocation; what /proc does not say is unknown (0). */
#ifndef TRIB_SESSION_PROCESS_H
#define TRIB_SESSION_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Of the caller's namespace. A zombie without threads is gone. start_time 0: any. thorough: reads /proc, which tells a
 * zombie and a reused id, else a kill(2) with signal 0 only. */
bool trib_process_is_gone(pid_t pid, uint64_t start_time, bool thorough);

#endif
