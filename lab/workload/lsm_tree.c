/* SPDX-License-Identifier: Apache-2.0 */
/* Which tables a compaction merges. Leveled: RocksDB's rules (level style wiki page, and
 * VersionStorageInfo): the level that exceeds its target most; of it the table that overlaps least
 * below (kMinOverlappingRatio); level 0 goes down whole; with dynamic levels the targets count
 * back from the last level. Universal: size amplification, then size ratio, then the number of
 * runs (universal style wiki page). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log/assert.h"
#include "workload/lsm.h"

static uint64_t run_bytes(const struct lsm_run *run) {
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < run->tables.count; i++)
        bytes += run->tables.at[i].bytes;
    return bytes;
}

uint32_t lsm_tree_level0(const struct lsm_tree *tree) {
    uint32_t runs = 0;

    while (runs < tree->count && tree->runs[runs].level == 0)
        runs++;
    return runs;
}

uint64_t lsm_tree_bytes(const struct lsm_tree *tree) {
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < tree->count; i++)
        bytes += run_bytes(&tree->runs[i]);
    return bytes;
}

static struct lsm_run *run_of_level(struct lsm_tree *tree, uint32_t level) {
    return &tree->runs[lsm_tree_level0(tree) + level - 1];
}

/* VersionStorageInfo::CalculateBaseBytes. */
static void set_targets(struct lsm_tree *tree) {
    const struct lsm_shape *shape = &tree->shape;
    double cap = (double)shape->base_bytes, size = cap;
    uint64_t last = run_bytes(run_of_level(tree, LSM_LEVELS - 1));

    tree->base_level = shape->dynamic ? LSM_LEVELS - 1 : 1;
    if (shape->dynamic) {
        for (size = (double)last; size > cap && tree->base_level > 1; size /= shape->multiplier)
            tree->base_level--;
        if (size < cap / shape->multiplier || size > cap)
            size = size > cap ? cap : cap / shape->multiplier;
    }
    for (uint32_t level = 1; level < LSM_LEVELS; level++) {
        tree->level_target_bytes[level] = level < tree->base_level ? 0 : (uint64_t)size;
        size *= level < tree->base_level ? 1 : shape->multiplier;
    }
}

void lsm_tree_open(struct lsm_tree *tree, const struct lsm_shape *shape) {
    memset(tree, 0, sizeof *tree);
    tree->shape = *shape;
    if (shape->universal)
        return;
    for (uint32_t level = 1; level < LSM_LEVELS; level++)
        tree->runs[tree->count++].level = (uint8_t)level;
    set_targets(tree);
}

void lsm_tree_close(struct lsm_tree *tree) {
    for (uint32_t i = 0; i < tree->count; i++)
        lsm_tables_close(&tree->runs[i].tables);
}

uint32_t lsm_tree_load_level(const struct lsm_tree *tree) {
    uint32_t level = LSM_LEVELS - 1;

    if (!tree->shape.universal && !tree->shape.dynamic)
        for (level = 1; level < LSM_LEVELS - 1; level++)
            if (tree->level_target_bytes[level] >= tree->shape.keys_bytes)
                break;
    return level;
}

static void insert_run(struct lsm_tree *tree, uint32_t at, uint8_t level) {
    assert(tree->count < LSM_RUNS);
    memmove(&tree->runs[at + 1], &tree->runs[at], (tree->count - at) * sizeof tree->runs[0]);
    tree->runs[at] = (struct lsm_run){.level = level};
    tree->count++;
}

static void drop_run(struct lsm_tree *tree, uint32_t at) {
    lsm_tables_close(&tree->runs[at].tables);
    memmove(&tree->runs[at], &tree->runs[at + 1], (--tree->count - at) * sizeof tree->runs[0]);
}

int lsm_tree_add_newest(struct lsm_tree *tree, const struct lsm_table *table) {
    insert_run(tree, 0, 0);
    return lsm_tables_add(&tree->runs[0].tables, table);
}

static void mark_run(struct lsm_run *run, uint32_t job) {
    for (uint32_t i = 0; i < run->tables.count; i++)
        run->tables.at[i].job = job;
}

/* ---- leveled ---- */

static bool overlaps(const struct lsm_table *left, const struct lsm_table *right) {
    return left->first < right->end && right->first < left->end;
}

/* Bytes of `run` that overlap `table`; with a job they are marked. Tables are in key order. */
static uint64_t overlap_bytes(struct lsm_run *run, const struct lsm_table *table, uint32_t job) {
    uint32_t low = 0, high = run->tables.count;
    uint64_t bytes = 0;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (run->tables.at[middle].end <= table->first)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < run->tables.count && overlaps(&run->tables.at[low], table); low++) {
        bytes += run->tables.at[low].bytes;
        if (job)
            run->tables.at[low].job = job;
    }
    return bytes;
}

static struct lsm_table *least_overlapping(struct lsm_run *run, struct lsm_run *below) {
    struct lsm_table *best = NULL;
    double best_ratio = 0;

    for (uint32_t i = 0; i < run->tables.count; i++) {
        struct lsm_table *table = &run->tables.at[i];
        double ratio = (double)overlap_bytes(below, table, 0) / (double)table->bytes;
        if (!best || ratio < best_ratio) {
            best = table;
            best_ratio = ratio;
        }
    }
    return best;
}

static double score_of(struct lsm_tree *tree, uint32_t level) {
    if (level == 0)
        return (double)lsm_tree_level0(tree) / tree->shape.trigger;
    uint64_t bytes = run_bytes(run_of_level(tree, level));
    if (level < tree->base_level) /* left behind when the base level went down */
        return bytes ? 2 : 0;
    return level < LSM_LEVELS - 1 ? (double)bytes / (double)tree->level_target_bytes[level] : 0;
}

static bool pick_leveled(struct lsm_tree *tree, uint32_t level_busy, uint32_t job, struct lsm_pick *out) {
    double best_score = 1;
    bool found = false;

    set_targets(tree);
    for (uint32_t level = 0; level < LSM_LEVELS - 1; level++) {
        uint32_t to = level == 0 ? tree->base_level : level + 1;
        double score = score_of(tree, level);
        if ((level_busy >> level & 1) || (level_busy >> to & 1) || score < best_score || (found && score == best_score))
            continue;
        *out = (struct lsm_pick){.level_from = (uint8_t)level, .level_to = (uint8_t)to};
        best_score = score;
        found = true;
    }
    if (!found)
        return false;
    struct lsm_run *below = run_of_level(tree, out->level_to);
    if (out->level_from > 0) {
        struct lsm_table *table = least_overlapping(run_of_level(tree, out->level_from), below);
        table->job = job;
        overlap_bytes(below, table, job);
        return true;
    }
    for (uint32_t i = 0; i < lsm_tree_level0(tree); i++) {
        mark_run(&tree->runs[i], job);
        overlap_bytes(below, &tree->runs[i].tables.at[0], job);
    }
    return true;
}

/* ---- universal ---- */

/* How many of the newest runs to merge; 0 = none. */
static uint32_t universal_width(const struct lsm_tree *tree) {
    const struct lsm_shape *shape = &tree->shape;
    uint64_t newer = 0, sum = run_bytes(&tree->runs[0]);
    uint32_t width = 1;

    if (tree->count < shape->trigger)
        return 0;
    for (uint32_t i = 0; i + 1 < tree->count; i++)
        newer += run_bytes(&tree->runs[i]);
    double oldest = (double)run_bytes(&tree->runs[tree->count - 1]);
    if ((double)newer * 100 >= shape->size_amplification_percent * oldest)
        return tree->count;
    for (; width < tree->count; width++) {
        uint64_t next = run_bytes(&tree->runs[width]);
        if ((double)sum * (100 + shape->size_ratio_percent) < (double)next * 100)
            break;
        sum += next;
    }
    if (width >= 2)
        return width;
    width = tree->count - shape->trigger + 1;
    return width < 2 ? 2 : width;
}

static bool pick_universal(struct lsm_tree *tree, uint32_t job, struct lsm_pick *out) {
    uint32_t width = universal_width(tree);

    if (!width)
        return false;
    uint8_t older = width < tree->count ? tree->runs[width].level : LSM_LEVELS;
    uint8_t level = older ? (uint8_t)(older - 1) : 0;
    *out = (struct lsm_pick){.level_from = level, .level_to = level};
    for (uint32_t i = 0; i < width; i++)
        mark_run(&tree->runs[i], job);
    return true;
}

bool lsm_tree_pick(struct lsm_tree *tree, uint32_t level_busy, uint32_t job, struct lsm_pick *out) {
    if (tree->shape.universal) /* one at a time: every merge takes the newest runs */
        return !level_busy && pick_universal(tree, job, out);
    return pick_leveled(tree, level_busy, job, out);
}

int lsm_tree_inputs(const struct lsm_tree *tree, uint32_t job, struct lsm_tables *out) {
    int rc = 0;

    for (uint32_t i = 0; i < tree->count; i++)
        for (uint32_t j = 0; j < tree->runs[i].tables.count && !rc; j++)
            if (tree->runs[i].tables.at[j].job == job)
                rc = lsm_tables_add(out, &tree->runs[i].tables.at[j]);
    return rc;
}

static int by_first(const void *left, const void *right) {
    uint64_t a = ((const struct lsm_table *)left)->first;
    uint64_t b = ((const struct lsm_table *)right)->first;
    return (a > b) - (a < b);
}

static void remove_inputs(struct lsm_run *run, uint32_t job) {
    uint32_t kept = 0;

    for (uint32_t i = 0; i < run->tables.count; i++)
        if (run->tables.at[i].job != job)
            run->tables.at[kept++] = run->tables.at[i];
    run->tables.count = kept;
}

/* Runs of level 0, and all of a universal tree, go when they are empty; flushes may have come in
 * front of them since the pick. */
static void drop_empty_runs(struct lsm_tree *tree) {
    for (uint32_t i = tree->count; i-- > 0;)
        if (!tree->runs[i].tables.count && (tree->shape.universal || tree->runs[i].level == 0))
            drop_run(tree, i);
}

int lsm_tree_install(struct lsm_tree *tree, uint32_t job, const struct lsm_pick *pick,
                     const struct lsm_tables *outputs) {
    uint32_t newer = 0;
    int rc = 0;

    for (uint32_t i = 0; i < tree->count; i++) {
        bool older = tree->runs[i].tables.count && tree->runs[i].tables.at[0].job == job;
        newer += !older && newer == i; /* runs in front of the first input */
        remove_inputs(&tree->runs[i], job);
    }
    drop_empty_runs(tree);
    if (tree->shape.universal)
        insert_run(tree, newer, pick->level_to);
    struct lsm_run *run = tree->shape.universal ? &tree->runs[newer] : run_of_level(tree, pick->level_to);
    for (uint32_t i = 0; i < outputs->count && !rc; i++)
        rc = lsm_tables_add(&run->tables, &outputs->at[i]);
    if (run->tables.count)
        qsort(run->tables.at, run->tables.count, sizeof *run->tables.at, by_first);
    return rc;
}
