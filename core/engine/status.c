/* SPDX-License-Identifier: Apache-2.0 */
/* A status as text, from one table: what is added there is in every format. Pure functions. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <tributary/status.h>

enum field_type { TEXT, U64, U32, DOUBLE, PLACEMENT };

struct field {
    const char *name, *help;
    size_t offset;
    enum field_type type;
    bool is_counter; /* grows only */
};

#define FIELD(name_, type_, counter_, help_)                                                                           \
    {                                                                                                                  \
        .name = #name_, .help = (help_), .offset = offsetof(struct trib_status, name_), .type = (type_),               \
        .is_counter = (counter_)                                                                                       \
    }

static const struct field fields[] = {
    FIELD(policy, TEXT, false, "Who decides"),
    FIELD(drive, TEXT, false, "Who takes the writes"),
    FIELD(placement, PLACEMENT, false, "How sure it is that the drive honours streams: 0 none, 1 advisory, 2 placed"),
    FIELD(evidence, TEXT, false, "Why that level"),
    FIELD(clock_bytes, U64, true, "Bytes that processes have written over the life of the state"),
    FIELD(written_bytes, U64, true, "Bytes that processes have written since this daemon began"),
    FIELD(events, U64, true, "Events processed"),
    FIELD(events_dropped, U64, true, "Events lost before they were processed"),
    FIELD(bytes_dropped, U64, true, "Bytes of writes among the events lost"),
    FIELD(lost_full, U64, true, "Of them, because a ring was full"),
    FIELD(lost_killed, U64, true, "Of them, because a process was killed in the middle of one, or wrote nonsense"),
    FIELD(lost_alone, U64, true, "Of them, while their process had no daemon"),
    FIELD(live_runs, U64, false, "Live extents that are followed"),
    FIELD(live_bytes, U64, false, "Bytes in them"),
    FIELD(runs_dropped, U64, true, "Extents that could not be followed"),
    FIELD(attributes, U32, false, "Rows of the attribute table"),
    FIELD(attributes_evicted, U32, true, "Rows that were evicted"),
    FIELD(reclusterings, U32, true, "Times that a signature got another stream"),
    FIELD(streams_used, U32, false, "Streams that have got writes"),
    FIELD(trace_bytes, U64, true, "Bytes of the trace"),
    FIELD(trace_errors, U64, true, "Failures to write the trace"),
    FIELD(trace_stopped, TEXT, false, "Why nothing more is recorded"),
    FIELD(drive_errors, U64, true, "Writes that the drive refused"),
    FIELD(drive_refused_from_bytes, U64, false, "Bytes written when the drive first refused a write"),
    FIELD(host_pages, U64, true, "Pages written to the drive"),
    FIELD(gc_pages, U64, true, "Pages that garbage collection copied"),
    FIELD(erases, U64, true, "Superblocks erased"),
    FIELD(waf, DOUBLE, false, "Flash bytes programmed per byte written; 0 when the drive cannot say"),
    FIELD(processes, U64, true, "Processes that have joined"),
    FIELD(processes_live, U64, false, "Processes that are joined now"),
    FIELD(joins_refused, U64, true, "Joins refused: not allowed, no room, another version"),
    FIELD(joins_again, U64, true, "Joins by processes that had had an earlier daemon"),
    FIELD(broken, U64, true, "Invariants found broken inside processes"),
    FIELD(rings_damaged, U64, true, "Rings damaged by their own process"),
    FIELD(names_lost, U64, true, "Names of files that a ring had no room for"),
    FIELD(starts_uncovered, U64, true, "Starts of programs that go unrecorded"),
    FIELD(uncovered, TEXT, false, "The first of those programs"),
    FIELD(pid, U32, false, "Process number of the daemon"),
    FIELD(paused, U32, false, "1 while processes submit nothing"),
    FIELD(paused_seconds, U64, false, "How long this pause has lasted"),
    FIELD(uptime_seconds, U64, false, "How long the daemon has run"),
    FIELD(metrics_errors, U64, true, "Failures to write the file of metrics"),
};

struct text {
    char *at;
    size_t used, capacity;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...) {
    va_list arguments;
    size_t room = text->used < text->capacity ? text->capacity - text->used : 0;

    va_start(arguments, format);
    int length = vsnprintf(room ? text->at + text->used : NULL, room, format, arguments);
    va_end(arguments);
    text->used += length > 0 ? (size_t)length : 0;
}

/* Both formats escape the same three; other control characters are shown as '?'. */
static void add_quoted(struct text *text, const char *value) {
    add(text, "\"");
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            add(text, "\\%c", *value);
        else if (*value == '\n')
            add(text, "\\n");
        else
            add(text, "%c", (unsigned char)*value < 0x20 ? '?' : *value);
    }
    add(text, "\"");
}

static void add_number(struct text *text, const struct field *field, const void *value) {
    uint64_t u64;
    uint32_t u32;
    double real;

    switch (field->type) {
    case U64:
        memcpy(&u64, value, sizeof u64);
        add(text, "%llu", (unsigned long long)u64);
        break;
    case U32:
        memcpy(&u32, value, sizeof u32);
        add(text, "%u", u32);
        break;
    case DOUBLE:
        memcpy(&real, value, sizeof real);
        add(text, "%.6g", real);
        break;
    default:
        add(text, "%u", *(const uint8_t *)value);
        break;
    }
}

static void add_json(struct text *text, const struct field *field, const void *value) {
    add(text, "%s\"%s\": ", field == fields ? "" : ", ", field->name);
    if (field->type == TEXT)
        add_quoted(text, value);
    else if (field->type == PLACEMENT)
        add_quoted(text, trib_placement_name(*(const uint8_t *)value));
    else
        add_number(text, field, value);
}

/* The two formats name a family of counters with and without "_total"; the older one has no type "info". */
static void add_family(struct text *text, const char *name, const char *help, const char *type, bool is_old) {
    bool is_info = strcmp(type, "info") == 0;
    const char *suffix = !is_old ? "" : is_info ? "_info" : strcmp(type, "counter") == 0 ? "_total" : "";

    add(text, "# HELP tributary_%s%s %s.\n# TYPE tributary_%s%s %s\n", name, suffix, help, name, suffix,
        is_old && is_info ? "gauge" : type);
}

/* Two daemons' files may lie in one folder: there a sample without its daemon would be there twice. */
static void add_sample(struct text *text, const char *name, const char *suffix, const char *daemon) {
    add(text, "tributary_%s%s{daemon=", name, suffix);
    add_quoted(text, daemon);
}

static void add_metric(struct text *text, const struct field *field, const struct trib_status *status, bool is_old) {
    const char *type = field->type == TEXT ? "info" : field->is_counter ? "counter" : "gauge";
    const void *value = (const char *)status + field->offset;

    add_family(text, field->name, field->help, type, is_old);
    add_sample(text, field->name, field->type == TEXT ? "_info" : field->is_counter ? "_total" : "", status->daemon);
    if (field->type == TEXT) {
        add(text, ",%s=", field->name);
        add_quoted(text, value);
        add(text, "} 1\n");
        return;
    }
    add(text, "} ");
    add_number(text, field, value);
    add(text, "\n");
}

/* ---- tables ---- */

static void add_path(struct text *text, const struct trib_status_path *row) {
    add(text, "{\"signature\": \"0x%016llx\", \"written_bytes\": %llu, \"live_bytes\": %llu, ",
        (unsigned long long)row->signature, (unsigned long long)row->written_bytes,
        (unsigned long long)row->live_bytes);
    add(text, "\"lifetime_bytes\": %.0f, \"samples\": %u, \"stream\": %u, \"file_kind\": %u, \"frames\": [",
        row->lifetime_bytes, row->samples, row->stream, row->file_kind);
    for (uint32_t i = 0; i < row->frame_count; i++) {
        add(text, "%s{\"module\": ", i ? ", " : "");
        add_quoted(text, row->frames[i].module);
        add(text, ", \"build_id\": \"%s\", \"offset\": %llu}", row->frames[i].build_id,
            (unsigned long long)row->frames[i].offset_bytes);
    }
    add(text, "]}");
}

static void add_stream(struct text *text, const struct trib_status_stream *row) {
    add(text, "{\"stream\": %u, \"internal\": %s, \"host_pages\": %llu, ", row->stream,
        row->internal ? "true" : "false", (unsigned long long)row->host_pages);
    add(text, "\"gc_pages_out\": %llu, \"gc_pages_in\": %llu, \"valid_pages\": %llu, \"superblocks\": %llu, ",
        (unsigned long long)row->gc_pages_out, (unsigned long long)row->gc_pages_in,
        (unsigned long long)row->valid_pages, (unsigned long long)row->superblocks);
    add(text, "\"waf\": %.6g}", row->waf);
}

static void add_producer(struct text *text, const struct trib_status_producer *row) {
    add(text, "{\"pid\": %u, \"user\": %u, \"program\": ", row->pid, row->user);
    add_quoted(text, row->program);
    add(text, ", \"events\": %llu, \"bytes\": %llu, \"events_dropped\": %llu, \"bytes_dropped\": %llu, ",
        (unsigned long long)row->events, (unsigned long long)row->bytes, (unsigned long long)row->events_dropped,
        (unsigned long long)row->bytes_dropped);
    add(text, "\"broken\": %u, \"damaged\": %s}", row->broken, row->damaged ? "true" : "false");
}

static void add_json_tables(struct text *text, const struct trib_status_tables *tables) {
    add(text, ",\n \"paths_total\": %u, \"producers_total\": %u,\n \"paths\": [", tables->path_total,
        tables->producer_total);
    for (uint32_t i = 0; i < tables->path_count; i++) {
        add(text, i ? ",\n  " : "\n  ");
        add_path(text, &tables->paths[i]);
    }
    add(text, "],\n \"streams\": [");
    for (uint32_t i = 0; i < tables->stream_count; i++) {
        add(text, i ? ",\n  " : "\n  ");
        add_stream(text, &tables->streams[i]);
    }
    add(text, "],\n \"producers\": [");
    for (uint32_t i = 0; i < tables->producer_count; i++) {
        add(text, i ? ",\n  " : "\n  ");
        add_producer(text, &tables->producers[i]);
    }
    add(text, "]");
}

/* Streams alone: a collector keeps every label that it ever met. */
static const struct stream_family {
    const char *name, *help;
    size_t offset;
} stream_families[] = {
    {"stream_host_pages", "Pages that the host wrote to a stream", offsetof(struct trib_status_stream, host_pages)},
    {"stream_gc_pages_out", "Pages copied out of its superblocks", offsetof(struct trib_status_stream, gc_pages_out)},
    {"stream_gc_pages_in", "Pages copied into them", offsetof(struct trib_status_stream, gc_pages_in)},
};

static void add_metric_tables(struct text *text, const struct trib_status_tables *tables, const char *daemon,
                              bool is_old) {
    for (size_t i = 0; i < sizeof stream_families / sizeof *stream_families; i++) {
        const struct stream_family *family = &stream_families[i];
        add_family(text, family->name, family->help, "counter", is_old);
        for (uint32_t row = 0; row < tables->stream_count; row++) {
            uint64_t value;
            memcpy(&value, (const char *)&tables->streams[row] + family->offset, sizeof value);
            add_sample(text, family->name, "_total", daemon);
            add(text, ",stream=\"%u\",internal=\"%u\"} %llu\n", tables->streams[row].stream,
                tables->streams[row].internal, (unsigned long long)value);
        }
    }
}

long trib_status_format(const struct trib_status *status, const struct trib_status_tables *tables,
                        enum trib_status_kind kind, char *text, size_t capacity) {
    struct text out = {text, 0, capacity};
    bool is_json = kind == TRIB_STATUS_JSON, is_old = kind == TRIB_STATUS_PROMETHEUS;

    if (!is_json && !is_old && kind != TRIB_STATUS_OPENMETRICS)
        return -EINVAL;
    if (is_json)
        add(&out, "{");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (is_json)
            add_json(&out, &fields[i], (const char *)status + fields[i].offset);
        else
            add_metric(&out, &fields[i], status, is_old);
    }
    if (tables && is_json)
        add_json_tables(&out, tables);
    else if (tables)
        add_metric_tables(&out, tables, status->daemon, is_old);
    add(&out, "%s", is_json ? "}\n" : is_old ? "" : "# EOF\n");
    return out.used < capacity ? (long)out.used : -ENOSPC;
}
