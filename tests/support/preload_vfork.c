/* SPDX-License-Identifier: Apache-2.0 */
/* vfork as programs use it. many FOLDER THREADS TURNS: threads that write files and start children, which close and replace
 * what their parents have open, and have children of their own. once: a single child between two breakpoints, for whoever
 * steps through it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

int main(int count, char **arguments) {
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
