/* SPDX-License-Identifier: Apache-2.0 */
/* Where the pages of one file lie: a sorted array of extents, 16 bytes each. Appending is O(1), a
 * look-up O(log n); files of an LSM engine have a handful of extents, in-place files thousands,
 * which a memmove still serves. Thread safety: one owner. Invariant: extents ascend, never overlap,
 * and neighbours that continue each other both in the file and on the drive are one extent. */
#ifndef TRIB_VOLUME_EXTENT_MAP_H
#define TRIB_VOLUME_EXTENT_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

struct trib_extent {
    uint64_t page; /* first page of the file */
    uint32_t lba;  /* its block */
    uint32_t count;
};

struct trib_extent_map {
    struct trib_extent *extents;
    uint32_t count, capacity;
};

void trib_extent_map_close(struct trib_extent_map *map);

/* Index of the first extent that ends behind `page`: it holds the page, or lies behind it; `count`
 * if none does. */
uint32_t trib_extent_map_find(const struct trib_extent_map *map, uint64_t page);

/* A mapped run of [page, end) that begins at `page` (count pages), or, when `page` is a hole, lba
 * UINT32_MAX and the length of the hole. */
struct trib_extent trib_extent_map_at(const struct trib_extent_map *map, uint64_t page, uint64_t end);

/* Room for `more` extents, so that the following changes cannot fail. 0 or -ENOMEM. */
int trib_extent_map_reserve(struct trib_extent_map *map, uint32_t more);
/* The pages must be unmapped, room reserved for one. */
void trib_extent_map_insert(struct trib_extent_map *map, struct trib_extent extent);
/* Unmaps [page, end); room reserved for one (a hole in the middle splits an extent). */
void trib_extent_map_remove(struct trib_extent_map *map, uint64_t page, uint64_t end);

TRIB_C_END
#endif
