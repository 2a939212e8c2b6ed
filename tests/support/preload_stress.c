/* SPDX-License-Identifier: Apache-2.0 */
/* Threads x forks x io_uring x mmap x signals for a number of seconds, in a folder. Prints the bytes that its calls
 * have written to files (memory-mapped ones aside). Exit status 0, or 1 if a call gave a wrong result. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/io_uring.h>

#define THREADS 4

static _Atomic(unsigned long) *written; /* shared with the children */
static time_t until;
static int signal_fd;
static char data[65536];

static void check(int fine, const char *what) {
    if (fine)
        return;
    perror(what);
    _exit(1);
}

static void count(long bytes, long expected) {
    check(bytes == expected, "write");
    atomic_fetch_add(written, (unsigned long)bytes);
}

/* ---- a ring without a library ---- */

struct ring {
    int fd;
    char *queue;
    struct io_uring_sqe *entries;
    struct io_uring_params params;
};

static int open_ring(struct ring *ring) {
    memset(ring, 0, sizeof *ring);
    ring->fd = (int)syscall(SYS_io_uring_setup, 4, &ring->params);
    if (ring->fd < 0)
        return 0;
    size_t bytes = ring->params.cq_off.cqes + ring->params.cq_entries * sizeof(struct io_uring_cqe);
    ring->queue = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
    ring->entries = mmap(NULL, ring->params.sq_entries * sizeof *ring->entries, PROT_READ | PROT_WRITE, MAP_SHARED,
                         ring->fd, IORING_OFF_SQES);
    check(ring->queue != MAP_FAILED && ring->entries != MAP_FAILED, "ring");
    return 1;
}

static _Atomic(unsigned) *field(struct ring *ring, unsigned offset) {
    return (_Atomic(unsigned) *)(void *)(ring->queue + offset);
}

/* What the kernel did; it counts as written when it is submitted, as the shim tells of it then. */
static int ring_try(struct ring *ring, int fd, unsigned length, unsigned long offset) {
    unsigned tail = atomic_load(field(ring, ring->params.sq_off.tail)), slot = tail & (ring->params.sq_entries - 1);

    ring->entries[slot] = (struct io_uring_sqe){
        .opcode = IORING_OP_WRITE, .fd = fd, .addr = (uintptr_t)data, .len = length, .off = offset};
    ((unsigned *)(void *)(ring->queue + ring->params.sq_off.array))[slot] = slot;
    atomic_store(field(ring, ring->params.sq_off.tail), tail + 1);
    while (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
        check(errno == EINTR || errno == EAGAIN, "io_uring_enter");
    unsigned head;
    while ((head = atomic_load(field(ring, ring->params.cq_off.head))) ==
           atomic_load(field(ring, ring->params.cq_off.tail)))
        syscall(SYS_io_uring_enter, ring->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    const struct io_uring_cqe *done = (struct io_uring_cqe *)(void *)(ring->queue + ring->params.cq_off.cqes);
    int result = done[head & (ring->params.cq_entries - 1)].res;
    atomic_fetch_add(written, length);
    atomic_store(field(ring, ring->params.cq_off.head), head + 1);
    return result;
}

static void ring_write(struct ring *ring, int fd, unsigned length, unsigned long offset) {
    int result;

    do
        result = ring_try(ring, fd, length, offset);
    while (result == -EINTR);
    check(result == (int)length, "ring");
}

/* ---- deeds ---- */

static void files(unsigned self, unsigned turn) {
    char name[32], other[32];
    snprintf(name, sizeof name, "f%u-%u", self, turn % 5);
    snprintf(other, sizeof other, "f%u-%u", self, (turn + 1) % 5);
    int fd = open(name, O_RDWR | O_CREAT | (turn % 3 ? 0 : O_TRUNC), 0600);
    check(fd >= 0, "open");
    count(write(fd, data, 100 + turn % 1000), 100 + turn % 1000);
    count(pwrite(fd, data, 4096, 4096 * (turn % 16)), 4096);
    int second = dup(fd);
    count(write(second, data, 10), 10);
    close(fd);
    if (turn % 4 == 0)
        unlink(name);
    close(second);
    if (turn % 7 == 0)
        rename(name, other);
    FILE *file = fopen(other, "a");
    check(file && fwrite(data, 1, 5000, file) == 5000 && fclose(file) == 0, "stdio");
    atomic_fetch_add(written, 5000);
}

static void map(unsigned self, unsigned turn) {
    char name[32];
    snprintf(name, sizeof name, "m%u", self);
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    check(fd >= 0 && ftruncate(fd, 65536) == 0, "mapped file");
    char *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(memory != MAP_FAILED, "mmap");
    memory[turn * 4096 % 65536] = (char)turn;
    if (turn % 32 == 0)
        check(msync(memory, 65536, MS_SYNC) == 0, "msync");
    close(fd);
    check(munmap(memory, 65536) == 0, "munmap");
}

/* Only what a child of a process with threads may do. */
static void child(unsigned self, unsigned turn) {
    char name[32];
    int status;
    pid_t pid = turn % 2 ? fork() : vfork();
    if (pid == 0 && turn % 2 == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    if (pid == 0) {
        memcpy(name, "c0", 3);
        name[1] = (char)('0' + self);
        int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
        count(write(fd, data, 77), 77);
        _exit(0);
    }
    check(pid > 0, "fork");
    while (waitpid(pid, &status, 0) < 0)
        check(errno == EINTR, "wait");
    check(status == 0, "child");
}

static void *work(void *arg) {
    unsigned self = (unsigned)(uintptr_t)arg;
    char name[32];
    struct ring ring;
    int has_ring = open_ring(&ring);
    snprintf(name, sizeof name, "r%u", self);
    int fd = open(name, O_RDWR | O_CREAT, 0600);

    for (unsigned turn = 0; time(NULL) < until; turn++) {
        files(self, turn);
        map(self, turn);
        if (has_ring)
            ring_write(&ring, fd, 512, 512ul * (turn % 100));
        if (turn % 8 == 0)
            child(self, turn / 8);
        usleep(500);
    }
    return NULL;
}

static void on_signal(int number) {
    int kept = errno;
    (void)number;
    if (write(signal_fd, data, 3) == 3)
        atomic_fetch_add(written, 3);
    errno = kept;
}

int main(int argc, char **arguments) {
    pthread_t threads[THREADS];
    struct itimerval often = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    if (argc != 3 || chdir(arguments[1]) != 0)
        return 2;
    written = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    until = time(NULL) + atol(arguments[2]);
    signal_fd = open("signals", O_WRONLY | O_CREAT | O_APPEND, 0600);
    count(write(signal_fd, data, 1), 1);
    for (unsigned i = 0; i < THREADS; i++) { /* mapped later; first, so that they inherit no other file's number */
        char name[32];
        snprintf(name, sizeof name, "m%u", i);
        int fd = open(name, O_RDWR | O_CREAT, 0600);
        check(fd >= 0 && pwrite(fd, data, 1, 0) == 1, name);
        close(fd);
    }
    for (unsigned i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) == 0, "thread");
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%lu\n", *written);
    return 0;
}
