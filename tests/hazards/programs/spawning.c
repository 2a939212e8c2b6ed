/* SPDX-License-Identifier: Apache-2.0 */
/* Starting programs: whatever is opened on the way has a number that another thread meets, and whatever is closed drops
 * the POSIX locks that the process holds on that file. */
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

/* ---- locks on the program that is started ---- */

static bool copy_file(const char *from, const char *to) {
    char bytes[65536];
    int source = open(from, O_RDONLY), target = open(to, O_CREAT | O_WRONLY | O_TRUNC, 0700);
    ssize_t got;

    while ((got = read(source, bytes, sizeof bytes)) > 0)
        if (write(target, bytes, (size_t)got) != got)
            return false;
    return close(source) == 0 && close(target) == 0 && got == 0;
}

static bool lock_program(const char *path) {
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDONLY); /* never closed: that would drop the lock */

    return fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0;
}

static void say_lock(const char *path) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    pid_t child = fork();

    if (child == 0) {
        int fd = open(path, O_RDONLY);
        (void)fcntl(fd, F_GETLK, &lock);
        say("the lock is %s\n", lock.l_type == F_RDLCK && lock.l_pid == getppid() ? "held" : "gone");
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static int locked_and_spawned(void) {
    char *arguments[] = {"locked", NULL};
    pid_t child;

    if (!copy_file("/bin/true", "locked") || !lock_program("locked"))
        return 2;
    for (int i = 0; i < 3; i++)
        if (posix_spawn(&child, "./locked", NULL, NULL, arguments, environ) == 0)
            waitpid(child, NULL, 0);
    say_lock("locked");
    return !write_one("a");
}

static int locked_and_executed(void) {
    if (!copy_file("/proc/self/exe", "locked") || !lock_program("locked"))
        return 2;
    execl("./locked", "locked", "locked_still", NULL);
    return 3;
}

static int locked_still(void) {
    say_lock("locked");
    return !write_one("a");
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"lowest_number", lowest_number},
                                            {"locked_and_spawned", locked_and_spawned},
                                            {"locked_and_executed", locked_and_executed},
                                            {"locked_still", locked_still},
                                            {NULL, NULL}};

    return run_hazard(hazards, count, values);
}
