/* SPDX-License-Identifier: Apache-2.0 */
/* An append-only LSM tree in RocksDB's shape: write-ahead logs, flushes, compactions that write new
 * tables and unlink what they read; leveled or universal, with values in blob files if wanted.
 * Model: updates of even, independent keys (lsm_merge.c says what a merge keeps); rules of RocksDB
 * for what is compacted (lsm_tree.c) and for write hints (ColumnFamilyData::CalculateSSTWriteHint:
 * relative to the base level; none with universal). As in the engine, one call path writes the
 * tables of all levels of compaction: only level and hint tell them apart. Foreground, one flush
 * and two compactions at a time take turns at random; a backlog stops the foreground.
 * Ours: no block cache, no trivial moves, tables whole 4-KiB blocks long. */
#include <errno.h>
#include <stdlib.h>

#include "workload/generator.h"
#include "workload/lsm.h"
#include "workload/lsm_blob.h"
#include "workload/workloads.h"

#define WAL_BYTES          (16u << 10)  /* a write group */
#define CHUNK_BYTES        (128u << 10) /* of a table that is being written */
#define MANIFEST_BYTES_MAX (1u << 20)
#define COMPACTIONS        2
#define STOP_RUNS          3 /* times the trigger: RocksDB's stop trigger is 36 of 4, slowdown 20 */
#define THREADS_FOREGROUND 4
#define THREAD_FLUSH       8 /* compactions come behind it */

/* Env::IOActivity of RocksDB. */
#define ACTIVITY_FLUSH      0
#define ACTIVITY_COMPACTION 1

enum lsm_path {
    PATH_WAL,
    PATH_LOAD,
    PATH_FLUSH,
    PATH_FLUSH_FINISH, /* index, filter and footer come from deeper code */
    PATH_FLUSH_BLOB,
    PATH_COMPACTION,
    PATH_COMPACTION_FINISH,
    PATH_COMPACTION_BLOB,
    PATH_MANIFEST,
    PATH_COUNT,
};

static const char *const path_names[PATH_COUNT] = {
    [PATH_WAL] = "lsm/wal",
    [PATH_LOAD] = "lsm/ingest",
    [PATH_FLUSH] = "lsm/flush",
    [PATH_FLUSH_FINISH] = "lsm/flush-finish",
    [PATH_FLUSH_BLOB] = "lsm/flush-blob",
    [PATH_COMPACTION] = "lsm/compaction",
    [PATH_COMPACTION_FINISH] = "lsm/compaction-finish",
    [PATH_COMPACTION_BLOB] = "lsm/compaction-blob",
    [PATH_MANIFEST] = "lsm/manifest",
};

struct settings {
    uint64_t memtable_bytes, target_bytes, base_bytes;
    double multiplier, size_amplification_percent, size_ratio_percent, value_percent;
    uint32_t trigger;
    int compaction;
    bool dynamic, blobs;
};

/* A flush, a compaction or the load: tables being written one after the other, then a blob file. */
struct job {
    bool active, flush, load;
    uint32_t number, next;  /* number marks the inputs; next table */
    uint64_t written_bytes; /* of that table, or of the blob file */
    struct lsm_tables outputs;
    struct lsm_pick pick;
    uint64_t wal; /* a flush: dies with it */
    uint64_t blob_file, blob_bytes;
    double dropped_bytes; /* of tables: what the merge found twice */
};

struct lsm {
    struct settings settings;
    struct trib_random random;
    struct lsm_tree tree;
    struct lsm_blobs blobs;
    struct job flush, compactions[COMPACTIONS], load;
    struct lsm_files dead; /* unlinks not yet recorded */
    uint64_t paths[PATH_COUNT];
    uint64_t size_bytes, fill_bytes, next_file;
    uint64_t wal, wal_bytes, full_wal; /* full_wal: of a memtable that waits for its flush; 0 = none */
    uint64_t manifest, manifest_bytes;
    uint32_t edits, next_number; /* edits: version edits not yet in the manifest */
};

#define FIELD(name) offsetof(struct settings, name)

/* clang-format off */
static const struct trib_option_spec options[] = {
    {.key = "memtable", .type = TRIB_OPTION_SIZE, .offset = FIELD(memtable_bytes),
     .fallback = "2M", .minimum = 65536, .maximum = 1e12, .help = "write_buffer_size"},
    {.key = "target", .type = TRIB_OPTION_SIZE, .offset = FIELD(target_bytes), .fallback = "2M",
     .minimum = 65536, .maximum = 1e12, .help = "target_file_size_base"},
    {.key = "base", .type = TRIB_OPTION_SIZE, .offset = FIELD(base_bytes), .fallback = "8M",
     .minimum = 65536, .maximum = 1e12, .help = "max_bytes_for_level_base"},
    {.key = "multiplier", .type = TRIB_OPTION_DOUBLE, .offset = FIELD(multiplier),
     .fallback = "10", .minimum = 2, .maximum = 100, .help = "max_bytes_for_level_multiplier"},
    {.key = "trigger", .type = TRIB_OPTION_U32, .offset = FIELD(trigger), .fallback = "4",
     .minimum = 2, .maximum = 16, .help = "level0_file_num_compaction_trigger"},
    {.key = "compaction", .type = TRIB_OPTION_ENUM, .offset = FIELD(compaction),
     .fallback = "leveled", .choices = "leveled|universal", .help = "compaction_style"},
    {.key = "dynamic", .type = TRIB_OPTION_BOOL, .offset = FIELD(dynamic), .fallback = "on",
     .help = "level_compaction_dynamic_level_bytes"},
    {.key = "size_amp", .type = TRIB_OPTION_PERCENT, .offset = FIELD(size_amplification_percent),
     .fallback = "200", .minimum = 1, .maximum = 10000,
     .help = "universal: max_size_amplification_percent"},
    {.key = "size_ratio", .type = TRIB_OPTION_PERCENT, .offset = FIELD(size_ratio_percent),
     .fallback = "1", .minimum = 0, .maximum = 1000, .help = "universal: size_ratio"},
    {.key = "blobs", .type = TRIB_OPTION_BOOL, .offset = FIELD(blobs), .fallback = "off",
     .help = "enable_blob_files and blob garbage collection"},
    {.key = "values", .type = TRIB_OPTION_PERCENT, .offset = FIELD(value_percent),
     .fallback = "90", .minimum = 1, .maximum = 99, .help = "of the data are values (for blobs)"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

/* Keys that make a tree of about size_bytes at its peak: garbage in the levels, and a merge that
 * has written its output while its inputs still live. Fractions measured (docs/formats). */
static uint64_t keys_bytes(const struct settings *settings, uint64_t size_bytes) {
    double share = settings->compaction ? 1 / (2.1 + settings->size_amplification_percent / 100)
                   : settings->dynamic  ? 0.67
                                        : 0.45;
    if (settings->blobs && !settings->compaction) /* garbage waits until its file is among the oldest */
        share *= 0.58;
    double values = settings->blobs ? settings->value_percent / 100 : 0;
    return trib_round_down((uint64_t)((double)size_bytes * share * (1 - values)), TRIB_BLOCK_BYTES);
}

/* ---- jobs ---- */

static double values_per_key_byte(const struct lsm *self) {
    double share = self->settings.value_percent / 100;
    return self->settings.blobs ? share / (1 - share) : 0;
}

static uint64_t whole_blocks(double bytes) {
    return (uint64_t)(bytes / TRIB_BLOCK_BYTES + 0.5) * TRIB_BLOCK_BYTES;
}

static int start_flush(struct lsm *self) {
    struct job *job = &self->flush;
    double keys = (double)self->settings.memtable_bytes / (1 + values_per_key_byte(self));
    struct lsm_table table = {.bytes = whole_blocks(keys), .end = LSM_KEYS};

    *job = (struct job){.active = true, .flush = true, .outputs = job->outputs, .wal = self->full_wal};
    job->blob_bytes = whole_blocks(keys * values_per_key_byte(self));
    job->outputs.count = 0;
    self->full_wal = 0;
    return lsm_tables_add(&job->outputs, &table);
}

static uint32_t busy_levels(const struct lsm *self) {
    uint32_t busy = 0;

    for (unsigned i = 0; i < COMPACTIONS; i++)
        if (self->compactions[i].active)
            busy |= 1u << self->compactions[i].pick.level_from | 1u << self->compactions[i].pick.level_to;
    return busy;
}

static int start_compaction(struct lsm *self, struct job *job) {
    struct lsm_tables inputs = {0};
    struct lsm_pick pick;
    uint32_t number = self->next_number;

    if (!lsm_tree_pick(&self->tree, busy_levels(self), number, &pick))
        return 0;
    self->next_number++;
    *job = (struct job){.active = true, .number = number, .outputs = job->outputs, .pick = pick};
    job->outputs.count = 0;
    int rc = lsm_tree_inputs(&self->tree, number, &inputs);
    if (!rc)
        rc = lsm_merge(&inputs, &self->tree.shape, &job->outputs);
    double met = 0, left = 0;
    for (uint32_t i = 0; i < inputs.count; i++)
        met += (double)inputs.at[i].bytes;
    for (uint32_t i = 0; i < job->outputs.count; i++)
        left += (double)job->outputs.at[i].bytes;
    lsm_tables_close(&inputs);
    job->dropped_bytes = met > left ? met - left : 0;
    if (self->settings.blobs)
        job->blob_bytes = whole_blocks(lsm_blobs_relocate(&self->blobs, met / (double)lsm_tree_bytes(&self->tree)));
    return rc;
}

static int bury_inputs(struct lsm *self, const struct job *job) {
    struct lsm_tables inputs = {0};
    int rc = lsm_tree_inputs(&self->tree, job->number, &inputs);

    for (uint32_t i = 0; i < inputs.count && !rc; i++)
        rc = lsm_files_add(&self->dead, inputs.at[i].file);
    lsm_tables_close(&inputs);
    return rc ? rc : lsm_tree_install(&self->tree, job->number, &job->pick, &job->outputs);
}

static int bury_blobs(struct lsm *self) {
    int rc = 0;

    for (uint64_t file; !rc && (file = lsm_blobs_take_dead(&self->blobs));)
        rc = lsm_files_add(&self->dead, file);
    return rc;
}

static int finish(struct lsm *self, struct job *job) {
    int rc = job->blob_file ? lsm_blobs_add(&self->blobs, job->blob_file, job->blob_bytes) : 0;

    job->active = false;
    self->edits++;
    if (rc)
        return rc;
    if (job->flush) {
        rc = lsm_tree_add_newest(&self->tree, &job->outputs.at[0]);
        return rc ? rc : lsm_files_add(&self->dead, job->wal);
    }
    lsm_blobs_drop(&self->blobs, job->dropped_bytes * values_per_key_byte(self));
    rc = bury_inputs(self, job);
    return rc ? rc : bury_blobs(self);
}

/* ---- events ---- */

static uint8_t hint_of(const struct lsm *self, uint32_t level) {
    if (self->settings.compaction)
        return TRIB_HINT_NOT_SET;
    uint32_t base = self->tree.base_level;
    if (level == 0 || level < base)
        return TRIB_HINT_MEDIUM;
    return level - base >= 2 ? TRIB_HINT_EXTREME : (uint8_t)(TRIB_HINT_MEDIUM + level - base);
}

static void describe_writer(const struct lsm *self, const struct job *job, struct trib_event *event) {
    uint32_t level = job->flush ? 0 : job->pick.level_to;

    event->thread = THREAD_FLUSH + (job->flush ? 0 : 1 + (uint32_t)(job - self->compactions));
    if (job->load) {
        event->thread = 0;
        return;
    }
    event->who.io_activity = job->flush ? ACTIVITY_FLUSH : ACTIVITY_COMPACTION;
    event->who.write_hint = hint_of(self, level);
    event->who.level = (int8_t)level;
}

/* The next bytes of a file of length_bytes; the last block of a table is finished by other code. */
static uint64_t chunk_bytes(const struct job *job, uint64_t length_bytes, bool table, bool *last) {
    uint64_t left = length_bytes - job->written_bytes;

    *last = left <= TRIB_BLOCK_BYTES;
    if (table && left > TRIB_BLOCK_BYTES)
        left -= TRIB_BLOCK_BYTES;
    return left < CHUNK_BYTES ? left : CHUNK_BYTES;
}

static enum lsm_path table_path(const struct job *job, bool last) {
    if (job->load)
        return PATH_LOAD;
    if (job->flush)
        return last ? PATH_FLUSH_FINISH : PATH_FLUSH;
    return last ? PATH_COMPACTION_FINISH : PATH_COMPACTION;
}

/* One write of a job. 1, or -ENOMEM. */
static int work(struct lsm *self, struct job *job, struct trib_event *event) {
    bool last, table = job->next < job->outputs.count;
    uint64_t *file = table ? &job->outputs.at[job->next].file : &job->blob_file;
    uint64_t length = table ? job->outputs.at[job->next].bytes : job->blob_bytes;
    uint64_t bytes = chunk_bytes(job, length, table, &last);

    if (!*file)
        *file = self->next_file++;
    describe_writer(self, job, event);
    trib_event_write(event, *file, job->written_bytes, bytes);
    event->who.file_kind = table ? TRIB_FILE_SST : TRIB_FILE_BLOB;
    event->who.signature = self->paths[table        ? table_path(job, last)
                                       : job->flush ? PATH_FLUSH_BLOB
                                       : job->load  ? PATH_LOAD
                                                    : PATH_COMPACTION_BLOB];
    job->written_bytes += bytes;
    if (job->written_bytes < length)
        return 1;
    job->written_bytes = 0;
    job->next++;
    if (job->next < job->outputs.count + !!job->blob_bytes)
        return 1;
    int rc = finish(self, job);
    return rc ? rc : 1;
}

static void write_manifest(struct lsm *self, struct trib_event *event) {
    trib_event_write(event, self->manifest, self->manifest_bytes, TRIB_BLOCK_BYTES);
    event->who.file_kind = TRIB_FILE_MANIFEST;
    event->who.signature = self->paths[PATH_MANIFEST];
    event->thread = THREAD_FLUSH;
    self->manifest_bytes += TRIB_BLOCK_BYTES;
    self->edits--;
}

static void write_wal(struct lsm *self, struct trib_event *event) {
    trib_event_write(event, self->wal, self->wal_bytes, WAL_BYTES);
    event->who.file_kind = TRIB_FILE_WAL;
    event->who.write_hint = TRIB_HINT_SHORT;
    event->who.signature = self->paths[PATH_WAL];
    event->thread = trib_random_below(&self->random, THREADS_FOREGROUND);
    self->wal_bytes += WAL_BYTES;
    if (self->wal_bytes < self->settings.memtable_bytes)
        return;
    self->full_wal = self->wal;
    self->wal = self->next_file++;
    self->wal_bytes = 0;
}

static bool is_stalled(const struct lsm *self) {
    uint32_t runs = self->settings.compaction ? self->tree.count : lsm_tree_level0(&self->tree);
    return self->full_wal || runs >= STOP_RUNS * self->settings.trigger;
}

/* Who writes next: those with work take turns at random. */
static struct job *choose(struct lsm *self, bool *foreground) {
    struct job *ready[COMPACTIONS + 2];
    uint32_t count = 0;

    for (unsigned i = 0; i < COMPACTIONS; i++)
        if (self->compactions[i].active)
            ready[count++] = &self->compactions[i];
    if (self->flush.active)
        ready[count++] = &self->flush;
    if (!is_stalled(self) || !count)
        ready[count++] = NULL;
    struct job *chosen = ready[trib_random_below(&self->random, count)];
    *foreground = !chosen;
    return chosen;
}

static int start_jobs(struct lsm *self) {
    int rc = 0;

    if (!self->flush.active && self->full_wal)
        rc = start_flush(self);
    for (unsigned i = 0; i < COMPACTIONS && !rc; i++)
        if (!self->compactions[i].active)
            rc = start_compaction(self, &self->compactions[i]);
    return rc;
}

static int rotate_manifest(struct lsm *self) {
    if (self->manifest_bytes < MANIFEST_BYTES_MAX)
        return 0;
    int rc = lsm_files_add(&self->dead, self->manifest);
    self->manifest = self->next_file++;
    self->manifest_bytes = 0;
    return rc;
}

static int lsm_next(void *handle, uint64_t clock_bytes, struct trib_event *event) {
    struct lsm *self = handle;
    bool foreground;
    (void)clock_bytes;

    if (self->dead.count) {
        trib_event_unlink(event, self->dead.at[--self->dead.count]);
        return 1;
    }
    if (self->load.active)
        return work(self, &self->load, event);
    int rc = rotate_manifest(self);
    if (rc)
        return rc;
    if (self->edits) {
        write_manifest(self, event);
        return 1;
    }
    rc = start_jobs(self);
    if (rc)
        return rc;
    struct job *job = choose(self, &foreground);
    if (!foreground)
        return work(self, job, event);
    write_wal(self, event);
    return 1;
}

/* ---- opening ---- */

/* All keys once, in order, as a bulk load leaves them. */
static int plan_load(struct lsm *self) {
    struct lsm_table all = {.bytes = self->tree.shape.keys_bytes, .end = LSM_KEYS};
    struct lsm_tables inputs = {.at = &all, .count = 1, .capacity = 1};
    struct job *job = &self->load;
    uint8_t level = (uint8_t)lsm_tree_load_level(&self->tree);

    *job = (struct job){
        .active = true, .load = true, .number = self->next_number++, .pick = {.level_from = level, .level_to = level}};
    job->blob_bytes = whole_blocks((double)all.bytes * values_per_key_byte(self));
    self->fill_bytes = job->blob_bytes;
    int rc = lsm_merge(&inputs, &self->tree.shape, &job->outputs);
    for (uint32_t i = 0; i < job->outputs.count; i++)
        self->fill_bytes += job->outputs.at[i].bytes;
    return rc;
}

static void lsm_close(void *handle) {
    struct lsm *self = handle;

    lsm_tree_close(&self->tree);
    lsm_blobs_close(&self->blobs);
    lsm_tables_close(&self->flush.outputs);
    lsm_tables_close(&self->load.outputs);
    for (unsigned i = 0; i < COMPACTIONS; i++)
        lsm_tables_close(&self->compactions[i].outputs);
    lsm_files_close(&self->dead);
    free(self);
}

static int set_up(struct lsm *self, const struct trib_workload_common *common, struct trib_error *error) {
    const struct settings *settings = &self->settings;
    struct lsm_shape shape = {.keys_bytes = keys_bytes(settings, common->size_bytes),
                              .target_bytes = trib_round_down(settings->target_bytes, TRIB_BLOCK_BYTES),
                              .base_bytes = settings->base_bytes,
                              .multiplier = settings->multiplier,
                              .trigger = settings->trigger,
                              .size_ratio_percent = settings->size_ratio_percent,
                              .size_amplification_percent = settings->size_amplification_percent,
                              .universal = settings->compaction,
                              .dynamic = settings->dynamic};
    if (shape.keys_bytes < 4 * shape.target_bytes)
        return trib_fail(error, -EINVAL, "option 'size': too small for tables of 'target' bytes; %llu or more fit",
                         (unsigned long long)(common->size_bytes * 4 * shape.target_bytes / (shape.keys_bytes + 1)));
    self->size_bytes = common->size_bytes;
    self->settings.memtable_bytes = trib_round_down(settings->memtable_bytes, WAL_BYTES);
    self->next_file = self->next_number = 1;
    self->wal = self->next_file++;
    self->manifest = self->next_file++;
    for (int i = 0; i < PATH_COUNT; i++)
        self->paths[i] = trib_path(path_names[i]);
    trib_random_seed(&self->random, common->seed);
    lsm_tree_open(&self->tree, &shape);
    if (common->fill && plan_load(self))
        return trib_fail(error, -ENOMEM, "out of memory");
    return 0;
}

static int lsm_open(void **out, const struct trib_workload_common *common, struct trib_options *given,
                    struct trib_error *error) {
    struct settings settings;
    int rc = trib_options_take(given, options, &settings, error);
    if (rc)
        return rc;
    struct lsm *self = calloc(1, sizeof *self);
    if (!self)
        return trib_fail(error, -ENOMEM, "out of memory");
    self->settings = settings;
    rc = set_up(self, common, error);
    if (rc)
        lsm_close(self);
    else
        *out = self;
    return rc;
}

static void lsm_describe(const void *handle, struct trib_workload_description *out) {
    const struct lsm *self = handle;

    out->size_bytes = self->size_bytes;
    out->fill_bytes = self->fill_bytes;
}

const struct trib_workload_kind trib_workload_lsm = {
    .name = "lsm",
    .summary = "append-only LSM tree with levels, as RocksDB's",
    .options = options,
    .carries = TRIB_CARRIES_SIGNATURE | TRIB_CARRIES_HINT | TRIB_CARRIES_LEVEL | TRIB_CARRIES_TRIM,
    .open = lsm_open,
    .next = lsm_next,
    .describe = lsm_describe,
    .close = lsm_close,
};
