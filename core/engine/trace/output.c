/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "trace/format.h"

/* Only a file that begins like a trace may be truncated, and only while no other writer extends it.
 * The lock belongs to the open file, not to the process: it goes when that is closed or unlocked. If
 * this process is killed, a child it forked keeps the file locked until it calls exec or ends. File
 * systems without locks are taken as they are. */
static int claim_file(int fd, const char *path, off_t size, struct trib_error *error) {
    uint8_t magic[TRIB_TRACE_MAGIC_BYTES];
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return trib_fail(error, -EBUSY, "%s: another process is writing this trace",
                         trib_trace_path_shown(path));
    if (size == 0)
        return 0;
    ssize_t got = pread(fd, magic, sizeof magic, 0);
    if (got < 0)
        return trib_fail(error, -errno, "%s: cannot read: %s", trib_trace_path_shown(path),
                         strerror(errno));
    if ((size_t)got < sizeof magic || !trib_trace_is_magic(magic))
        return trib_fail(error, -EEXIST, "%s: exists and is not a trace; not overwritten",
                         trib_trace_path_shown(path));
    if (ftruncate(fd, 0) != 0)
        return trib_fail(error, -errno, "%s: cannot truncate: %s", trib_trace_path_shown(path),
                         strerror(errno));
    return 0;
}

/* A FIFO would hold up the engine that opens it, and a stalled reader its close; a trace would
 * overwrite a block device. */
static bool is_fit(mode_t mode) {
    return S_ISREG(mode) || S_ISCHR(mode);
}

static int open_path(const char *path, struct trib_error *error) {
    struct stat status;
    bool is_stdout = strcmp(path, "-") == 0, exists = stat(path, &status) == 0;
    if (!is_stdout && exists && !is_fit(status.st_mode))
        return trib_fail(error, S_ISDIR(status.st_mode) ? -EISDIR : -EEXIST,
                         "%s: neither a file nor a character device; for a pipe, write the trace to "
                         "\"-\", standard output",
                         trib_trace_path_shown(path));
    int access = exists && !S_ISREG(status.st_mode) ? O_WRONLY : O_RDWR | O_CREAT;
    int fd = is_stdout ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                       : open(path, access | O_CLOEXEC | O_NOCTTY, 0644);
    return fd >= 0 ? fd
                   : trib_fail(error, -errno, "%s: cannot open for writing: %s",
                               trib_trace_path_shown(path), strerror(errno));
}

int trib_trace_output_open(struct trib_trace_output *output, const char *path,
                           struct trib_error *error) {
    struct stat status;
    int fd = open_path(path, error), rc = 0;
    if (fd < 0)
        return fd;
    if (fstat(fd, &status) != 0)
        rc = trib_fail(error, -errno, "%s: cannot stat: %s", trib_trace_path_shown(path),
                       strerror(errno));
    else if (S_ISREG(status.st_mode) && strcmp(path, "-") != 0)
        rc = claim_file(fd, path, status.st_size, error);
    if (rc) {
        close(fd);
        return rc;
    }
    *output = (struct trib_trace_output){
        .fd = fd,
        .may_break = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode),
        .is_locked = S_ISREG(status.st_mode) && strcmp(path, "-") != 0,
    };
    return 0;
}

static int write_all(int fd, const char *bytes, size_t length_bytes) {
    while (length_bytes) {
        ssize_t put = write(fd, bytes, length_bytes);
        if (put > 0) {
            bytes += put;
            length_bytes -= (size_t)put;
        } else if (put == 0) {
            return -EIO; /* a device that takes nothing and gives no reason: do not spin */
        } else if (errno == EAGAIN) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

int trib_trace_output_write(const struct trib_trace_output *output, const void *bytes,
                            size_t length_bytes) {
    if (!output->may_break)
        return write_all(output->fd, bytes, length_bytes);

    /* The process belongs to the engine: hold SIGPIPE back on this thread and take away only the
     * one we caused. */
    sigset_t pipe_signal, pending, before;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigemptyset(&pending);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    int rc = write_all(output->fd, bytes, length_bytes);
    if (rc == -EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_signal, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int trib_trace_output_close(struct trib_trace_output *output) {
    int fd = output->fd;
    output->fd = -1;
    if (fd >= 0 && output->is_locked)
        flock(fd, LOCK_UN); /* a forked child still has the file open */
    return fd >= 0 && close(fd) != 0 && errno != EINTR ? -errno : 0;
}
