/* SPDX-License-Identifier: Apache-2.0 */
#include "volume/extent_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log/assert.h"

static uint64_t end_of(const struct trib_extent *extent) {
    return extent->page + extent->count;
}

static bool continues(const struct trib_extent *first, const struct trib_extent *second) {
    return end_of(first) == second->page && (uint64_t)first->lba + first->count == second->lba;
}

void trib_extent_map_close(struct trib_extent_map *map) {
    free(map->extents);
    *map = (struct trib_extent_map){0};
}

uint32_t trib_extent_map_find(const struct trib_extent_map *map, uint64_t page) {
    uint32_t low = 0, high = map->count;
    if (high && end_of(&map->extents[high - 1]) <= page)
        return high; /* an append */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (end_of(&map->extents[middle]) <= page)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct trib_extent trib_extent_map_at(const struct trib_extent_map *map, uint64_t page, uint64_t end) {
    assert(page < end);
    uint32_t index = trib_extent_map_find(map, page);
    const struct trib_extent *extent = index < map->count ? &map->extents[index] : NULL;
    struct trib_extent run = {.page = page, .lba = UINT32_MAX};
    uint64_t stop = end;
    if (extent && extent->page <= page) {
        run.lba = extent->lba + (uint32_t)(page - extent->page);
        stop = end_of(extent) < end ? end_of(extent) : end;
    } else if (extent && extent->page < end) {
        stop = extent->page;
    }
    run.count = stop - page < UINT32_MAX ? (uint32_t)(stop - page) : UINT32_MAX;
    return run;
}

int trib_extent_map_reserve(struct trib_extent_map *map, uint32_t more) {
    if (map->capacity - map->count >= more)
        return 0;
    uint64_t capacity = map->capacity ? 2ull * map->capacity : 4;
    if (capacity < (uint64_t)map->count + more)
        capacity = (uint64_t)map->count + more;
    if (capacity > UINT32_MAX)
        return -ENOMEM;
    struct trib_extent *extents = realloc(map->extents, capacity * sizeof *extents);
    if (!extents)
        return -ENOMEM;
    map->extents = extents;
    map->capacity = (uint32_t)capacity;
    return 0;
}

static void open_gap(struct trib_extent_map *map, uint32_t index) {
    assert(map->count < map->capacity);
    memmove(&map->extents[index + 1], &map->extents[index], (map->count - index) * sizeof *map->extents);
    map->count++;
}

static void close_gap(struct trib_extent_map *map, uint32_t index, uint32_t count) {
    if (!count)
        return; /* perhaps there is no array yet */
    memmove(&map->extents[index], &map->extents[index + count], (map->count - index - count) * sizeof *map->extents);
    map->count -= count;
}

void trib_extent_map_insert(struct trib_extent_map *map, struct trib_extent extent) {
    uint32_t index = trib_extent_map_find(map, extent.page);
    struct trib_extent *next = index < map->count ? &map->extents[index] : NULL;
    struct trib_extent *previous = index ? &map->extents[index - 1] : NULL;
    assert(!next || end_of(&extent) <= next->page);

    bool joins_previous = previous && continues(previous, &extent);
    bool joins_next = next && continues(&extent, next);
    if (joins_previous && joins_next) {
        previous->count += extent.count + next->count;
        close_gap(map, index, 1);
    } else if (joins_previous) {
        previous->count += extent.count;
    } else if (joins_next) {
        extent.count += next->count;
        *next = extent;
    } else {
        open_gap(map, index);
        map->extents[index] = extent;
    }
}

void trib_extent_map_remove(struct trib_extent_map *map, uint64_t page, uint64_t end) {
    uint32_t index = trib_extent_map_find(map, page);
    if (index < map->count && map->extents[index].page < page) {
        struct trib_extent whole = map->extents[index];
        uint32_t kept = (uint32_t)(page - whole.page);
        map->extents[index].count = kept;
        index++;
        if (end_of(&whole) > end) { /* a hole inside one extent */
            uint32_t skipped = (uint32_t)(end - whole.page);
            open_gap(map, index);
            map->extents[index] = (struct trib_extent){end, whole.lba + skipped, whole.count - skipped};
            return;
        }
    }
    uint32_t last = index;
    while (last < map->count && end_of(&map->extents[last]) <= end)
        last++;
    if (last < map->count && map->extents[last].page < end) {
        struct trib_extent *tail = &map->extents[last];
        uint32_t skipped = (uint32_t)(end - tail->page);
        *tail = (struct trib_extent){end, tail->lba + skipped, tail->count - skipped};
    }
    close_gap(map, index, last - index);
}
