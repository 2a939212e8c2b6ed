/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers, counts and descriptors that the kernel answers with an errno: each call in a child of its own, which says
 * what it got. A child that is killed shows as a signal. */
#include <limits.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "hazard.h"

/* Through variables: the compiler must not know. */
static void *volatile bad = (void *)8;
static int volatile minus = -1, far = 999;
static int fd;
static struct iovec *bad_vector(void) {
    static struct iovec parts[2];

    parts[0] = (struct iovec){"abc", 3};
    parts[1] = (struct iovec){bad, 8};
    return parts;
}

#define CALL(name, ...)                                                                                                \
    static long name(void) {                                                                                           \
        return (long)(__VA_ARGS__);                                                                                    \
    }
CALL(write_bad, write(fd, bad, 8))
CALL(write_nothing, write(fd, bad, 0))
CALL(write_no_fd, write(minus, "x", 1))
CALL(write_far_fd, write(far, "x", 1))
CALL(pwrite_bad, pwrite(fd, bad, 8, 0))
CALL(pwrite_negative, pwrite(fd, "x", 1, minus))
CALL(writev_bad_vector, writev(fd, bad, 2))
CALL(writev_bad_part, writev(fd, bad_vector(), 2))
CALL(writev_negative, writev(fd, bad_vector(), minus))
CALL(writev_many, writev(fd, bad_vector(), 1 << 20))
CALL(pwritev_bad, pwritev(fd, bad, 1, 0))
CALL(pwritev2_flags, pwritev2(fd, bad_vector(), 1, 0, 1 << 30))
CALL(pwritev2_bad, pwritev2(fd, bad, 3, -1, 0))
CALL(open_bad, open(bad, O_RDWR))
CALL(open_null, open((const char *)(intptr_t)(minus + 1), O_RDWR))
CALL(openat_bad, openat(AT_FDCWD, bad, O_RDWR | O_CREAT, 0600))
CALL(openat_no_folder, openat(far, "x", O_RDWR))
CALL(creat_bad, creat(bad, 0600))
CALL(unlink_bad, unlink(bad))
CALL(unlinkat_flags, unlinkat(AT_FDCWD, "a", 0x7777))
CALL(remove_bad, remove(bad))
CALL(rename_bad, rename(bad, "b"))
CALL(rename_bad_target, rename("a", bad))
CALL(renameat_no_folder, renameat(far, "a", AT_FDCWD, "b"))
CALL(renameat2_flags, renameat2(AT_FDCWD, "a", AT_FDCWD, "b", 0x7777))
CALL(truncate_bad, truncate(bad, 10))
CALL(truncate_negative, truncate("a", minus))
CALL(ftruncate_negative, ftruncate(fd, minus))
CALL(fallocate_negative, fallocate(fd, 0, minus, 10))
CALL(fallocate_mode, fallocate(fd, 0x7777, 0, 10))
CALL(fsync_no_fd, fsync(minus))
CALL(sync_range_flags, sync_file_range(fd, 0, 10, 0x7777))
CALL(close_no_fd, close(minus))
CALL(close_range_flags, close_range(10, 5, 0))
CALL(dup_no_fd, dup(far))
CALL(dup2_no_fd, dup2(minus, 9))
CALL(dup2_far, dup2(fd, 1 << 30))
CALL(dup3_same, dup3(fd, fd, 0))
CALL(fcntl_bad, fcntl(fd, F_GETLK, bad))
CALL(fcntl_negative, fcntl(fd, F_DUPFD, minus))
CALL(fcntl_hint_bad, fcntl(fd, F_SET_RW_HINT, bad))
CALL(lseek_where, lseek(fd, 0, 77))
CALL(lseek_negative, lseek(fd, minus, SEEK_SET))
CALL(mmap_no_length, mmap(NULL, 0, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0)
CALL(mmap_no_fd, mmap(NULL, 4096, PROT_READ, MAP_SHARED, far, 0) == MAP_FAILED ? -1 : 0)
CALL(mmap_odd, mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 5) == MAP_FAILED ? -1 : 0)
CALL(munmap_odd, munmap(bad, 4096))
CALL(msync_nothing, msync((void *)4096, 4096, MS_SYNC))
CALL(msync_odd, msync(bad, 4096, MS_SYNC))
CALL(mremap_nothing, mremap((void *)4096, 4096, 8192, 0) == MAP_FAILED ? -1 : 0)
CALL(copy_bad, copy_file_range(fd, NULL, fd, bad, 8, 0))
CALL(copy_bad_in, copy_file_range(fd, bad, fd, NULL, 8, 0))
CALL(sendfile_bad, sendfile(fd, fd, bad, 8))
CALL(raw_write_bad, syscall(SYS_write, fd, bad, 8))
CALL(raw_writev_bad, syscall(SYS_writev, fd, bad, 4))
CALL(raw_unlinkat_bad, syscall(SYS_unlinkat, AT_FDCWD, bad, 0))
CALL(raw_uring_setup_bad, syscall(SYS_io_uring_setup, 4, bad))
CALL(raw_uring_enter_no_fd, syscall(SYS_io_uring_enter, far, 1, 0, 0, NULL, 0))
CALL(raw_unknown, syscall(100000, 1, 2, 3, 4, 5, 6))
CALL(execve_bad, execve(bad, (char *[]){"x", NULL}, (char *[]){NULL}))
CALL(execve_bad_values, execve("/bin/true", bad, NULL))
CALL(execve_bad_variables, execve("/bin/true", (char *[]){"true", NULL}, bad))
CALL(execv_absent, execv("/no/such/program", (char *[]){"x", NULL}))
CALL(execve_folder, execve("/", (char *[]){"x", NULL}, NULL))
CALL(fopen_absent, fopen("no/such/file", "w") ? 0 : -1)
CALL(fopen_mode, fopen("a", "?") ? 0 : -1)
CALL(fdopen_no_fd, fdopen(far, "w") ? 0 : -1)

static long sendmsg_bad(void) {
    int ends[2];

    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
    return sendmsg(ends[0], bad, 0);
}
static long sendmsg_to_file(void) {
    struct msghdr message = {.msg_iov = bad_vector(), .msg_iovlen = 2};

    return sendmsg(fd, &message, 0);
}
static long splice_bad(void) {
    int ends[2];

    return pipe(ends) ? -2 : splice(ends[0], NULL, fd, bad, 8, SPLICE_F_NONBLOCK);
}
/* Through libaio's function where the program has one: that is what is hooked. */
extern int io_submit(aio_context_t, long, struct iocb **);
#pragma weak io_submit
static long io_submit_with(struct iocb **requests) {
    aio_context_t context = 0;

    if (syscall(SYS_io_setup, 4, &context))
        return -3;
    return io_submit ? io_submit(context, 1, requests) : syscall(SYS_io_submit, context, 1L, requests);
}
static long io_submit_bad(void) {
    struct iocb **requests = bad;
    long result = io_submit_with(requests);
    if (io_submit && result < 0 && result > -4095) { /* libaio returns -errno */
        errno = (int)-result;
        return -1;
    }
    return result;
}
static long io_submit_bad_request(void) {
    struct iocb *request = bad;
    long result = io_submit_with(&request);
    if (io_submit && result < 0 && result > -4095) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

#define ROW(name)                                                                                                      \
    { #name, name }
static const struct {
    const char *name;
    long (*call)(void);
} writes[] = {ROW(write_bad),       ROW(write_nothing),   ROW(write_no_fd),       ROW(write_far_fd),
              ROW(pwrite_bad),      ROW(pwrite_negative), ROW(writev_bad_vector), ROW(writev_bad_part),
              ROW(writev_negative), ROW(writev_many),     ROW(pwritev_bad),       ROW(pwritev2_flags),
              ROW(pwritev2_bad),    {NULL, NULL}},
  names[] = {ROW(open_bad),       ROW(open_null),         ROW(openat_bad),         ROW(openat_no_folder),
             ROW(creat_bad),      ROW(unlink_bad),        ROW(unlinkat_flags),     ROW(remove_bad),
             ROW(rename_bad),     ROW(rename_bad_target), ROW(renameat_no_folder), ROW(renameat2_flags),
             ROW(truncate_bad),   ROW(truncate_negative), ROW(ftruncate_negative), ROW(fallocate_negative),
             ROW(fallocate_mode), ROW(fopen_absent),      ROW(fopen_mode),         ROW(fdopen_no_fd),
             {NULL, NULL}},
  descriptors[] = {ROW(fsync_no_fd),    ROW(sync_range_flags), ROW(close_no_fd),    ROW(close_range_flags),
                   ROW(dup_no_fd),      ROW(dup2_no_fd),       ROW(dup2_far),       ROW(dup3_same),
                   ROW(fcntl_bad),      ROW(fcntl_negative),   ROW(fcntl_hint_bad), ROW(lseek_where),
                   ROW(lseek_negative), {NULL, NULL}},
  maps[] = {ROW(mmap_no_length), ROW(mmap_no_fd), ROW(mmap_odd),       ROW(munmap_odd),
            ROW(msync_nothing),  ROW(msync_odd),  ROW(mremap_nothing), {NULL, NULL}},
  copies[] = {ROW(copy_bad),        ROW(copy_bad_in), ROW(sendfile_bad), ROW(sendmsg_bad),
              ROW(sendmsg_to_file), ROW(splice_bad),  {NULL, NULL}},
  raw[] = {ROW(raw_write_bad),         ROW(raw_writev_bad), ROW(raw_unlinkat_bad), ROW(raw_uring_setup_bad),
           ROW(raw_uring_enter_no_fd), ROW(raw_unknown),    {NULL, NULL}},
  aio[] = {ROW(io_submit_bad), ROW(io_submit_bad_request), {NULL, NULL}},
  programs[] = {ROW(execve_bad),   ROW(execve_bad_values), ROW(execve_bad_variables),
                ROW(execv_absent), ROW(execve_folder),     {NULL, NULL}};

int main(int count, char **values) {
    static const struct {
        const char *name;
        const void *rows;
    } groups[] = {{"writes", writes}, {"names", names},      {"descriptors", descriptors},
                  {"maps", maps},     {"copies", copies},    {"raw", raw},
                  {"aio", aio},       {"programs", programs}};
    const __typeof__(writes[0]) *row = NULL;

    for (size_t i = 0; count > 1 && i < sizeof groups / sizeof *groups; i++)
        if (strcmp(groups[i].name, values[1]) == 0)
            row = groups[i].rows;
    fd = make("a");
    if (!row || write(fd, "some bytes", 10) != 10)
        return 100;
    for (; row->name; row++) {
        pid_t child = fork();
        if (child == 0) {
            errno = 0;
            say_result(row->name, row->call());
            _exit(0);
        }
        say_ends(&child, 1);
    }
    return 0;
}
