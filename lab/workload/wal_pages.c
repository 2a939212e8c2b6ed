/* SPDX-License-Identifier: Apache-2.0 */
/* A B-tree store with a write-ahead log: the log goes round in place (InnoDB's redo log) or in new
 * files (PostgreSQL, Cassandra's commit log), pages are written in place with skew, each batch of
 * them first to a double-write area (InnoDB). So bytes of three lifetimes: the double-write area
 * (megabytes), the log (its own size in log bytes), pages (by how hot they are).
 * Model: every step logs and now and then a cleaner writes a batch; pages are drawn by Zipf's law.
 * As in InnoDB pages leave through two paths, the flush list and the LRU list, whatever their heat;
 * no hints, because no such engine gives any. */
#include <errno.h>
#include <stdlib.h>

#include "workload/generator.h"
#include "workload/popularity.h"
#include "workload/workloads.h"

#define FILL_BYTES   (128u << 10)
#define BATCH_PAGES  32
#define LRU_PERCENT  15
#define FIRST_THREAD 1 /* of the page cleaners; thread 0 writes the log */

enum wal_file { FILE_DATA = 1, FILE_DOUBLEWRITE = 2, FILE_LOG = 3 }; /* rotated logs come behind */

enum wal_path {
    PATH_LOAD,
    PATH_LOG,
    PATH_DOUBLEWRITE,
    PATH_FLUSH_LIST,
    PATH_LRU,
    PATH_COUNT,
};

static const char *const path_names[PATH_COUNT] = {
    [PATH_LOAD] = "wal-pages/load",
    [PATH_LOG] = "wal-pages/log",
    [PATH_DOUBLEWRITE] = "wal-pages/doublewrite",
    [PATH_FLUSH_LIST] = "wal-pages/flush-list",
    [PATH_LRU] = "wal-pages/lru",
};

struct settings {
    uint64_t page_bytes, log_bytes, write_bytes, extent_bytes;
    double log_percent, exponent;
    uint32_t cleaners;
    int rotate;
    bool doublewrite;
};

struct wal_pages {
    struct settings settings;
    struct trib_random random;
    struct trib_popularity popularity;
    uint64_t size_bytes, data_bytes, filled_bytes, fill_bytes;
    uint64_t log_file, log_at_bytes, next_file, dead_file;
    uint32_t batch[BATCH_PAGES], batched, copied; /* pages in hand; those already in place */
    uint32_t cleaner;
    uint64_t paths[PATH_COUNT];
};

#define FIELD(name) offsetof(struct settings, name)

/* clang-format off */
static const struct trib_option_spec options[] = {
    {.key = "page", .type = TRIB_OPTION_SIZE, .offset = FIELD(page_bytes), .fallback = "16K",
     .minimum = TRIB_BLOCK_BYTES, .maximum = 1 << 20, .help = "bytes per page"},
    {.key = "log", .type = TRIB_OPTION_SIZE, .offset = FIELD(log_bytes), .fallback = "16M",
     .minimum = 65536, .maximum = 1e12, .help = "length of the log, or of one of its files"},
    {.key = "log_write", .type = TRIB_OPTION_SIZE, .offset = FIELD(write_bytes),
     .fallback = "16K", .minimum = TRIB_BLOCK_BYTES, .maximum = 1 << 20,
     .help = "bytes per write to the log"},
    {.key = "log_share", .type = TRIB_OPTION_PERCENT, .offset = FIELD(log_percent),
     .fallback = "25", .minimum = 0, .maximum = 99, .help = "of the steps write the log"},
    {.key = "journal", .type = TRIB_OPTION_ENUM, .offset = FIELD(rotate), .fallback = "circular",
     .choices = "circular|rotate", .help = "rotate: new files, the one before the last unlinked"},
    {.key = "doublewrite", .type = TRIB_OPTION_BOOL, .offset = FIELD(doublewrite),
     .fallback = "on", .help = "batches go to a fixed area first"},
    {.key = "exponent", .type = TRIB_OPTION_DOUBLE, .offset = FIELD(exponent), .fallback = "0.9",
     .minimum = 0, .maximum = 4, .help = "of Zipf's law over pages"},
    {.key = "extent", .type = TRIB_OPTION_SIZE, .offset = FIELD(extent_bytes), .fallback = "256K",
     .minimum = TRIB_BLOCK_BYTES, .maximum = 1e12,
     .help = "neighbours this far are about equally hot"},
    {.key = "cleaners", .type = TRIB_OPTION_U32, .offset = FIELD(cleaners), .fallback = "4",
     .minimum = 1, .maximum = 64, .help = "threads that write pages"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

static int check(const struct settings *settings, struct trib_error *error) {
    if (settings->page_bytes % TRIB_BLOCK_BYTES || settings->write_bytes % TRIB_BLOCK_BYTES ||
        settings->log_bytes % settings->write_bytes)
        return trib_fail(error, -EINVAL, "options 'page' and 'log_write' are multiples of 4096, 'log' of 'log_write'");
    return 0;
}

static int set_up(struct wal_pages *self, const struct trib_workload_common *common, struct trib_error *error) {
    const struct settings *settings = &self->settings;
    uint64_t logs = settings->log_bytes * (settings->rotate ? 2 : 1);
    uint64_t area = settings->doublewrite ? BATCH_PAGES * settings->page_bytes : 0;
    int rc = check(settings, error);

    if (rc)
        return rc;
    if (common->size_bytes < 2 * (logs + area))
        return trib_fail(error, -EINVAL, "option 'size': twice the log (%llu bytes) is the least",
                         (unsigned long long)(2 * (logs + area)));
    uint32_t pages = (uint32_t)((common->size_bytes - logs - area) / settings->page_bytes);
    uint32_t extent = (uint32_t)(settings->extent_bytes / settings->page_bytes);
    self->size_bytes = common->size_bytes;
    self->data_bytes = pages * settings->page_bytes;
    self->fill_bytes = common->fill ? self->data_bytes : 0;
    self->log_file = FILE_LOG;
    self->next_file = FILE_LOG + 1;
    for (int i = 0; i < PATH_COUNT; i++)
        self->paths[i] = trib_path(path_names[i]);
    trib_random_seed(&self->random, common->seed);
    rc = trib_popularity_zipf(&self->popularity, pages, settings->exponent);
    if (!rc)
        rc = trib_popularity_scatter(&self->popularity,
                                     extent < 1       ? 1
                                     : extent > pages ? pages
                                                      : extent,
                                     &self->random);
    return rc ? trib_fail(error, rc, "no memory for %u pages", pages) : 0;
}

static void wal_pages_close(void *handle) {
    struct wal_pages *self = handle;

    trib_popularity_close(&self->popularity);
    free(self);
}

static int wal_pages_open(void **out, const struct trib_workload_common *common, struct trib_options *given,
                          struct trib_error *error) {
    struct settings settings;
    int rc = trib_options_take(given, options, &settings, error);
    if (rc)
        return rc;
    struct wal_pages *self = calloc(1, sizeof *self);
    if (!self)
        return trib_fail(error, -ENOMEM, "out of memory");
    self->settings = settings;
    rc = set_up(self, common, error);
    if (rc)
        wal_pages_close(self);
    else
        *out = self;
    return rc;
}

static void write_log(struct wal_pages *self, struct trib_event *event) {
    trib_event_write(event, self->log_file, self->log_at_bytes, self->settings.write_bytes);
    event->who.file_kind = TRIB_FILE_WAL;
    event->who.signature = self->paths[PATH_LOG];
    self->log_at_bytes += self->settings.write_bytes;
    if (self->log_at_bytes < self->settings.log_bytes)
        return;
    self->log_at_bytes = 0;
    if (!self->settings.rotate)
        return;
    if (self->log_file > FILE_LOG) /* a checkpoint freed the log before this one */
        self->dead_file = self->log_file - 1;
    self->log_file = self->next_file++;
}

static void write_page(struct wal_pages *self, struct trib_event *event) {
    uint64_t page = self->batch[self->copied++];
    bool evicted = trib_random_below(&self->random, 100) < LRU_PERCENT;

    trib_event_write(event, FILE_DATA, page * self->settings.page_bytes, self->settings.page_bytes);
    event->who.file_kind = TRIB_FILE_DATABASE;
    event->who.signature = self->paths[evicted ? PATH_LRU : PATH_FLUSH_LIST];
    event->thread = FIRST_THREAD + self->cleaner;
    if (self->copied == self->batched)
        self->batched = self->copied = 0;
}

/* A cleaner takes pages, and in one write copies them to the double-write area. */
static void begin_batch(struct wal_pages *self, struct trib_event *event) {
    self->cleaner = trib_random_below(&self->random, self->settings.cleaners);
    for (; self->batched < BATCH_PAGES; self->batched++) {
        uint32_t rank = trib_popularity_draw(&self->popularity, &self->random);
        self->batch[self->batched] = trib_popularity_place(&self->popularity, rank);
    }
    if (!self->settings.doublewrite) {
        write_page(self, event);
        return;
    }
    trib_event_write(event, FILE_DOUBLEWRITE, 0, BATCH_PAGES * self->settings.page_bytes);
    event->who.file_kind = TRIB_FILE_JOURNAL;
    event->who.signature = self->paths[PATH_DOUBLEWRITE];
    event->thread = FIRST_THREAD + self->cleaner;
}

static int wal_pages_next(void *handle, uint64_t clock_bytes, struct trib_event *event) {
    struct wal_pages *self = handle;
    (void)clock_bytes;

    if (self->dead_file) {
        trib_event_unlink(event, self->dead_file);
        self->dead_file = 0;
    } else if (self->filled_bytes < self->fill_bytes) {
        uint64_t left = self->fill_bytes - self->filled_bytes;
        trib_event_write(event, FILE_DATA, self->filled_bytes, left < FILL_BYTES ? left : FILL_BYTES);
        event->who.file_kind = TRIB_FILE_DATABASE;
        event->who.signature = self->paths[PATH_LOAD];
        self->filled_bytes += event->length_bytes;
    } else if (trib_random_unit(&self->random) * 100 < self->settings.log_percent) {
        write_log(self, event);
    } else if (self->batched) {
        write_page(self, event);
    } else {
        begin_batch(self, event);
    }
    return 1;
}

static void wal_pages_describe(const void *handle, struct trib_workload_description *out) {
    const struct wal_pages *self = handle;

    out->size_bytes = self->size_bytes;
    out->fill_bytes = self->fill_bytes;
    if (self->settings.rotate) /* a log that goes round dies by being overwritten */
        out->carries |= TRIB_CARRIES_TRIM;
}

const struct trib_workload_kind trib_workload_wal_pages = {
    .name = "wal-pages",
    .summary = "write-ahead log, double writes and B-tree pages",
    .options = options,
    .carries = TRIB_CARRIES_SIGNATURE,
    .open = wal_pages_open,
    .next = wal_pages_next,
    .describe = wal_pages_describe,
    .close = wal_pages_close,
};
