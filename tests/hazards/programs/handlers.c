/* SPDX-License-Identifier: Apache-2.0 */
/* Signal handlers that do what POSIX lets them do (open, write, close, rename, unlink) and what crash reporters do
 * besides (mmap), again and again while main is in the middle of the same. Ends after so many signals; the files left
 * behind do not depend on the moments. */
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <ucontext.h>

#include "hazard.h"

#define SIGNALS 6000
#define ROUNDS  1500

static volatile sig_atomic_t signals, failures;
static int shared_fd;

static void number_into(char *at, int number) {
    for (int digit = 2; digit >= 0; digit--, number /= 10)
        at[digit] = (char)('0' + number % 10);
}

static void in_handler(int signal) {
    int kept = errno, number = signals % 1000;
    char name[] = "h000", renamed[] = "r000";

    (void)signal;
    if (signals >= SIGNALS)
        return;
    signals = signals + 1;
    number_into(name + 1, number);
    number_into(renamed + 1, number);
    unlink(number % 4 == 1 ? renamed : name); /* neither a truncation nor a rename over it: file systems flush those */
    int fd = open(name, O_CREAT | O_RDWR, 0600);
    failures += write(fd, "handler\n", 8) != 8;
    if (number % 4 == 1)
        failures += rename(name, renamed) != 0;
    if (number % 4 == 2)
        failures += unlink(name) != 0;
    if (number % 4 == 3) {
        char *map = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED) {
            failures++;
        } else {
            map[0] = 'H';
            failures += msync(map, 8, MS_ASYNC) != 0;
            munmap(map, 8);
        }
    }
    close(fd);
    errno = kept;
}

/* As write_one, but an old file stays: what truncates it is flushed when it is closed. */
static bool write_over(const char *name) {
    int fd = open(name, O_CREAT | O_RDWR, 0600);
    bool good = fd >= 0 && write(fd, "0123456789", 10) == 10;

    close(fd);
    return good;
}

static void often(long us, int flags) {
    struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_RESTART | flags};
    struct itimerval timer = {{0, us}, {0, us}};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static int ended(void) {
    struct itimerval never = {{0, 0}, {0, 0}};

    setitimer(ITIMER_REAL, &never, NULL);
    say("%d signals, %d failures\n", (int)signals, (int)failures);
    return 0;
}

static int main_opens(void) {
    often(100, 0);
    for (int i = 0; i < ROUNDS || signals < SIGNALS; i++) {
        char name[] = "m000";
        number_into(name + 1, i % 1000);
        failures += !write_over(name);
    }
    return ended();
}

static int main_writes(void) {
    shared_fd = make("main");
    often(100, 0);
    for (int i = 0; i < ROUNDS || signals < SIGNALS; i++)
        failures += pwrite(shared_fd, "0123456789", 10, (i % 100) * 10) != 10;
    return ended();
}

static int main_renames(void) {
    write_one("a");
    often(100, 0);
    for (int i = 0; i < ROUNDS || signals < SIGNALS; i++) {
        failures += rename("a", "b") != 0;
        failures += rename("b", "a") != 0;
        failures += !write_over("c") || unlink("c") != 0;
    }
    return ended();
}

static int main_maps(void) {
    shared_fd = make("main");
    failures += ftruncate(shared_fd, 65536) != 0;
    often(100, 0);
    for (int i = 0; i < ROUNDS || signals < SIGNALS; i++) {
        char *map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, shared_fd, 0);
        if (map == MAP_FAILED) {
            failures++;
            continue;
        }
        memset(map + i % 16 * 4096, 'm', 100);
        failures += msync(map, 65536, MS_ASYNC) != 0;
        munmap(map, 65536);
    }
    return ended();
}

static int main_forks(void) {
    often(1000, 0);
    for (int i = 0; i < 60 || signals < SIGNALS / 20; i++) {
        char name[] = "f000";
        number_into(name + 1, i % 60);
        pid_t child = fork();
        if (child == 0) {
            struct itimerval never = {{0, 0}, {0, 0}};
            setitimer(ITIMER_REAL, &never, NULL);
            _exit(write_over(name) ? 0 : 1);
        }
        int status;
        failures += waitpid(child, &status, 0) != child || status != 0;
    }
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    for (; signals < SIGNALS;)
        in_handler(0);
    return ended();
}

/* The first write of the process is the handler's, and it comes while main's own first write is under way. */
static int first_in_handler(void) {
    often(100, 0);
    while (signals < SIGNALS)
        failures += !write_over("main");
    return ended();
}

static int on_small_stack(void) {
    static char stack[16384] __attribute__((aligned(64)));
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};

    if (sigaltstack(&other, NULL))
        return not_possible("sigaltstack");
    often(100, SA_ONSTACK);
    for (int i = 0; i < ROUNDS || signals < SIGNALS; i++)
        failures += !write_over("main");
    return ended();
}

static void *writes(void *name) {
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (int i = 0; i < ROUNDS || signals < SIGNALS; i++)
        failures += !write_over(name);
    return NULL;
}

static int with_threads(void) {
    pthread_t threads[2];
    static char names[2][3] = {"t0", "t1"};

    often(100, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, writes, names[i]);
    for (int i = 0; i < ROUNDS || signals < SIGNALS; i++)
        failures += !write_over("main");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return ended();
}

/* A handler that leaves by siglongjmp out of the middle of whatever was interrupted. */
static sigjmp_buf back;
static volatile sig_atomic_t armed, jumps;

static void jump(int signal) {
    (void)signal;
    if (armed)
        siglongjmp(back, 1);
}

static int jumps_out(void) {
    struct sigaction action = {.sa_handler = jump};
    struct itimerval timer = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    int fd = make("main");

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    while (jumps < 1000) {
        if (sigsetjmp(back, 1) == 0) {
            armed = 1;
            for (int i = 0; i < 1000000; i++)
                if (pwrite(fd, "0123456789", 10, (i % 100) * 10) < 0)
                    break;
            armed = 0;
        } else {
            armed = 0;
            jumps++;
        }
    }
    setitimer(ITIMER_REAL, &never, NULL);
    for (int i = 0; i < 100; i++)
        failures += pwrite(fd, "0123456789", 10, i * 10) != 10;
    say("%d jumps, %d failures, %d\n", (int)jumps, (int)failures, write_one("after"));
    return 0;
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"main_opens", main_opens},
                                            {"main_writes", main_writes},
                                            {"main_renames", main_renames},
                                            {"main_maps", main_maps},
                                            {"main_forks", main_forks},
                                            {"first", first_in_handler},
                                            {"small_stack", on_small_stack},
                                            {"threads", with_threads},
                                            {"jumps", jumps_out},
                                            {NULL, NULL}};
    if (mkdir("files", 0700) || chdir("files"))
        return 99;
    return run_hazard(hazards, count, values);
}
