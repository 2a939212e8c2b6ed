/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/lsm_blob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AGE_CUTOFF 0.25
/* Expectations halve for ever where a real file loses its last blob: what is below this share of a
 * file counts as none. */
#define DEAD_SHARE 0.02

int lsm_files_add(struct lsm_files *files, uint64_t file) {
    if (files->count == files->capacity) {
        uint32_t capacity = files->capacity ? 2 * files->capacity : 64;
        uint64_t *grown = realloc(files->at, capacity * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        files->at = grown;
        files->capacity = capacity;
    }
    files->at[files->count++] = file;
    return 0;
}

void lsm_files_close(struct lsm_files *files) {
    free(files->at);
    *files = (struct lsm_files){0};
}

int lsm_blobs_add(struct lsm_blobs *blobs, uint64_t file, uint64_t bytes) {
    if (blobs->count == blobs->capacity) {
        uint32_t capacity = blobs->capacity ? 2 * blobs->capacity : 64;
        struct lsm_blob *grown = realloc(blobs->at, capacity * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        blobs->at = grown;
        blobs->capacity = capacity;
    }
    blobs->at[blobs->count++] = (struct lsm_blob){file, bytes, (double)bytes};
    return 0;
}

void lsm_blobs_drop(struct lsm_blobs *blobs, double bytes) {
    double live = 0;

    for (uint32_t i = 0; i < blobs->count; i++)
        live += blobs->at[i].live_bytes;
    double kept = live > bytes ? 1 - bytes / live : 0;
    for (uint32_t i = 0; i < blobs->count; i++)
        blobs->at[i].live_bytes *= kept;
}

double lsm_blobs_relocate(struct lsm_blobs *blobs, double share) {
    uint32_t oldest = (uint32_t)(AGE_CUTOFF * blobs->count);
    double moved = 0;

    for (uint32_t i = 0; i < oldest; i++) {
        double bytes = blobs->at[i].live_bytes * share;
        blobs->at[i].live_bytes -= bytes;
        moved += bytes;
    }
    return moved;
}

uint64_t lsm_blobs_take_dead(struct lsm_blobs *blobs) {
    for (uint32_t i = 0; i < blobs->count; i++) {
        struct lsm_blob blob = blobs->at[i];
        if (blob.live_bytes > DEAD_SHARE * (double)blob.bytes)
            continue;
        memmove(&blobs->at[i], &blobs->at[i + 1], (--blobs->count - i) * sizeof blob);
        return blob.file;
    }
    return 0;
}

void lsm_blobs_close(struct lsm_blobs *blobs) {
    free(blobs->at);
    *blobs = (struct lsm_blobs){0};
}
