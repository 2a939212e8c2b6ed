/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of random.c. Everything a step does follows from the state; what it prints does not depend on time, numbers
 * of processes, or addresses. One thread, but for threads that a step starts and waits for. */
#ifndef TRIB_HAZARD_RANDOM_H
#define TRIB_HAZARD_RANDOM_H

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "hazard.h"
#include "ring.h"

#define SLOTS 8

struct trib_random {
    uint64_t state;
    const char *seed;
    int fds[SLOTS];
    int depth;     /* of forks */
    bool is_below; /* in folder d */
};

static struct trib_random *current; /* for the signal handler */
static char random_data[4096];

static inline uint64_t random_next(struct trib_random *program) {
    program->state ^= program->state << 13;
    program->state ^= program->state >> 7;
    program->state ^= program->state << 17;
    return program->state >> 11;
}
static inline int random_below(struct trib_random *program, int limit) {
    return (int)(random_next(program) % (uint64_t)limit);
}
static inline int *random_slot(struct trib_random *program) {
    return &program->fds[random_below(program, SLOTS)];
}
/* Mostly one that is open. */
static inline int random_fd(struct trib_random *program) {
    int at = random_below(program, SLOTS), tries = random_below(program, 10) ? SLOTS : 1;

    for (; tries > 1 && program->fds[at] < 0; tries--)
        at = (at + 1) % SLOTS;
    return program->fds[at];
}
static inline const char *random_name(struct trib_random *program) {
    static const char names[6][4] = {"n0", "n1", "n2", "n3", "n4", "n5"};
    return names[random_below(program, 6)];
}
static inline size_t random_bytes(struct trib_random *program) {
    size_t bytes = (size_t)random_below(program, random_below(program, 4) ? 100 : 3000);
    memset(random_data, 'a' + random_below(program, 26), bytes);
    return bytes;
}

static inline void random_handler(int number) {
    int kept = errno, fd = current->fds[number % SLOTS];

    (void)!write(fd, "signal", 6);
    fd = open("handled", O_CREAT | O_WRONLY | O_APPEND, 0600);
    (void)!write(fd, "handled\n", 8);
    close(fd);
    if (number == SIGUSR2)
        rename("handled", "renamed");
    errno = kept;
}

static inline void random_start(struct trib_random *program) {
    current = program;
    for (int i = 0; i < SLOTS; i++)
        program->fds[i] = -1;
    mkdir("d", 0755);
    for (int i = 0; i < 2; i++)
        program->fds[i] = open(random_name(program), O_CREAT | O_RDWR, 0600);
    signal(SIGUSR1, random_handler);
    signal(SIGUSR2, random_handler);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

/* What a program could ask of its descriptors. */
static inline void random_table(void) {
    for (int fd = 0; fd < 128; fd++) {
        struct stat status;
        if (fstat(fd, &status))
            continue;
        say("fd %d type %o flags %x cloexec %d size %ld links %d offset %ld\n", fd, status.st_mode & S_IFMT,
            fcntl(fd, F_GETFL), fcntl(fd, F_GETFD), S_ISREG(status.st_mode) && fd > 2 ? (long)status.st_size : 0,
            fd > 2 ? (int)status.st_nlink : 0, fd > 2 ? (long)lseek(fd, 0, SEEK_CUR) : 0);
    }
}

/* ---- steps ---- */

static inline long step_open(struct trib_random *program) {
    static const int flags[] = {0, O_TRUNC, O_APPEND, O_EXCL, O_CLOEXEC, O_APPEND | O_TRUNC, O_NOFOLLOW, O_DSYNC};
    int *slot = random_slot(program);
    int how = O_CREAT | (random_below(program, 4) ? O_RDWR : O_WRONLY) | flags[random_below(program, 8)];

    if (*slot >= 0)
        close(*slot);
    const char *name = random_name(program);
    switch (random_below(program, 3)) {
    case 0:
        return *slot = openat(AT_FDCWD, name, how, 0600);
    case 1:
        return *slot = creat(name, 0640);
    default:
        return *slot = open(name, how, 0600);
    }
}
static inline long step_write(struct trib_random *program) {
    int fd = random_fd(program);
    size_t bytes = random_bytes(program);
    struct iovec parts[2] = {{random_data, bytes}, {"tail", (size_t)random_below(program, 5)}};
    off_t at = random_below(program, 5000);

    switch (random_below(program, 7)) {
    case 0:
        return pwrite(fd, random_data, bytes, at);
    case 1:
        return writev(fd, parts, 2);
    case 2:
        return pwritev(fd, parts, 2, at);
    case 3:
        return pwritev2(fd, parts, 2, random_below(program, 2) ? at : -1, random_below(program, 2) ? 0x10 : 0);
    case 4:
        return syscall(SYS_write, fd, random_data, bytes);
    default:
        return write(fd, random_data, bytes);
    }
}
static inline long step_dup(struct trib_random *program) {
    int *slot = random_slot(program), fd = random_fd(program);
    int number = 20 + random_below(program, 30);

    switch (random_below(program, 4)) {
    case 0:
        return dup2(fd, number);
    case 1:
        return dup3(fd, number, O_CLOEXEC);
    case 2:
        return *slot = fcntl(fd, F_DUPFD, number);
    default:
        return *slot = dup(fd);
    }
}
static inline long step_close(struct trib_random *program) {
    int *slot = random_slot(program), number = 20 + random_below(program, 30);
    long result;

    switch (random_below(program, 12)) {
    case 0:
        closefrom(3);
        for (int i = 0; i < SLOTS; i++)
            program->fds[i] = -1;
        return 0;
    case 1:
        return close_range((unsigned)number, (unsigned)number + 10, 0);
    case 2:
        return close_range((unsigned)number, ~0u, CLOSE_RANGE_CLOEXEC);
    case 3:
        return close(number);
    default:
        result = close(*slot);
        *slot = -1;
        return result;
    }
}
static inline long step_name(struct trib_random *program) {
    const char *one = random_name(program), *two = random_name(program);

    switch (random_below(program, 8)) {
    case 0:
        return unlink(one);
    case 1:
        return link(one, two);
    case 2:
        return symlink(two, one);
    case 3:
        return truncate(one, random_below(program, 4000));
    case 4:
        return renameat2(AT_FDCWD, one, AT_FDCWD, two, (unsigned)random_below(program, 3));
    case 5:
        return remove(one);
    case 6:
        return syscall(SYS_unlinkat, AT_FDCWD, one, 0L);
    default:
        return rename(one, two);
    }
}
static inline long step_file(struct trib_random *program) {
    int fd = random_fd(program);
    char bytes[16] = "";
    long result;

    switch (random_below(program, 8)) {
    case 0:
        return ftruncate(fd, random_below(program, 4000));
    case 1:
        result = random_below(program, 2) ? 0 : FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
        return fallocate(fd, (int)result, random_below(program, 3000), 1 + random_below(program, 3000));
    case 2:
        return random_below(program, 8) ? sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) : fsync(fd);
    case 3:
        return fcntl(fd, F_SETFL, random_below(program, 2) ? O_APPEND : 0);
    case 4:
        return fcntl(fd, F_SETFD, random_below(program, 2));
    case 5:
        result = pread(fd, bytes, sizeof bytes, random_below(program, 3000));
        say("read %.16s\n", bytes);
        return result;
    default:
        return lseek(fd, random_below(program, 3000), random_below(program, 3));
    }
}
static inline long step_copy(struct trib_random *program) {
    int from = random_fd(program), to = random_fd(program), ends[2];
    off64_t in = random_below(program, 500), out = random_below(program, 3000);
    size_t bytes = (size_t)random_below(program, 2000);
    long result;

    switch (random_below(program, 4)) {
    case 0:
        return sendfile(to, from, random_below(program, 2) ? &in : NULL, bytes);
    case 1:
        return copy_file_range(from, &in, to, random_below(program, 2) ? &out : NULL, bytes, 0);
    case 2:
        return copy_file_range(from, NULL, to, NULL, bytes, 0);
    default:
        if (pipe(ends))
            return -1;
        (void)!write(ends[1], random_data, 600);
        result = splice(ends[0], NULL, to, random_below(program, 2) ? &out : NULL, 500, 0);
        close(ends[0]);
        close(ends[1]);
        return result;
    }
}
static inline long step_map(struct trib_random *program) {
    int fd = random_fd(program), at = random_below(program, 8000);
    struct stat status;

    if (fstat(fd, &status) || !S_ISREG(status.st_mode) || (status.st_size < 8192 && ftruncate(fd, 8192)))
        return -1;
    char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return -1;
    memset(map + at, 'm', 100);
    long result = random_below(program, 2) ? msync(map, 8192, random_below(program, 8) ? MS_ASYNC : MS_SYNC) : 0;
    if (random_below(program, 3) == 0) {
        char *moved = mremap(map, 8192, 16384, MREMAP_MAYMOVE);
        return moved == MAP_FAILED ? -1 : munmap(moved, 16384);
    }
    return munmap(map, 8192) ? -1 : result;
}
static inline long step_nameless(struct trib_random *program) {
    int *slot = random_slot(program);
    char path[64];

    if (*slot >= 0)
        close(*slot);
    *slot = open(".", O_TMPFILE | O_RDWR, 0600);
    if (*slot < 0)
        return -1;
    (void)!write(*slot, "nameless", 8);
    snprintf(path, sizeof path, "/proc/self/fd/%d", *slot);
    return random_below(program, 2) ? linkat(AT_FDCWD, path, AT_FDCWD, random_name(program), AT_SYMLINK_FOLLOW) : 0;
}
static inline long step_signal(struct trib_random *program) {
    return raise(random_below(program, 3) ? SIGUSR1 : SIGUSR2);
}
static inline long step_ring(struct trib_random *program) {
    struct ring ring;
    struct io_uring_sqe entry = {
        .opcode = IORING_OP_WRITE, .fd = random_fd(program), .addr = (uintptr_t)random_data, .len = 300};

    entry.off = (uint64_t)random_below(program, 3000);
    if (!open_ring(&ring, 2))
        return -1;
    push(&ring, &entry);
    long result = syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    result = result < 0 ? result : pop(&ring);
    close(ring.fd);
    errno = result < 0 && result > -4096 ? (int)-result : errno;
    return result < 0 ? -1 : result;
}
static inline void *random_thread(void *program_) {
    struct trib_random *program = program_;
    bool is_cancelled = random_below(program, 2);
    int kind = random_below(program, 4), fd = random_fd(program);

    if (is_cancelled)
        pthread_cancel(pthread_self());
    (void)!(kind == 0   ? write(fd, "thread", 6)
            : kind == 1 ? pwrite(fd, "thread", 6, 77)
            : kind == 2 ? fsync(fd)
                        : rename("n0", "n1"));
    return program;
}
static inline long step_thread(struct trib_random *program) {
    pthread_t thread;
    void *result;
    int code = pthread_create(&thread, NULL, random_thread, program);

    if (code == 0)
        pthread_join(thread, &result);
    errno = code;
    return code ? -1 : result == PTHREAD_CANCELED;
}
static inline long step_stdio(struct trib_random *program) {
    static const char modes[4][3] = {"w", "a", "r+", "w+"};
    FILE *file = fopen(random_name(program), modes[random_below(program, 4)]);

    if (!file)
        return -1;
    fwrite(random_data, 1, random_bytes(program), file);
    if (random_below(program, 2))
        fflush(file);
    fprintf(file, "line %d\n", random_below(program, 100));
    return fclose(file);
}
static inline long step_place(struct trib_random *program) {
    struct rlimit old, small;
    long result;

    switch (random_below(program, 3)) {
    case 0:
        program->is_below = !program->is_below;
        return chdir(program->is_below ? "d" : "..");
    case 1:
        getrlimit(RLIMIT_FSIZE, &old);
        small = (struct rlimit){2000, old.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
        result = step_write(program);
        setrlimit(RLIMIT_FSIZE, &old);
        return result;
    default:
        getrlimit(RLIMIT_NOFILE, &old);
        small = (struct rlimit){(rlim_t)random_below(program, 12), old.rlim_max};
        setrlimit(RLIMIT_NOFILE, &small);
        result = random_below(program, 2) ? step_write(program) : step_open(program);
        setrlimit(RLIMIT_NOFILE, &old);
        return result;
    }
}

static inline void random_step(struct trib_random *program, int number);

static inline long step_child(struct trib_random *program) {
    extern char **environ;
    char seed[32];
    char *list[] = {"random", "run", seed, "6", NULL};
    int kind = random_below(program, 5), steps = 1 + random_below(program, 6), status = -1;
    pid_t child = -1;

    snprintf(seed, sizeof seed, "%d", random_below(program, 100000));
    if (program->depth > 1)
        return 0;
    if (kind == 0) {
        if ((errno = posix_spawn(&child, "/proc/self/exe", NULL, NULL, list, environ)))
            return -1;
    } else if (kind == 1) {
        if ((child = vfork()) == 0) {
            execv("/proc/self/exe", list);
            _exit(99);
        }
    } else if ((child = kind == 2 ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork()) == 0) {
        program->depth++;
        for (int i = 0; i < steps; i++)
            random_step(program, 1000 + i);
        if (random_below(program, 4) == 0)
            raise(SIGKILL);
        _exit(random_below(program, 50));
    }
    if (waitpid(child, &status, 0) != child)
        return -1;
    return status;
}

static inline void random_step(struct trib_random *program, int number) {
    static const struct {
        const char *name;
        long (*step)(struct trib_random *);
        int weight;
    } steps[] = {{"open", step_open, 6},     {"write", step_write, 10}, {"dup", step_dup, 3},
                 {"close", step_close, 3},   {"name", step_name, 4},    {"file", step_file, 5},
                 {"copy", step_copy, 2},     {"map", step_map, 2},      {"nameless", step_nameless, 1},
                 {"signal", step_signal, 2}, {"ring", step_ring, 1},    {"thread", step_thread, 2},
                 {"stdio", step_stdio, 2},   {"place", step_place, 2},  {"child", step_child, 2}};
    int at = random_below(program, 47);
    size_t i = 0;

    while (at >= steps[i].weight)
        at -= steps[i++].weight;
    errno = 0;
    long result = steps[i].step(program);
    int code = errno;
    say("%d %s %ld %s\n", number, steps[i].name, result, result == -1 ? strerrorname_np(code) : "");
}

#endif
