/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous writes: io_uring by number, and Linux' native AIO. */
#include <linux/aio_abi.h>
#include <pthread.h>
#include <sys/uio.h>

#include "hazard.h"
#include "ring.h"

static int by_ring(void) {
    struct ring ring;
    static char data[4096];
    int fd = make("a");

    memset(data, 'u', sizeof data);
    if (write(fd, "x", 1) != 1 || !open_ring(&ring, 8))
        return not_possible("io_uring");
    for (int i = 0; i < 40; i++) {
        struct io_uring_sqe entry = {.opcode = i % 8 == 7 ? IORING_OP_FSYNC : IORING_OP_WRITE, .fd = fd};
        if (i % 8 != 7) {
            entry.addr = (uintptr_t)data;
            entry.len = 512;
            entry.off = (uint64_t)i * 512;
        }
        push(&ring, &entry);
        long entered = syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
        say("%ld %d\n", entered, pop(&ring));
    }
    struct io_uring_sqe wrong = {.opcode = IORING_OP_WRITE, .fd = fd, .addr = 8, .len = 8};
    push(&ring, &wrong);
    say_result("enter", syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
    say("%d\n", pop(&ring));
    return close(ring.fd) || !write_one("after");
}

/* Requests that the kernel refuses once it sees them, and after them plain writes. */
static int refused(void) {
    void *bad = (void *)8; /* where it does not refuse the length */
    struct iovec endless[] = {{bad, SIZE_MAX / 4}, {bad, SIZE_MAX / 4}, {bad, SIZE_MAX / 2}};
    struct iovec wrapping[] = {{bad, SIZE_MAX / 2}, {bad, SIZE_MAX / 2}, {bad, 3}};
    struct ring ring;
    int fd = make("a");

    if (write(fd, "x", 1) != 1 || !open_ring(&ring, 8))
        return not_possible("io_uring");
    const struct io_uring_sqe entries[] = {
        {.opcode = IORING_OP_WRITEV, .fd = fd, .addr = (uintptr_t)endless, .len = 3},
        {.opcode = IORING_OP_WRITEV, .fd = fd, .addr = (uintptr_t)wrapping, .len = 3},
        {.opcode = IORING_OP_WRITEV, .fd = fd, .addr = (uintptr_t)endless, .len = 1, .off = 8192},
        {.opcode = IORING_OP_WRITE, .fd = fd, .addr = (uintptr_t) "x", .len = 1, .off = INT64_MAX},
        {.opcode = IORING_OP_WRITE, .fd = fd, .addr = (uintptr_t) "x", .len = 1, .off = 1ull << 63},
        {.opcode = IORING_OP_FALLOCATE, .fd = fd, .len = 3, .addr = 1ull << 63, .off = 0},
        {.opcode = IORING_OP_FALLOCATE, .fd = fd, .len = 3, .addr = 4096, .off = 1ull << 63}};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        push(&ring, &entries[i]);
        long entered = syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
        say("%ld %d\n", entered, pop(&ring));
    }
    for (int i = 0; i < 100; i++)
        if (pwrite(fd, "0123456789", 10, i * 10) != 10)
            return 3;
    return 0;
}

static int queue(void) {
    aio_context_t context = 0;
    static char data[4096] __attribute__((aligned(512)));
    int fd = make("a");

    memset(data, 'q', sizeof data);
    if (write(fd, "x", 1) != 1 || syscall(SYS_io_setup, 8, &context))
        return not_possible("native AIO");
    for (int i = 0; i < 20; i++) {
        struct iocb one = {.aio_lio_opcode = IOCB_CMD_PWRITE,
                           .aio_fildes = (unsigned)fd,
                           .aio_buf = (uintptr_t)data,
                           .aio_nbytes = 512,
                           .aio_offset = i * 512},
                    two = one;
        struct iocb *both[] = {&one, &two};
        struct io_event events[2];
        two.aio_offset = 20480 + i * 512;
        say("%ld", syscall(SYS_io_submit, context, 2L, both));
        say(" %ld\n", syscall(SYS_io_getevents, context, 2L, 2L, events, NULL));
    }
    return syscall(SYS_io_destroy, context) || !write_one("after");
}

/* Through libaio, whose functions return -errno. */
#ifdef HAVE_LIBAIO
struct io_context;
int io_setup(int, struct io_context **);
int io_submit(struct io_context *, long, struct iocb **);
int io_getevents(struct io_context *, long, long, struct io_event *, struct timespec *);
int io_destroy(struct io_context *);

static int libaio(void) {
    struct io_context *context = NULL;
    static char data[512] __attribute__((aligned(512)));
    int fd = make("a");

    memset(data, 'l', sizeof data);
    if (write(fd, "x", 1) != 1 || io_setup(8, &context))
        return not_possible("native AIO");
    for (int i = 0; i < 20; i++) {
        struct iocb one = {.aio_lio_opcode = IOCB_CMD_PWRITE,
                           .aio_fildes = i == 19 ? 900 : (unsigned)fd,
                           .aio_buf = (uintptr_t)data,
                           .aio_nbytes = 512,
                           .aio_offset = i * 512};
        struct iocb *list[] = {&one, (struct iocb *)8};
        struct io_event events[2];
        say("%d", io_submit(context, 1 + i % 2, list));
        say(" %d\n", i == 19 ? 0 : io_getevents(context, 1, 2, events, NULL));
    }
    return io_destroy(context) || !write_one("after");
}
#else
static int libaio(void) {
    return not_possible("libaio is not installed");
}
#endif

/* Submissions from several threads, and a ring that a fork takes along. */
static struct ring shared;
static void *submit_many(void *name) {
    struct ring own;
    int fd = make(name);

    if (!open_ring(&own, 4))
        return NULL;
    for (int i = 0; i < 200; i++) {
        struct io_uring_sqe entry = {
            .opcode = IORING_OP_WRITE, .fd = fd, .addr = (uintptr_t) "0123456789", .len = 10, .off = (uint64_t)i * 10};
        push(&own, &entry);
        syscall(SYS_io_uring_enter, own.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
        pop(&own);
    }
    close(own.fd);
    return NULL;
}

static int by_threads(void) {
    static char names[4][3] = {"t0", "t1", "t2", "t3"};
    pthread_t threads[4];

    if (!open_ring(&shared, 4))
        return not_possible("io_uring");
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, submit_many, names[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    pid_t child = fork();
    if (child == 0) {
        static char name[] = "child";
        submit_many(name);
        _exit(0);
    }
    say_ends(&child, 1);
    return 0;
}

/* ---- memory of a ring that goes by number ---- */

static void unmap(void *start, size_t bytes) {
    say_result("munmap", syscall(SYS_munmap, start, bytes));
}
static void map_over(void *start, size_t bytes) {
    void *there = (void *)syscall(SYS_mmap, start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L);
    say("mmap over it: %d\n", there == start);
}
/* No kernel lets a ring's memory be moved to a place that was asked for, nor grow. */
static void shrink(void *start, size_t bytes) {
    say("mremap to a half: %d\n", (void *)syscall(SYS_mremap, start, bytes, bytes / 2, 0) == start);
}
/* Onto it goes what nobody may read. */
static void move_over(void *start, size_t bytes) {
    void *other = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long moved = syscall(SYS_mremap, other, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, start);
    say("mremap over it: %d\n", (void *)moved == start);
}

/* Behind the first page of the entries. */
static void push_late(struct ring *ring, const struct io_uring_sqe *entry) {
    unsigned tail = *ring->tail, at = *ring->mask;

    ring->entries[at] = *entry;
    ring->array[tail & *ring->mask] = at;
    __atomic_store_n(ring->tail, tail + 1, __ATOMIC_RELEASE);
}

static size_t whole_pages(size_t bytes) {
    return (bytes + 4095) / 4096 * 4096;
}

/* The kernel has its own way to what is queued: what was pushed before is written all the same. */
static bool enter_without(void (*lose)(void *start, size_t bytes), bool loses_queue, int fd) {
    struct ring ring;

    if (!open_ring(&ring, 128))
        return false;
    for (int i = 0; i < 2; i++) {
        struct io_uring_sqe entry = {
            .opcode = IORING_OP_WRITE, .fd = fd, .addr = (uintptr_t) "0123456789", .len = 10, .off = (uint64_t)i * 10};
        push_late(&ring, &entry);
        if (i == 1 && loses_queue)
            lose(ring.queue, whole_pages(ring.queue_bytes));
        else if (i == 1)
            lose(ring.entries, whole_pages(ring.entries_bytes));
        say_result("enter", syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
    }
    say_result("enter", syscall(SYS_io_uring_enter, ring.fd, 1, 0, 0, NULL, 0));
    return close(ring.fd) == 0;
}

static int lost_by(void (*lose)(void *start, size_t bytes)) {
    int fd = make("a");

    if (write(fd, "x", 1) != 1 || !enter_without(lose, true, fd) || !enter_without(lose, false, fd))
        return not_possible("io_uring");
    return !write_one("after");
}
static int unmapped(void) {
    return lost_by(unmap);
}
static int mapped_over(void) {
    return lost_by(map_over);
}
static int shrunk(void) {
    return lost_by(shrink);
}
static int moved_over(void) {
    return lost_by(move_over);
}

/* A child has the ring, and its memory not: as liburing's io_uring_ring_dontfork. */
static int kept_from_child(void) {
    struct ring ring;
    int fd = make("a");

    if (write(fd, "x", 1) != 1 || !open_ring(&ring, 8))
        return not_possible("io_uring");
    say_result("madvise", madvise(ring.queue, whole_pages(ring.queue_bytes), MADV_DONTFORK));
    pid_t child = fork();
    if (child == 0)
        _exit(syscall(SYS_io_uring_enter, ring.fd, 1, 0, 0, NULL, 0) == 0 ? 0 : 1);
    say_ends(&child, 1);
    return close(ring.fd) || !write_one("after");
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"ring", by_ring},
                                            {"queue", queue},
                                            {"libaio", libaio},
                                            {"threads", by_threads},
                                            {"refused", refused},
                                            {"unmapped", unmapped},
                                            {"mapped_over", mapped_over},
                                            {"shrunk", shrunk},
                                            {"moved_over", moved_over},
                                            {"kept_from_child", kept_from_child},
                                            {NULL, NULL}};
    return run_hazard(hazards, count, values);
}
