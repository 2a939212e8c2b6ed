/* SPDX-License-Identifier: Apache-2.0 */
/* An engine that adopted tributary/buffer.h: buffer_engine FILE [LIBRARY]. Two front ends dirty pages, a cleaner writes
 * them. LIBRARY is opened after a first round of writes: it finds a running program. Exit code 3: no library. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tributary/buffer.h>

#define PAGE_BYTES 8192
#define PAGES 16

static unsigned char frames[PAGES][PAGE_BYTES] __attribute__((aligned(4096)));

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

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
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
