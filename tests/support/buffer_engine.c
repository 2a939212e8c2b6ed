/* SPDX-License-Identifier: Apache-2.0 */
/* An engine that adopted tributary/buffer.h: buffer_engine FILE [LIBRARY | --processes]. Two front ends dirty pages, a
 * cleaner writes them. LIBRARY is opened after a first round of writes: it finds a running program. --processes: the
 * front ends and the cleaner are processes, one after the other, with the pages in shared memory. Exit code 3: no
 * library. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tributary/buffer.h>

#define PAGE_BYTES 8192
#define PAGES      16

static unsigned char (*frames)[PAGE_BYTES];

__attribute__((noinline)) static void insert(unsigned page) {
    frames[page][0]++;
    trib_buffer_note(7, page);
    __asm__ volatile("");
}

__attribute__((noinline)) static void update(unsigned page) {
    frames[page][1]++;
    trib_buffer_note(7, page);
    trib_buffer_note(7, page);
    __asm__ volatile("");
}

static int clean(int fd) {
    for (unsigned page = 0; page < PAGES; page++) {
        trib_buffer_flush(7, page, frames[page], PAGE_BYTES);
        if (pwrite(fd, frames[page], PAGE_BYTES, (off_t)page * PAGE_BYTES) != PAGE_BYTES)
            return -1;
    }
    return 0;
}

static int round_of_work(int fd) {
    for (unsigned page = 0; page < PAGES; page++)
        (page % 2 ? insert : update)(page);
    return clean(fd);
}

static int in_process(int (*work)(int fd), int fd) {
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(work(fd) ? 1 : 0);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

static int insert_odd(int fd) {
    (void)fd;
    for (unsigned page = 1; page < PAGES; page += 2)
        insert(page);
    return 0;
}

static int update_even(int fd) {
    (void)fd;
    for (unsigned page = 0; page < PAGES; page += 2)
        update(page);
    return 0;
}

static int work_in_processes(int fd) {
    if (trib_buffer_attach("engine", PAGE_BYTES, PAGES))
        return 3;
    return in_process(insert_odd, fd) || in_process(update_even, fd) || in_process(clean, fd) ? 1 : 0;
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    frames = mmap(NULL, PAGES * sizeof *frames, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (frames == MAP_FAILED)
        return 1;
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (argc > 2 && strcmp(argv[2], "--processes") == 0)
        return fd < 0 ? 1 : work_in_processes(fd);
    if (fd < 0 || round_of_work(fd))
        return 1;
    if (argc > 2) {
        if (!dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL)) {
            fprintf(stderr, "%s\n", dlerror());
            return 3;
        }
        trib_buffer_look_again();
    }
    if (trib_buffer_attach("engine", PAGE_BYTES, PAGES) || round_of_work(fd))
        return 3;
    return close(fd);
}
