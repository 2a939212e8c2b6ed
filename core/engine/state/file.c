/* SPDX-License-Identifier: Apache-2.0 */
/* State files: created whole or not at all, verified by reading before anything is mapped, shared
 * by a lock on the open file. Each user keeps a shared lock while it has the file mapped; whoever
 * gets an exclusive one is alone and may repair. Locks of open file descriptions (OFD) rather than
 * flock: turning exclusive into shared is atomic. */
#include "state/region.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"

#define WAIT_STEP_NS 10000000L /* 10 ms */
#define WAIT_STEPS   500       /* 5 s: far more than verifying the largest table takes */

/* ---- sharing ---- */

static int set_lock(int fd, short type) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : -errno;
}

/* Exclusive if we are alone, else shared. While another user verifies the file, wait. */
static int lock_file(int fd, bool *alone) {
    struct timespec step = {.tv_nsec = WAIT_STEP_NS};
    int rc = -EAGAIN;

    for (int i = 0; i < WAIT_STEPS; i++) {
        rc = set_lock(fd, F_WRLCK);
        if (rc == 0) {
            *alone = true;
            return 0;
        }
        if (rc == -EAGAIN || rc == -EACCES)
            rc = set_lock(fd, F_RDLCK);
        if (rc == 0) {
            *alone = false;
            return 0;
        }
        if (rc != -EAGAIN && rc != -EACCES)
            return rc;
        nanosleep(&step, NULL);
    }
    return -EBUSY;
}

/* ---- creating ---- */

static int write_at_start(int fd, const void *bytes, size_t length_bytes) {
    ssize_t put = pwrite(fd, bytes, length_bytes, 0);
    if (put < 0)
        return -errno;
    return (size_t)put == length_bytes ? 0 : -EIO;
}

/* A file without a name where the file system can, else one with a temporary name (returned in
 * `temporary`). */
static int open_nameless(const char *path, char *temporary, size_t capacity) {
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) + 1 : 0;

    temporary[0] = '\0';
    char folder[4096];
    if ((size_t)snprintf(folder, sizeof folder, "%.*s.", length, path) >= sizeof folder)
        return -ENAMETOOLONG;
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
        return -errno;
    if ((size_t)snprintf(temporary, capacity, "%s.new-XXXXXX", path) >= capacity)
        return -ENAMETOOLONG;
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        temporary[0] = '\0';
    return fd < 0 ? -errno : fd;
}

static int fill_new(int fd, const struct trib_state_config *config) {
    struct trib_state_geometry geometry;

    trib_state_geometry_fill(&geometry, config->attributes, config->runs);
    int rc = -posix_fallocate(fd, 0, (off_t)geometry.total_bytes);
    return rc ? rc : write_at_start(fd, &geometry, sizeof geometry);
}

static int give_name(int fd, const char *temporary, const char *path) {
    char source[64];

    snprintf(source, sizeof source, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, temporary[0] ? temporary : source, AT_FDCWD, path, AT_SYMLINK_FOLLOW) != 0)
        return -errno;
    return 0;
}

/* 0, also when another process was faster; -errno. */
static int create(const struct trib_state_config *config, struct trib_error *error) {
    char temporary[4096];
    int fd = open_nameless(config->path, temporary, sizeof temporary);
    if (fd < 0)
        return trib_fail(error, fd, "state file %s: cannot create: %s", config->path,
                         strerror(-fd));

    int rc = fill_new(fd, config);
    if (rc == 0)
        rc = give_name(fd, temporary, config->path);
    if (temporary[0])
        unlink(temporary);
    close(fd);
    if (rc == 0 || rc == -EEXIST)
        return 0;
    return trib_fail(error, rc, "state file %s: cannot create: %s", config->path, strerror(-rc));
}

/* ---- opening ---- */

/* The geometry as stored, checked against the size of the file. Reads only. */
static int read_geometry(int fd, struct trib_state_geometry *geometry, struct trib_error *error) {
    struct stat status;

    if (fstat(fd, &status) != 0)
        return trib_fail(error, -errno, "%s", strerror(errno));
    if (!S_ISREG(status.st_mode))
        return trib_fail(error, -EINVAL, "not a regular file");
    memset(geometry, 0, sizeof *geometry);
    ssize_t got = pread(fd, geometry, sizeof *geometry, 0);
    if (got < 0)
        return trib_fail(error, -errno, "offset 0: %s", strerror(errno));
    size_t magic = (size_t)got < sizeof geometry->magic ? (size_t)got : sizeof geometry->magic;
    if (memcmp(geometry->magic, TRIB_STATE_MAGIC, magic) != 0)
        return trib_fail(error, -EPROTO, "offset 0: not a Tributary state file");
    if ((size_t)got < sizeof *geometry)
        return trib_fail(error, -EBADMSG, "offset %zd: the file ends inside its header", got);
    return trib_state_geometry_check(geometry, (uint64_t)status.st_size, error);
}

/* A file with holes (a sparse copy) gets its blocks now: later, a full disk would be a SIGBUS. */
static int allocate_holes(int fd, uint64_t bytes) {
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) == 0)
        return 0;
    return errno == ENOSPC || errno == EDQUOT ? -errno : 0;
}

static int map_verified(struct trib_state *state, int fd, bool alone,
                        const struct trib_state_geometry *geometry) {
    int rc = alone ? allocate_holes(fd, geometry->total_bytes) : 0;
    if (rc)
        return rc;
    void *region = mmap(NULL, geometry->total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (region == MAP_FAILED)
        return -errno;
    trib_state_bind(state, region, geometry);
    if (alone) {
        trib_state_prepare(state);
        rc = set_lock(fd, F_RDLCK);
    }
    if (rc)
        munmap(region, geometry->total_bytes);
    else
        state->fd = fd;
    return rc;
}

static int adopt(struct trib_state *state, int fd, struct trib_error *error) {
    struct trib_state_geometry geometry;
    bool alone = false;
    int rc = read_geometry(fd, &geometry, error);

    if (rc)
        return rc;
    rc = lock_file(fd, &alone);
    if (rc)
        return trib_fail(error, rc, "cannot lock: %s", strerror(-rc));
    if (alone) /* rows of a file in use change under our eyes; its first user verified them */
        rc = trib_state_verify(fd, &geometry, error);
    if (rc)
        return rc;
    rc = map_verified(state, fd, alone, &geometry);
    return rc ? trib_fail(error, rc, "cannot map: %s", strerror(-rc)) : 0;
}

int trib_state_file_open(struct trib_state *state, const struct trib_state_config *config,
                         struct trib_error *error) {
    const int flags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK; /* a FIFO must not hang us */
    struct trib_error reason = {""};
    int fd = open(config->path, flags);

    if (fd < 0 && errno == ENOENT) {
        int rc = create(config, error);
        if (rc)
            return rc;
        fd = open(config->path, flags);
    }
    if (fd < 0) {
        int rc = -errno;
        return trib_fail(error, rc, "state file %s: %s", config->path, strerror(-rc));
    }
    int rc = adopt(state, fd, &reason);
    if (rc) {
        close(fd);
        return trib_fail(error, rc, "state file %s: %s", config->path, reason.text);
    }
    return 0;
}
