/* SPDX-License-Identifier: Apache-2.0 */
#include "drive/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tributary/event.h>

#include "base/options.h"

#define FILE_PREFIX "file:"

static int open_memory(struct trib_store *store, struct trib_error *error) {
    /* Not reserved: pages cost memory when they are first written. */
    void *memory = mmap(NULL, store->blocks * TRIB_BLOCK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return trib_fail(error, -ENOMEM, "option 'data': no address space for %llu blocks",
                         (unsigned long long)store->blocks);
    store->memory = memory;
    return 0;
}

/* A fresh file gets its size; an old one must have it. */
static int size_file(int fd, off_t bytes) {
    struct stat status;
    if (fstat(fd, &status))
        return -errno;
    if (S_ISREG(status.st_mode) && status.st_size == 0)
        return ftruncate(fd, bytes) ? -errno : 0;
    return S_ISREG(status.st_mode) && status.st_size == bytes ? 0 : -EEXIST;
}

static int open_file(struct trib_store *store, const char *path, struct trib_error *error) {
    uint64_t bytes = store->blocks * TRIB_BLOCK_BYTES;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return trib_fail(error, -errno, "option 'data': %s: %s", path, strerror(errno));
    int code = size_file(fd, (off_t)bytes);
    if (!code) {
        store->fd = fd;
        return 0;
    }
    close(fd);
    if (code == -EEXIST)
        return trib_fail(error, code,
                         "option 'data': %s is no regular file of %llu bytes; not touched", path,
                         (unsigned long long)bytes);
    return trib_fail(error, code, "option 'data': %s: %s", path, strerror(-code));
}

int trib_store_open(struct trib_store *store, const char *where, uint64_t blocks,
                    struct trib_error *error) {
    struct trib_store opened = {.fd = -1, .blocks = blocks};
    int code = 0;
    if (!strcmp(where, "memory"))
        code = open_memory(&opened, error);
    else if (!strncmp(where, FILE_PREFIX, strlen(FILE_PREFIX)) && where[strlen(FILE_PREFIX)])
        code = open_file(&opened, where + strlen(FILE_PREFIX), error);
    else if (strcmp(where, "none"))
        code = trib_fail(error, -EINVAL, "option 'data': '%s' is not one of none|memory|file:PATH",
                         where);
    if (!code)
        *store = opened;
    return code;
}

int trib_store_close(struct trib_store *store) {
    if (store->memory)
        munmap(store->memory, store->blocks * TRIB_BLOCK_BYTES);
    int code = store->fd >= 0 && close(store->fd) ? -errno : 0;
    *store = (struct trib_store){.fd = -1};
    return code;
}

static int write_file(int fd, const uint8_t *data, uint64_t length_bytes, off_t offset) {
    while (length_bytes) {
        ssize_t done = pwrite(fd, data, length_bytes, offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done ? -errno : -EIO;
        data += done;
        offset += done;
        length_bytes -= (uint64_t)done;
    }
    return 0;
}

static int read_file(int fd, uint8_t *data, uint64_t length_bytes, off_t offset) {
    while (length_bytes) {
        ssize_t done = pread(fd, data, length_bytes, offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done ? -errno : -EIO; /* someone cut the file */
        data += done;
        offset += done;
        length_bytes -= (uint64_t)done;
    }
    return 0;
}

int trib_store_write(struct trib_store *store, uint64_t lba, uint64_t blocks, const void *data) {
    uint64_t offset = lba * TRIB_BLOCK_BYTES, length_bytes = blocks * TRIB_BLOCK_BYTES;
    if (store->memory)
        memcpy(store->memory + offset, data, length_bytes);
    return store->fd >= 0 ? write_file(store->fd, data, length_bytes, (off_t)offset) : 0;
}

int trib_store_read(struct trib_store *store, uint64_t lba, uint64_t blocks, void *data) {
    uint64_t offset = lba * TRIB_BLOCK_BYTES, length_bytes = blocks * TRIB_BLOCK_BYTES;
    if (store->fd >= 0)
        return read_file(store->fd, data, length_bytes, (off_t)offset);
    if (store->memory)
        memcpy(data, store->memory + offset, length_bytes);
    else
        memset(data, 0, length_bytes);
    return 0;
}

/* File systems without holes (and old kernels) get zeros instead. */
static int zero_file(int fd, uint64_t lba, uint64_t blocks) {
    static const uint8_t zeros[16 * TRIB_BLOCK_BYTES];
    for (uint64_t done = 0; done < blocks;) {
        uint64_t step = blocks - done < 16 ? blocks - done : 16;
        int code = write_file(fd, zeros, step * TRIB_BLOCK_BYTES,
                              (off_t)((lba + done) * TRIB_BLOCK_BYTES));
        if (code)
            return code;
        done += step;
    }
    return 0;
}

int trib_store_discard(struct trib_store *store, uint64_t lba, uint64_t blocks) {
    uint64_t offset = lba * TRIB_BLOCK_BYTES, length_bytes = blocks * TRIB_BLOCK_BYTES;
    /* Gives the memory back where blocks are whole pages of this machine. */
    if (store->memory && madvise(store->memory + offset, length_bytes, MADV_DONTNEED))
        memset(store->memory + offset, 0, length_bytes);
    if (store->fd < 0)
        return 0;
    if (!fallocate(store->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                   (off_t)length_bytes))
        return 0;
    return errno == EOPNOTSUPP || errno == ENOSYS ? zero_file(store->fd, lba, blocks) : -errno;
}
