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
    FIELD(clock_bytes, U64, true, "Bytes that processes have written"),
    FIELD(events, U64, true, "Events processed"),
    FIELD(events_dropped, U64, true, "Events lost before they were processed"),
    FIELD(bytes_dropped, U64, true, "Bytes of writes among the events lost"),
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
    FIELD(starts_uncovered, U64, true, "Starts of programs that go unrecorded"),
    FIELD(uncovered, TEXT, false, "The first of those programs"),
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

static void add_openmetrics(struct text *text, const struct field *field, const void *value) {
    const char *type = field->type == TEXT ? "info" : field->is_counter ? "counter" : "gauge";

    add(text, "# HELP tributary_%s %s.\n# TYPE tributary_%s %s\n", field->name, field->help, field->name, type);
    if (field->type == TEXT) {
        add(text, "tributary_%s_info{%s=", field->name, field->name);
        add_quoted(text, value);
        add(text, "} 1\n");
        return;
    }
    add(text, "tributary_%s%s ", field->name, field->is_counter ? "_total" : "");
    add_number(text, field, value);
    add(text, "\n");
}

long trib_status_format(const struct trib_status *status, enum trib_status_kind kind, char *text, size_t capacity) {
    struct text out = {text, 0, capacity};

    if (kind != TRIB_STATUS_JSON && kind != TRIB_STATUS_OPENMETRICS)
        return -EINVAL;
    if (kind == TRIB_STATUS_JSON)
        add(&out, "{");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const void *value = (const char *)status + fields[i].offset;
        if (kind == TRIB_STATUS_JSON)
            add_json(&out, &fields[i], value);
        else
            add_openmetrics(&out, &fields[i], value);
    }
    add(&out, kind == TRIB_STATUS_JSON ? "}\n" : "# EOF\n");
    return out.used < capacity ? (long)out.used : -ENOSPC;
}
