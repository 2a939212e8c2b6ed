/* SPDX-License-Identifier: Apache-2.0 */
/* A process that has no descriptor number left when it first writes, or is not allowed more than three. */
#include <sys/resource.h>

#include "hazard.h"

#define NUMBERS 200

static void say_opened(void) {
    for (int fd = 0; fd < NUMBERS + 100; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            say("%d ", fd);
    say("\n");
}

static int write_pieces(int fd) {
    for (int i = 0; i < 20; i++)
        if (write(fd, "0123456789", 10) != 10)
            return 3;
    pause_ms(50);
    say_opened();
    say_result("open", open("untouched.db", O_RDONLY));
    return 0;
}

static int limit_to(rlim_t most) {
    const struct rlimit limit = {most, most};

    return setrlimit(RLIMIT_NOFILE, &limit);
}

/* All numbers that the limit allows are taken, and it cannot be raised. */
static int table(void) {
    int fd = make("a"), copy;

    if (limit_to(NUMBERS))
        return not_possible("limits");
    while ((copy = dup(fd)) >= 0)
        if (copy >= NUMBERS)
            return 4;
    return write_pieces(fd);
}

/* So that what is written lies above it. */
static int three(void) {
    int fd = make("a");

    return limit_to(3) ? not_possible("limits") : write_pieces(fd);
}

/* A child joins for itself, with its parent's table. */
static int table_of_child(void) {
    int fd = make("a"), status = 0;

    if (limit_to(NUMBERS))
        return not_possible("limits");
    while (dup(fd) >= 0)
        ;
    pid_t child = fork();
    if (child == 0)
        _exit(write_pieces(fd));
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 5;
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {
        {"table", table}, {"three", three}, {"table_of_child", table_of_child}, {NULL, NULL}};
    return run_hazard(hazards, count, values);
}
