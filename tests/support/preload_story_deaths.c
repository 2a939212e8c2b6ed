/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of data that die, and of mapped files. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/falloc.h>

#include "preload_story.h"

static void fill(const char *name) {
    int fd = make(name, O_WRONLY);
    check(write(fd, data, 8192) == 8192);
    close(fd);
}

static void story_names(void) {
    static const char *const names[] = {"unlink",   "unlinkat",  "remove", "raw",     "linked", "target", "exchange",
                                        "truncate", "ftruncate", "opened", "created", "stdio",  "source"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) /* all at once: a number that is free is used again */
        fill(names[i]);
    check(unlink("unlink") == 0);
    check(unlinkat(AT_FDCWD, "unlinkat", 0) == 0);
    check(remove("remove") == 0);
    check(syscall(SYS_unlink, "raw") == 0);
    check(syscall(SYS_unlink, "raw") == -1 && errno == ENOENT);
    check(link("linked", "again") == 0 && unlink("linked") == 0); /* lives on */
    check(rename("source", "target") == 0);
    check(renameat2(AT_FDCWD, "target", AT_FDCWD, "exchange", RENAME_EXCHANGE) == 0); /* nobody dies */
    check(rename("again", "again") == 0);
    check(truncate("truncate", 4096) == 0);
    int fd = make("ftruncate", O_WRONLY);
    check(ftruncate(fd, 100) == 0);
    make("opened", O_WRONLY | O_TRUNC);
    make("opened", O_WRONLY | O_TRUNC); /* empty by now */
    creat("created", 0600);
    fclose(fopen("stdio", "w"));
    check(unlink("nobody") == -1 && errno == ENOENT);
    check(access("again", F_OK) == 0);
}

static void story_ranges(void) {
    int fd = make("a", O_RDWR);

    check(write(fd, data, 65536) == 65536);
    check(fallocate(fd, 0, 0, 100000) == 0);
    check(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 8192) == 0);
    check(fallocate(fd, FALLOC_FL_ZERO_RANGE, 16384, 4096) == 0);
    check(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 32768, 4096) == 0);
    check(sync_file_range(fd, 0, 4096, SYNC_FILE_RANGE_WRITE) == 0);
    check(sync_file_range(fd, 8192, 0, SYNC_FILE_RANGE_WRITE) == 0); /* to the end */
    check(fdatasync(fd) == 0);
    check(fsync(fd) == 0);
    check(close(fd) == 0);
}

/* Deleted while it is written: dies with the last descriptor. */
static void story_nameless(void) {
    int fd = make("a", O_RDWR), second;

    check(write(fd, data, 100) == 100);
    second = dup(fd);
    check(write(second, data, 100) == 100);
    check(unlink("a") == 0);
    check(write(fd, data, 100) == 100);
    close(fd);
    close(second);
}

/* The child has it, too, and ends first: it is the parent's to say when it dies. */
static void story_shared(void) {
    int fd = make("a", O_RDWR), status;

    check(write(fd, data, 100) == 100);
    check(unlink("a") == 0);
    pid_t child = fork();
    if (child == 0) {
        close(fd);
        exit(0);
    }
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    child = fork();
    if (child == 0)
        exit(0); /* as open as it is */
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check(pwrite(fd, data, 100, 100) == 100);
    close(fd);
}

/* To the size that it has, and to more: nothing dies. */
static void story_sizes(void) {
    int fd = make("a", O_RDWR);

    check(write(fd, data, 100) == 100);
    check(ftruncate(fd, 100) == 0 && ftruncate(fd, 200) == 0);
    check(truncate("a", 200) == 0 && truncate("a", 300) == 0);
    check(close(fd) == 0);
}

static void story_map(void) {
    int fd = make("a", O_RDWR);

    check(ftruncate(fd, 1 << 20) == 0);
    char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(memory != MAP_FAILED);
    memory[0] = memory[8192] = memory[409600] = memory[413696] = 1;
    check(msync(memory, 1 << 20, MS_SYNC) == 0);
    memory[8192] = 2;
    check(msync(memory, 1 << 20, MS_SYNC) == 0);
    memory[1000000] = 1;
    check(munmap(memory, 1 << 20) == 0);
}

/* Whether another process could take a lock on it. */
static bool others_may_lock(const char *path) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int status;
    pid_t child = fork();

    if (child == 0) {
        int fd = open(path, O_RDWR);
        _exit(fd < 0 || fcntl(fd, F_GETLK, &lock) != 0 ? 2 : lock.l_type == F_UNLCK);
    }
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 1;
}

/* The program keeps no descriptor of what it maps; of "locked" it has one that the shim does not know of, and a lock
 * that a close of any other would drop. */
static void story_unheld(void) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = make("a", O_RDWR);

    check(ftruncate(fd, 1000000) == 0);
    char *memory = mmap(NULL, 1000000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(memory != MAP_FAILED && close(fd) == 0);
    memory[8192] = 1;
    check(msync(memory, 1000000, MS_SYNC) == 0);
    check(rename("a", "b") == 0);
    memory[409600] = 1;
    check(msync(memory, 1000000, MS_SYNC) == 0);
    fd = open("b", O_RDONLY);
    check(fd >= 0 && close(fd) == 0); /* nothing was left open: the number is the same */
    check(munmap(memory, 1000000) == 0);

    fd = make("locked", O_RDWR);
    check(ftruncate(fd, 65536) == 0);
    memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(memory != MAP_FAILED && close(fd) == 0);
    int same_number = open("/dev/null", O_RDONLY);
    int locker = (int)syscall(SYS_openat, AT_FDCWD, "locked", O_RDWR);
    check(locker >= 0 && fcntl(locker, F_SETLK, &lock) == 0 && !others_may_lock("locked"));
    memory[0] = 1;
    check(msync(memory, 65536, MS_SYNC) == 0);
    check(!others_may_lock("locked"));
    check(munmap(memory, 65536) == 0);
    check(!others_may_lock("locked"));
    close(locker);
    close(same_number);
}

extern void (*preload_once_free)(void *start, size_t length);
static char *at_once;

static void map_b(void *start, size_t length) {
    int fd = make("b", O_RDWR);

    check(ftruncate(fd, (off_t)length) == 0);
    at_once = mmap(start, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    check(at_once == start);
}

/* Another thread maps a file where one was unmapped, or moved away, before that call is back. */
static void story_remapped(void) {
    const size_t length = 1 << 20;
    char *memory[2];

    for (int i = 0; i < 2; i++) {
        int fd = make(i ? "c" : "a", O_RDWR);
        check(ftruncate(fd, (off_t)length) == 0);
        memory[i] = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        check(memory[i] != MAP_FAILED);
    }
    char *room = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    preload_once_free = map_b;
    check(munmap(memory[0], length) == 0 && at_once == memory[0]);
    at_once[8192] = 1;
    check(msync(at_once, length, MS_SYNC) == 0);
    check(munmap(at_once, length) == 0);

    preload_once_free = map_b;
    char *moved = mremap(memory[1], length, length, MREMAP_MAYMOVE | MREMAP_FIXED, room);
    check(moved == room && at_once == memory[1]);
    at_once[16384] = moved[4096] = 1;
    check(msync(at_once, length, MS_SYNC) == 0 && msync(moved, length, MS_SYNC) == 0);
}

const struct story stories_of_deaths[] = {
    {"names", story_names},   {"ranges", story_ranges},     {"nameless", story_nameless},
    {"shared", story_shared}, {"sizes", story_sizes},       {"map", story_map},
    {"unheld", story_unheld}, {"remapped", story_remapped}, {NULL, NULL},
};
