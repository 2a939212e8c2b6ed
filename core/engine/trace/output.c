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
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "trace/format.h"
#include "trace/segments.h"

/* ---- open ---- */

/* The lock belongs to the open file, not to the process: it goes when that is closed or unlocked. If this process is
 * killed, a child it forked keeps the file locked until it calls exec or ends. File systems without locks are taken as
 * they are. */
static int lock(int fd, const char *path, struct trib_error *error) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return 0;
    return trib_fail(error, -EBUSY, "%s: another process is writing this trace", trib_trace_path_shown(path));
}

int trib_trace_output_create(struct trib_trace_output *output, const char *path, struct trib_error *error) {
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);

    if (fd < 0)
        return trib_fail(error, -errno, "%s: cannot create: %s", trib_trace_path_shown(path), strerror(errno));
    int rc = lock(fd, path, error);
    if (rc) {
        close(fd);
        return rc;
    }
    *output = (struct trib_trace_output){.fd = fd, .is_file = true};
    return 0;
}

bool trib_trace_output_is_at(const struct trib_trace_output *output, const char *path) {
    struct stat open_file, named;
    return fstat(output->fd, &open_file) == 0 && lstat(path, &named) == 0 && open_file.st_dev == named.st_dev &&
           open_file.st_ino == named.st_ino;
}

/* What stands at the path is open and locked: 1 if it is an empty file that may be used, 0 if it was rotated away. */
static int take_existing(const struct trib_trace_output *output, const char *path, uint32_t keep,
                         struct trib_error *error) {
    uint8_t magic[TRIB_TRACE_MAGIC_BYTES];
    struct stat status;
    ssize_t got = pread(output->fd, magic, sizeof magic, 0);

    if (got < 0 || fstat(output->fd, &status) != 0)
        return trib_fail(error, -errno, "%s: cannot read: %s", trib_trace_path_shown(path), strerror(errno));
    if (!trib_trace_output_is_at(output, path))
        return trib_fail(error, -EBUSY, "%s: another process is replacing this trace", trib_trace_path_shown(path));
    /* Whoever made an empty file for us may hold it open, or know it by another name. */
    if (got == 0 && status.st_uid == geteuid() && status.st_nlink == 1)
        return fchmod(output->fd, 0600) == 0 ? 1
                                             : trib_fail(error, -errno, "%s: cannot make it private: %s",
                                                         trib_trace_path_shown(path), strerror(errno));
    if ((size_t)got < sizeof magic || !trib_trace_is_magic(magic))
        return trib_fail(error, -EEXIST, "%s: exists and is not a trace; name another file, or move this one away",
                         trib_trace_path_shown(path));
    return trib_trace_segments_rotate(path, keep, error);
}

static int open_existing(struct trib_trace_output *output, const char *path, uint32_t keep, struct trib_error *error) {
    struct trib_trace_output existing = {.is_file = true};

    existing.fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (existing.fd < 0 && errno == ENOENT) /* it was there a moment ago */
        return trib_fail(error, -EBUSY, "%s: another process is replacing this trace", trib_trace_path_shown(path));
    if (existing.fd < 0)
        return trib_fail(error, -errno, "%s: cannot open for writing: %s", trib_trace_path_shown(path),
                         strerror(errno));
    int rc = lock(existing.fd, path, error);
    if (rc == 0)
        rc = take_existing(&existing, path, keep, error);
    if (rc == 1) {
        *output = existing;
        return 0;
    }
    close(existing.fd);
    return rc ? rc : trib_trace_output_create(output, path, error);
}

/* Refuses what is neither a file nor a character device, before anything is opened: a FIFO would hold up whoever opens
 * it, and a stalled reader its close; a trace would overwrite a block device. */
static int check_mode(mode_t mode, const char *path, struct trib_error *error) {
    const char *shown = trib_trace_path_shown(path);

    if (S_ISREG(mode) || S_ISCHR(mode))
        return 0;
    if (S_ISDIR(mode))
        return trib_fail(error, -EISDIR, "%s: is a folder; name a file in it", shown);
    if (S_ISLNK(mode))
        return trib_fail(error, -ELOOP, "%s: is a symbolic link; name the file itself (standard output is \"-\")",
                         shown);
    return trib_fail(error, -EEXIST,
                     "%s: neither a file nor a character device; for a pipe, write the trace to \"-\", standard output",
                     shown);
}

static int open_as_it_is(struct trib_trace_output *output, int fd, const char *path, struct trib_error *error) {
    if (fd < 0)
        return trib_fail(error, -errno, "%s: cannot open for writing: %s", trib_trace_path_shown(path),
                         strerror(errno));
    *output = (struct trib_trace_output){.fd = fd};
    return 0;
}

int trib_trace_output_open(struct trib_trace_output *output, const char *path, uint32_t keep,
                           struct trib_error *error) {
    struct stat status;

    if (strcmp(path, "-") == 0)
        return open_as_it_is(output, fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), path, error);
    if (lstat(path, &status) != 0)
        return errno == ENOENT ? trib_trace_output_create(output, path, error)
                               : trib_fail(error, -errno, "%s: %s", trib_trace_path_shown(path), strerror(errno));
    int rc = check_mode(status.st_mode, path, error);
    if (rc)
        return rc;
    if (S_ISCHR(status.st_mode))
        return open_as_it_is(output, open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY), path, error);
    return open_existing(output, path, keep, error);
}

/* ---- write ---- */

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

int trib_trace_output_write(const struct trib_trace_output *output, const void *bytes, size_t length_bytes) {
    const int signals[] = {SIGPIPE, SIGXFSZ}; /* what a pipe without a reader and RLIMIT_FSIZE send */
    sigset_t ours, pending, before;

    /* Hold them back on this thread and take away only the one we caused. */
    sigemptyset(&ours);
    for (unsigned i = 0; i < 2; i++)
        sigaddset(&ours, signals[i]);
    sigemptyset(&pending);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    int rc = write_all(output->fd, bytes, length_bytes);
    for (unsigned i = 0; i < 2; i++)
        if (sigismember(&pending, signals[i]))
            sigdelset(&ours, signals[i]);
    if (rc == -EPIPE || rc == -EFBIG)
        sigtimedwait(&ours, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int trib_trace_output_cut(const struct trib_trace_output *output, uint64_t length_bytes) {
    if (!output->is_file)
        return -EINVAL;
    if (ftruncate(output->fd, (off_t)length_bytes) != 0 || lseek(output->fd, (off_t)length_bytes, SEEK_SET) < 0)
        return -errno;
    return 0;
}

uint64_t trib_trace_output_free_bytes(const struct trib_trace_output *output) {
    struct statvfs status;
    return output->is_file && fstatvfs(output->fd, &status) == 0 ? (uint64_t)status.f_bavail * status.f_frsize
                                                                 : UINT64_MAX;
}

uint64_t trib_trace_output_free_at(const char *path) {
    char folder[TRIB_TRACE_PATH_BYTES];
    struct stat status;
    struct statvfs space;
    const char *slash = strrchr(path, '/');
    size_t folder_bytes = slash ? (size_t)(slash - path) + 1 : 0;

    if (strcmp(path, "-") == 0 || folder_bytes + 2 > sizeof folder ||
        (lstat(path, &status) == 0 && !S_ISREG(status.st_mode)))
        return UINT64_MAX;
    memcpy(folder, path, folder_bytes);
    memcpy(folder + folder_bytes, ".", 2);
    return statvfs(folder, &space) == 0 ? (uint64_t)space.f_bavail * space.f_frsize : UINT64_MAX;
}

int trib_trace_output_close(struct trib_trace_output *output) {
    int fd = output->fd;
    output->fd = -1;
    if (fd >= 0 && output->is_file)
        flock(fd, LOCK_UN); /* a forked child still has the file open */
    return fd >= 0 && close(fd) != 0 && errno != EINTR ? -errno : 0;
}
