/* SPDX-License-Identifier: Apache-2.0 */
/* Cancellation. `deferred NAME`: a thread with a pending cancel makes one call, and says whether the call was a
 * cancellation point and what its cleanup handler found. `asynchronous NAME`: threads that may be cancelled anywhere
 * make the call again and again until they are; the process must work on afterwards. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "hazard.h"

static int fd, other;
static volatile bool was_reached;
static sigset_t blocked;
static struct iovec part = {"abc", 3};

#define CALL(name, ...)                                                                                                \
    static void call_##name(void) {                                                                                    \
        (void)!(__VA_ARGS__);                                                                                          \
    }
CALL(write, write(fd, "x", 1))
CALL(pwrite, pwrite(fd, "x", 1, 0))
CALL(writev, writev(fd, &part, 1))
CALL(pwritev, pwritev(fd, &part, 1, 0))
CALL(pwritev2, pwritev2(fd, &part, 1, 0, 0))
CALL(open, close(open("opened", O_CREAT | O_RDWR, 0600)))
CALL(openat, openat(AT_FDCWD, "opened", O_CREAT | O_RDWR, 0600))
CALL(creat, creat("opened", 0600))
CALL(close, close(dup(other)))
CALL(close_bad, close(900))
CALL(close_range, close_range(800, 810, 0))
CALL(dup, dup(other))
CALL(dup2, dup2(other, 90))
CALL(dup3, dup3(other, 91, 0))
CALL(fcntl, fcntl(other, F_GETFD))
CALL(fcntl_dup, fcntl(other, F_DUPFD, 50))
CALL(fcntl_lock, fcntl(other, F_SETLK, &(struct flock){.l_type = F_WRLCK}))
CALL(fcntl_lock_wait, fcntl(other, F_SETLKW, &(struct flock){.l_type = F_WRLCK}))
CALL(lseek, lseek(other, 0, SEEK_SET))
CALL(unlink, unlink("gone1"))
CALL(unlinkat, unlinkat(AT_FDCWD, "gone2", 0))
CALL(remove, remove("gone3"))
CALL(rename, rename("here1", "there1"))
CALL(renameat, renameat(AT_FDCWD, "here2", AT_FDCWD, "there2"))
CALL(renameat2, renameat2(AT_FDCWD, "here3", AT_FDCWD, "there3", 0))
CALL(truncate, truncate("cut", 3))
CALL(ftruncate, ftruncate(other, 4096))
CALL(fallocate, fallocate(other, 0, 0, 8192))
CALL(fsync, fsync(other))
CALL(fdatasync, fdatasync(other))
CALL(sync_file_range, sync_file_range(other, 0, 0, SYNC_FILE_RANGE_WRITE))
CALL(mmap, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
CALL(copy_file_range, copy_file_range(fd, &(off_t){0}, other, &(off_t){0}, 8, 0))
CALL(sendfile, sendfile(other, fd, &(off_t){0}, 8))
CALL(raw_write, syscall(SYS_write, fd, "x", 1L))
CALL(raw_fsync, syscall(SYS_fsync, fd))

static void call_close_open(void) {
    int opened = 92; /* dup2 makes it, which is no point itself */

    dup2(other, opened);
    close(opened);
}
static void call_munmap(void) {
    void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    munmap(map, 4096);
}
static void call_msync(void) {
    static void *map;
    if (!map)
        map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    msync(map, 4096, MS_ASYNC);
}
static void call_splice(void) {
    static int ends[2];
    if (!ends[1] && pipe(ends) == 0)
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
    splice(ends[0], NULL, other, NULL, 8, SPLICE_F_NONBLOCK);
}
static void call_sendmsg(void) {
    static int ends[2];
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (!ends[1] && socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
        return;
    sendmsg(ends[0], &message, MSG_DONTWAIT);
}
static void call_fopen(void) {
    FILE *file = fopen("stdio", "w");
    (void)file;
}
static void call_fclose(void) {
    static FILE *file;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    file = fopen("stdio", "w");
    fputs("text", file);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    fclose(file);
}
static void call_posix_spawn(void) {
    /* Of a missing program: no child to wait for. */
    extern int posix_spawn(pid_t *, const char *, const void *, const void *, char *const *, char *const *);
    char *const list[] = {"absent", NULL};
    pid_t child;
    posix_spawn(&child, "/no/such/program", NULL, NULL, list, list + 1);
}
static void call_execve(void) {
    char *const list[] = {"absent", NULL};
    execve("/no/such/program", list, list + 1);
}
static void call_none(void) {
}

#define ROW(name)                                                                                                      \
    { #name, call_##name }
static const struct {
    const char *name;
    void (*call)(void);
} calls[] = {ROW(write),
             ROW(pwrite),
             ROW(writev),
             ROW(pwritev),
             ROW(pwritev2),
             ROW(open),
             ROW(openat),
             ROW(creat),
             ROW(close),
             ROW(close_bad),
             ROW(close_open),
             ROW(close_range),
             ROW(dup),
             ROW(dup2),
             ROW(dup3),
             ROW(fcntl),
             ROW(fcntl_dup),
             ROW(fcntl_lock),
             ROW(fcntl_lock_wait),
             ROW(lseek),
             ROW(unlink),
             ROW(unlinkat),
             ROW(remove),
             ROW(rename),
             ROW(renameat),
             ROW(renameat2),
             ROW(truncate),
             ROW(ftruncate),
             ROW(fallocate),
             ROW(fsync),
             ROW(fdatasync),
             ROW(sync_file_range),
             ROW(mmap),
             ROW(munmap),
             ROW(msync),
             ROW(copy_file_range),
             ROW(sendfile),
             ROW(splice),
             ROW(sendmsg),
             ROW(raw_write),
             ROW(raw_fsync),
             ROW(fopen),
             ROW(fclose),
             ROW(posix_spawn),
             ROW(execve),
             ROW(none)};

static void clean_up(void *unused) {
    (void)unused;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
}

static void *pending(void *row) {
    pthread_cleanup_push(clean_up, NULL);
    pthread_cancel(pthread_self());
    ((__typeof__(&calls[0]))row)->call();
    was_reached = true;
    pthread_cleanup_pop(0);
    return NULL;
}

static int deferred(__typeof__(&calls[0]) row) {
    pthread_t thread;
    void *result;
    int count = 0;

    pthread_create(&thread, NULL, pending, (void *)row);
    pthread_join(thread, &result);
    for (int number = 1; number < 65; number++)
        count += sigismember(&blocked, number) == 1;
    const char *how = was_reached ? "no cancellation point" : result == PTHREAD_CANCELED ? "cancelled" : "ended early";
    say("%s: %s; %d signals blocked in the cleanup; offset %ld\n", row->name, how, count, (long)lseek(fd, 0, SEEK_CUR));
    return write_one("after") ? 0 : 2;
}

static void *for_ever(void *row) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        ((__typeof__(&calls[0]))row)->call();
    return NULL;
}

/* What it has left behind depends on the moment; that everything still works does not. */
static int asynchronous(__typeof__(&calls[0]) row) {
    int cancelled = 0;

    for (int i = 0; i < 60; i++) {
        pthread_t thread;
        void *result;
        struct timespec moment = {0, 20000 + i * 7000};
        if (pthread_create(&thread, NULL, for_ever, (void *)row))
            return 3;
        nanosleep(&moment, NULL);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
        if (!write_one("between"))
            return 4;
    }
    int ended = truncate("a", 0);
    pid_t child = fork();
    if (child == 0)
        _exit(write_one("child") ? 0 : 1);
    say_ends(&child, 1);
    say("%s: %d cancelled, %d\n", row->name, cancelled, ended);
    return 0;
}

int main(int count, char **values) {
    fd = make("a");
    other = make("b");
    if (count < 3 || write(fd, "0123456789", 10) != 10 || write(other, "0123456789", 10) != 10)
        return 100;
    for (int i = 0; i < 3; i++) {
        char here[] = "here1", gone[] = "gone1";
        here[4] = gone[4] = (char)('1' + i);
        write_one(here);
        write_one(gone);
    }
    write_one("cut");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].name, values[2]) == 0)
            return strcmp(values[1], "deferred") == 0 ? deferred(&calls[i]) : asynchronous(&calls[i]);
    return 100;
}
