/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of this folder share: cases by name, output without a buffer, files of their own. They know nothing
 * of Tributary. Each prints what a user of the call can see, and ends with 77 where the machine cannot do it. */
#ifndef TRIB_HAZARD_H
#define TRIB_HAZARD_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOT_POSSIBLE 77

struct hazard {
    const char *name;
    int (*run)(void); /* the exit status */
};

__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    vdprintf(STDOUT_FILENO, format, arguments);
    va_end(arguments);
}

/* A result as libc gave it. */
static inline void say_result(const char *name, long result) {
    int number = errno;

    say("%s = %ld%s%s\n", name, result, result == -1 ? " " : "", result == -1 ? strerrorname_np(number) : "");
}

static inline int not_possible(const char *why) {
    say("not possible: %s\n", why);
    return NOT_POSSIBLE;
}

static inline int make(const char *name) {
    return open(name, O_CREAT | O_RDWR | O_TRUNC, 0600);
}

/* One small write into a file of its own: what every program does sooner or later. */
static inline bool write_one(const char *name) {
    int fd = make(name);
    bool good = fd >= 0 && write(fd, "0123456789", 10) == 10;

    close(fd);
    return good;
}

static inline void pause_ms(long ms) {
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&pause, &pause) && errno == EINTR)
        ;
}

static inline double now_us(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Waits for all children and says how each ended, in the order of `children`. */
static inline void say_ends(const pid_t *children, int count) {
    for (int i = 0; i < count; i++) {
        int status = -1;
        if (waitpid(children[i], &status, 0) != children[i])
            say("child %d: lost\n", i);
        else if (WIFSIGNALED(status))
            say("child %d: signal %d\n", i, WTERMSIG(status));
        else
            say("child %d: status %d\n", i, WEXITSTATUS(status));
    }
}

static inline int run_hazard(const struct hazard *hazards, int count, char **values) {
    for (const struct hazard *hazard = hazards; hazard->name; hazard++)
        if (count > 1 && strcmp(hazard->name, values[1]) == 0)
            return hazard->run();
    return 100;
}

#endif
