/* SPDX-License-Identifier: Apache-2.0 */
#include "import/import.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "import/map.h"

#define LINE_BYTES       4096
#define RECORD_BYTES_MAX 64
#define HEAD_BYTES       80 /* two of the longest records */
#define VOLUMES_MAX      65535
#define VOLUME_SLOTS     131072
#define HOPELESS_LINES   1000 /* not one of the first is sound: another format */

struct trib_import {
    const struct trib_import_format *format;
    struct trib_import_settings settings;
    FILE *in;
    const struct trib_import_map *map;
    struct trib_import_statistics statistics;
    char (*volumes)[TRIB_IMPORT_VOLUME_BYTES];
    uint32_t *volume_slots; /* hashed by name: number + 1, 0 = free */
    uint64_t clock_bytes, first_ns;
    bool started, ended;
    size_t record_bytes, head_bytes, head_used; /* binary: the head was read to know the version */
    unsigned char head[HEAD_BYTES];
    char line[LINE_BYTES];
};

#define FIELD(name) offsetof(struct trib_import_settings, name)

/* clang-format off */
const struct trib_option_spec trib_import_options[] = {
    {.key = "volume", .type = TRIB_OPTION_TEXT, .offset = FIELD(volume), .fallback = "all",
     .help = "the one to keep, as the trace names it (MSR: host.disk); all: side by side"},
    {.key = "chunk", .type = TRIB_OPTION_SIZE, .offset = FIELD(chunk_bytes), .fallback = "1M",
     .minimum = 0, .maximum = 1e15,
     .help = "addresses are packed to the chunks of this size that are touched; 0 = kept"},
    {.key = "reads", .type = TRIB_OPTION_BOOL, .offset = FIELD(reads), .fallback = "on",
     .help = "keep reads"},
    {.key = "action", .type = TRIB_OPTION_ENUM, .offset = FIELD(action), .fallback = "D",
     .choices = "D|Q|C|I", .help = "blkparse: which action counts (D: given to the driver)"},
    {.key = "time_unit", .type = TRIB_OPTION_ENUM, .offset = FIELD(time_unit), .fallback = "ns",
     .choices = "ns|us|ms|s", .help = "mqsim and csv: of times"},
    {.key = "time_column", .type = TRIB_OPTION_U32, .offset = FIELD(time_column), .fallback = "1",
     .minimum = 1, .maximum = 32, .help = "csv"},
    {.key = "offset_column", .type = TRIB_OPTION_U32, .offset = FIELD(offset_column),
     .fallback = "2", .minimum = 1, .maximum = 32, .help = "csv: libCacheSim's object id"},
    {.key = "size_column", .type = TRIB_OPTION_U32, .offset = FIELD(size_column), .fallback = "3",
     .minimum = 1, .maximum = 32, .help = "csv: in bytes"},
    {.key = "op_column", .type = TRIB_OPTION_U32, .offset = FIELD(op_column), .fallback = "0",
     .minimum = 0, .maximum = 32, .help = "csv; 0 = all are writes"},
    {.key = "offset_unit", .type = TRIB_OPTION_SIZE, .offset = FIELD(offset_unit_bytes),
     .fallback = "512", .minimum = 1, .maximum = 1 << 30, .help = "csv: bytes per address"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

static int take_settings(struct trib_import_settings *out, const char *options, struct trib_error *error) {
    struct trib_options *given = NULL;
    int rc = trib_options_open(&given, options, error);
    if (!rc)
        rc = trib_options_take(given, trib_import_options, out, error);
    if (!rc)
        rc = trib_options_finish(given, error);
    trib_options_close(given);
    if (!rc && out->chunk_bytes % TRIB_BLOCK_BYTES)
        rc = trib_fail(error, -EINVAL, "option 'chunk': not a multiple of 4096");
    return rc;
}

/* Binary formats: the first records say how long each is. */
static int read_head(struct trib_import *import, struct trib_error *error) {
    if (!import->format->record)
        return 0;
    import->head_bytes = fread(import->head, 1, sizeof import->head, import->in);
    import->record_bytes = import->format->record_bytes(import->head, import->head_bytes);
    if (!import->record_bytes && import->head_bytes)
        return trib_fail(error, -EINVAL, "not of format %s: its records are of no known version", import->format->name);
    return 0;
}

int trib_import_open(struct trib_import **out, FILE *in, const struct trib_import_format *format, const char *options,
                     struct trib_error *error) {
    struct trib_import *import = calloc(1, sizeof *import);
    if (!import)
        return trib_fail(error, -ENOMEM, "out of memory");
    import->format = format;
    import->in = in;
    int rc = take_settings(&import->settings, options, error);
    import->volumes = calloc(VOLUMES_MAX, sizeof *import->volumes);
    import->volume_slots = calloc(VOLUME_SLOTS, sizeof *import->volume_slots);
    if (!rc && (!import->volumes || !import->volume_slots))
        rc = trib_fail(error, -ENOMEM, "out of memory");
    if (!rc)
        rc = read_head(import, error);
    if (rc)
        trib_import_close(import);
    else
        *out = import;
    return rc;
}

void trib_import_close(struct trib_import *import) {
    if (import) {
        free(import->volumes);
        free(import->volume_slots);
    }
    free(import);
}

void trib_import_use(struct trib_import *import, const struct trib_import_map *map) {
    import->map = map;
}

uint64_t trib_import_chunk_bytes(const struct trib_import *import) {
    return import->settings.chunk_bytes;
}

void trib_import_count(const struct trib_import *import, struct trib_import_statistics *out) {
    *out = import->statistics;
}

/* ---- lines and records ---- */

static void note_malformed(struct trib_import *import, const char *text) {
    struct trib_import_statistics *statistics = &import->statistics;

    if (statistics->malformed < TRIB_IMPORT_BAD_SHOWN) {
        char *out = statistics->bad[statistics->malformed];
        size_t size = sizeof statistics->bad[0];
        int used = snprintf(out, size, "%s %llu%s", import->format->line ? "line" : "record",
                            (unsigned long long)statistics->lines, text ? ": " : "");
        for (size_t at = (size_t)used; text && *text && at + 1 < size; text++) {
            out[at++] = *text >= ' ' && *text < 127 ? *text : '?';
            out[at] = '\0';
        }
    }
    statistics->malformed++;
}

static bool is_ignored(const struct trib_import *import, const char *line) {
    const char *ignores = import->format->ignores;
    size_t blank = strspn(line, " \t\r\n");

    if (import->format->heading && import->statistics.lines == 1 && isalpha((unsigned char)line[blank]))
        return true;
    return !line[blank] || line[blank] == '#' || (ignores && !strncmp(line, ignores, strlen(ignores)));
}

/* A line without its end; what is longer than any format's is cut, and so malformed. */
static bool read_line(struct trib_import *import) {
    if (!fgets(import->line, sizeof import->line, import->in))
        return false;
    size_t length = strlen(import->line);
    if (length && import->line[length - 1] == '\n') {
        import->line[length - 1] = '\0';
        return true;
    }
    for (int c; length + 1 == sizeof import->line && (c = getc(import->in)) != EOF && c != '\n';)
        ;
    return true;
}

static enum trib_import_verdict next_line(struct trib_import *import, struct trib_import_request *request) {
    char kept[sizeof import->statistics.bad[0]];

    if (!read_line(import))
        return TRIB_IMPORT_END;
    import->statistics.lines++;
    if (is_ignored(import, import->line))
        return TRIB_IMPORT_NOTHING;
    snprintf(kept, sizeof kept, "%.*s", (int)sizeof kept - 1, import->line);
    enum trib_import_verdict verdict = import->format->line(&import->settings, import->line, request);
    if (verdict == TRIB_IMPORT_MALFORMED)
        note_malformed(import, kept);
    return verdict;
}

static size_t read_bytes(struct trib_import *import, unsigned char *out, size_t wanted) {
    size_t left = import->head_bytes - import->head_used, used = left < wanted ? left : wanted;

    memcpy(out, import->head + import->head_used, used);
    import->head_used += used;
    return used < wanted ? used + fread(out + used, 1, wanted - used, import->in) : used;
}

static enum trib_import_verdict next_record(struct trib_import *import, struct trib_import_request *request) {
    unsigned char record[RECORD_BYTES_MAX];
    size_t got = read_bytes(import, record, import->record_bytes);

    if (!got)
        return TRIB_IMPORT_END;
    import->statistics.lines++;
    enum trib_import_verdict verdict =
        got == import->record_bytes ? import->format->record(record, got, request) : TRIB_IMPORT_MALFORMED;
    if (verdict == TRIB_IMPORT_MALFORMED)
        note_malformed(import, NULL);
    return verdict;
}

/* ---- requests ---- */

static int too_many_malformed(const struct trib_import *import, struct trib_error *error) {
    const struct trib_import_statistics *statistics = &import->statistics;
    struct trib_error shown = {""};
    size_t used = 0;

    for (unsigned i = 0; i < TRIB_IMPORT_BAD_SHOWN && i < statistics->malformed; i++)
        if (used < sizeof shown.text)
            used += (size_t)snprintf(shown.text + used, sizeof shown.text - used, "; %s", statistics->bad[i]);
    return trib_fail(error, -EBADMSG, "%llu of %llu %s are not of format %s%.380s",
                     (unsigned long long)statistics->malformed, (unsigned long long)statistics->lines,
                     import->format->line ? "lines" : "records", import->format->name, shown.text);
}

/* The next request of any volume: 1, 0, -EBADMSG, -EIO. */
static int next_request(struct trib_import *import, struct trib_import_request *request, struct trib_error *error) {
    const struct trib_import_statistics *statistics = &import->statistics;
    enum trib_import_verdict verdict = TRIB_IMPORT_END;

    while (!import->ended) {
        *request = (struct trib_import_request){0};
        verdict = import->format->line ? next_line(import, request) : next_record(import, request);
        if (verdict == TRIB_IMPORT_REQUEST)
            return 1;
        if (verdict == TRIB_IMPORT_MALFORMED && !import->started && statistics->malformed == HOPELESS_LINES)
            return too_many_malformed(import, error);
        import->ended = verdict == TRIB_IMPORT_END;
    }
    if (ferror(import->in))
        return trib_fail(error, -EIO, "reading failed after %llu lines", (unsigned long long)statistics->lines);
    return statistics->malformed * 1000 > statistics->lines ? too_many_malformed(import, error) : 0;
}

/* Dense number of the request's volume, or -E2BIG. */
static int64_t volume_of(struct trib_import *import, const struct trib_import_request *request) {
    struct trib_import_statistics *statistics = &import->statistics;
    uint64_t slot = trib_hash(request->volume, strlen(request->volume)) % VOLUME_SLOTS;

    for (; import->volume_slots[slot]; slot = (slot + 1) % VOLUME_SLOTS)
        if (!strcmp(import->volumes[import->volume_slots[slot] - 1], request->volume))
            return import->volume_slots[slot] - 1;
    if (statistics->volumes == VOLUMES_MAX)
        return -E2BIG;
    memcpy(import->volumes[statistics->volumes], request->volume, sizeof request->volume);
    import->volume_slots[slot] = ++statistics->volumes;
    return statistics->volumes - 1;
}

static bool is_wanted(struct trib_import *import, const struct trib_import_request *request) {
    struct trib_import_statistics *statistics = &import->statistics;

    if (strcmp(import->settings.volume, "all") && strcmp(import->settings.volume, request->volume)) {
        statistics->left_out++;
        return false;
    }
    statistics->reads += request->kind == TRIB_IMPORT_READ;
    statistics->writes += request->kind == TRIB_IMPORT_WRITE;
    statistics->discards += request->kind == TRIB_IMPORT_DISCARD;
    return request->kind != TRIB_IMPORT_READ || import->settings.reads;
}

/* To whole blocks: data outward, discards inward. False if nothing is left. */
static bool round_to_blocks(struct trib_import_request *request) {
    uint64_t first = request->offset_bytes, end = first + request->length_bytes;
    bool inward = request->kind == TRIB_IMPORT_DISCARD;

    first = (first + (inward ? TRIB_BLOCK_BYTES - 1 : 0)) / TRIB_BLOCK_BYTES * TRIB_BLOCK_BYTES;
    end = (end + (inward ? 0 : TRIB_BLOCK_BYTES - 1)) / TRIB_BLOCK_BYTES * TRIB_BLOCK_BYTES;
    if (first >= end)
        return false;
    request->offset_bytes = first;
    request->length_bytes = end - first;
    return true;
}

/* The next request that becomes an event, and its volume: 1, 0, -errno. */
static int next_wanted(struct trib_import *import, struct trib_import_request *request, uint32_t *volume,
                       struct trib_error *error) {
    int rc;

    while ((rc = next_request(import, request, error)) == 1) {
        if (!import->started)
            import->first_ns = request->time_ns;
        import->started = true;
        if (!is_wanted(import, request) || !round_to_blocks(request))
            continue;
        int64_t number = volume_of(import, request);
        if (number < 0)
            return trib_fail(error, (int)number, "more than %d volumes; choose one with volume=", VOLUMES_MAX);
        *volume = (uint32_t)number;
        return 1;
    }
    return rc;
}

int trib_import_learn(struct trib_import *import, struct trib_import_map *map, struct trib_error *error) {
    struct trib_import_request request;
    uint32_t volume;
    int rc;

    while ((rc = next_wanted(import, &request, &volume, error)) == 1)
        /* Only what is written needs a place; what is read or discarded elsewhere is left out. */
        if (request.kind == TRIB_IMPORT_WRITE &&
            trib_import_map_add(map, volume, request.offset_bytes, request.length_bytes))
            return trib_fail(error, -ENOMEM, "out of memory");
    trib_import_map_finish(map);
    return rc;
}

static void make_event(struct trib_import *import, const struct trib_import_request *request,
                       struct trib_event *event) {
    *event = (struct trib_event){.clock_bytes = import->clock_bytes,
                                 .offset_bytes = request->offset_bytes,
                                 .length_bytes = request->length_bytes,
                                 .thread = request->thread,
                                 .stream = TRIB_STREAM_UNDECIDED};
    event->who.io_activity = TRIB_ACTIVITY_UNKNOWN;
    event->who.level = TRIB_LEVEL_UNKNOWN;
    event->wall_ns = 1 + (request->time_ns > import->first_ns ? request->time_ns - import->first_ns : 0);
    event->kind = request->kind == TRIB_IMPORT_READ      ? TRIB_EVENT_READ
                  : request->kind == TRIB_IMPORT_DISCARD ? TRIB_EVENT_DEATH
                                                         : TRIB_EVENT_WRITE;
    if (event->kind == TRIB_EVENT_DEATH)
        event->cause = TRIB_CAUSE_TRIM;
    if (event->kind == TRIB_EVENT_WRITE)
        import->clock_bytes += event->length_bytes;
}

int trib_import_next(struct trib_import *import, struct trib_event *event, struct trib_error *error) {
    struct trib_import_request request;
    uint32_t volume;
    int rc;

    while ((rc = next_wanted(import, &request, &volume, error)) == 1) {
        if (!import->map && volume > 0)
            return trib_fail(error, -EINVAL,
                             "volumes %s and %s share addresses: choose one with volume=, or let "
                             "chunk= lay them side by side",
                             import->volumes[0], import->volumes[1]);
        if (import->map && !trib_import_map_range(import->map, volume, &request.offset_bytes, &request.length_bytes))
            continue;
        make_event(import, &request, event);
        return 1;
    }
    return rc;
}
