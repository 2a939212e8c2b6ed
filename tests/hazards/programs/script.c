/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts of system calls for strace: every process, thread and program marks where its start-up is over, with a call
 * that nobody else makes. No allocation, no stdio: those would call the kernel when they please. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "hazard.h"

static char *self;

static void mark(void) {
    syscall(SYS_sched_get_priority_max, 0x5452);
}

static int quiet(void) {
    char bytes[64];

    for (int i = 0; i < 20; i++) {
        int fd = open("untouched.db", O_RDWR), copy = dup(fd);
        if (read(copy, bytes, sizeof bytes) != sizeof bytes || lseek(fd, 0, SEEK_SET) != 0)
            return 2;
        close(copy);
        close(fd);
    }
    return 0;
}

static int write_through(int fd) {
    struct iovec parts[2] = {{"01234", 5}, {"56789", 5}};

    for (int i = 0; i < 50; i++)
        if (write(fd, "0123456789", 10) != 10 || pwrite(fd, "x", 1, i) != 1 || writev(fd, parts, 2) != 10)
            return 2;
    lseek(fd, 5, SEEK_SET);
    return write(fd, "y", 1) == 1 ? close(fd) : 3;
}

static int writes(void) {
    return write_through(make("a"));
}

/* Nobody but this process can move the offset: it is known. */
static int writes_only(void) {
    return write_through(open("a", O_CREAT | O_WRONLY | O_TRUNC, 0600));
}

/* Ten files, so that whatever is asked once per descriptor shows. */
static int files(void) {
    for (int i = 0; i < 10; i++) {
        char name[] = "file0";
        name[4] = (char)('0' + i);
        if (!write_one(name))
            return 2;
    }
    return 0;
}

static int append(void) {
    int fd = open("a", O_CREAT | O_WRONLY | O_APPEND, 0600);

    for (int i = 0; i < 20; i++)
        if (write(fd, "0123456789", 10) != 10)
            return 2;
    return close(fd);
}

static int names(void) {
    if (!write_one("a") || !write_one("b") || !write_one("c"))
        return 2;
    return rename("a", "b") + rename("b", "d") + truncate("c", 4) + unlink("c") + unlinkat(AT_FDCWD, "d", 0);
}

static int syncs(void) {
    int fd = make("a");

    for (int i = 0; i < 5; i++)
        if (write(fd, "0123456789", 10) != 10 || fsync(fd) || fdatasync(fd))
            return 2;
    return 0;
}

static int maps(void) {
    int fd = make("a");

    if (ftruncate(fd, 65536))
        return 2;
    char *map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (int i = 0; i < 3; i++) {
        map[i * 8192] = 'm';
        if (msync(map, 65536, MS_SYNC))
            return 3;
    }
    return munmap(map, 65536);
}

static int pipes(void) {
    int ends[2];
    char byte;

    if (pipe(ends))
        return 2;
    for (int i = 0; i < 50; i++)
        if (write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
            return 3;
    return 0;
}

static int forks(void) {
    int status = 0;

    if (!write_one("a"))
        return 2;
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            mark();
            _exit(i ? write_one("b") ? 0 : 1 : quiet());
        }
        if (waitpid(child, &status, 0) != child || status)
            return 3;
    }
    return 0;
}

static int execs(void) {
    int status = 0;

    if (!write_one("a"))
        return 2;
    pid_t child = vfork();
    if (child == 0) {
        execl(self, self, "files", (char *)NULL);
        _exit(9);
    }
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 3;
}

static void *of_thread(void *name) {
    mark();
    int fd = make(name);
    for (int i = 0; i < 20; i++)
        if (write(fd, "0123456789", 10) != 10)
            return NULL;
    close(fd);
    return name;
}

static int threads(void) {
    static char names[3][3] = {"t0", "t1", "t2"};

    if (!write_one("a"))
        return 2;
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        void *result = NULL;
        if (pthread_create(&thread, NULL, of_thread, names[i]))
            return 3;
        pthread_join(thread, &result);
        if (!result)
            return 4;
    }
    return 0;
}

static int handled_fd;
static void handler(int number) {
    (void)number;
    (void)!write(handled_fd, "handled\n", 8);
}

static int handlers(void) {
    handled_fd = make("a");
    signal(SIGUSR1, handler);
    for (int i = 0; i < 10; i++)
        raise(SIGUSR1);
    return 0;
}

static int copies(void) {
    int fd = make("a"), copy = make("b"), other = dup(fd);

    for (int i = 0; i < 5; i++)
        if (write(fd, "0123456789", 10) != 10 || write(other, "0123456789", 10) != 10 ||
            copy_file_range(fd, &(off64_t){0}, copy, NULL, 10, 0) != 10)
            return 2;
    return dup2(fd, 50) == 50 && write(50, "x", 1) == 1 ? 0 : 3;
}

static void *nothing(void *unused) {
    return unused;
}

/* libc's own first times (heap, threads) belong to start-up, whoever has them. */
static void warm_up(void) {
    pthread_t thread;

    free(malloc(100));
    if (pthread_create(&thread, NULL, nothing, NULL) == 0)
        pthread_join(thread, NULL);
}

int main(int count, char **values) {
    static const struct hazard hazards[] = {{"quiet", quiet},       {"writes", writes}, {"writes_only", writes_only},
                                            {"files", files},       {"append", append}, {"names", names},
                                            {"syncs", syncs},       {"maps", maps},     {"pipes", pipes},
                                            {"forks", forks},       {"execs", execs},   {"threads", threads},
                                            {"handlers", handlers}, {"copies", copies}, {NULL, NULL}};
    self = values[0];
    warm_up();
    mark();
    return run_hazard(hazards, count, values);
}
