/* SPDX-License-Identifier: Apache-2.0 */
/* Random writes in place on the drive's own addresses (file 0): uniform, zipf and hotcold.
 * Model: what a page store without a file system does. Pages go out through two call paths, as a
 * page cache has them (a cleaner and an evictor), on several threads; neither path knows how hot
 * its page is, so a signature tells nothing here, unless paths=own gives hot and cold data their
 * own. References: uniform and 80/20 hot/cold are the loads of the closed forms for greedy and
 * optimal cleaning (Desnoyers, SYSTOR'12 and ToS'14); zipf is SepBIT's synthetic one (FAST'22
 * section 5). hotcold may shift: at that moment the hot set moves to other addresses, all at once.
 */
#include <errno.h>
#include <stdlib.h>

#include "workload/generator.h"
#include "workload/popularity.h"
#include "workload/workloads.h"

#define FILL_BYTES      (128u << 10)
#define CLEANER_PERCENT 80

enum inplace_path { PATH_FILL, PATH_CLEANER, PATH_EVICTOR, PATH_HOT, PATH_COLD, PATH_COUNT };

static const char *const path_names[PATH_COUNT] = {
    [PATH_FILL] = "inplace/load", [PATH_CLEANER] = "inplace/cleaner", [PATH_EVICTOR] = "inplace/evictor",
    [PATH_HOT] = "inplace/hot",   [PATH_COLD] = "inplace/cold",
};

struct settings {
    uint64_t write_bytes, extent_bytes;
    uint32_t threads;
    double exponent, hot_size_percent, hot_share_percent, shift_at_percent;
    int paths;
};

struct inplace {
    struct settings settings;
    struct trib_random random;
    struct trib_popularity popularity;
    uint64_t size_bytes, fill_bytes, filled_bytes, shift_clock_bytes;
    uint32_t hot_units, shift_units;
    bool shifted;
    uint64_t paths[PATH_COUNT];
};

#define FIELD(name) offsetof(struct settings, name)

/* clang-format off */
#define COMMON_OPTIONS                                                                             \
    {.key = "write", .type = TRIB_OPTION_SIZE, .offset = FIELD(write_bytes), .fallback = "4K",     \
     .minimum = TRIB_BLOCK_BYTES, .maximum = 1 << 30, .help = "bytes per write"},                  \
    {.key = "threads", .type = TRIB_OPTION_U32, .offset = FIELD(threads), .fallback = "4",         \
     .minimum = 1, .maximum = 1024, .help = "that write, at random"}

#define EXTENT_OPTION(otherwise)                                                                   \
    {.key = "extent", .type = TRIB_OPTION_SIZE, .offset = FIELD(extent_bytes),                     \
     .fallback = otherwise, .minimum = TRIB_BLOCK_BYTES, .maximum = 17592186040320.0,              \
     .help = "neighbours this far are about equally hot; extents lie at random"}

#define SHIFT_OPTION                                                                               \
    {.key = "shift_at", .type = TRIB_OPTION_PERCENT, .offset = FIELD(shift_at_percent),            \
     .fallback = "0", .minimum = 0, .maximum = 100,                                                \
     .help = "when other addresses become hot, percent of host; 0 = never"}

static const struct trib_option_spec uniform_options[] = {COMMON_OPTIONS, TRIB_OPTIONS_END};

static const struct trib_option_spec zipf_options[] = {
    COMMON_OPTIONS,
    EXTENT_OPTION("4K"),
    SHIFT_OPTION,
    {.key = "exponent", .type = TRIB_OPTION_DOUBLE, .offset = FIELD(exponent), .fallback = "1",
     .minimum = 0, .maximum = 4, .help = "of Zipf's law: rank r has weight 1 / r^exponent"},
    TRIB_OPTIONS_END,
};

static const struct trib_option_spec hotcold_options[] = {
    COMMON_OPTIONS,
    EXTENT_OPTION("1M"),
    SHIFT_OPTION,
    {.key = "hot_size", .type = TRIB_OPTION_PERCENT, .offset = FIELD(hot_size_percent),
     .fallback = "20", .minimum = 0.1, .maximum = 99, .help = "hot data, percent of size"},
    {.key = "hot_share", .type = TRIB_OPTION_PERCENT, .offset = FIELD(hot_share_percent),
     .fallback = "80", .minimum = 0, .maximum = 100, .help = "of the writes go there"},
    {.key = "paths", .type = TRIB_OPTION_ENUM, .offset = FIELD(paths), .fallback = "shared",
     .choices = "shared|own", .help = "own: hot and cold data come from different code"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

static int check(const struct settings *settings, uint64_t size_bytes, struct trib_error *error) {
    if (settings->write_bytes % TRIB_BLOCK_BYTES)
        return trib_fail(error, -EINVAL, "option 'write': not a multiple of 4096");
    uint64_t units = size_bytes / settings->write_bytes;
    if (units < 2 || units > UINT32_MAX)
        return trib_fail(error, -EINVAL, "option 'size': %llu writes of 'write' bytes do not fit",
                         (unsigned long long)units);
    return 0;
}

static int make_popularity(struct inplace *self, uint32_t units) {
    const struct settings *settings = &self->settings;
    uint64_t extent = settings->extent_bytes / settings->write_bytes;
    int rc = 0;

    self->shift_units = units / 2;
    if (settings->exponent > 0)
        rc = trib_popularity_zipf(&self->popularity, units, settings->exponent);
    else
        trib_popularity_classes(&self->popularity, units, self->hot_units, settings->hot_share_percent / 100);
    if (self->hot_units)
        self->shift_units = self->hot_units;
    if (!rc && settings->extent_bytes)
        rc = trib_popularity_scatter(&self->popularity,
                                     extent < 1       ? 1
                                     : extent > units ? units
                                                      : (uint32_t)extent,
                                     &self->random);
    return rc;
}

static int open_with(void **out, const struct trib_workload_common *common, const struct settings *settings,
                     struct trib_error *error) {
    int rc = check(settings, common->size_bytes, error);
    if (rc)
        return rc;
    struct inplace *self = calloc(1, sizeof *self);
    if (!self)
        return trib_fail(error, -ENOMEM, "out of memory");
    uint32_t units = (uint32_t)(common->size_bytes / settings->write_bytes);
    self->settings = *settings;
    self->size_bytes = units * settings->write_bytes;
    self->fill_bytes = common->fill ? self->size_bytes : 0;
    self->hot_units = (uint32_t)(settings->hot_size_percent / 100 * units);
    if (settings->hot_size_percent > 0 && !self->hot_units)
        self->hot_units = 1;
    self->shift_clock_bytes = (uint64_t)(settings->shift_at_percent / 100 * (double)common->host_bytes);
    for (int i = 0; i < PATH_COUNT; i++)
        self->paths[i] = trib_path(path_names[i]);
    trib_random_seed(&self->random, common->seed);
    rc = make_popularity(self, units);
    if (rc) {
        trib_popularity_close(&self->popularity);
        free(self);
        return trib_fail(error, rc, "no memory for %u units", units);
    }
    *out = self;
    return 0;
}

static int inplace_open(void **out, const struct trib_workload_common *common, struct trib_options *given,
                        const struct trib_option_spec *specs, struct trib_error *error) {
    struct settings settings = {0};
    int rc = trib_options_take(given, specs, &settings, error);
    return rc ? rc : open_with(out, common, &settings, error);
}

static int uniform_open(void **out, const struct trib_workload_common *common, struct trib_options *given,
                        struct trib_error *error) {
    return inplace_open(out, common, given, uniform_options, error);
}

static int zipf_open(void **out, const struct trib_workload_common *common, struct trib_options *given,
                     struct trib_error *error) {
    return inplace_open(out, common, given, zipf_options, error);
}

static int hotcold_open(void **out, const struct trib_workload_common *common, struct trib_options *given,
                        struct trib_error *error) {
    return inplace_open(out, common, given, hotcold_options, error);
}

static void fill(struct inplace *self, struct trib_event *event) {
    uint64_t left = self->fill_bytes - self->filled_bytes;
    uint64_t length = left < FILL_BYTES ? left : FILL_BYTES;

    trib_event_write(event, 0, self->filled_bytes, length);
    event->who.signature = self->paths[PATH_FILL];
    self->filled_bytes += length;
}

static enum inplace_path path_of(struct inplace *self, uint32_t rank) {
    if (self->settings.paths)
        return rank < self->hot_units ? PATH_HOT : PATH_COLD;
    return trib_random_below(&self->random, 100) < CLEANER_PERCENT ? PATH_CLEANER : PATH_EVICTOR;
}

static int inplace_next(void *handle, uint64_t clock_bytes, struct trib_event *event) {
    struct inplace *self = handle;

    if (self->filled_bytes < self->fill_bytes) {
        fill(self, event);
        return 1;
    }
    if (self->shift_clock_bytes && !self->shifted && clock_bytes >= self->shift_clock_bytes) {
        trib_popularity_shift(&self->popularity, self->shift_units);
        self->shifted = true;
    }
    uint32_t rank = trib_popularity_draw(&self->popularity, &self->random);
    uint32_t unit = trib_popularity_place(&self->popularity, rank);
    trib_event_write(event, 0, unit * self->settings.write_bytes, self->settings.write_bytes);
    event->who.signature = self->paths[path_of(self, rank)];
    event->thread = trib_random_below(&self->random, self->settings.threads);
    return 1;
}

static void inplace_describe(const void *handle, struct trib_workload_description *out) {
    const struct inplace *self = handle;

    out->size_bytes = self->size_bytes;
    out->fill_bytes = self->fill_bytes;
}

static void inplace_close(void *handle) {
    struct inplace *self = handle;

    trib_popularity_close(&self->popularity);
    free(self);
}

#define INPLACE(which, text)                                                                                           \
    const struct trib_workload_kind trib_workload_##which = {                                                          \
        .name = #which,                                                                                                \
        .summary = text,                                                                                               \
        .options = which##_options,                                                                                    \
        .carries = TRIB_CARRIES_SIGNATURE | TRIB_CARRIES_ADDRESS,                                                      \
        .open = which##_open,                                                                                          \
        .next = inplace_next,                                                                                          \
        .describe = inplace_describe,                                                                                  \
        .close = inplace_close,                                                                                        \
    }

INPLACE(uniform, "random writes in place, all addresses alike");
INPLACE(zipf, "random writes in place by Zipf's law");
INPLACE(hotcold, "random writes in place, two classes; may shift");
