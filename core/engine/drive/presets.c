/* SPDX-License-Identifier: Apache-2.0 */
/* Figures are the papers' unless marked "assumed"; docs/drives.md repeats the marks. */
#include "drive/presets.h"

#define KIB  (1ull << 10)
#define MIB  (1ull << 20)
#define GIB  (1ull << 30)
#define PAGE 4096ull

/* vStream-FTL (TCE'21) section V.A: read 80 us, one-shot program 2 ms, erase 4 ms; four channels of
 * four chips with two dies; a program takes 2 planes x 3 pages x 16 KB. The only complete set of
 * timings among the papers, so the other presets borrow it. Channel rate and queue depth are
 * assumed. */
#define VSTREAM_TIMING .read_us = 80, .program_us = 2000, .erase_us = 4000, .channel_mb_per_s = 400, .queue_depth = 32

const struct trib_preset trib_presets[TRIB_PRESET_COUNT] = {
    {
        .name = "default",
        .summary = "4 GiB, 1,096 reclaim units: shaped for a laptop run",
        .capacity_bytes = 4 * GIB,
        .over_provisioning_percent = 7,
        .superblock_bytes = 4 * MIB,
        .streams = 16,
        /* Blocks of 256 KiB: no whole number of vStream's programs of 24 pages. */
        .latency = {.channels = 4, .dies_per_channel = 4, .pages_per_program = 16, VSTREAM_TIMING},
    },
    {
        .name = "small",
        .summary = "64 MiB, 164 reclaim units: for tests",
        .capacity_bytes = 64 * MIB,
        .over_provisioning_percent = 28,
        .superblock_bytes = 512 * KIB,
        .streams = 8,
        .latency = {.channels = 2, .dies_per_channel = 2, .pages_per_program = 4, VSTREAM_TIMING},
    },
    {
        /* Emulator of PCStream, HotStorage'18: 4 channels x 4 ways, 8192 blocks of 384 pages of 4
         * KiB, streams S0..S7. 12 GiB is the flash; a superblock is one block of each of the 16
         * ways: 512 superblocks of 24 MiB. Its over-provisioning is not published: 7 % assumed,
         * hence the exported size. */
        .name = "hotstorage18",
        .summary = "PCStream's emulator (HotStorage'18): 12 GiB of flash",
        .capacity_bytes = 2939932 * PAGE,
        .over_provisioning_percent = 7,
        .superblock_bytes = 16ull * 384 * PAGE,
        .streams = 7,
        .latency = {.channels = 4, .dies_per_channel = 4, .pages_per_program = 24, VSTREAM_TIMING},
    },
    {
        /* Drive of PCStream, FAST'19 section 6.1: Samsung PM963 480 GB, 8 streams and the default
         * one. Inner geometry is not published: 512 GiB of flash (14.5 % over 937,703,088 sectors)
         * in superblocks of 512 MiB over 64 dies assumed, programmed 16 pages at a time, which
         * divide a block of 8 MiB (24 do not). */
        .name = "pm963",
        .summary = "PCStream's drive (FAST'19): 480 GB, 8 streams; needs 1 GB of memory",
        .capacity_bytes = 937703088ull / 8 * PAGE,
        .over_provisioning_percent = 14.5,
        .superblock_bytes = 512 * MIB,
        .streams = 8,
        .latency = {.channels = 8, .dies_per_channel = 8, .pages_per_program = 16, VSTREAM_TIMING},
    },
    {
        /* vStream-FTL, TCE'21 section V.A: 4 channels x 4 chips x 2 dies x 2 planes x 360 blocks x
         * 256 wordlines x 3 pages x 16 KB = 360 superblocks of 768 MiB = 270 GiB of flash; 7 % of
         * over-provisioning leave 252.3 GiB, not the 256 GB of the text. Three streams. A
         * superpage, 4*4*2*2*3*4 = 768 logical pages, is one program on every die. */
        .name = "vstream",
        .summary = "vStream-FTL's simulator (TCE'21): 270 GiB of flash, 3 streams",
        .capacity_bytes = 66148784 * PAGE,
        .over_provisioning_percent = 7,
        .superblock_bytes = 768 * MIB,
        .streams = 3,
        .latency = {.channels = 4, .dies_per_channel = 8, .pages_per_program = 24, VSTREAM_TIMING},
    },
    {
        /* DStream section 4.1: 16 GB, 28 % over-provisioning, 2 channels x 1 way x 2 planes, 8 KB
         * pages, TLC programmed at once, up to 16 streams. 256 wordlines per block assumed: 4
         * blocks of 6 MiB per superblock. Of 4 MB of memory its 16 streams take 192 KB each for
         * buffers; the mapping cache has the rest. */
        .name = "dstream",
        .summary = "DStream's simulator: 16 GiB, 28 % over-provisioned, 16 streams",
        .capacity_bytes = 16 * GIB,
        .over_provisioning_percent = 28,
        .superblock_bytes = 24 * MIB,
        .streams = 16,
        .map_cache_bytes = 4 * MIB - 16 * 192 * KIB,
        .latency = {.channels = 2, .dies_per_channel = 1, .pages_per_program = 12, VSTREAM_TIMING},
    },
};
