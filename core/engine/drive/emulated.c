/* SPDX-License-Identifier: Apache-2.0 */
/* The emulated multi-stream drive: options -> flash model. It holds no data. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tributary/event.h>
#include <tributary/pipeline.h>

#include "drive/drives.h"
#include "drive/presets.h"
#include "flash/flash.h"
#include "log/assert.h"

#define GC_OWN          TRIB_GC_COUNT /* the word after the destinations' names */
#define NOT_GIVEN       (-1)
#define FILL_STEP_PAGES (1u << 20)

enum internal_choice {
    INTERNAL_AUTO = 0,
    INTERNAL_OFF = 1,
    INTERNAL_TWIN = 2,
    INTERNAL_SUBSTREAM = 3,
    INTERNAL_CHAIN = 4,
};

struct settings {
    int preset, gc, internal, victim;
    uint64_t capacity_bytes, superblock_bytes, seed, map_cache_bytes;
    double over_provisioning_percent, cold_percent;
    uint32_t device_streams, internal_streams, victim_choices, gc_free_low;
    uint32_t substream_pages, map_entry_bytes;
    bool latency;
    struct trib_flash_latency timing;
};

#define FIELD(name)  offsetof(struct settings, name)
#define TIMING(name) offsetof(struct settings, timing.name)

/* Keys without a fallback default to the preset's figure. */
/* clang-format off */
#define PRESET_OPTION \
    {.key = "preset", .type = TRIB_OPTION_ENUM, .offset = FIELD(preset), .fallback = "default", \
     .choices = TRIB_PRESET_CHOICES, .help = "geometry to start from (docs/drives.md)"}

/* Taken first, because the defaults of the others are the preset's. */
static const struct trib_option_spec preset_only[] = {PRESET_OPTION, TRIB_OPTIONS_END};

static const struct trib_option_spec options[] = {
    PRESET_OPTION,
    {.key = "capacity", .type = TRIB_OPTION_SIZE, .offset = FIELD(capacity_bytes),
     .minimum = TRIB_BLOCK_BYTES, .maximum = 17592186040320.0,
     .help = "exported bytes, a multiple of 4 KiB [preset]"},
    {.key = "op", .type = TRIB_OPTION_PERCENT, .offset = FIELD(over_provisioning_percent),
     .minimum = 0.1, .maximum = 1000,
     .help = "over-provisioning: physical / exported - 1, percent [preset]"},
    {.key = "superblock", .type = TRIB_OPTION_SIZE, .offset = FIELD(superblock_bytes),
     .minimum = 2 * TRIB_BLOCK_BYTES, .maximum = 68719476736.0,
     .help = "bytes erased together [preset]"},
    {.key = "device_streams", .type = TRIB_OPTION_U32, .offset = FIELD(device_streams),
     .minimum = 0, .maximum = 254, .help = "streams besides S0 that the drive has [preset]"},
    {.key = "gc", .type = TRIB_OPTION_ENUM, .offset = FIELD(gc), .choices = &TRIB_GC_NAMES "|own"[1],
     .help = "where garbage collection puts survivors; own: the policy's destination [as internal says, or same]"},
    {.key = "internal", .type = TRIB_OPTION_ENUM, .offset = FIELD(internal), .fallback = "auto",
     .choices = "auto|off|twin|substream|chain",
     .help = "internal streams (twin: FAST'19; the rest: HotStorage'18); auto: as gc says"},
    {.key = "substream_pages", .type = TRIB_OPTION_U32, .offset = FIELD(substream_pages),
     .fallback = "384", .maximum = 16777215,
     .help = "internal=substream begins at a victim with more valid pages than this"},
    {.key = "internal_streams", .type = TRIB_OPTION_U32, .offset = FIELD(internal_streams),
     .minimum = 1, .maximum = 255, .help = "for destinations that ask the policy [streams + 1]"},
    {.key = "victim", .type = TRIB_OPTION_ENUM, .offset = FIELD(victim), .fallback = "greedy",
     .choices = &TRIB_VICTIM_NAMES[1], .help = "which superblock is collected"},
    {.key = "choices", .type = TRIB_OPTION_U32, .offset = FIELD(victim_choices), .fallback = "10",
     .minimum = 2, .maximum = 64, .help = "d of victim=d-choices"},
    {.key = "gc_free_low", .type = TRIB_OPTION_U32, .offset = FIELD(gc_free_low), .fallback = "2",
     .minimum = 2, .maximum = 65536, .help = "collects while fewer superblocks than this are free"},
    {.key = "cold", .type = TRIB_OPTION_PERCENT, .offset = FIELD(cold_percent), .fallback = "0",
     .minimum = 0, .maximum = 99,
     .help = "percent of the capacity filled at open with data that never die"},
    {.key = "seed", .type = TRIB_OPTION_U64, .offset = FIELD(seed), .fallback = "1",
     .help = "of random victims; the same seed gives the same run"},
    {.key = "map_cache", .type = TRIB_OPTION_SIZE, .offset = FIELD(map_cache_bytes),
     .minimum = 0, .maximum = 1099511627776.0,
     .help = "memory for the mapping table, the rest lies on flash; 0: all in memory [preset]"},
    {.key = "map_entry", .type = TRIB_OPTION_U32, .offset = FIELD(map_entry_bytes),
     .fallback = "4", .minimum = 1, .maximum = 4096,
     .help = "bytes of the mapping table per logical page (DStream: 4)"},
    {.key = "latency", .type = TRIB_OPTION_BOOL, .offset = FIELD(latency), .fallback = "off",
     .help = "virtual time, which gives IOPS"},
    {.key = "channels", .type = TRIB_OPTION_U32, .offset = TIMING(channels), .minimum = 1,
     .maximum = 256, .help = "latency model [preset]"},
    {.key = "dies", .type = TRIB_OPTION_U32, .offset = TIMING(dies_per_channel), .minimum = 1,
     .maximum = 256, .help = "dies per channel [preset]"},
    {.key = "read_us", .type = TRIB_OPTION_DOUBLE, .offset = TIMING(read_us), .minimum = 0,
     .maximum = 1e6, .help = "NAND page read, microseconds [preset]"},
    {.key = "program_us", .type = TRIB_OPTION_DOUBLE, .offset = TIMING(program_us), .minimum = 0,
     .maximum = 1e6, .help = "program of program_pages on a die, microseconds [preset]"},
    {.key = "erase_us", .type = TRIB_OPTION_DOUBLE, .offset = TIMING(erase_us), .minimum = 0,
     .maximum = 1e6, .help = "block erase, microseconds [preset]"},
    {.key = "channel_mbps", .type = TRIB_OPTION_DOUBLE, .offset = TIMING(channel_mb_per_s),
     .minimum = 1, .maximum = 1e6, .help = "channel rate, MB/s [preset]"},
    {.key = "program_pages", .type = TRIB_OPTION_U32, .offset = TIMING(pages_per_program),
     .minimum = 1, .maximum = 65536, .help = "logical pages programmed at once on a die [preset]"},
    {.key = "queue_depth", .type = TRIB_OPTION_U32, .offset = TIMING(queue_depth), .minimum = 1,
     .maximum = 65536, .help = "host commands in flight [preset]"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

struct emulated {
    struct trib_flash *flash;
    struct trib_flash_config config;
    uint64_t usable_blocks, live_pages_peak;
};

/* The first option alone, then the rest over the figures of the preset it names. */
static int take_options(struct settings *out, struct trib_options *given, struct trib_error *error) {
    struct settings s = {.gc = NOT_GIVEN};
    int code = trib_options_take(given, preset_only, &s, error);
    if (code)
        return code;
    const struct trib_preset *preset = &trib_presets[s.preset];
    s.capacity_bytes = preset->capacity_bytes;
    s.over_provisioning_percent = preset->over_provisioning_percent;
    s.superblock_bytes = preset->superblock_bytes;
    s.device_streams = preset->streams;
    s.map_cache_bytes = preset->map_cache_bytes;
    s.timing = preset->latency;
    code = trib_options_take(given, options + 1, &s, error);
    if (!code)
        *out = s;
    return code;
}

/* The destination that `internal` alone asks for. */
static int gc_of_internal(int internal) {
    switch ((enum internal_choice)internal) {
    case INTERNAL_SUBSTREAM:
        return TRIB_GC_SUBSTREAM;
    case INTERNAL_CHAIN:
        return TRIB_GC_CHAIN;
    case INTERNAL_TWIN:
        return TRIB_GC_TWIN;
    case INTERNAL_AUTO:
    case INTERNAL_OFF:
        break;
    }
    return TRIB_GC_SAME;
}

static bool has_internal_streams(int gc) {
    return gc == TRIB_GC_TWIN || gc == TRIB_GC_SUBSTREAM || gc == TRIB_GC_CHAIN;
}

static int choose_gc(const struct settings *s, const struct trib_drive_env *env, struct trib_error *error) {
    int implied = gc_of_internal(s->internal), gc = s->gc;
    if (gc == NOT_GIVEN)
        return implied;
    if (gc == GC_OWN)
        gc = env->own_gc ? trib_gc_find(env->own_gc, GC_OWN) : TRIB_GC_SAME;
    if (gc == GC_OWN)
        return trib_fail(error, -EINVAL, "option 'gc': the policy's own destination '%.32s' is none of this drive's",
                         env->own_gc);
    if ((s->internal >= INTERNAL_TWIN && gc != implied) || (s->internal == INTERNAL_OFF && has_internal_streams(gc)))
        return trib_fail(error, -EINVAL, "options 'gc' and 'internal' contradict each other; give one of them");
    if (trib_gc_rules[gc].internal == TRIB_GC_ASKED && !env->relocate)
        return trib_fail(error, -EINVAL, "option 'gc': %s needs a policy that places what is collected",
                         trib_gc_rules[gc].name);
    return gc;
}

static int check_sizes(const struct settings *s, struct trib_error *error) {
    if (s->capacity_bytes % TRIB_BLOCK_BYTES)
        return trib_fail(error, -EINVAL, "option 'capacity': %llu is no multiple of 4096",
                         (unsigned long long)s->capacity_bytes);
    if (s->superblock_bytes % TRIB_BLOCK_BYTES)
        return trib_fail(error, -EINVAL, "option 'superblock': %llu is no multiple of 4096",
                         (unsigned long long)s->superblock_bytes);
    return 0;
}

static int configure(struct trib_flash_config *out, const struct settings *s, const struct trib_drive_env *env,
                     struct trib_error *error) {
    int gc = choose_gc(s, env, error);
    if (gc < 0)
        return gc;
    int code = check_sizes(s, error);
    if (code)
        return code;
    uint32_t streams = env->streams < s->device_streams ? env->streams : s->device_streams;
    *out = (struct trib_flash_config){
        .logical_pages = s->capacity_bytes / TRIB_BLOCK_BYTES,
        .over_provisioning = s->over_provisioning_percent / 100,
        .superblock_pages = (uint32_t)(s->superblock_bytes / TRIB_BLOCK_BYTES),
        .streams = streams,
        .internal_streams = s->internal_streams ? s->internal_streams : streams + 1,
        .gc = (enum trib_gc_destination)gc,
        .victim = (enum trib_victim)s->victim,
        .substream_pages = s->substream_pages,
        .victim_choices = s->victim_choices,
        .gc_free_low = s->gc_free_low,
        .seed = s->seed,
        .map_cache_bytes = s->map_cache_bytes,
        .map_entry_bytes = s->map_entry_bytes,
        .relocate = env->relocate,
        .reclaimed = env->reclaimed,
        .gc_arg = env->gc_arg,
    };
    if (s->latency)
        out->latency = s->timing;
    return 0;
}

/* Cold data lie at the top of the address range and fill whole superblocks, so that no later write
 * shares one with them. */
static int fill_cold(struct emulated *drive, double percent, struct trib_error *error) {
    uint64_t end = drive->config.logical_pages, unit = drive->config.superblock_pages;
    uint64_t pages = (uint64_t)((double)end * percent / 100 / (double)unit + 0.5) * unit;
    if (percent > 0 && (!pages || pages >= end))
        return trib_fail(error, -EINVAL,
                         "option 'cold': %.3g %% of this drive is no whole number of superblocks "
                         "between one and all",
                         percent);
    drive->usable_blocks = end - pages;
    for (uint64_t lba = drive->usable_blocks; lba < end; lba += FILL_STEP_PAGES) {
        uint32_t step = end - lba < FILL_STEP_PAGES ? (uint32_t)(end - lba) : FILL_STEP_PAGES;
        int code = trib_flash_write(drive->flash, lba, step, 0);
        if (code)
            return trib_fail(error, code, "option 'cold': filling failed at block %llu: %s", (unsigned long long)lba,
                             strerror(-code));
    }
    trib_flash_reset_counters(drive->flash);
    drive->live_pages_peak = pages;
    return 0;
}

static int emulated_close(void *self) {
    struct emulated *drive = self;
    trib_flash_close(drive->flash);
    free(drive);
    return 0;
}

static int emulated_open(void **self, const struct trib_drive_env *env, struct trib_options *given,
                         struct trib_error *error) {
    struct settings s;
    struct trib_flash_config config;
    int code = take_options(&s, given, error);
    if (!code)
        code = configure(&config, &s, env, error);
    if (code)
        return code;
    struct emulated *drive = calloc(1, sizeof *drive);
    if (!drive)
        return trib_fail(error, -ENOMEM, "emulated drive: out of memory");
    drive->config = config;
    code = trib_flash_open(&drive->flash, &config, error);
    if (!code)
        code = fill_cold(drive, s.cold_percent, error);
    if (code)
        emulated_close(drive);
    else
        *self = drive;
    return code;
}

static int emulated_write(void *self, uint64_t lba, uint32_t blocks, uint16_t stream) {
    struct emulated *drive = self;
    return trib_flash_write(drive->flash, lba, blocks, stream);
}

/* Only discards shrink what is live: looking before each, and when asked, sees the peak. */
static void note_peak(struct emulated *drive) {
    uint64_t live = trib_flash_mapped_pages(drive->flash);
    if (live > drive->live_pages_peak)
        drive->live_pages_peak = live;
}

static int emulated_discard(void *self, uint64_t lba, uint64_t blocks) {
    struct emulated *drive = self;
    note_peak(drive);
    return trib_flash_discard(drive->flash, lba, blocks);
}

static int emulated_read(void *self, uint64_t lba, uint32_t blocks) {
    struct emulated *drive = self;
    return trib_flash_read(drive->flash, lba, blocks);
}

static void emulated_describe(void *self, struct trib_drive_description *out) {
    struct emulated *drive = self;
    const struct trib_flash_config *config = &drive->config;
    const struct trib_gc_rule *gc = &trib_gc_rules[config->gc];
    struct trib_flash_stats stats;
    trib_flash_statistics(drive->flash, &stats);
    *out = (struct trib_drive_description){
        .name = "emulated",
        .capacity_bytes = config->logical_pages * TRIB_BLOCK_BYTES,
        .usable_blocks = drive->usable_blocks,
        .reclaim_unit_bytes = (uint64_t)config->superblock_pages * TRIB_BLOCK_BYTES,
        .reclaim_units = stats.physical_pages / config->superblock_pages,
        .streams = config->streams,
        .internal_streams = gc->internal == TRIB_GC_ASKED ? config->internal_streams : 0,
        .physical_bytes = stats.physical_pages * TRIB_BLOCK_BYTES,
        .over_provisioning_percent = 100.0 * ((double)stats.physical_pages / (double)config->logical_pages - 1),
        .level = TRIB_PLACEMENT_PLACED,
        .evidence = "emulated in this process: the model acts on every stream",
    };
    snprintf(out->gc, sizeof out->gc, "%s", gc->name);
    snprintf(out->victim, sizeof out->victim, "%s", trib_victim_rules[config->victim].name);
}

static void emulated_stats(void *self, struct trib_drive_stats *out) {
    struct emulated *drive = self;
    struct trib_flash_stats now;
    trib_flash_statistics(drive->flash, &now);
    note_peak(drive);
    *out = (struct trib_drive_stats){
        .host_pages = now.host_pages,
        .gc_pages = now.gc_pages,
        .metadata_pages = now.map_programs,
        .metadata_read_pages = now.map_reads,
        .map_lookups = now.map_lookups,
        .map_misses = now.map_misses,
        .map_cache_bytes = now.map_cache_bytes,
        .erases = now.erases,
        .discarded_pages = now.discarded_pages,
        .read_pages = now.read_pages,
        .streams_remapped = now.remapped_writes,
        .streams_used = now.streams_used,
        .open_units_peak = (uint32_t)now.open_superblocks_peak,
        .live_pages = now.mapped_pages,
        .live_pages_peak = drive->live_pages_peak,
        .virtual_seconds = now.virtual_seconds,
    };
    if (now.host_pages)
        out->waf = (double)(now.host_pages + now.gc_pages + now.map_programs) / (double)now.host_pages;
}

static void emulated_resize_map_cache(void *self, uint64_t bytes) {
    struct emulated *drive = self;
    trib_flash_resize_map_cache(drive->flash, bytes);
}

static int emulated_dump(void *self, FILE *out) {
    struct emulated *drive = self;
    return trib_flash_dump(drive->flash, out);
}

static const struct trib_drive_model model = {
    .write = emulated_write,
    .discard = emulated_discard,
    .read = emulated_read,
    .dump = emulated_dump,
    .resize_map_cache = emulated_resize_map_cache,
};

static int emulated_stream_stats(void *self, uint16_t stream, bool internal, struct trib_drive_stream_stats *out) {
    const struct emulated *drive = self;
    struct trib_flash_stream_stats now;
    int code = trib_flash_stream_statistics(drive->flash, stream, internal, &now);

    if (code == 0)
        *out = (struct trib_drive_stream_stats){.host_pages = now.host_pages,
                                                .gc_pages_out = now.gc_pages_out,
                                                .gc_pages_in = now.gc_pages_in,
                                                .superblocks = now.superblocks,
                                                .valid_pages = now.valid_pages};
    return code;
}

const struct trib_drive trib_drive_emulated = {
    .name = "emulated",
    .summary = "multi-stream flash drive in this process: WAF, wear, time",
    .options = options,
    .open = emulated_open,
    .close = emulated_close,
    .describe = emulated_describe,
    .stats = emulated_stats,
    .stream_stats = emulated_stream_stats,
    .model = &model,
};
