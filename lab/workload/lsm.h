/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the LSM workload: tables, sorted runs and the tree that compaction works on. Keys are
 * positions in [0, LSM_KEYS); updates fall on them evenly and independently, so a table is a key
 * range with a density, and what a merge keeps is an expectation. Thread safety: one owner. */
#ifndef TRIB_WORKLOAD_LSM_H
#define TRIB_WORKLOAD_LSM_H

#include <stdbool.h>
#include <stdint.h>

#define LSM_KEYS   (1ull << 32)
#define LSM_LEVELS 7
#define LSM_RUNS   64
#define LSM_IDLE   0 /* of table.job */

struct lsm_table {
    uint64_t file, bytes; /* file: 0 = not written yet */
    uint64_t first, end;  /* keys [first, end) */
    uint32_t job;         /* the compaction that reads it, or LSM_IDLE */
};

struct lsm_tables {
    struct lsm_table *at;
    uint32_t count, capacity;
};

/* Tables in key order, none overlapping another. A level above 0 is one run; level 0, and all of a
 * universal tree, is a run per flush or compaction. */
struct lsm_run {
    struct lsm_tables tables;
    uint8_t level;
};

struct lsm_shape {
    uint64_t keys_bytes;   /* all keys once: what a fully merged tree holds */
    uint64_t target_bytes; /* of a table */
    uint64_t base_bytes;   /* of the first level below 0 */
    double multiplier;
    uint32_t trigger; /* runs in level 0, or in a universal tree, that start a compaction */
    double size_ratio_percent, size_amplification_percent; /* universal */
    bool universal, dynamic;
};

/* The tree: runs[0..count), newest first; below level 0 of a leveled tree one run per level. */
struct lsm_tree {
    struct lsm_shape shape;
    struct lsm_run runs[LSM_RUNS];
    uint32_t count;
    uint32_t base_level;
    uint64_t level_target_bytes[LSM_LEVELS];
};

/* What a compaction reads, by tables' job, and where its output goes. */
struct lsm_pick {
    uint8_t level_from, level_to; /* universal: from is level_to, too */
};

/* 0, -ENOMEM. Keeps file, bytes and range; table.job becomes LSM_IDLE. */
int lsm_tables_add(struct lsm_tables *tables, const struct lsm_table *table);
void lsm_tables_close(struct lsm_tables *tables);

/* What is left of `inputs` when equal keys meet, cut into tables of target_bytes, appended to
 * `out`. 0, -ENOMEM. */
int lsm_merge(const struct lsm_tables *inputs, const struct lsm_shape *shape, struct lsm_tables *out);

/* The tree. `level_busy`: bit per level that a running compaction reads or writes. */
void lsm_tree_open(struct lsm_tree *tree, const struct lsm_shape *shape);
void lsm_tree_close(struct lsm_tree *tree);
uint32_t lsm_tree_level0(const struct lsm_tree *tree); /* runs in level 0 */
uint64_t lsm_tree_bytes(const struct lsm_tree *tree);
/* A flush: the newest run. 0, -ENOMEM. */
int lsm_tree_add_newest(struct lsm_tree *tree, const struct lsm_table *table);
/* The next compaction, its tables marked with `job`; false: nothing to do. */
bool lsm_tree_pick(struct lsm_tree *tree, uint32_t level_busy, uint32_t job, struct lsm_pick *out);
/* Copies of the tables that `job` reads. 0, -ENOMEM. */
int lsm_tree_inputs(const struct lsm_tree *tree, uint32_t job, struct lsm_tables *out);
/* Replaces what `job` read by `outputs`. 0, -ENOMEM. */
int lsm_tree_install(struct lsm_tree *tree, uint32_t job, const struct lsm_pick *pick,
                     const struct lsm_tables *outputs);
/* The level that a bulk load fills. */
uint32_t lsm_tree_load_level(const struct lsm_tree *tree);

#endif
