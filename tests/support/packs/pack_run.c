/* SPDX-License-Identifier: Apache-2.0 */
/* Replays a trace in a program that has the engine's policies only, with those of a pack: pack_run PACK OPTIONS TRACE.
 * Prints what the drive did. */
#include <stdio.h>
#include <string.h>

#include <tributary/pipeline.h>
#include <tributary/policy.h>

#include "trace/trace.h"

static int fail(const char *sentence) {
    fprintf(stderr, "pack_run: %s\n", sentence);
    return 1;
}

static int replay(struct trib_pipeline *pipeline, const char *path) {
    struct trib_error error = {""};
    struct trib_trace_reader *reader = NULL;
    struct trib_trace_item item;
    int code = trib_trace_reader_open(&reader, path, NULL, &error);

    if (code)
        return fail(error.text);
    while (code >= 0 && trib_trace_next(reader, &item, &error) == 1)
        if (item.kind == TRIB_TRACE_EVENT && (code = trib_pipeline_process(pipeline, &item.event)))
            break;
    trib_trace_reader_close(reader);
    return code ? fail(strerror(-code)) : 0;
}

int main(int argc, char **argv) {
    struct trib_error error = {""};
    struct trib_pipeline *pipeline = NULL;
    struct trib_drive_report drive;

    if (argc != 4)
        return fail("usage: pack_run PACK OPTIONS TRACE");
    if (trib_policy_pack_load(argv[1], &error) || trib_pipeline_open(&pipeline, argv[2], false, &error))
        return fail(error.text);
    int code = replay(pipeline, argv[3]);
    if (code == 0 && trib_pipeline_drive(pipeline, &drive) == 0)
        printf("%llu %llu %llu\n", (unsigned long long)drive.host_pages, (unsigned long long)drive.gc_pages,
               (unsigned long long)drive.erases);
    return trib_pipeline_close(pipeline) ? 1 : code;
}
