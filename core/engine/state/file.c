/* SPDX-License-Identifier: Apache-2.0 */
/* State files: created whole or not at all, verified by reading before anything is mapped, used by one process at a
 * time: it holds an exclusive lock while it has the file open. */
#include "state/region.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"

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
        return trib_fail(error, fd, "state file %s: cannot create: %s", config->path, strerror(-fd));

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
    /* Whoever may write it may cut it off under our feet. */
    if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)))
        return trib_fail(error, -EPERM,
                         "others may write it; it must belong to this user: chown it, and chmod it to 600");
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

static int map_verified(struct trib_state *state, int fd, const struct trib_state_geometry *geometry) {
    int rc = allocate_holes(fd, geometry->total_bytes);
    if (rc)
        return rc;
    void *region = mmap(NULL, geometry->total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (region == MAP_FAILED)
        return -errno;
    trib_state_bind(state, region, geometry);
    trib_state_prepare(state);
    state->fd = fd;
    return 0;
}

static int adopt(struct trib_state *state, int fd, struct trib_error *error) {
    struct trib_state_geometry geometry;

    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return trib_fail(error, errno == EWOULDBLOCK ? -EBUSY : -errno, "%s",
                         errno == EWOULDBLOCK ? "another process uses it; end that one, or name another file"
                                              : strerror(errno));
    int rc = read_geometry(fd, &geometry, error);
    if (rc == 0)
        rc = trib_state_verify(fd, &geometry, error);
    if (rc)
        return rc;
    rc = map_verified(state, fd, &geometry);
    return rc ? trib_fail(error, rc, "cannot map: %s", strerror(-rc)) : 0;
}

int trib_state_file_open(struct trib_state *state, const struct trib_state_config *config, struct trib_error *error) {
    const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK; /* a FIFO must not hang us */
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
        return trib_fail(error, rc, "state file %s: %s", config->path,
                         rc == -ELOOP ? "is a symbolic link; name the file itself" : strerror(-rc));
    }
    int rc = adopt(state, fd, &reason);
    if (rc) {
        close(fd);
        return trib_fail(error, rc, "state file %s: %s", config->path, reason.text);
    }
    return 0;
}
