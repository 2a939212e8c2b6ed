/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor numbers that a program chooses itself: dup2, dup3 and F_DUPFD onto any number, and the lowest free number
 * for everything else. One thread. */
#include <sys/syscall.h>

#include "hazard.h"

static void say_opened(void) {
    for (int fd = 0; fd < 300; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            say("%d ", fd);
    say("\n");
}

/* Onto every number, and back to the first one through it. */
static int onto_all(void) {
    int fd = make("a");

    if (write(fd, "first\n", 6) != 6)
        return 2;
    pause_ms(30);
    for (int number = 3; number < 256; number++) {
        if (number == fd)
            continue;
        if (dup2(fd, number) != number || dprintf(number, "through %d\n", number) < 0)
            return 3;
    }
    pause_ms(30);
    for (int number = 255; number > 2; number--)
        if (number != fd && dprintf(number, "again %d\n", number) < 0)
            return 4;
    say_opened();
    return 0;
}

static int onto_all_raw(void) {
    int fd = make("a");

    if (write(fd, "first\n", 6) != 6)
        return 2;
    for (int number = 3; number < 256; number++)
        if (number != fd && (syscall(SYS_dup3, fd, number, O_CLOEXEC) != number || write(number, "x", 1) != 1))
            return 3;
    pause_ms(30);
    return write_one("b") ? 0 : 4;
}

/* The next free number is the one that follows. */
static int lowest(void) {
    int first = make("a");

    if (write(first, "x", 1) != 1)
        return 2;
    pause_ms(30);
    for (int i = 0; i < 20; i++) {
        int fd = open("untouched.db", O_RDWR), copy = dup(first), above = fcntl(first, F_DUPFD, 40);
        int ends[2];
        if (pipe(ends) || write(copy, "y", 1) != 1 || write(ends[1], "z", 1) != 1)
            return 3;
        say("%d %d %d %d %d\n", fd, copy, above, ends[0], ends[1]);
        if (i % 3 == 0)
            close(copy);
    }
    say_opened();
    return 0;
}

/* dup2 over what is there while another thread of the library, were there one, might be about to write. */
static int over_and_over(void) {
    int keep = open("untouched.db", O_RDWR), fd = make("a");

    for (int i = 0; i < 300; i++) {
        if (write(fd, "x", 1) != 1)
            return 2;
        for (int number = 5; number < 30; number++)
            if (dup2(keep, number) != number)
                return 3;
        if (i % 10 == 0)
            pause_ms(1);
        for (int number = 5; number < 30; number++)
            close(number);
    }
    return 0;
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"onto_all", onto_all},
                                            {"onto_all_raw", onto_all_raw},
                                            {"lowest", lowest},
                                            {"over_and_over", over_and_over},
                                            {NULL, NULL}};
    return run_hazard(hazards, count, values);
}
