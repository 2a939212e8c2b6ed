/* SPDX-License-Identifier: Apache-2.0 */
/* Deeds in steps, in the folder of the second argument: between two the program waits until the test has made the
 * folder "go1", "go2", ... and says by "done1", ... that it waits. None of that is a write. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 600

static int fds[FILES];

static void gate(int step) {
    char name[16];

    snprintf(name, sizeof name, "done%d", step);
    mkdir(name, 0700);
    snprintf(name, sizeof name, "go%d", step);
    for (int i = 0; access(name, F_OK) != 0; i++) {
        if (i > 30000)
            exit(3);
        usleep(1000);
    }
}

static void write_all(void) {
    for (int i = 0; i < FILES; i++)
        if (write(fds[i], "x", 1) != 1)
            exit(4);
}

/* Files with names of 100 bytes: more than the ring of texts holds. */
static void open_all(void) {
    char name[128];

    for (int i = 0; i < FILES; i++) {
        memset(name, 'n', 100);
        snprintf(name + 92, sizeof name - 92, "%08d", i);
        fds[i] = open(name, O_CREAT | O_WRONLY, 0600);
        if (fds[i] < 0)
            exit(5);
    }
}

/* This program again, with standard output in a file that nobody in it has opened. */
static void become(const char *how, char *self) {
    int fd = open("the-old-one", O_CREAT | O_WRONLY, 0600);
    char *values[] = {self, (char *)how, ".", NULL};

    if (fd < 0 || dup2(fd, STDOUT_FILENO) != STDOUT_FILENO)
        exit(6);
    execv("/proc/self/exe", values);
    exit(7);
}

/* What is left of the ring of texts is filled with shorter names, so that there is no room for standard output's. Its
 * number means another file when there is. */
static void replace_output(void) {
    char name[16];

    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "%d", i);
        int fd = open(name, O_CREAT | O_WRONLY, 0600);
        if (fd < 0 || write(fd, "x", 1) != 1)
            exit(8);
        close(fd);
    }
    if (write(STDOUT_FILENO, "x", 1) != 1)
        exit(9);
    gate(1);
    int fd = open("new", O_CREAT | O_WRONLY, 0600);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) != STDOUT_FILENO)
        exit(10);
    gate(2);
}

int main(int count, char **values) {
    if (count != 3 || chdir(values[2]))
        return 2;
    if (strcmp(values[1], "output") == 0)
        become("replaced", values[0]);
    open_all();
    if (strcmp(values[1], "replaced") == 0) {
        write_all();
        replace_output();
        return 0;
    }
    write_all();
    gate(1);
    if (strcmp(values[1], "again") == 0)
        write_all();
    if (strcmp(values[1], "close") == 0)
        for (int i = 0; i < FILES; i++)
            close(fds[i]);
    gate(2);
    return 0; /* "exit": all are open still */
}
