/* SPDX-License-Identifier: Apache-2.0 */
/* What people and reports may ask of a pipeline. */
#include <errno.h>
#include <stdio.h>

#include "flow.h"
#include "recorder/address.h"

struct visit_live {
    const struct trib_pipeline *pipeline;
    void (*visit)(void *arg, const struct trib_death_report *live);
    void *arg;
};

static void visit_live_run(void *arg, const struct trib_death *live) {
    const struct visit_live *visit = arg;
    const struct trib_attribute *row = trib_state_attribute(visit->pipeline->state, live->attribute);
    struct trib_death_report report = {
        .age_bytes = live->age_bytes, .length_bytes = live->length_bytes, .stream = live->stream};
    if (row) {
        report.who = row->who;
        report.key = row->key;
    }
    visit->visit(visit->arg, &report);
}

void trib_pipeline_visit_live(struct trib_pipeline *pipeline,
                              void (*visit)(void *arg, const struct trib_death_report *live), void *arg) {
    struct visit_live context = {pipeline, visit, arg};

    trib_state_lock(pipeline->state);
    trib_extents_visit(pipeline->extents, trib_state_clock(pipeline->state), visit_live_run, &context);
    trib_state_unlock(pipeline->state);
}

void trib_pipeline_visit_attributes(struct trib_pipeline *pipeline,
                                    void (*visit)(void *arg, const struct trib_attribute_report *row), void *arg) {
    trib_attribute_ref ref;

    trib_state_lock(pipeline->state);
    for (uint32_t next = 0; (next = trib_state_next(pipeline->state, next, &ref));) {
        struct trib_attribute_report report;
        if (trib_attribute_read(pipeline->state, ref, &report))
            visit(arg, &report);
    }
    trib_state_unlock(pipeline->state);
}

int trib_pipeline_drive(struct trib_pipeline *pipeline, struct trib_drive_report *out) {
    struct trib_drive_stats stats = {0};
    const struct trib_drive_description *description = &pipeline->description;

    if (!pipeline->drive)
        return -ENODEV;
    trib_state_lock(pipeline->state);
    pipeline->drive->stats(pipeline->drive_self, &stats);
    trib_state_unlock(pipeline->state);
    *out = (struct trib_drive_report){
        .capacity_bytes = description->capacity_bytes,
        .reclaim_unit_bytes = description->reclaim_unit_bytes,
        .reclaim_units = description->reclaim_units,
        .physical_bytes = description->physical_bytes,
        .over_provisioning_percent = description->over_provisioning_percent,
        .streams = description->streams,
        .host_pages = stats.host_pages,
        .gc_pages = stats.gc_pages,
        .metadata_pages = stats.metadata_pages,
        .metadata_read_pages = stats.metadata_read_pages,
        .map_lookups = stats.map_lookups,
        .map_misses = stats.map_misses,
        .map_cache_bytes = stats.map_cache_bytes,
        .erases = stats.erases,
        .discarded_pages = stats.discarded_pages,
        .live_pages = stats.live_pages,
        .live_pages_peak = stats.live_pages_peak,
        .streams_used = stats.streams_used,
        .open_units_peak = stats.open_units_peak,
        .virtual_seconds = stats.virtual_seconds,
    };
    snprintf(out->name, sizeof out->name, "%s", description->name);
    snprintf(out->gc, sizeof out->gc, "%s", description->gc);
    snprintf(out->victim, sizeof out->victim, "%s", description->victim);
    return 0;
}

int trib_pipeline_dump_drive(struct trib_pipeline *pipeline, void *file) {
    if (!pipeline->drive)
        return -ENODEV;
    if (!pipeline->drive->model->dump)
        return -ENOSYS;
    trib_state_lock(pipeline->state);
    int rc = pipeline->drive->model->dump(pipeline->drive_self, file);
    trib_state_unlock(pipeline->state);
    return rc;
}

static void fill_drive_status(struct trib_pipeline *pipeline, struct trib_status *out) {
    struct trib_drive_stats stats = {0};

    if (!pipeline->drive) {
        snprintf(out->drive, sizeof out->drive, "none");
        snprintf(out->evidence, sizeof out->evidence, "no drive: streams are computed, not sent");
        return;
    }
    pipeline->drive->stats(pipeline->drive_self, &stats);
    snprintf(out->drive, sizeof out->drive, "%s", pipeline->drive->name);
    snprintf(out->evidence, sizeof out->evidence, "%s", pipeline->description.evidence);
    out->placement = pipeline->description.level;
    out->streams_used = stats.streams_used;
    out->host_pages = stats.host_pages;
    out->gc_pages = stats.gc_pages;
    out->erases = stats.erases;
    out->waf = stats.waf;
}

void trib_pipeline_status(struct trib_pipeline *pipeline, struct trib_status *out) {
    struct trib_extents_stats extents = {0};

    *out = (struct trib_status){0};
    trib_state_lock(pipeline->state);
    trib_extents_statistics(pipeline->extents, &extents);
    snprintf(out->policy, sizeof out->policy, "%s", pipeline->policy->name);
    trib_address_name(out->daemon, sizeof out->daemon, pipeline->settings.session, TRIB_ADDRESS_FOLDER);
    fill_drive_status(pipeline, out);
    out->clock_bytes = trib_state_clock(pipeline->state);
    out->written_bytes = out->clock_bytes - pipeline->opened_clock_bytes;
    out->events = pipeline->counters.events;
    out->drive_errors = pipeline->counters.drive_errors;
    out->trace_errors = pipeline->counters.trace_errors;
    out->live_runs = extents.runs;
    out->live_bytes = extents.live_bytes;
    out->runs_dropped = extents.runs_dropped;
    out->attributes = trib_state_attribute_count(pipeline->state);
    out->attributes_evicted = (uint32_t)trib_state_evictions(pipeline->state);
    if (pipeline->policy->reclusterings)
        out->reclusterings = pipeline->policy->reclusterings(pipeline->policy_self);
    if (pipeline->live)
        trib_live_status(pipeline->live, out);
    trib_state_unlock(pipeline->state);
}
