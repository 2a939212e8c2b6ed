/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/recorder_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "producer/process.h"
#include "recorder/recorder.h"

/* A session whose recorder went without a word, of this PID namespace? */
static bool is_stale(const char *path) {
    struct trib_session_header header;
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);

    if (fd < 0)
        return false;
    const size_t head_bytes = offsetof(struct trib_session_header, heartbeat_ns);
    bool is_session = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                      pread(fd, &header, head_bytes, 0) == (ssize_t)head_bytes &&
                      trib_session_geometry_check(&header.geometry, (uint64_t)status.st_size, NULL) == 0;
    close(fd);
    return is_session && header.recorder_namespace == trib_process_namespace() &&
           trib_process_is_gone((pid_t)header.recorder_pid, 0, true);
}

static int create_file(const char *path, bool all_users) {
    const int flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC;
    int fd = open(path, flags, 0600);

    if (fd < 0 && errno == EEXIST && is_stale(path) && unlink(path) == 0)
        fd = open(path, flags, 0600);
    if (fd < 0)
        return -errno;
    if (all_users && fchmod(fd, 0666) != 0) {
        int rc = -errno;
        close(fd);
        unlink(path);
        return rc;
    }
    return fd;
}

/* The geometry comes last: a file without one is no session. */
static int fill(struct trib_session_file *file) {
    const struct trib_session_geometry *geometry = &file->geometry;

    if (ftruncate(file->fd, (off_t)geometry->total_bytes) != 0)
        return -errno;
    if (fallocate(file->fd, 0, 0, (off_t)geometry->rings_at) != 0 && errno != EOPNOTSUPP)
        return -errno;
    void *memory = mmap(NULL, geometry->total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file->fd, 0);
    if (memory == MAP_FAILED)
        return -errno;
    file->header = memory;
    file->header->recorder_pid = (uint32_t)getpid();
    file->header->recorder_namespace = file->pid_namespace = trib_process_namespace();
    atomic_store(&file->header->heartbeat_ns, trib_session_now_ns());
    file->header->geometry = *geometry;
    return 0;
}

int trib_session_file_create(struct trib_session_file *file, const struct trib_session_config *config,
                             struct trib_error *error) {
    uint32_t events = 1024;

    while (events < config->ring_events)
        events *= 2;
    if ((size_t)snprintf(file->path, sizeof file->path, "%s", config->path) >= sizeof file->path)
        return trib_fail(error, -ENAMETOOLONG, "session %s: the path is too long", config->path);
    trib_session_geometry_fill(&file->geometry, events);
    file->fd = create_file(config->path, config->all_users);
    int rc = file->fd < 0 ? file->fd : fill(file);
    if (rc == -EEXIST)
        return trib_fail(error, rc, "session %s: exists, and is in use or no session", config->path);
    if (rc && file->fd >= 0) {
        close(file->fd);
        unlink(config->path);
    }
    return rc ? trib_fail(error, rc, "session %s: cannot create: %s", config->path, strerror(-rc)) : 0;
}

void trib_session_file_clear(struct trib_session_file *file, uint32_t slot) {
    uint64_t at = file->geometry.rings_at + slot * file->geometry.slot_bytes;

    const int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (fallocate(file->fd, punch, (off_t)at, (off_t)file->geometry.slot_bytes) != 0)
        memset((char *)file->header + at, 0, file->geometry.slot_bytes);
    atomic_store(&file->header->slots[slot].text_tail, 0);
    atomic_store(&file->header->slots[slot].text_head, 0);
}

void trib_session_file_close(struct trib_session_file *file) {
    munmap(file->header, file->geometry.total_bytes);
    close(file->fd);
}
