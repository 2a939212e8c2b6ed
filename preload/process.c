/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the process: start, children, end. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "entry.h"
#include "next.h"
#include "sink.h"
#include "tell.h"

static bool exiting;

static void leave(int code) {
    if (exiting)
        trib_sink_stop();
    for (;;)
        syscall(SYS_exit_group, code);
}

__attribute__((constructor)) static void start(void) {
    trib_sink_start();
    if (!trib_sink_wanted())
        return;
    trib_entry_patch();
    trib_entry_patch_exit(leave);
    pthread_atfork(trib_descriptors_shared, NULL, NULL);
}

/* exit() flushes stdio after the destructors: what has to be the last comes with _exit. */
__attribute__((destructor)) static void stop(void) {
    exiting = true;
    if (!trib_entry_is_patched())
        trib_sink_stop();
}
