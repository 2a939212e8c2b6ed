/* SPDX-License-Identifier: Apache-2.0 */
/* THE FLOW. Read top to bottom:
 *
 *   engine write ──> signature ──> attribute row ──> policy.place ──> volume ──> drive.write
 *                                        ▲                                          │ garbage collection
 *   engine delete / overwrite ──> live extents ──> lifetime ──> policy.died         ▼
 *                                                  policy.tick                policy.relocate
 *
 * One event at a time, one thread, logical time: the same events give the same answer, live or replayed. */
#include <errno.h>

#include "base/hash.h"
#include "flow.h"

static int run_write(struct trib_pipeline *pipeline, const struct trib_event *event);
static int run_death(struct trib_pipeline *pipeline, const struct trib_event *event);

int trib_flow_run(struct trib_pipeline *pipeline, const struct trib_event *event) {
    pipeline->counters.events++;
    pipeline->clock_bytes = trib_state_clock(pipeline->state);
    switch (event->kind) {
    case TRIB_EVENT_WRITE:
        return run_write(pipeline, event);
    case TRIB_EVENT_DEATH:
        return run_death(pipeline, event);
    case TRIB_EVENT_SYNC:
        return pipeline->volume ? trib_volume_sync(pipeline->volume, event) : 0;
    case TRIB_EVENT_READ:
        return pipeline->volume ? trib_volume_read(pipeline->volume, event) : 0;
    case TRIB_EVENT_RELOCATE:
        return 0; /* a note of some other drive's collector; ours makes its own */
    default:
        return -EINVAL;
    }
}

/* Of a write or a death. File 0 is the drive's own address space: whole blocks only. */
static bool is_possible_range(const struct trib_event *event) {
    bool to_end = event->kind == TRIB_EVENT_DEATH && event->length_bytes == TRIB_LENGTH_TO_END;
    uint64_t length_bytes = to_end ? TRIB_BLOCK_BYTES : event->length_bytes;

    if (length_bytes == 0 || (!to_end && length_bytes > UINT64_MAX - event->offset_bytes))
        return false;
    return event->file != 0 || (event->offset_bytes | length_bytes) % TRIB_BLOCK_BYTES == 0;
}

/* ---- who writes? ---- */

uint64_t trib_flow_key(const struct trib_context *who, uint32_t salt) {
    /* Spread first: neighbouring signatures must not meet when neighbouring salts join them. */
    uint64_t key = salt ? trib_hash_mix(0, who->signature) : who->signature;

    if (salt & TRIB_SALT_KIND)
        key = trib_hash_mix(key, 0x100u | who->file_kind);
    if (salt & TRIB_SALT_HINT)
        key = trib_hash_mix(key, 0x200u | who->write_hint);
    if (salt & TRIB_SALT_ACTIVITY)
        key = trib_hash_mix(key, 0x300u | who->io_activity);
    if (salt & TRIB_SALT_FAMILY)
        key = trib_hash_mix(key, 0x40000u | who->column_family);
    if (salt & TRIB_SALT_LEVEL)
        key = trib_hash_mix(key, 0x500u | (uint8_t)who->level);
    if (salt & TRIB_SALT_TENANT)
        key = trib_hash_mix(key, 0x60000u | who->tenant);
    return key;
}

/* ---- what dies, and how long did it live? ---- */

static struct trib_death_report describe_death(const struct trib_pipeline *pipeline,
                                               const struct trib_death *death) {
    const struct trib_attribute *row = trib_state_attribute(pipeline->state, death->attribute);
    struct trib_death_report report = {.age_bytes = death->age_bytes,
                                       .length_bytes = death->length_bytes,
                                       .stream = death->stream,
                                       .cause = death->cause};
    if (row) {
        report.who = row->who;
        report.key = row->key;
    }
    return report;
}

static void on_death(void *arg, const struct trib_death *death) {
    struct trib_pipeline *pipeline = arg;

    if (pipeline->policy->died)
        pipeline->policy->died(pipeline->policy_self, death);
    if (pipeline->observer.died) {
        struct trib_death_report report = describe_death(pipeline, death);
        pipeline->observer.died(pipeline->observer.arg, &report);
    }
}

/* ---- where does it go? ---- */

static struct trib_placement describe_write(const struct trib_pipeline *pipeline,
                                            const struct trib_event *event,
                                            trib_attribute_ref attribute) {
    return (struct trib_placement){.who = event->who,
                                   .attribute = attribute,
                                   .thread = event->thread,
                                   .file = event->file,
                                   .offset_bytes = event->offset_bytes,
                                   .length_bytes = event->length_bytes,
                                   .lba = TRIB_LBA_UNKNOWN,
                                   .clock_bytes = pipeline->clock_bytes};
}

static bool decides_by_block(const struct trib_pipeline *pipeline, const struct trib_event *event) {
    return (pipeline->policy->needs & TRIB_NEEDS_LBA) && event->stream == TRIB_STREAM_UNDECIDED;
}

static uint16_t decide(struct trib_pipeline *pipeline, const struct trib_event *event,
                       trib_attribute_ref attribute) {
    if (event->stream != TRIB_STREAM_UNDECIDED)
        return event->stream; /* the host named it */
    if (decides_by_block(pipeline, event))
        return TRIB_STREAM_UNDECIDED; /* trib_flow_block_write asks again, with the address */
    struct trib_placement write = describe_write(pipeline, event, attribute);
    return pipeline->policy->place(pipeline->policy_self, &write);
}

static int run_write(struct trib_pipeline *pipeline, const struct trib_event *event) {
    struct trib_event placed = *event;
    uint64_t key = trib_flow_key(&event->who, pipeline->settings.salt);

    if (!is_possible_range(event))
        return -EINVAL;
    trib_attribute_ref attribute = trib_state_intern(pipeline->state, key, &event->who);
    placed.stream = decide(pipeline, event, attribute);

    int learned = trib_extents_write(pipeline->extents, &placed, attribute, pipeline->clock_bytes,
                                     on_death, pipeline);
    if (learned == -EINVAL)
        return learned; /* a full arena (-ENOSPC) only loses the lifetime, and is counted there */
    trib_state_clock_advance(pipeline->state, event->length_bytes);
    int rc = pipeline->volume ? trib_volume_write(pipeline->volume, &placed) : 0;

    if (pipeline->observer.wrote) {
        struct trib_write_report report = {.who = event->who,
                                           .key = key,
                                           .clock_bytes = pipeline->clock_bytes,
                                           .length_bytes = event->length_bytes,
                                           .stream = placed.stream};
        pipeline->observer.wrote(pipeline->observer.arg, &report);
    }
    if (pipeline->policy->tick)
        pipeline->policy->tick(pipeline->policy_self, pipeline->clock_bytes + event->length_bytes);
    return rc;
}

static int run_death(struct trib_pipeline *pipeline, const struct trib_event *event) {
    if (!is_possible_range(event))
        return -EINVAL;
    int rc = trib_extents_kill(pipeline->extents, event, pipeline->clock_bytes, on_death, pipeline);
    if (rc == 0 && pipeline->volume)
        rc = trib_volume_kill(pipeline->volume, event);
    return rc;
}

/* ---- below the file system: pages reach the drive ---- */

int trib_flow_block_write(void *arg, const struct trib_event *cause, uint64_t lba, uint32_t blocks) {
    struct trib_pipeline *pipeline = arg;
    uint16_t stream = cause->stream;

    if (stream == TRIB_STREAM_UNDECIDED) {
        uint64_t key = trib_flow_key(&cause->who, pipeline->settings.salt);
        struct trib_placement write =
            describe_write(pipeline, cause, trib_state_find(pipeline->state, key));
        write.lba = lba;
        write.length_bytes = (uint64_t)blocks * TRIB_BLOCK_BYTES;
        stream = pipeline->policy->place(pipeline->policy_self, &write);
    }
    pipeline->counters.blocks_written += blocks;
    return pipeline->drive->write(pipeline->drive_self, lba, blocks, stream, NULL);
}

int trib_flow_block_discard(void *arg, uint64_t lba, uint64_t blocks) {
    struct trib_pipeline *pipeline = arg;

    return pipeline->drive->discard(pipeline->drive_self, lba, blocks);
}

int trib_flow_block_read(void *arg, uint64_t lba, uint32_t blocks) {
    struct trib_pipeline *pipeline = arg;

    return pipeline->drive->read(pipeline->drive_self, lba, blocks, NULL);
}

/* ---- the two ways in that need no ring ---- */

int trib_pipeline_process(struct trib_pipeline *pipeline, const struct trib_event *event) {
    trib_state_lock(pipeline->state);
    int rc = trib_flow_run(pipeline, event);
    trib_state_unlock(pipeline->state);
    return rc;
}

void trib_pipeline_skip(struct trib_pipeline *pipeline, uint64_t bytes) {
    trib_state_clock_advance(pipeline->state, bytes);
}

uint16_t trib_pipeline_place(struct trib_pipeline *pipeline, const struct trib_context *who) {
    if (pipeline->policy->needs & TRIB_NEEDS_LBA)
        return 0;
    uint64_t key = trib_flow_key(who, pipeline->settings.salt);
    struct trib_placement write = {.who = *who,
                                   .attribute = trib_state_find(pipeline->state, key),
                                   .lba = TRIB_LBA_UNKNOWN,
                                   .clock_bytes = trib_state_clock(pipeline->state)};
    return pipeline->policy->place(pipeline->policy_self, &write);
}
