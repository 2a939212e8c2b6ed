/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of mapped files: where the mappings go, and what a process leaves in them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload_story.h"

#define LENGTH ((size_t)1 << 20)

static char *map_file(int fd) {
    check(ftruncate(fd, LENGTH) == 0);
    char *memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(memory != MAP_FAILED);
    return memory;
}

static char *map_one(const char *name) {
    return map_file(make(name, O_RDWR));
}

/* Never synced: the end of the process is the last moment. */
static void story_left(void) {
    map_one("a")[8192] = 1;
}

/* The child ends while a page of its parent's mapping is dirty, and syncs nothing. */
static void story_mapped_by_parent(void) {
    char *memory = map_one("a");
    int status;

    memory[8192] = 1;
    pid_t child = fork();
    if (child == 0)
        exit(0);
    check(waitpid(child, &status, 0) == child && status == 0);
    check(msync(memory, LENGTH, MS_SYNC) == 0);
}

static void story_in_memory(void) {
    char name[64];

    snprintf(name, sizeof name, "/dev/shm/trib-story-%d", (int)getpid());
    int fd = make(name, O_RDWR);
    char *memory = map_file(fd);
    check(unlink(name) == 0 && close(fd) == 0); /* so that nobody can say which of its pages are dirty */
    memory[8192] = 1;
    check(msync(memory, LENGTH, MS_SYNC) == 0);
    check(write(make("after", O_WRONLY), data, 10) == 10);
}

static void sync_all_of(char *memory, size_t length) {
    check(msync(memory, length, MS_SYNC) == 0);
}

static char *remap(char *memory, size_t length, size_t new_length, int flags, char *wanted) {
    char *moved = mremap(memory, length, new_length, flags, wanted);
    check(moved != MAP_FAILED);
    return moved;
}

/* One mapping takes the place of another, whose dirty pages nobody can ask for later. */
static void story_moved_over(void) {
    char *over = map_one("over"), *under = map_one("under");

    under[8192] = 1;
    check(remap(over, LENGTH, LENGTH, MREMAP_MAYMOVE | MREMAP_FIXED, under) == under);
    under[4096] = 1; /* of the other file */
    sync_all_of(under, LENGTH);
    under[16384] = 1;
    sync_all_of(under, LENGTH);
}

/* Made shorter; a half of it moved; made longer by that. */
static void story_moved_in_parts(void) {
    const size_t half = LENGTH / 2;
    char *cut = map_one("cut"), *split = map_one("split"), *room = map_one("room");

    cut[0] = cut[half] = cut[LENGTH - 1] = 1;
    remap(cut, LENGTH, half, 0, NULL);
    cut[4096] = 1;
    sync_all_of(cut, half);

    char *second = remap(split + half, half, half, MREMAP_MAYMOVE | MREMAP_FIXED, room);
    split[4096] = second[8192] = 1;
    sync_all_of(second, half);
    sync_all_of(split, half);
    check(ftruncate(open("split", O_RDWR), 2 * LENGTH) == 0);
    second = remap(second, half, LENGTH, MREMAP_MAYMOVE, NULL);
    second[half + 4096] = 1;
    sync_all_of(second, LENGTH);
}

/* The same pages at two places. */
static void story_mapped_twice(void) {
    char *memory = map_one("a"), *other = remap(memory, 0, LENGTH, MREMAP_MAYMOVE, NULL);

    check(munmap(memory, LENGTH) == 0);
    other[4096] = 1;
    sync_all_of(other, LENGTH);
    memory = mremap(other, LENGTH, LENGTH, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL); /* Linux 5.13 */
    if (memory == MAP_FAILED)
        exit(77);
    memory[8192] = 1;
    sync_all_of(memory, LENGTH);
    check(munmap(memory, LENGTH) == 0);
    other[16384] = 1;
    sync_all_of(other, LENGTH);
}

/* MREMAP_DONTUNMAP has an address, which the kernel refuses if it is none of a page, or within what is moved. */
static void story_wished(void) {
    char *memory = map_one("a");

    for (size_t at = 0; at < 2 * LENGTH; at += LENGTH / 2 + 1) {
        char *moved = mremap(memory, LENGTH, LENGTH, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, memory + at);
        printf("%s\n", moved == MAP_FAILED ? strerror(errno) : "moved");
    }
}

/* More than one event may hold; and nobody can say which of its pages are dirty, for the file has no name. */
static void story_long(void) {
    const size_t length = (size_t)5 << 30;
    int fd = make("a", O_RDWR);

    check(ftruncate(fd, (off_t)length) == 0);
    char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(memory != MAP_FAILED && close(fd) == 0 && open("/dev/null", O_RDONLY) == fd && unlink("a") == 0);
    memory[0] = 1;
    check(munmap(memory, length) == 0);
}

/* As many as are watched, side by side; synced at once. */
static void story_many(void) {
    const size_t count = 1024, page = 4096;
    int fd = make("a", O_RDWR);
    char *memory = mmap(NULL, count * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    check(memory != MAP_FAILED && ftruncate(fd, (off_t)(count * page)) == 0);
    for (size_t i = 0; i < count; i++) {
        char *at = memory + i * page;
        off_t offset = (off_t)((count - 1 - i) * page); /* so that no two are one to the kernel */
        check(mmap(at, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, offset) == at);
        *at = 1;
    }
    sync_all_of(memory, count * page);
}

const struct story stories_of_maps[] = {
    {"left", story_left},
    {"mapped_by_parent", story_mapped_by_parent},
    {"in_memory", story_in_memory},
    {"moved_over", story_moved_over},
    {"moved_in_parts", story_moved_in_parts},
    {"mapped_twice", story_mapped_twice},
    {"wished", story_wished},
    {"long", story_long},
    {"many", story_many},
    {NULL, NULL},
};
