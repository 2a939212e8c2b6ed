/* SPDX-License-Identifier: Apache-2.0 */
/* File ranges -> logical blocks: extent allocator and page write-back model. What a file system
 * does between an engine's append and the drive's page write, as far as placement can see it.
 *
 * Write-back: a page whose last byte is written goes to the drive at once; a partial page waits
 * until that happens, or it is synced, is closed, or another partial page of the same file replaces
 * it as the file's dirty tail; if it grows after that it is written again, an overwrite of the same
 * block. A page carries the context of the last writer into it (the inode transport of PCStream,
 * HotStorage'18). Blocks are allocated when they go to the drive. Deleting a range discards whole
 * pages; a death by overwrite or reuse discards nothing, because the file keeps its blocks and the
 * drive learns of it when they are written again. A death that reaches the file's end takes its
 * last, partial page along. Not modelled: delay of full dirty pages, file-system metadata and
 * journal.
 *
 * Thread safety: one caller. File 0 is the drive's own address space: block-aligned, no allocation,
 * no tail; blocks that belong to a file are out of its reach (-EINVAL). Memory: 3 bits per block at
 * most, 16 bytes per extent. */
#ifndef TRIB_VOLUME_VOLUME_H
#define TRIB_VOLUME_VOLUME_H

#include <stdint.h>

#include <tributary/error.h>
#include <tributary/event.h>

TRIB_C_BEGIN

struct trib_volume;

enum trib_volume_allocation {
    /* Goal: behind the file's last block, else behind the last allocation (ext4-like). */
    TRIB_ALLOCATE_NEXT_FIT = 0,
    TRIB_ALLOCATE_FIRST_FIT = 1, /* lowest free block */
};

/* Block I/O that a call causes, in order. write: `cause` is the event whose bytes complete the
 * pages (its context and stream label them). Non-zero return stops the call with that error. */
struct trib_volume_sink {
    void *arg;
    int (*write)(void *arg, const struct trib_event *cause, uint64_t lba, uint32_t blocks);
    int (*discard)(void *arg, uint64_t lba, uint64_t blocks);
    int (*read)(void *arg, uint64_t lba, uint32_t blocks);
};

struct trib_volume_config {
    uint64_t blocks; /* logical blocks of the drive that the volume may use, 1..2^32 - 1 */
    enum trib_volume_allocation allocation;
    uint32_t window_blocks; /* contiguous reservation per growing file, 0 = none (ext4: up to 2048
                             * blocks). Given back at fsync, close and truncation, or when another
                             * file finds no free block */
};

int trib_volume_open(struct trib_volume **out, const struct trib_volume_config *config,
                     const struct trib_volume_sink *sink, struct trib_error *error);
void trib_volume_close(struct trib_volume *volume);

/* Each: 0; -EINVAL (zero length, overflow; on file 0 also unaligned, or a block of another file);
 * -ENOSPC (write and sync: no free block is left, or file 0 ends beyond the drive); -ENOMEM; or the
 * sink's error. After an error the pages that did reach the sink stay mapped and a dirty tail stays
 * dirty; a failed kill changes no mapping. */
int trib_volume_write(struct trib_volume *volume, const struct trib_event *write);
int trib_volume_sync(struct trib_volume *volume, const struct trib_event *sync);
int trib_volume_kill(struct trib_volume *volume, const struct trib_event *death);
int trib_volume_read(struct trib_volume *volume, const struct trib_event *read); /* no holes */

struct trib_volume_stats {
    uint64_t files, extents, blocks_used, blocks_used_peak;
    uint64_t tail_rewrites; /* pages written again because they had gone out partly filled */
};
void trib_volume_statistics(const struct trib_volume *volume, struct trib_volume_stats *out);

/* Maps a file offset (block-aligned) to its block for tests and inspection: lba or
 * TRIB_LBA_UNKNOWN. */
uint64_t trib_volume_lookup(const struct trib_volume *volume, uint64_t file, uint64_t offset_bytes);

TRIB_C_END
#endif
