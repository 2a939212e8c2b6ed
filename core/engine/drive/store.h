/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of an emulated drive, by logical block: none, in memory, or in a file. Blocks never
 * written or discarded read as zeros. The file is sparse and outlives the drive; an existing one is
 * taken over only if its size fits, and is never truncated. Thread safety: one caller. */
#ifndef TRIB_DRIVE_STORE_H
#define TRIB_DRIVE_STORE_H

#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

struct trib_store {
    uint8_t *memory; /* or NULL */
    int fd;          /* or -1 */
    uint64_t blocks;
};

/* where: "none", "memory" or "file:PATH". 0; -EINVAL (another word); -EEXIST (a file of another
 * size, or no regular file); -ENOMEM; -errno. */
int trib_store_open(struct trib_store *store, const char *where, uint64_t blocks,
                    struct trib_error *error);
int trib_store_close(struct trib_store *store); /* 0 or -errno of the file */

/* Ranges were checked by the caller. 0 or -errno; without a store, writing and discarding do
 * nothing and reading gives zeros. */
int trib_store_write(struct trib_store *store, uint64_t lba, uint64_t blocks, const void *data);
int trib_store_read(struct trib_store *store, uint64_t lba, uint64_t blocks, void *data);
int trib_store_discard(struct trib_store *store, uint64_t lba, uint64_t blocks);

TRIB_C_END
#endif
