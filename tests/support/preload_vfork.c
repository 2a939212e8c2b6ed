/* SPDX-License-Identifier: Apache-2.0 */
/* vfork as programs use it. many FOLDER THREADS TURNS: threads that write files and start children, which close and
 * replace what their parents have open, and have children of their own. once: a single child between two breakpoints,
 * for whoever steps through it. spawn FILE: how many milliseconds twenty times posix_spawnp of a missing program
 * take. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *folder;
static int turns;

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static int status_of(pid_t child) {
    int status;

    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        fail("child");
    return WEXITSTATUS(status);
}

/* ---- many ---- */

/* Runs on its parent's memory, and must not return. */
static void child(int fd, volatile int *marks) {
    char *const arguments[] = {"none", NULL};
    pid_t own = vfork();

    if (own == 0) {
        close(fd);
        (*marks)++;
        _exit(3);
    }
    *marks += status_of(own) == 3;
    dup2(1, fd);
    close(fd);
    execv("/no/such/program", arguments);
    _exit(errno == ENOENT ? 5 : 6);
}

static void *work(void *number) {
    char path[256], byte = 'x';
    volatile int marks = 0;

    snprintf(path, sizeof path, "%s/file%ld", folder, (long)number);
    int fd = open(path, O_CREAT | O_WRONLY | O_EXCL, 0600);
    if (fd < 0)
        fail(path);
    for (int i = 0; i < turns; i++) {
        if (pwrite(fd, &byte, 1, i) != 1)
            fail("pwrite");
        pid_t one = vfork();
        if (one == 0)
            child(fd, &marks);
        if (status_of(one) != 5)
            fail("exec");
    }
    if (close(fd) != 0)
        fail("close");
    return (void *)(long)marks;
}

static int many(int threads) {
    pthread_t running[64];
    long marks = 0;
    void *result;

    for (long i = 0; i < threads; i++)
        pthread_create(&running[i], NULL, work, (void *)i);
    for (int i = 0; i < threads; i++) {
        pthread_join(running[i], &result);
        marks += (long)result;
    }
    printf("%ld marks\n", marks);
    return 0;
}

/* ---- once ---- */

__attribute__((noinline)) static int deep(int levels) {
    volatile int sum = levels;

    return levels ? sum + deep(levels - 1) : sum;
}

__attribute__((noinline)) static int start_child(void) {
    pid_t one = vfork();

    if (one == 0) {
        pid_t two = vfork(); /* as deep as the parent's, in the child */
        if (two == 0) {
            deep(3);
            _exit(1);
        }
        deep(5);
        _exit(two > 0 ? 7 : 8);
    }
    return status_of(one);
}

/* ---- spawn ---- */

static int spawn(const char *path) {
    char *const arguments[] = {"none", NULL};
    struct timespec begin, end;
    pid_t child;
    int fd = open(path, O_CREAT | O_WRONLY, 0600);

    if (pwrite(fd, "x", 1, 0) != 1) /* from now on there is something to settle */
        fail("pwrite");
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < 20; i++)
        if (posix_spawnp(&child, "no-such-program", NULL, NULL, arguments, arguments + 1) != ENOENT)
            fail("posix_spawnp");
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%ld\n", (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000);
    return 0;
}

int main(int count, char **arguments) {
    if (count == 3 && strcmp(arguments[1], "spawn") == 0)
        return spawn(arguments[2]);
    if (count == 2 && strcmp(arguments[1], "once") == 0) {
        __asm__ volatile("int3");
        int status = start_child();
        __asm__ volatile("int3");
        return status == 7 ? 0 : 1;
    }
    if (count != 5)
        return 2;
    folder = arguments[2];
    turns = atoi(arguments[4]);
    return many(atoi(arguments[3]));
}
