/* SPDX-License-Identifier: Apache-2.0 */
#include "live_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/recorder.h"

#define PATHS_SLOTS    16384u /* a power of two */
#define PATHS_MAX      (PATHS_SLOTS / 4 * 3)
#define MODULES        TRIB_TEXTS_MODULES

#define STREAM_NUMBERS 64u

struct path {
    uint64_t signature; /* 0: free */
    uint32_t count;
    uint32_t modules[TRIB_STATUS_FRAMES_MAX];
    uint64_t offsets[TRIB_STATUS_FRAMES_MAX];
};

/* 3 MiB of address space, of which what is in use gets memory. */
struct trib_paths {
    uint32_t used;
    struct path slots[PATHS_SLOTS];
    struct trib_module modules[MODULES];
};

struct trib_paths *trib_paths_open(void) {
    return calloc(1, sizeof(struct trib_paths));
}

void trib_paths_close(struct trib_paths *paths) {
    free(paths);
}

/* The slot that has it, or the free one where it belongs. */
static struct path *find_path(const struct trib_paths *paths, uint64_t signature) {
    uint64_t at = signature * 0x9E3779B97F4A7C15ull >> 50;

    while (paths->slots[at].signature && paths->slots[at].signature != signature)
        at = (at + 1) % PATHS_SLOTS;
    return (struct path *)(uintptr_t)&paths->slots[at];
}

void trib_paths_module(struct trib_paths *paths, uint32_t index, const struct trib_module *module) {
    if (index < MODULES)
        paths->modules[index] = *module;
}

/* Else it comes again. */
static bool is_whole(const struct path *path) {
    for (uint32_t i = 0; i < path->count; i++)
        if (path->modules[i] == TRIB_TEXTS_UNSENT)
            return false;
    return true;
}

void trib_paths_signature(struct trib_paths *paths, uint64_t signature, const struct trib_frame *frames,
                          uint32_t count) {
    struct path *path = find_path(paths, signature);

    if (signature == 0 || (path->signature ? is_whole(path) : paths->used == PATHS_MAX))
        return;
    paths->used += path->signature == 0;
    *path = (struct path){.signature = signature};
    path->count = count < TRIB_STATUS_FRAMES_MAX ? count : TRIB_STATUS_FRAMES_MAX;
    for (uint32_t i = 0; i < path->count; i++) {
        path->modules[i] = frames[i].module;
        path->offsets[i] = frames[i].offset_bytes;
    }
}

/* ---- call paths ---- */

static void name_frames(struct trib_status_path *row, const struct trib_paths *paths) {
    const struct path *path = find_path(paths, row->signature);

    row->frame_count = (uint8_t)(path->signature ? path->count : 0);
    for (uint32_t i = 0; i < row->frame_count; i++) {
        struct trib_status_frame *frame = &row->frames[i];
        const struct trib_module *module = &paths->modules[path->modules[i] % MODULES];
        *frame = (struct trib_status_frame){.offset_bytes = path->offsets[i]};
        memcpy(frame->module, module->path, sizeof frame->module);
        for (uint32_t byte = 0; byte < module->build_id_bytes && byte < sizeof module->build_id; byte++) {
            frame->build_id[2 * byte] = "0123456789abcdef"[module->build_id[byte] >> 4];
            frame->build_id[2 * byte + 1] = "0123456789abcdef"[module->build_id[byte] & 15];
        }
    }
}

/* Policies that keep lifetimes of their own sample none into the table: then what is alive of a path, divided by how
 * fast it writes (Little's law). */
static double lifetime_of(const struct trib_attribute_report *report, uint64_t clock_bytes) {
    if (report->samples)
        return report->lifetime_mean_bytes;
    if (report->died_bytes == 0 || report->written_bytes == 0)
        return 0;
    return (double)report->live_bytes * (double)clock_bytes / (double)report->written_bytes;
}

/* Keeps the rows with the most bytes in order. */
static void insert_path(struct trib_status_tables *out, const struct trib_attribute_report *report,
                        uint64_t clock_bytes) {
    uint32_t at = out->path_count;

    while (at > 0 && out->paths[at - 1].written_bytes < report->written_bytes)
        at--;
    if (at == TRIB_STATUS_PATHS_MAX)
        return;
    if (out->path_count < TRIB_STATUS_PATHS_MAX)
        out->path_count++;
    memmove(&out->paths[at + 1], &out->paths[at], (out->path_count - 1 - at) * sizeof out->paths[0]);
    out->paths[at] = (struct trib_status_path){.signature = report->who.signature,
                                               .written_bytes = report->written_bytes,
                                               .live_bytes = report->live_bytes,
                                               .lifetime_bytes = lifetime_of(report, clock_bytes),
                                               .samples = report->samples,
                                               .stream = report->stream,
                                               .file_kind = report->who.file_kind};
}

/* bytes[]: written by the paths that have each stream now. */
static void fill_paths(struct trib_status_tables *out, struct trib_pipeline *pipeline, const struct trib_paths *paths,
                       uint64_t *bytes) {
    struct trib_attribute_report report;
    trib_attribute_ref ref;

    for (uint32_t next = 0; (next = trib_state_next(pipeline->state, next, &ref));) {
        if (!trib_attribute_read(pipeline->state, ref, &report))
            continue;
        if (!(pipeline->needs & TRIB_NEEDS_LBA)) /* such a policy answers for blocks, and may change by answering */
            report.stream = trib_pipeline_place(pipeline, &report.who);
        out->path_total++;
        bytes[report.stream % STREAM_NUMBERS] += report.written_bytes;
        insert_path(out, &report, trib_state_clock(pipeline->state));
    }
    for (uint32_t i = 0; i < out->path_count; i++)
        name_frames(&out->paths[i], paths);
}

/* ---- streams ---- */

static void add_stream(struct trib_status_tables *out, const struct trib_pipeline *pipeline, uint16_t stream,
                       bool internal) {
    struct trib_drive_stream_stats now;
    struct trib_status_stream *row = &out->streams[out->stream_count];

    if (out->stream_count == TRIB_STATUS_STREAMS_MAX ||
        pipeline->drive->stream_stats(pipeline->drive_self, stream, internal, &now) != 0 ||
        (now.host_pages == 0 && now.gc_pages_in == 0))
        return;
    *row = (struct trib_status_stream){.stream = stream,
                                       .internal = internal,
                                       .host_pages = now.host_pages,
                                       .gc_pages_out = now.gc_pages_out,
                                       .gc_pages_in = now.gc_pages_in,
                                       .valid_pages = now.valid_pages,
                                       .superblocks = now.superblocks};
    if (!internal && now.host_pages)
        row->waf = (double)(now.host_pages + now.gc_pages_out) / (double)now.host_pages;
    out->stream_count++;
}

/* A drive that keeps no account of its streams: what their call paths wrote. */
static void fill_streams(struct trib_status_tables *out, const struct trib_pipeline *pipeline, const uint64_t *bytes) {
    bool has_account = pipeline->drive && pipeline->drive->stream_stats;

    for (uint16_t stream = 0; stream < STREAM_NUMBERS; stream++) {
        if (has_account)
            add_stream(out, pipeline, stream, false);
        else if (bytes[stream])
            out->streams[out->stream_count++] =
                (struct trib_status_stream){.stream = stream, .host_pages = bytes[stream] / TRIB_BLOCK_BYTES};
    }
    for (uint16_t stream = 0; has_account && stream < STREAM_NUMBERS; stream++)
        add_stream(out, pipeline, stream, true);
}

void trib_tables_fill(struct trib_status_tables *out, struct trib_pipeline *pipeline, const struct trib_paths *paths,
                      const struct trib_recorder *recorder) {
    uint64_t bytes[STREAM_NUMBERS] = {0};

    out->path_count = out->path_total = out->stream_count = 0;
    fill_paths(out, pipeline, paths, bytes);
    fill_streams(out, pipeline, bytes);
    out->producer_total = trib_recorder_producers(recorder, out->producers, TRIB_STATUS_PRODUCERS_MAX);
    out->producer_count =
        out->producer_total < TRIB_STATUS_PRODUCERS_MAX ? out->producer_total : TRIB_STATUS_PRODUCERS_MAX;
}

long trib_tables_format(const struct trib_status *status, struct trib_status_tables *tables, uint32_t kind, char *text,
                        size_t capacity) {
    long length;

    while ((length = trib_status_format(status, tables, (enum trib_status_kind)kind, text, capacity)) == -ENOSPC &&
           tables->path_count + tables->producer_count > 0) {
        if (tables->path_count >= tables->producer_count)
            tables->path_count /= 2;
        else
            tables->producer_count /= 2;
    }
    return length;
}
