/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that starts programs, beside another that looks after the process's descriptors: whatever is opened on its
 * way has a number that the other meets. */
#include <pthread.h>
#include <spawn.h>
#include <sys/resource.h>

#include "hazard.h"

enum { STARTED = 100 };

static volatile int is_over;

static void *start_programs(void *unused) {
    char *arguments[] = {"true", NULL};

    (void)unused;
    for (int i = 0; i < STARTED; i++) {
        pid_t child;
        if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) == 0)
            waitpid(child, NULL, 0);
    }
    is_over = 1;
    return NULL;
}

/* Nobody else in this process opens a file. */
static int lowest_number(void) {
    long other = 0, refused = 0;
    pthread_t thread;
    int fd = make("a");

    if (write(fd, "first", 5) != 5)
        return 2;
    int lowest = dup(fd);
    close(lowest);
    pthread_create(&thread, NULL, start_programs, NULL);
    while (!is_over) {
        int found = dup(fd);
        refused += found < 0;
        other += found >= 0 && found != lowest;
        if (found >= 0)
            close(found);
    }
    pthread_join(thread, NULL);
    say("another number than the lowest %ld times, none %ld times\n", other, refused);
    return 0;
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"lowest_number", lowest_number}, {NULL, NULL}};

    return run_hazard(hazards, count, values);
}
