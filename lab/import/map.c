/* SPDX-License-Identifier: Apache-2.0 */
#include "import/map.h"

#include <errno.h>
#include <stdlib.h>

#define VOLUME_SHIFT 48 /* key: volume, then chunk; with chunks of 4 KiB an address has 60 bits */

struct trib_import_map {
    uint64_t chunk_bytes;
    uint64_t *keys; /* sorted and distinct once finished */
    size_t count, capacity;
};

int trib_import_map_open(struct trib_import_map **out, uint64_t chunk_bytes) {
    struct trib_import_map *map = calloc(1, sizeof *map);

    if (!map)
        return -ENOMEM;
    map->chunk_bytes = chunk_bytes;
    *out = map;
    return 0;
}

void trib_import_map_close(struct trib_import_map *map) {
    if (map)
        free(map->keys);
    free(map);
}

uint64_t trib_import_map_bytes(const struct trib_import_map *map) {
    return map->count * map->chunk_bytes;
}

static int by_value(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

void trib_import_map_finish(struct trib_import_map *map) {
    size_t kept = 0;

    if (!map->count)
        return;
    qsort(map->keys, map->count, sizeof *map->keys, by_value);
    for (size_t i = 0; i < map->count; i++)
        if (!kept || map->keys[kept - 1] != map->keys[i])
            map->keys[kept++] = map->keys[i];
    map->count = kept;
}

/* Room for one more: duplicates go first, and only if that gives too little it grows. */
static int make_room(struct trib_import_map *map) {
    if (map->count < map->capacity)
        return 0;
    trib_import_map_finish(map);
    if (map->capacity && map->count < map->capacity / 2)
        return 0;
    size_t capacity = map->capacity ? 2 * map->capacity : 1024;
    uint64_t *grown = realloc(map->keys, capacity * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    map->keys = grown;
    map->capacity = capacity;
    return 0;
}

static uint64_t key_of(const struct trib_import_map *map, uint32_t volume, uint64_t offset_bytes) {
    return (uint64_t)volume << VOLUME_SHIFT | offset_bytes / map->chunk_bytes;
}

int trib_import_map_add(struct trib_import_map *map, uint32_t volume, uint64_t offset_bytes, uint64_t length_bytes) {
    uint64_t last = key_of(map, volume, offset_bytes + length_bytes - 1);

    for (uint64_t key = key_of(map, volume, offset_bytes); key <= last; key++) {
        if (map->count && map->keys[map->count - 1] == key)
            continue;
        int rc = make_room(map);
        if (rc)
            return rc;
        map->keys[map->count++] = key;
    }
    return 0;
}

/* Index of the first key that is not below `key`. */
static size_t lower_bound(const struct trib_import_map *map, uint64_t key) {
    size_t low = 0, high = map->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool trib_import_map_range(const struct trib_import_map *map, uint32_t volume, uint64_t *offset_bytes,
                           uint64_t *length_bytes) {
    uint64_t chunk = map->chunk_bytes, last_byte = *offset_bytes + *length_bytes - 1;
    uint64_t first_key = key_of(map, volume, *offset_bytes), last_key = key_of(map, volume, last_byte);
    size_t first = lower_bound(map, first_key), end = lower_bound(map, last_key + 1);

    if (first == end)
        return false;
    uint64_t begin = first * chunk + (map->keys[first] == first_key ? *offset_bytes % chunk : 0);
    uint64_t stop = (end - 1) * chunk + (map->keys[end - 1] == last_key ? last_byte % chunk + 1 : chunk);
    *offset_bytes = begin;
    *length_bytes = stop - begin;
    return true;
}
