/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of processes, threads and signals. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload_story.h"

static void story_fork(void) {
    int fd = make("parent", O_WRONLY), status;

    check(write(fd, data, 10) == 10);
    pid_t child = fork();
    if (child == 0) {
        int own = make("child", O_WRONLY);
        check(write(own, data, 20) == 20);
        check(write(fd, data, 30) == 30); /* at 10 of the parent's */
        exit(0);
    }
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL); /* a fork that libc does not know of */
    if (child == 0) {
        int own = make("clone", O_WRONLY);
        check(write(own, data, 40) == 40);
        _exit(0);
    }
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check(pwrite(fd, data, 5, 100) == 5);
}

static void story_exec(void) {
    int fd = make("before", O_WRONLY), status;
    char *const arguments[] = {"dd", "if=/dev/zero", "of=dd", "bs=4096", "count=2", "status=none", NULL};
    pid_t child;

    check(write(fd, data, 10) == 10);
    if (vfork() == 0) {
        dup2(fd, 9);
        close(fd);
        execl("/bin/sh", "sh", "-c", "echo hello >shell", (char *)NULL);
        _exit(1);
    }
    wait(&status);
    extern char **environ;
    check(posix_spawnp(&child, "dd", NULL, NULL, arguments, environ) == 0);
    check(waitpid(child, &status, 0) == child && status == 0);
    check(write(fd, data, 10) == 10);
}

/* In a child: what the shell that it becomes says. */
#define STATUS_OF(become)                                                                                              \
    __extension__({                                                                                                    \
        int status_ = -1;                                                                                              \
        pid_t pid_ = fork();                                                                                           \
        if (pid_ == 0) {                                                                                               \
            become;                                                                                                    \
            _exit(errno == ENOENT ? 200 : 201);                                                                        \
        }                                                                                                              \
        waitpid(pid_, &status_, 0);                                                                                    \
        WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;                                                                \
    })

static void story_starts(void) {
    char *const list[] = {"sh", "-c", "exit $(($1 + ${LEFT:-0}))", "-", "3", NULL}, *const left[] = {"LEFT=4", NULL};

    check(STATUS_OF(execl("/bin/sh", "sh", "-c", list[2], "-", "3", (char *)NULL)) == 3);
    check(STATUS_OF(execlp("sh", "sh", "-c", list[2], "-", "3", (char *)NULL)) == 3);
    check(STATUS_OF(execle("/bin/sh", "sh", "-c", list[2], "-", "3", (char *)NULL, left)) == 7);
    check(STATUS_OF(execv("/bin/sh", list)) == 3);
    check(STATUS_OF(execvp("sh", list)) == 3);
    check(STATUS_OF(execvpe("sh", list, left)) == 7);
    check(STATUS_OF(execve("/bin/sh", list, left)) == 7);
    check(STATUS_OF(execvp("absent", list)) == 200);
    check(STATUS_OF(execl("absent", "absent", (char *)NULL)) == 200);
    check(STATUS_OF(execl("/", "absent", (char *)NULL)) == 201);
}

static void *write_a_lot(void *arg) {
    int fd = make(arg, O_WRONLY);

    for (int i = 0; i < 1000; i++)
        check(write(fd, data, 100) == 100);
    close(fd);
    return NULL;
}

static void story_threads(void) {
    static char names[4][4] = {"t0", "t1", "t2", "t3"};
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        check(pthread_create(&threads[i], NULL, write_a_lot, names[i]) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static int signal_fd;
static volatile sig_atomic_t signals;

static void on_signal(int number) {
    int kept = errno;
    (void)number;
    check(write(signal_fd, data, 1) == 1);
    signals++;
    errno = kept;
}

static void story_signals(void) {
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    int fd = make("a", O_WRONLY);

    signal_fd = make("handler", O_WRONLY | O_APPEND);
    check(write(signal_fd, data, 1) == 1 && write(fd, data, 1) == 1);
    signal(SIGALRM, on_signal);
    setitimer(ITIMER_REAL, &often, NULL);
    while (signals < 200)
        check(pwrite(fd, data, 64, 0) == 64);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d\n", (int)signals);
}

/* Makes itself a daemon: closes everything, drops its environment, leaves with _exit. */
static void story_daemon(void) {
    int status;
    if (fork() == 0) {
        setsid();
        for (int fd = 0; fd < 1024; fd++)
            close(fd);
        clearenv();
        int fd = make("a", O_WRONLY);
        check(write(fd, data, 10) == 10);
        _exit(0);
    }
    wait(&status);
}

/* Writes long after its parent has ended, which a daemon of their own might have ended with. */
static void story_outlives(void) {
    if (fork() == 0) {
        usleep(3000000);
        int fd = make("a", O_WRONLY);
        check(write(fd, data, 10) == 10);
        _exit(0);
    }
}

const struct story stories_of_processes[] = {
    {"fork", story_fork},       {"exec", story_exec},     {"starts", story_starts},     {"threads", story_threads},
    {"signals", story_signals}, {"daemon", story_daemon}, {"outlives", story_outlives}, {NULL, NULL},
};
