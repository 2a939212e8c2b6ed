/* SPDX-License-Identifier: Apache-2.0 */
/* Blob files of the LSM workload: values kept apart from keys. Garbage falls on the files in
 * proportion to what lives in them; a compaction moves the blobs it meets out of the oldest quarter
 * (RocksDB: blob_garbage_collection_age_cutoff = 0.25). Thread safety: one owner. */
#ifndef TRIB_WORKLOAD_LSM_BLOB_H
#define TRIB_WORKLOAD_LSM_BLOB_H

#include <stdint.h>

struct lsm_blob {
    uint64_t file, bytes;
    double live_bytes;
};

struct lsm_blobs { /* oldest first */
    struct lsm_blob *at;
    uint32_t count, capacity;
};

struct lsm_files { /* numbers */
    uint64_t *at;
    uint32_t count, capacity;
};

/* 0, -ENOMEM. */
int lsm_files_add(struct lsm_files *files, uint64_t file);
void lsm_files_close(struct lsm_files *files);

/* 0, -ENOMEM. */
int lsm_blobs_add(struct lsm_blobs *blobs, uint64_t file, uint64_t bytes);
/* `bytes` of values were overwritten. */
void lsm_blobs_drop(struct lsm_blobs *blobs, double bytes);
/* A compaction met that share of all keys; returns the bytes that it has to write again. */
double lsm_blobs_relocate(struct lsm_blobs *blobs, double share);
/* Takes out the oldest file that holds (nearly) nothing; its number, or 0. */
uint64_t lsm_blobs_take_dead(struct lsm_blobs *blobs);
void lsm_blobs_close(struct lsm_blobs *blobs);

#endif
