/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of calls that are made by number, through syscall(). */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/aio_abi.h>
#include <linux/falloc.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>

#include "preload_story.h"

static void put(int fd, size_t length) {
    check(write(fd, data, length) == (ssize_t)length);
}

static void story_writes_by_number(void) {
    int from = make("from", O_RDWR), fd = make("a", O_WRONLY), pipes[2];
    struct iovec parts[2] = {{data, 100}, {data, 50}};
    off_t offset = 0;

    check(pwrite(from, data, 5000, 0) == 5000 && lseek(from, 0, SEEK_SET) == 0 && pipe(pipes) == 0);
    put(pipes[1], 30);
    check(syscall(SYS_write, fd, data, 10) == 10);
    check(syscall(SYS_lseek, fd, 100, SEEK_SET) == 100);
    check(syscall(SYS_writev, fd, parts, 2) == 150);
    check(syscall(SYS_sendfile, fd, from, &offset, 100) == 100);
    check(syscall(SYS_copy_file_range, from, NULL, fd, NULL, 200, 0) == 200);
    check(syscall(SYS_splice, pipes[0], NULL, fd, NULL, 30, 0) == 30);
    check(syscall(SYS_pwrite64, fd, data, 20, 1000) == 20);
    check(syscall(SYS_pwritev, fd, parts, 2, 2000l, 0l) == 150);
}

static void story_aio_by_number(void) {
    int fd = make("a", O_WRONLY);
    struct iocb one = {.aio_fildes = (unsigned)fd,
                       .aio_lio_opcode = IOCB_CMD_PWRITE,
                       .aio_buf = (uintptr_t)data,
                       .aio_nbytes = 512,
                       .aio_offset = 4096};
    struct iocb *all[] = {&one};
    struct io_event event;
    aio_context_t context = 0;

    check(syscall(SYS_io_setup, 1, &context) == 0 && syscall(SYS_io_submit, context, 1, all) == 1);
    check(syscall(SYS_io_getevents, context, 1, 1, &event, NULL) == 1);
}

static void story_ranges_by_number(void) {
    int fd = make("a", O_RDWR);

    put(fd, 65536);
    check(syscall(SYS_fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096l, 8192l) == 0);
    check(syscall(SYS_fsync, fd) == 0 && syscall(SYS_fdatasync, fd) == 0);
    check(syscall(SYS_ftruncate, fd, 32768l) == 0 && syscall(SYS_truncate, "a", 16384l) == 0);
    check(syscall(SYS_close, fd) == 0);
    fd = make("b", O_RDWR);
    put(fd, 10);
    check(syscall(SYS_close_range, fd, fd, 0) == 0);
}

static void fill(const char *name) {
    int fd = make(name, O_WRONLY);

    put(fd, 10);
    close(fd);
}

static void story_names_by_number(void) {
    static const char *const names[] = {"unlink", "unlinkat", "one", "two", "three", "rename", "renameat", "renameat2"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) /* all at once: a number that is free is used again */
        fill(names[i]);
    check(syscall(SYS_unlink, "unlink") == 0 && syscall(SYS_unlinkat, AT_FDCWD, "unlinkat", 0) == 0);
    check(syscall(SYS_rename, "one", "rename") == 0);
    check(syscall(SYS_renameat, AT_FDCWD, "two", AT_FDCWD, "renameat") == 0);
    check(syscall(SYS_renameat2, AT_FDCWD, "three", AT_FDCWD, "renameat2", 0) == 0);
}

static void story_descriptors_by_number(void) {
    const struct open_how how = {.flags = O_WRONLY | O_CREAT, .mode = 0600};

    put((int)syscall(SYS_open, "open", O_WRONLY | O_CREAT, 0600), 10);
    put((int)syscall(SYS_openat, AT_FDCWD, "openat", O_WRONLY | O_CREAT, 0600), 10);
    put((int)syscall(SYS_openat2, AT_FDCWD, "openat2", &how, sizeof how), 10);
    put((int)syscall(SYS_creat, "creat", 0600), 10);
    put((int)syscall(SYS_dup, make("dup", O_WRONLY)), 10);
    put((int)syscall(SYS_dup2, make("dup2", O_WRONLY), 60), 10);
    put((int)syscall(SYS_dup3, make("dup3", O_WRONLY), 61, 0), 10);
    put((int)syscall(SYS_fcntl, make("fcntl", O_WRONLY), F_DUPFD, 70), 10);
}

static void story_folders_by_number(void) {
    check(mkdir("sub", 0700) == 0 && syscall(SYS_chdir, "sub") == 0);
    fill("followed");
    int parent = open("..", O_RDONLY | O_DIRECTORY);
    check(syscall(SYS_fchdir, parent) == 0);
    fill("unknown");
}

/* Whatever is asked of the kernel from then on ends the child. */
static void story_locked_in_by_number(void) {
    int known = make("known", O_WRONLY), unknown = make("unknown", O_WRONLY), status;
    pid_t child = fork();

    if (child == 0) {
        put(known, 10);
        if (syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0l, 0l, 0l) != 0)
            _exit(77);
        syscall(SYS_exit, write(unknown, data, 20) == 20 ? 0 : 1);
    }
    check(waitpid(child, &status, 0) == child && WIFEXITED(status));
    exit(WEXITSTATUS(status));
}

const struct story stories_of_numbers[] = {
    {"writes_by_number", story_writes_by_number},           {"aio_by_number", story_aio_by_number},
    {"ranges_by_number", story_ranges_by_number},           {"names_by_number", story_names_by_number},
    {"descriptors_by_number", story_descriptors_by_number}, {"folders_by_number", story_folders_by_number},
    {"locked_in_by_number", story_locked_in_by_number},     {NULL, NULL},
};
