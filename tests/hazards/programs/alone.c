/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that would notice a child, a thread or a descriptor that they have not made: reapers of any child, makers of
 * namespaces. What they print is what they saw. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>

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

/* ---- orphans ---- */

/* A daemon that the library starts must not become the child that this process waits for. */
static int wait_for_all(void) {
    int children = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(write_one("orphans") ? 0 : 1);
    while (wait(NULL) > 0)
        children++;
    say("%d children\n", children);
    return 0;
}

/* The library comes with the next program, and with other options, as there may be a daemon for these already. */
static int adopter(void) {
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return not_possible(strerror(errno));
    if (getenv("TRIBUTARY"))
        setenv("TRIBUTARY", "policy=none,drive=none,process-ring=2048", 1);
    execl("/proc/self/exe", "alone", "wait_for_all", NULL);
    return 3;
}

/* ---- real time ---- */

static atomic_int is_done;

static bool be_real_time(int priority) {
    struct sched_param wanted = {.sched_priority = priority};

    return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &wanted) == 0;
}

static void *keep_busy(void *unused) {
    double end_us = now_us() + 2e6;

    if (be_real_time(10))
        while (!is_done && now_us() < end_us)
            ;
    return unused;
}

static void *write_in_time(void *unused) {
    int fd = make("rt");

    if (!be_real_time(50)) {
        say("not possible\n");
    } else {
        pause_ms(100); /* until the other is busy */
        double before_us = now_us();
        (void)!write(fd, "0123456789", 10);
        say("%s\n", now_us() - before_us < 100e3 ? "in time" : "late");
    }
    is_done = 1;
    return unused;
}

/* What a thread's children do runs at an ordinary thread's priority, behind what keeps the only processor busy. */
static int real_time(void) {
    pthread_t writer, busy;
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_create(&writer, NULL, write_in_time, NULL);
    pthread_create(&busy, NULL, keep_busy, NULL);
    pthread_join(writer, NULL);
    pthread_join(busy, NULL);
    return 0;
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"wall", wall},           {"newpid", new_pid},
                                            {"newuser", new_user},    {"threads", threads},
                                            {"adopter", adopter},     {"wait_for_all", wait_for_all},
                                            {"real_time", real_time}, {NULL, NULL}};
    return run_hazard(hazards, count, values);
}
