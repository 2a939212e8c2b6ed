/* SPDX-License-Identifier: Apache-2.0 */
#include "producer/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stat_line {
    char state;
    uint64_t start_time, threads;
};

/* Fields 3, 20 and 22 of /proc/PID/stat; they follow the program's name, which may hold anything. */
static bool read_stat(const char *path, struct stat_line *out) {
    char text[1024];
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    char *field = strrchr(text, ')');
    if (!field || field[1] != ' ')
        return false;
    out->state = field[2];
    for (unsigned number = 3; field && number < 20; number++)
        field = strchr(field + (number == 3 ? 2 : 1), ' ');
    if (!field)
        return false;
    out->threads = strtoull(field, &field, 10);
    strtoull(field, &field, 10);
    out->start_time = strtoull(field, NULL, 10);
    return true;
}

bool trib_process_is_gone(pid_t pid, uint64_t start_time, bool thorough) {
    struct stat_line line;
    char path[32];

    if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH))
        return true;
    if (!thorough)
        return false;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (!read_stat(path, &line))
        return false; /* not ours to see; kill said that it lives */
    if (line.state == 'X' || (line.state == 'Z' && line.threads <= 1))
        return true;
    return start_time && line.start_time != start_time;
}
