/* SPDX-License-Identifier: Apache-2.0 */
/* Small deeds, one per first argument, in the folder of the second; tests know what the shim must say of each. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
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

static char data[1 << 16];

static int make(const char *name, int flags) {
    int fd = open(name, flags | O_CREAT, 0600);
    if (fd < 0)
        exit(99);
    return fd;
}

static const char *volatile nowhere;

static void check(int fine) {
    if (!fine) {
        perror("preload_story");
        exit(98);
    }
}

/* ---- bytes ---- */

static void story_writes(void) {
    int fd = make("a", O_RDWR);
    struct iovec parts[2] = {{data, 100}, {data, 50}};

    check(write(fd, data, 1000) == 1000);
    check(pwrite(fd, data, 4096, 8192) == 4096);
    check(writev(fd, parts, 2) == 150);          /* at 1000 */
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
    check(write(fd, data, 5) == 5);               /* at 20 */
    check(pwrite(fd, data, 5, 0) == 5);           /* Linux appends: at 25 */
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
    struct iocb one = {.aio_fildes = (unsigned)fd, .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_buf = (uintptr_t)data,
                       .aio_nbytes = 512, .aio_offset = 4096};
    struct iocb two = {.aio_fildes = (unsigned)fd, .aio_lio_opcode = IOCB_CMD_PWRITEV, .aio_buf = (uintptr_t)parts,
                       .aio_nbytes = 2, .aio_offset = 8192};
    struct iocb *both[2] = {&one, &two};
    struct io_event events[2];
    extern int io_submit(aio_context_t context, long count, struct iocb **requests);

    check(syscall(SYS_io_setup, 8, &context) == 0);
    check(io_submit(context, 2, both) == 2);
    check(syscall(SYS_io_getevents, context, 2, 2, events, NULL) == 2);
    errno = 7;
    check(io_submit(context + 1, 1, both) == -EINVAL && errno == 7);
}

static void story_uring(void) {
#ifdef HAVE_LIBURING
    int fd = make("a", O_RDWR);
    struct io_uring ring;
    struct io_uring_cqe *completion;
    struct iovec parts[2] = {{data, 100}, {data, 50}};

    check(io_uring_queue_init(8, &ring, 0) == 0);
    io_uring_prep_write(io_uring_get_sqe(&ring), fd, data, 700, 100);
    io_uring_prep_writev(io_uring_get_sqe(&ring), fd, parts, 2, 2000);
    check(io_uring_submit(&ring) == 2);
    io_uring_prep_nop(io_uring_get_sqe(&ring));
    check(io_uring_submit_and_wait(&ring, 3) == 1);
    io_uring_prep_fallocate(io_uring_get_sqe(&ring), fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 100, 50);
    check(io_uring_submit_and_wait(&ring, 4) == 1);
    io_uring_prep_fsync(io_uring_get_sqe(&ring), fd, 0);
    check(io_uring_submit(&ring) == 1);
    for (int i = 0; i < 5; i++) {
        check(io_uring_wait_cqe(&ring, &completion) == 0 && completion->res >= 0);
        io_uring_cqe_seen(&ring, completion);
    }
    io_uring_queue_exit(&ring);
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
    entries[0] = (struct io_uring_sqe){.opcode = IORING_OP_WRITE, .fd = fd, .addr = (uintptr_t)data, .len = 300, .off = 600};
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

/* ---- deaths ---- */

static void fill(const char *name) {
    int fd = make(name, O_WRONLY);
    check(write(fd, data, 8192) == 8192);
    close(fd);
}

static void story_names(void) {
    static const char *const names[] = {"unlink", "unlinkat", "remove", "raw", "linked", "target", "exchange",
                                        "truncate", "ftruncate", "opened", "created", "stdio", "source"};

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

/* The program keeps no descriptor of what it maps; of "locked" it has one that the shim does not know of, and a lock that a
 * close of any other would drop. */
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

/* ---- processes ---- */

static void story_fork(void) {
    int fd = make("parent", O_WRONLY), status;

    check(write(fd, data, 10) == 10);
    pid_t child = fork();
    if (child == 0) {
        int own = make("child", O_WRONLY);
        check(write(own, data, 20) == 20);
        check(write(fd, data, 30) == 30); /* at 10 of the parent's */
        exit(0);
    }
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL); /* a fork that libc does not know of */
    if (child == 0) {
        int own = make("clone", O_WRONLY);
        check(write(own, data, 40) == 40);
        _exit(0);
    }
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check(pwrite(fd, data, 5, 100) == 5);
}

static void story_exec(void) {
    int fd = make("before", O_WRONLY), status;
    char *const arguments[] = {"dd", "if=/dev/zero", "of=dd", "bs=4096", "count=2", "status=none", NULL};
    pid_t child;

    check(write(fd, data, 10) == 10);
    if (vfork() == 0) {
        dup2(fd, 9);
        close(fd);
        execl("/bin/sh", "sh", "-c", "echo hello >shell", (char *)NULL);
        _exit(1);
    }
    wait(&status);
    extern char **environ;
    check(posix_spawnp(&child, "dd", NULL, NULL, arguments, environ) == 0);
    check(waitpid(child, &status, 0) == child && status == 0);
    check(write(fd, data, 10) == 10);
}

/* In a child: what the shell that it becomes says. */
#define STATUS_OF(become)                                                                                              \
    __extension__({                                                                                                    \
        int status_ = -1;                                                                                              \
        pid_t pid_ = fork();                                                                                           \
        if (pid_ == 0) {                                                                                               \
            become;                                                                                                    \
            _exit(errno == ENOENT ? 200 : 201);                                                                        \
        }                                                                                                              \
        waitpid(pid_, &status_, 0);                                                                                    \
        WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;                                                                \
    })

static void story_starts(void) {
    char *const list[] = {"sh", "-c", "exit $(($1 + ${LEFT:-0}))", "-", "3", NULL}, *const left[] = {"LEFT=4", NULL};

    check(STATUS_OF(execl("/bin/sh", "sh", "-c", list[2], "-", "3", (char *)NULL)) == 3);
    check(STATUS_OF(execlp("sh", "sh", "-c", list[2], "-", "3", (char *)NULL)) == 3);
    check(STATUS_OF(execle("/bin/sh", "sh", "-c", list[2], "-", "3", (char *)NULL, left)) == 7);
    check(STATUS_OF(execv("/bin/sh", list)) == 3);
    check(STATUS_OF(execvp("sh", list)) == 3);
    check(STATUS_OF(execvpe("sh", list, left)) == 7);
    check(STATUS_OF(execve("/bin/sh", list, left)) == 7);
    check(STATUS_OF(execvp("absent", list)) == 200);
    check(STATUS_OF(execl("absent", "absent", (char *)NULL)) == 200);
    check(STATUS_OF(execl("/", "absent", (char *)NULL)) == 201);
}

static void *write_a_lot(void *arg) {
    int fd = make(arg, O_WRONLY);

    for (int i = 0; i < 1000; i++)
        check(write(fd, data, 100) == 100);
    close(fd);
    return NULL;
}

static void story_threads(void) {
    static char names[4][4] = {"t0", "t1", "t2", "t3"};
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        check(pthread_create(&threads[i], NULL, write_a_lot, names[i]) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static int signal_fd;
static volatile sig_atomic_t signals;

static void on_signal(int number) {
    int kept = errno;
    (void)number;
    check(write(signal_fd, data, 1) == 1);
    signals++;
    errno = kept;
}

static void story_signals(void) {
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    int fd = make("a", O_WRONLY);

    signal_fd = make("handler", O_WRONLY | O_APPEND);
    check(write(signal_fd, data, 1) == 1 && write(fd, data, 1) == 1);
    signal(SIGALRM, on_signal);
    setitimer(ITIMER_REAL, &often, NULL);
    while (signals < 200)
        check(pwrite(fd, data, 64, 0) == 64);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d\n", (int)signals);
}

/* Makes itself a daemon: closes everything, drops its environment, leaves with _exit. */
static void story_daemon(void) {
    int status;
    if (fork() == 0) {
        setsid();
        for (int fd = 0; fd < 1024; fd++)
            close(fd);
        clearenv();
        int fd = make("a", O_WRONLY);
        check(write(fd, data, 10) == 10);
        _exit(0);
    }
    wait(&status);
}

static const struct {
    const char *name;
    void (*tell)(void);
} stories[] = {
    {"writes", story_writes},   {"append", story_append},     {"tracked", story_tracked}, {"stdio", story_stdio},
    {"hint", story_hint},
    {"hinted", story_hinted},
    {"copies", story_copies},   {"aio", story_aio},           {"uring", story_uring},     {"ring", story_ring},
    {"names", story_names},     {"ranges", story_ranges},     {"nameless", story_nameless},
    {"map", story_map},         {"unheld", story_unheld},
         {"fork", story_fork},         {"exec", story_exec},       {"starts", story_starts},
    {"threads", story_threads}, {"signals", story_signals},   {"daemon", story_daemon},
};

int main(int count, char **arguments) {
    if (count != 3 || chdir(arguments[2]) != 0)
        return 2;
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++)
        if (strcmp(stories[i].name, arguments[1]) == 0) {
            stories[i].tell();
            return 0;
        }
    return 2;
}
