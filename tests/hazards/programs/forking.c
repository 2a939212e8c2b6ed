/* SPDX-License-Identifier: Apache-2.0 */
/* What a fork costs a program that has written through a descriptor of a low number, and then through one of a high
 * number. Prints the least of many for each, in microseconds, from the fork to the end of a child that does nothing. */
#include <sys/resource.h>

#include "hazard.h"

enum { LOW = 100, HIGH = 19000, FORKS = 200 };

static double fork_us(void) {
    double before_us = now_us();
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    if (child < 0 || waitpid(child, NULL, 0) != child)
        exit(4);
    return now_us() - before_us;
}

static double least_us(int fd, int number) {
    double least = 1e9;

    if (dup2(fd, number) != number || write(number, "0123456789", 10) != 10)
        exit(3);
    for (int i = 0; i < FORKS; i++) {
        double took = fork_us();
        least = took < least ? took : least;
    }
    return least;
}

int main(void) {
    struct rlimit limit;
    int fd = make("a");

    if (getrlimit(RLIMIT_NOFILE, &limit))
        return 2;
    limit.rlim_cur = limit.rlim_max;
    if (limit.rlim_max <= HIGH || setrlimit(RLIMIT_NOFILE, &limit))
        return not_possible("so many descriptors");
    double low_us = least_us(fd, LOW);
    say("%.1f %.1f\n", low_us, least_us(fd, HIGH));
    return 0;
}
