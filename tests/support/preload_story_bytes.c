/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of bytes that are written. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/aio_abi.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#ifdef HAVE_LIBURING
#include <liburing.h>
#endif

#include "preload_story.h"

static const char *volatile nowhere;

static void story_writes(void) {
    int fd = make("a", O_RDWR);
    struct iovec parts[2] = {{data, 100}, {data, 50}};

    check(write(fd, data, 1000) == 1000);
    check(pwrite(fd, data, 4096, 8192) == 4096);
    check(writev(fd, parts, 2) == 150); /* at 1000 */
    check(pwritev(fd, parts, 2, 20000) == 150);
    check(pwritev2(fd, parts, 2, -1, 0) == 150); /* at 1150 */
    check(pwritev2(fd, parts, 1, 30000, 0) == 100);
    check(lseek(fd, 5, SEEK_SET) == 5);
    check(write(fd, data, 10) == 10);
    check(read(fd, data, 100) == 100);
    check(write(fd, data, 1) == 1); /* at 115 */
    check(syscall(SYS_write, fd, data, 2) == 2);
    check(syscall(SYS_pwrite64, fd, data, 3, 40000l) == 3);
    check(write(fd, nowhere, 5) == -1 && errno == EFAULT);
    check(write(-1, data, 5) == -1 && errno == EBADF);
    check(write(fd, data, 0) == 0);
}

static void story_append(void) {
    int fd = make("a", O_WRONLY | O_APPEND), other = make("a", O_WRONLY);
    struct iovec part = {data, 7};

    check(write(fd, data, 10) == 10);
    check(pwrite(other, data, 10, 10) == 10);
    check(write(fd, data, 5) == 5);                       /* at 20 */
    check(pwrite(fd, data, 5, 0) == 5);                   /* Linux appends: at 25 */
    check(pwritev2(other, &part, 1, 0, RWF_APPEND) == 7); /* at 30 */
}

static void story_tracked(void) {
    int fd = make("a", O_WRONLY), second, status;

    check(write(fd, data, 10) == 10);
    check(lseek(fd, 100, SEEK_CUR) == 110);
    check(write(fd, data, 10) == 10); /* at 110 */
    second = dup(fd);
    check(write(second, data, 10) == 10); /* at 120 */
    check(write(fd, data, 10) == 10);     /* at 130 */
    if (fork() == 0) {
        lseek(fd, 1000, SEEK_SET);
        _exit(0);
    }
    wait(&status);
    check(write(fd, data, 10) == 10); /* at 1000 */
    close(fd);
    fd = make("b", O_WRONLY);
    check(write(fd, data, 1) == 1);
    if (vfork() == 0) {
        lseek(fd, 50, SEEK_SET);
        close(fd); /* the child's own */
        _exit(0);
    }
    wait(&status);
    check(write(fd, data, 1) == 1); /* at 50 */
    check(fcntl(fd, F_SETFL, O_APPEND) == 0);
    check(lseek(fd, 0, SEEK_SET) == 0);
    check(write(fd, data, 1) == 1); /* at 51 */
}

static void story_stdio(void) {
    FILE *file = fopen("a", "w");

    fprintf(file, "%d\n", 12345);
    fflush(file);
    fwrite(data, 1, 10000, file); /* buffered: some now, the rest at the end */
    check(fclose(file) == 0);
    static const char *const modes[] = {"w", "w+"};
    for (int i = 0; i < 2; i++) { /* moved inside libc */
        file = fopen(i ? "e" : "d", modes[i]);
        fputs("hello\n", file);
        check(fseek(file, 100, SEEK_SET) == 0 && fputs("abc", file) >= 0);
        rewind(file);
        check(fputs("yz", file) >= 0 && fflush(file) == 0 && lseek(fileno(file), 50, SEEK_SET) == 50);
        check(write(fileno(file), data, 7) == 7 && fclose(file) == 0);
    }
    file = fdopen(make("f", O_WRONLY), "w");
    check(fputs("xy", file) >= 0 && fseek(file, 10, SEEK_CUR) == 0 && fputs("z", file) >= 0 && fclose(file) == 0);
    file = fopen("b", "w");
    fputs("left for exit", file);
}

static void story_copies(void) {
    int from = make("from", O_RDWR), to = make("a", O_RDWR), pipes[2];
    off64_t offset = 1000;

    check(pwrite(from, data, 5000, 0) == 5000);
    check(copy_file_range(from, NULL, to, NULL, 100, 0) == 100);
    check(copy_file_range(from, NULL, to, &offset, 100, 0) == 100);
    check(sendfile(to, from, NULL, 100) == 100); /* at 100 */
    check(pipe(pipes) == 0 && write(pipes[1], data, 30) == 30);
    offset = 3000;
    check(splice(pipes[0], NULL, to, &offset, 30, 0) == 30);
}

static void story_aio(void) {
    int fd = make("a", O_RDWR);
    aio_context_t context = 0;
    struct iovec parts[2] = {{data, 100}, {data, 50}};
    struct iocb one = {.aio_fildes = (unsigned)fd,
                       .aio_lio_opcode = IOCB_CMD_PWRITE,
                       .aio_buf = (uintptr_t)data,
                       .aio_nbytes = 512,
                       .aio_offset = 4096};
    struct iocb two = {.aio_fildes = (unsigned)fd,
                       .aio_lio_opcode = IOCB_CMD_PWRITEV,
                       .aio_buf = (uintptr_t)parts,
                       .aio_nbytes = 2,
                       .aio_offset = 8192};
    struct iocb *both[2] = {&one, &two};
    struct io_event events[2];
    extern int io_submit(aio_context_t context, long count, struct iocb **requests);

    check(syscall(SYS_io_setup, 8, &context) == 0);
    check(io_submit(context, 2, both) == 2);
    check(syscall(SYS_io_getevents, context, 2, 2, events, NULL) == 2);
    errno = 7;
    check(io_submit(context + 1, 1, both) == -EINVAL && errno == 7);
}

#ifdef HAVE_LIBURING
static struct io_uring_sqe *next_entry(struct io_uring *ring) {
    struct io_uring_sqe *entry = io_uring_get_sqe(ring);

    check(entry != NULL);
    return entry;
}

static void drain(struct io_uring *ring, int count) {
    struct io_uring_cqe *completion;

    for (int i = 0; i < count; i++) {
        check(io_uring_wait_cqe(ring, &completion) == 0 && completion->res >= 0);
        io_uring_cqe_seen(ring, completion);
    }
}

static void submit_each_way(unsigned flags) {
    int fd = make("a", O_RDWR);
    struct io_uring ring;
    struct io_uring_cqe *first;
    struct __kernel_timespec limit = {.tv_sec = 5};
    struct iovec parts[2] = {{data, 100}, {data, 50}};

    if (io_uring_queue_init(8, &ring, flags) != 0)
        exit(77);
    io_uring_prep_write(next_entry(&ring), fd, data, 700, 100);
    io_uring_prep_writev(next_entry(&ring), fd, parts, 2, 2000);
    check(io_uring_submit(&ring) == 2);
    io_uring_prep_nop(next_entry(&ring));
    check(io_uring_submit_and_wait(&ring, 3) == 1);
    io_uring_prep_fallocate(next_entry(&ring), fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 100, 50);
    check(io_uring_submit_and_wait(&ring, 4) == 1);
    io_uring_prep_fsync(next_entry(&ring), fd, 0);
    check(io_uring_submit(&ring) == 1);
    drain(&ring, 5);
    io_uring_prep_write(next_entry(&ring), fd, data, 10, 4096);
    check(io_uring_submit_and_get_events(&ring) == 1);
    io_uring_prep_write(next_entry(&ring), fd, data, 20, 5120);
    io_uring_prep_write(next_entry(&ring), fd, data, 30, 6144); /* the eighth and ninth: the queue begins anew */
    /* 2.3 answers 0 where it had to wait after it had submitted. */
    check(io_uring_submit_and_wait_timeout(&ring, &first, 1, &limit, NULL) >= 0);
    drain(&ring, 3);
    io_uring_queue_exit(&ring);
}
#endif

static void story_uring(void) {
#ifdef HAVE_LIBURING
    submit_each_way(0);
#else
    exit(77);
#endif
}

/* Entries of 128 bytes, as commands of NVMe take them. */
static void story_uring128(void) {
#ifdef HAVE_LIBURING
    submit_each_way(IORING_SETUP_SQE128);
#else
    exit(77);
#endif
}

static void story_ring(void) {
    int fd = make("a", O_RDWR);
    struct io_uring_params params = {.flags = 0};
    int ring = (int)syscall(SYS_io_uring_setup, 4, &params);

    if (ring < 0)
        exit(77);
    char *queue = mmap(NULL, params.sq_off.array + params.sq_entries * sizeof(unsigned), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entries = mmap(NULL, params.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
    check(queue != MAP_FAILED && entries != MAP_FAILED);
    entries[0] =
        (struct io_uring_sqe){.opcode = IORING_OP_WRITE, .fd = fd, .addr = (uintptr_t)data, .len = 300, .off = 600};
    *(unsigned *)(void *)(queue + params.sq_off.array) = 0;
    __atomic_store_n((unsigned *)(void *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
    check(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
}

static void story_hinted(void) {
    int fd = make("a", O_WRONLY);
    uint64_t hint = RWH_WRITE_LIFE_LONG;

    check(fcntl(fd, F_SET_RW_HINT, &hint) == 0);
    check(write(fd, data, 100) == 100);
    hint = RWH_WRITE_LIFE_SHORT;
    check(fcntl(fd, F_SET_RW_HINT, &hint) == 0);
    check(write(fd, data, 10) == 10);
    close(fd);
    fd = make("b", O_WRONLY);
    check(write(fd, data, 20) == 20);
    unsigned half[2] = {RWH_WRITE_LIFE_EXTREME, 1}; /* RocksDB's, and what lies behind it */
    check(fcntl(fd, F_SET_RW_HINT, half) == -1 && errno == EINVAL);
    check(fcntl(fd, F_SET_RW_HINT, NULL) == -1 && errno == EFAULT);
    check(write(fd, data, 30) == 30);
    close(fd);
}

static void story_hint(void) {
    uint64_t hint = 0;
    int fd = make("x.db", O_RDWR);

    for (int i = 0; i < 2; i++) {
        errno = 7;
        check(write(fd, data, 4096) == 4096 && errno == 7);
        usleep(200000); /* the recorder meets the writer */
    }
    check(fcntl(fd, F_GET_RW_HINT, &hint) == 0);
    printf("%d\n", (int)hint);
}

const struct story stories_of_bytes[] = {
    {"writes", story_writes}, {"append", story_append}, {"tracked", story_tracked}, {"stdio", story_stdio},
    {"copies", story_copies}, {"aio", story_aio},       {"uring", story_uring},     {"uring128", story_uring128},
    {"ring", story_ring},     {"hinted", story_hinted}, {"hint", story_hint},       {NULL, NULL},
};
