/* SPDX-License-Identifier: Apache-2.0 */
/* Daemons close every descriptor that they did not open, and then open a database that they only read: whatever number
 * it gets, nobody else may hold that number. One thread. */
#include <sys/syscall.h>

#include "hazard.h"

#define READERS 24

/* Opens `untouched.db` under many numbers, writes a log for a while, and reads the database back. */
static int serve(void) {
    int log = open("log", O_CREAT | O_WRONLY | O_APPEND, 0600), readers[READERS];
    char head[17] = "";

    for (int i = 0; i < READERS; i++)
        readers[i] = open("untouched.db", O_RDWR);
    for (int i = 0; i < 200; i++) {
        if (write(log, "line\n", 5) != 5)
            return 2;
        pause_ms(1);
    }
    pause_ms(100);
    if (pread(readers[0], head, 16, 0) != 16)
        return 3;
    dprintf(log, "log %d, readers %d to %d, head %s\n", log, readers[0], readers[READERS - 1], head);
    return 0;
}

static void begin(void) {
    int fd = make("pid");

    if (write(fd, "1\n", 2) != 2)
        exit(4);
    pause_ms(30);
}

static int by_closefrom(void) {
    begin();
    closefrom(3);
    return serve();
}

static int by_close_range(void) {
    begin();
    if (close_range(3, ~0u, 0))
        return not_possible("close_range");
    return serve();
}

static int by_raw_close_range(void) {
    begin();
    if (syscall(SYS_close_range, 3u, ~0u, 0u))
        return not_possible("close_range");
    return serve();
}

static int by_loop(void) {
    begin();
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    return serve();
}

static int everything(void) {
    begin();
    if (close_range(0, ~0u, 0))
        return NOT_POSSIBLE;
    return serve();
}

/* Nothing is written before: whatever a library has opened until then is gone when the first write comes. */
static int before_first_write(void) {
    closefrom(0);
    return serve();
}

static int in_child(void) {
    begin();
    pid_t child = fork();
    if (child == 0) {
        setsid();
        closefrom(0);
        _exit(serve());
    }
    say_ends(&child, 1);
    return 0;
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"closefrom", by_closefrom},
                                            {"close_range", by_close_range},
                                            {"raw_close_range", by_raw_close_range},
                                            {"loop", by_loop},
                                            {"everything", everything},
                                            {"before_first_write", before_first_write},
                                            {"in_child", in_child},
                                            {NULL, NULL}};
    return run_hazard(hazards, count, values);
}
