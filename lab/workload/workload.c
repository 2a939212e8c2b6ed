/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/workload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workload/generator.h"

/* Wall time for those who ask: a host that writes 200 MB/s. */
#define NS_PER_BYTE 5

struct trib_workload {
    const struct trib_workload_kind *kind;
    void *self;
    uint64_t clock_bytes, host_bytes;
};

struct settings {
    struct trib_workload_common common;
};

#define FIELD(name) offsetof(struct settings, common.name)

/* clang-format off */
const struct trib_option_spec trib_workload_options[] = {
    {.key = "size", .type = TRIB_OPTION_SIZE, .offset = FIELD(size_bytes), .fallback = "256M",
     .minimum = 1 << 20, .maximum = 17592186040320.0, .help = "live data at their peak, about"},
    {.key = "host", .type = TRIB_OPTION_SIZE, .offset = FIELD(host_bytes), .fallback = "2G",
     .minimum = TRIB_BLOCK_BYTES, .maximum = 1e18, .help = "bytes to write in all, fill included"},
    {.key = "fill", .type = TRIB_OPTION_BOOL, .offset = FIELD(fill), .fallback = "on",
     .help = "write the data once, in order, before the steady work"},
    {.key = "seed", .type = TRIB_OPTION_U64, .offset = FIELD(seed), .fallback = "1",
     .help = "the same seed gives the same events"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

uint64_t trib_path(const char *name) {
    return trib_hash(name, strlen(name));
}

static int open_kind(struct trib_workload *workload, struct trib_options *given, struct trib_error *error) {
    struct settings settings;
    int rc = trib_options_take(given, trib_workload_options, &settings, error);
    if (!rc)
        rc = workload->kind->open(&workload->self, &settings.common, given, error);
    if (rc)
        return rc;
    workload->host_bytes = settings.common.host_bytes;
    rc = trib_options_finish(given, error);
    if (rc)
        workload->kind->close(workload->self);
    return rc;
}

int trib_workload_open(struct trib_workload **out, const char *name, const char *options, struct trib_error *error) {
    const struct trib_workload_kind *kind = trib_workload_find(name, error);
    struct trib_options *given = NULL;
    if (!kind)
        return -EINVAL;
    int rc = trib_options_open(&given, options, error);
    if (rc)
        return rc;
    struct trib_workload *workload = calloc(1, sizeof *workload);
    rc = workload ? 0 : trib_fail(error, -ENOMEM, "out of memory");
    if (workload) {
        workload->kind = kind;
        rc = open_kind(workload, given, error);
    }
    trib_options_close(given);
    if (rc)
        free(workload);
    else
        *out = workload;
    return rc;
}

int trib_workload_next(struct trib_workload *workload, struct trib_event *event) {
    if (workload->clock_bytes >= workload->host_bytes)
        return 0;
    struct trib_event next = trib_event_blank();
    int rc = workload->kind->next(workload->self, workload->clock_bytes, &next);
    if (rc < 0)
        return rc;
    next.clock_bytes = workload->clock_bytes;
    next.wall_ns = 1 + workload->clock_bytes * NS_PER_BYTE;
    if (next.kind == TRIB_EVENT_WRITE)
        workload->clock_bytes += next.length_bytes;
    *event = next;
    return 1;
}

uint64_t trib_workload_position(const struct trib_workload *workload) {
    return workload->clock_bytes;
}

void trib_workload_describe(const struct trib_workload *workload, struct trib_workload_description *out) {
    struct trib_workload_description description = {
        .host_bytes = workload->host_bytes, .tenants = 1, .carries = workload->kind->carries};
    snprintf(description.name, sizeof description.name, "%s", workload->kind->name);
    workload->kind->describe(workload->self, &description);
    *out = description;
}

void trib_workload_close(struct trib_workload *workload) {
    if (workload)
        workload->kind->close(workload->self);
    free(workload);
}
