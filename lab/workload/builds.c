/* SPDX-License-Identifier: Apache-2.0 */
/* Builds of a large C program, again and again: PCStream (FAST'19) section 6.1 builds the Linux
 * kernel 30 times with a random third of the sources changed, and finds more than 20 dominant call
 * paths in processes that live for a second.
 * Model: a compiler per source writes a dependency file, assembly and an object; the assembly and
 * the dependency file die with the process, the object when its source is compiled again; then each
 * directory with a change gets a new archive and the program is linked anew. So bytes that live for
 * seconds (assembly), one build (archives, program) and several builds (sources, objects).
 * The assembly leaves through buffered streams, which the compiler flushes wherever they happen to
 * be full: many call paths (`variants`) for one kind of data. event.who.tenant is the number of the
 * process, counted up and modulo 2^16, so that a policy's tables may be per process. */
#include <errno.h>
#include <stdlib.h>

#include "workload/generator.h"
#include "workload/workloads.h"

#define CHUNK_BYTES        (32u << 10)
#define SOURCES_PER_FOLDER 16
#define OBJECT_BLOCKS      4 /* of the smallest object; the largest has 32 times as many */
#define OBJECT_DOUBLINGS   5
#define JOBS_MAX           64
#define VARIANTS_MAX       256

/* Per byte of object code: what a kernel build with debug information is about like (ours). */
#define ASSEMBLY_FACTOR 2.5
#define SOURCE_FACTOR   0.3
#define PROGRAM_FACTOR  0.8
#define LIVE_FACTOR     3.3 /* sources, objects, archives, program, what is in work */

enum build_stage {
    STAGE_SOURCE,
    STAGE_DEPENDENCIES,
    STAGE_ASSEMBLY,
    STAGE_OBJECT,
    STAGE_COMMAND,
    STAGE_ARCHIVE,
    STAGE_PROGRAM,
    STAGE_COUNT,
};

static const char *const path_names[STAGE_COUNT] = {
    [STAGE_SOURCE] = "builds/checkout", [STAGE_DEPENDENCIES] = "builds/cc1-deps", [STAGE_ASSEMBLY] = "builds/cc1",
    [STAGE_OBJECT] = "builds/as",       [STAGE_COMMAND] = "builds/fixdep",        [STAGE_ARCHIVE] = "builds/ar",
    [STAGE_PROGRAM] = "builds/ld",
};

static const uint8_t stage_kinds[STAGE_COUNT] = {
    [STAGE_SOURCE] = TRIB_FILE_OTHER,          [STAGE_DEPENDENCIES] = TRIB_FILE_BUILD_NOTE,
    [STAGE_ASSEMBLY] = TRIB_FILE_INTERMEDIATE, [STAGE_OBJECT] = TRIB_FILE_OBJECT,
    [STAGE_COMMAND] = TRIB_FILE_BUILD_NOTE,    [STAGE_ARCHIVE] = TRIB_FILE_LINKED,
    [STAGE_PROGRAM] = TRIB_FILE_LINKED,
};

struct settings {
    double changed_percent;
    uint32_t jobs, variants;
};

struct source {
    uint64_t files[STAGE_COMMAND + 1]; /* by stage; 0 = not there */
    uint32_t object_blocks;
};

/* A process, or a chain of them, that writes one file after the other. */
struct job {
    bool active;
    enum build_stage stage;
    uint32_t item; /* source, or folder */
    uint16_t process;
    uint64_t file, length_bytes, written_bytes;
};

struct builds {
    struct settings settings;
    struct trib_random random;
    struct source *sources;
    uint64_t *archives;
    uint32_t *todo; /* sources, then folders, of this round */
    bool *folder_changed;
    uint32_t source_count, folder_count, todo_count, todo_next;
    enum build_stage round; /* STAGE_SOURCE, STAGE_ARCHIVE or STAGE_PROGRAM */
    uint64_t program, next_file, object_blocks;
    uint64_t dead[2 * JOBS_MAX];
    uint32_t dead_count;
    struct job jobs[JOBS_MAX];
    uint32_t jobs_active;
    uint16_t processes;
    uint64_t paths[STAGE_COUNT], variants[VARIANTS_MAX];
    uint64_t size_bytes, fill_bytes;
    bool everything; /* the first build */
};

#define FIELD(name) offsetof(struct settings, name)

/* clang-format off */
static const struct trib_option_spec options[] = {
    {.key = "changed", .type = TRIB_OPTION_PERCENT, .offset = FIELD(changed_percent),
     .fallback = "33.3", .minimum = 0.1, .maximum = 100,
     .help = "sources that change between builds (FAST'19: a third)"},
    {.key = "jobs", .type = TRIB_OPTION_U32, .offset = FIELD(jobs), .fallback = "8", .minimum = 1,
     .maximum = JOBS_MAX, .help = "compilers side by side (make -j)"},
    {.key = "variants", .type = TRIB_OPTION_U32, .offset = FIELD(variants), .fallback = "24",
     .minimum = 1, .maximum = VARIANTS_MAX, .help = "call paths that write assembly"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

/* ---- rounds ---- */

static void plan_sources(struct builds *self) {
    self->round = STAGE_SOURCE;
    self->todo_count = self->todo_next = 0;
    for (uint32_t i = 0; i < self->source_count; i++) {
        bool changed = self->everything || trib_random_unit(&self->random) * 100 < self->settings.changed_percent;
        if (!changed)
            continue;
        self->todo[self->todo_count++] = i;
        self->folder_changed[i / SOURCES_PER_FOLDER] = true;
    }
    self->everything = false;
}

static void plan_archives(struct builds *self) {
    self->round = STAGE_ARCHIVE;
    self->todo_count = self->todo_next = 0;
    for (uint32_t i = 0; i < self->folder_count; i++) {
        if (self->folder_changed[i])
            self->todo[self->todo_count++] = i;
        self->folder_changed[i] = false;
    }
}

/* A round ends when its last process has: objects, archives, program, and again. */
static void next_round(struct builds *self) {
    if (self->round == STAGE_PROGRAM) {
        plan_sources(self);
    } else if (self->round == STAGE_SOURCE) {
        plan_archives(self);
    } else {
        self->round = STAGE_PROGRAM;
        self->todo_count = 1;
        self->todo_next = 0;
        self->todo[0] = 0;
    }
}

/* ---- processes ---- */

static uint64_t blocks(double count) {
    return (uint64_t)(count + 1) * TRIB_BLOCK_BYTES;
}

static uint64_t length_of(const struct builds *self, enum build_stage stage, uint32_t item) {
    double object = stage < STAGE_ARCHIVE ? self->sources[item].object_blocks : 0;

    if (stage == STAGE_SOURCE)
        return blocks(object * SOURCE_FACTOR);
    if (stage == STAGE_ASSEMBLY)
        return blocks(object * ASSEMBLY_FACTOR);
    if (stage == STAGE_OBJECT)
        return (uint64_t)object * TRIB_BLOCK_BYTES;
    if (stage == STAGE_PROGRAM)
        return blocks((double)self->object_blocks * PROGRAM_FACTOR);
    if (stage != STAGE_ARCHIVE)
        return TRIB_BLOCK_BYTES;
    uint32_t first = item * SOURCES_PER_FOLDER, end = first + SOURCES_PER_FOLDER;
    for (; first < end && first < self->source_count; first++)
        object += self->sources[first].object_blocks;
    return (uint64_t)object * TRIB_BLOCK_BYTES;
}

static uint64_t *slot_of(struct builds *self, enum build_stage stage, uint32_t item) {
    if (stage == STAGE_ARCHIVE)
        return &self->archives[item];
    return stage == STAGE_PROGRAM ? &self->program : &self->sources[item].files[stage];
}

static void bury(struct builds *self, uint64_t *file) {
    if (*file)
        self->dead[self->dead_count++] = *file;
    *file = 0;
}

/* The old file is unlinked before the new one is created, as `as`, `ar` and `ld` do. */
static void begin_file(struct builds *self, struct job *job, enum build_stage stage) {
    uint64_t *slot = slot_of(self, stage, job->item);

    bury(self, slot);
    *slot = self->next_file++;
    job->stage = stage;
    job->file = *slot;
    job->length_bytes = length_of(self, stage, job->item);
    job->written_bytes = 0;
    if (stage != STAGE_ASSEMBLY) /* one process writes dependencies and assembly */
        job->process = self->processes++;
}

static void end_file(struct builds *self, struct job *job) {
    if (job->stage < STAGE_COMMAND) {
        begin_file(self, job, job->stage + 1);
        return;
    }
    if (job->stage == STAGE_COMMAND) {
        bury(self, &self->sources[job->item].files[STAGE_ASSEMBLY]);
        bury(self, &self->sources[job->item].files[STAGE_DEPENDENCIES]);
    }
    job->active = false;
    self->jobs_active--;
}

static void start_jobs(struct builds *self) {
    while (!self->jobs_active && self->todo_next == self->todo_count)
        next_round(self);
    for (uint32_t i = 0; i < self->settings.jobs && self->todo_next < self->todo_count; i++) {
        struct job *job = &self->jobs[i];
        if (job->active)
            continue;
        job->active = true;
        job->item = self->todo[self->todo_next++];
        self->jobs_active++;
        begin_file(self, job, self->round);
    }
}

static uint64_t path_of(struct builds *self, enum build_stage stage) {
    if (stage != STAGE_ASSEMBLY)
        return self->paths[stage];
    /* Some are far more frequent than others: the smaller of two even draws. */
    uint32_t first = trib_random_below(&self->random, self->settings.variants);
    uint32_t second = trib_random_below(&self->random, self->settings.variants);
    return self->variants[first < second ? first : second];
}

static int builds_next(void *handle, uint64_t clock_bytes, struct trib_event *event) {
    struct builds *self = handle;
    (void)clock_bytes;

    if (!self->dead_count)
        start_jobs(self);
    if (self->dead_count) {
        trib_event_unlink(event, self->dead[--self->dead_count]);
        return 1;
    }
    uint32_t chosen = trib_random_below(&self->random, self->settings.jobs);
    while (!self->jobs[chosen].active)
        chosen = (chosen + 1) % self->settings.jobs;
    struct job *job = &self->jobs[chosen];
    uint64_t left = job->length_bytes - job->written_bytes;
    trib_event_write(event, job->file, job->written_bytes, left < CHUNK_BYTES ? left : CHUNK_BYTES);
    event->who.signature = path_of(self, job->stage);
    event->who.tenant = job->process;
    event->who.file_kind = stage_kinds[job->stage];
    event->thread = chosen;
    job->written_bytes += event->length_bytes;
    if (job->written_bytes == job->length_bytes)
        end_file(self, job);
    return 1;
}

/* ---- opening ---- */

static void builds_close(void *handle) {
    struct builds *self = handle;

    free(self->sources);
    free(self->archives);
    free(self->todo);
    free(self->folder_changed);
    free(self);
}

static int make_sources(struct builds *self, uint64_t object_blocks, struct trib_error *error) {
    uint64_t most = object_blocks / OBJECT_BLOCKS + SOURCES_PER_FOLDER;

    if (most > UINT32_MAX)
        return trib_fail(error, -EINVAL, "option 'size': too large for a build");
    self->sources = calloc(most, sizeof *self->sources);
    self->archives = calloc(most, sizeof *self->archives);
    self->todo = calloc(most, sizeof *self->todo);
    self->folder_changed = calloc(most, sizeof *self->folder_changed);
    if (!self->sources || !self->archives || !self->todo || !self->folder_changed)
        return trib_fail(error, -ENOMEM, "no memory for %llu sources", (unsigned long long)most);
    while (self->object_blocks < object_blocks) {
        uint32_t doubled = OBJECT_BLOCKS << trib_random_below(&self->random, OBJECT_DOUBLINGS);
        uint32_t size = doubled + trib_random_below(&self->random, doubled);
        self->sources[self->source_count++].object_blocks = size;
        self->object_blocks += size;
    }
    self->folder_count = (self->source_count + SOURCES_PER_FOLDER - 1) / SOURCES_PER_FOLDER;
    return 0;
}

static uint64_t first_build_bytes(const struct builds *self) {
    uint64_t bytes = length_of(self, STAGE_PROGRAM, 0);

    for (uint32_t i = 0; i < self->source_count; i++)
        for (int stage = STAGE_SOURCE; stage <= STAGE_COMMAND; stage++)
            bytes += length_of(self, stage, i);
    return bytes + self->object_blocks * TRIB_BLOCK_BYTES;
}

static void name_paths(struct builds *self) {
    for (int i = 0; i < STAGE_COUNT; i++)
        self->paths[i] = trib_path(path_names[i]);
    for (uint32_t i = 0; i < VARIANTS_MAX; i++)
        self->variants[i] = trib_hash_mix(self->paths[STAGE_ASSEMBLY], i);
}

static int builds_open(void **out, const struct trib_workload_common *common, struct trib_options *given,
                       struct trib_error *error) {
    struct settings settings;
    int rc = trib_options_take(given, options, &settings, error);
    if (rc)
        return rc;
    struct builds *self = calloc(1, sizeof *self);
    if (!self)
        return trib_fail(error, -ENOMEM, "out of memory");
    self->settings = settings;
    self->size_bytes = common->size_bytes;
    self->next_file = 1;
    trib_random_seed(&self->random, common->seed);
    name_paths(self);
    rc = make_sources(self, (uint64_t)((double)common->size_bytes / LIVE_FACTOR) / TRIB_BLOCK_BYTES, error);
    if (rc) {
        builds_close(self);
        return rc;
    }
    self->everything = common->fill;
    self->fill_bytes = common->fill ? first_build_bytes(self) : 0;
    self->round = STAGE_PROGRAM;
    *out = self;
    return 0;
}

static void builds_describe(const void *handle, struct trib_workload_description *out) {
    const struct builds *self = handle;

    out->size_bytes = self->size_bytes;
    out->fill_bytes = self->fill_bytes;
}

const struct trib_workload_kind trib_workload_builds = {
    .name = "builds",
    .summary = "a large C program built again and again (GCC)",
    .options = options,
    .carries = TRIB_CARRIES_SIGNATURE | TRIB_CARRIES_TRIM,
    .open = builds_open,
    .next = builds_next,
    .describe = builds_describe,
    .close = builds_close,
};
