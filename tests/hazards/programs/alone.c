/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that would notice a child, a thread or a descriptor that they have not made: reapers of any child, makers of
 * namespaces. What they print is what they saw. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "hazard.h"

#define PROCESSES 40
#define ROUNDS    40
#define REAPERS   3

/* ---- children that nobody made ---- */

static atomic_int stop, reaped;

static void *reap(void *unused) {
    int status;

    while (!stop)
        if (waitpid(-1, &status, __WALL) > 0)
            reaped++;
    return unused;
}

static int reap_while_writing(int number) {
    pthread_t reapers[REAPERS];
    char name[16];

    for (int i = 0; i < REAPERS; i++)
        pthread_create(&reapers[i], NULL, reap, NULL);
    usleep(1000);
    snprintf(name, sizeof name, "wall%d", number);
    write_one(name);
    usleep(1000);
    stop = 1;
    for (int i = 0; i < REAPERS; i++)
        pthread_join(reapers[i], NULL);
    return reaped;
}

static int wall(void) {
    int total = 0, status;

    for (int i = 0; i < PROCESSES; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(reap_while_writing(i));
        waitpid(child, &status, 0);
        total += WEXITSTATUS(status);
    }
    say("%d children reaped that nobody made\n", total);
    return total;
}

/* ---- namespaces ---- */

/* The first child is its init, not whatever somebody else starts. */
static int new_pid(void) {
    int status = 0;

    if (unshare(CLONE_NEWPID) != 0)
        return not_possible(strerror(errno));
    write_one("newpid");
    pid_t child = fork();
    if (child == 0) {
        say("the child is %d\n", (int)getpid());
        _exit(0);
    }
    if (child < 0)
        return say("fork: %s\n", strerror(errno)), 1;
    waitpid(child, &status, 0);
    say("it ended with %d\n", status);
    return 0;
}

/* Only a process of one thread may: right behind its first write it must be one. */
static int new_user(void) {
    int refused = 0, cannot = 0, status;

    for (int i = 0; i < ROUNDS; i++) {
        pid_t child = fork();
        if (child == 0) {
            int fd = make("newuser");
            if (write(fd, "0123456789", 10) != 10)
                _exit(100);
            _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : errno == EINVAL ? 1 : NOT_POSSIBLE);
        }
        waitpid(child, &status, 0);
        refused += WEXITSTATUS(status) == 1;
        cannot += WEXITSTATUS(status) == NOT_POSSIBLE;
    }
    if (cannot == ROUNDS)
        return not_possible("no user namespaces");
    say("%d of %d refused\n", refused, ROUNDS);
    return refused > 0;
}

/* /proc counts what the process has, once it has written. */
static int threads(void) {
    char line[256];
    int found = -1;

    write_one("threads");
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "Threads: %d", &found) == 1)
            break;
    fclose(status);
    say("%d thread\n", found);
    return found == 1 ? 0 : 1;
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {
        {"wall", wall}, {"newpid", new_pid}, {"newuser", new_user}, {"threads", threads}, {NULL, NULL}};
    return run_hazard(hazards, count, values);
}
