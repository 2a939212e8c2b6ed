/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include <tributary/event.h>

#include "workload/lsm.h"

int lsm_tables_add(struct lsm_tables *tables, const struct lsm_table *table) {
    if (tables->count == tables->capacity) {
        uint32_t capacity = tables->capacity ? 2 * tables->capacity : 8;
        struct lsm_table *grown = realloc(tables->at, capacity * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        tables->at = grown;
        tables->capacity = capacity;
    }
    tables->at[tables->count] = *table;
    tables->at[tables->count++].job = LSM_IDLE;
    return 0;
}

void lsm_tables_close(struct lsm_tables *tables) {
    free(tables->at);
    *tables = (struct lsm_tables){0};
}

static int by_key(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Keys at which an input begins or ends, in order. 0, -ENOMEM. */
static int boundaries(const struct lsm_tables *inputs, uint64_t **out, uint32_t *count) {
    uint64_t *keys = malloc((2 * inputs->count + 1) * sizeof *keys);
    uint32_t kept = 0;
    if (!keys)
        return -ENOMEM;
    for (uint32_t i = 0; i < inputs->count; i++) {
        keys[2 * i] = inputs->at[i].first;
        keys[2 * i + 1] = inputs->at[i].end;
    }
    qsort(keys, 2 * inputs->count, sizeof *keys, by_key);
    for (uint32_t i = 0; i < 2 * inputs->count; i++)
        if (!kept || keys[kept - 1] != keys[i])
            keys[kept++] = keys[i];
    *out = keys;
    *count = kept;
    return 0;
}

/* Bytes left of [first, end): of n distinct keys an input with b of them misses a given one with
 * probability 1 - b / n, independently of the others. */
static double merged_bytes(const struct lsm_tables *inputs, uint64_t first, uint64_t end, uint64_t keys_bytes) {
    double distinct = (double)keys_bytes * ((double)(end - first) / (double)LSM_KEYS), missed = 1;

    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct lsm_table *table = &inputs->at[i];
        if (table->first > first || table->end < end)
            continue;
        double bytes = (double)table->bytes * ((double)(end - first) / (double)(table->end - table->first));
        missed *= bytes < distinct ? 1 - bytes / distinct : 0;
    }
    return distinct * (1 - missed);
}

/* The table that is being filled. */
struct cutter {
    const struct lsm_shape *shape;
    struct lsm_tables *out;
    uint64_t first;
    double bytes;
};

static int cut(struct cutter *cutter, uint64_t end) {
    uint64_t blocks = (uint64_t)(cutter->bytes / TRIB_BLOCK_BYTES + 0.5);
    struct lsm_table table = {.bytes = (blocks + !blocks) * TRIB_BLOCK_BYTES, .first = cutter->first, .end = end};
    cutter->first = end;
    cutter->bytes = 0;
    return lsm_tables_add(cutter->out, &table);
}

static int add_segment(struct cutter *cutter, uint64_t first, uint64_t end, double bytes) {
    double target = (double)cutter->shape->target_bytes;

    while (cutter->bytes + bytes >= target) {
        double share = (target - cutter->bytes) / bytes;
        uint64_t key = first + (uint64_t)(share * (double)(end - first));
        if (key <= cutter->first || key >= end)
            break;
        bytes -= target - cutter->bytes;
        cutter->bytes = target;
        int rc = cut(cutter, key);
        if (rc)
            return rc;
        first = key;
    }
    cutter->bytes += bytes;
    return 0;
}

int lsm_merge(const struct lsm_tables *inputs, const struct lsm_shape *shape, struct lsm_tables *out) {
    uint64_t *keys;
    uint32_t count;
    int rc = boundaries(inputs, &keys, &count);
    if (rc)
        return rc;
    struct cutter cutter = {.shape = shape, .out = out, .first = count ? keys[0] : 0};
    for (uint32_t i = 0; i + 1 < count && !rc; i++)
        rc = add_segment(&cutter, keys[i], keys[i + 1], merged_bytes(inputs, keys[i], keys[i + 1], shape->keys_bytes));
    if (!rc && count && cutter.first < keys[count - 1])
        rc = cut(&cutter, keys[count - 1]);
    free(keys);
    return rc;
}
