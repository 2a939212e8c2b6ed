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

uint64_t trib_pipeline_key(const struct trib_pipeline *pipeline, const struct trib_context *who) {
    return trib_flow_key(who, pipeline->settings.salt);
}

/* ---- what dies, and how long did it live? ---- */

static void on_death(void *arg, const struct trib_death *death) {
    const struct trib_pipeline *pipeline = arg;

    if (pipeline->policy->died)
        pipeline->policy->died(pipeline->policy_self, death);
}

/* ---- where does it go? ---- */

static struct trib_placement describe_write(const struct trib_pipeline *pipeline, const struct trib_event *event,
                                            trib_attribute_ref attribute) {
    return (struct trib_placement){.who = event->who,
                                   .attribute = attribute,
                                   .thread = event->thread,
                                   .file = event->file,
                                   .offset_bytes = event->offset_bytes,
                                   .length_bytes = event->length_bytes,
                                   .lba = TRIB_LBA_UNKNOWN,
                                   .vstream = event->stream,
                                   .clock_bytes = pipeline->clock_bytes,
                                   .death_block = TRIB_NEVER};
}

static bool decides_by_block(const struct trib_pipeline *pipeline) {
    return pipeline->needs & TRIB_NEEDS_LBA;
}

static uint16_t ask_policy(const struct trib_pipeline *pipeline, const struct trib_placement *write) {
    return pipeline->policy->place(pipeline->policy_self, write);
}

static void tick(struct trib_pipeline *pipeline, uint64_t clock_bytes) {
    const struct trib_policy *policy = pipeline->policy;

    if (policy->tick)
        policy->tick(pipeline->policy_self, clock_bytes);
    if (!policy->blocks.map_cache_bytes || !pipeline->drive || !pipeline->drive->model->resize_map_cache)
        return;
    uint64_t bytes = policy->blocks.map_cache_bytes(pipeline->policy_self);
    if (bytes != pipeline->map_cache_bytes)
        pipeline->drive->model->resize_map_cache(pipeline->drive_self, bytes);
    pipeline->map_cache_bytes = bytes;
}

static int run_write(struct trib_pipeline *pipeline, const struct trib_event *event) {
    struct trib_event placed = *event;
    uint64_t key = trib_pipeline_key(pipeline, &event->who);

    if (!is_possible_range(event))
        return -EINVAL;
    trib_attribute_ref attribute = trib_state_intern(pipeline->state, key, &event->who);
    struct trib_placement write = describe_write(pipeline, event, attribute);
    /* By block: trib_flow_block_write asks, with the address. */
    placed.stream = decides_by_block(pipeline) ? TRIB_STREAM_UNDECIDED : ask_policy(pipeline, &write);

    int learned = trib_extents_write(pipeline->extents, &placed, attribute, pipeline->clock_bytes, on_death, pipeline);
    if (learned == -EINVAL)
        return learned; /* a full arena (-ENOSPC) only loses the lifetime, and is counted there */
    trib_state_clock_advance(pipeline->state, event->length_bytes);
    int rc = pipeline->volume ? trib_volume_write(pipeline->volume, decides_by_block(pipeline) ? event : &placed) : 0;

    tick(pipeline, pipeline->clock_bytes + event->length_bytes);
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

static int send(struct trib_pipeline *pipeline, uint64_t lba, uint32_t blocks, uint16_t stream) {
    pipeline->counters.blocks_written += blocks;
    return pipeline->drive->model->write(pipeline->drive_self, lba, blocks, stream);
}

/* Neighbours that the policy puts in one stream travel together. */
static int send_by_block(struct trib_pipeline *pipeline, struct trib_placement *write, uint64_t lba, uint32_t blocks) {
    uint32_t step = pipeline->needs & TRIB_NEEDS_PAGE ? 1 : blocks;
    uint32_t waiting = 0;
    uint16_t stream = 0;
    int rc = 0;

    write->length_bytes = (uint64_t)step * TRIB_BLOCK_BYTES;
    for (uint32_t done = 0; done < blocks && rc == 0; done += step) {
        write->lba = lba + done;
        write->block_clock = pipeline->counters.blocks_written + waiting;
        uint16_t next = ask_policy(pipeline, write);
        if (waiting && next != stream) {
            rc = send(pipeline, lba + done - waiting, waiting, stream);
            waiting = 0;
        }
        stream = next;
        waiting += step;
    }
    return rc ? rc : send(pipeline, lba + blocks - waiting, waiting, stream);
}

int trib_flow_block_write(void *arg, const struct trib_event *cause, uint64_t lba, uint32_t blocks) {
    struct trib_pipeline *pipeline = arg;

    if (!decides_by_block(pipeline))
        return send(pipeline, lba, blocks, cause->stream);
    uint64_t key = trib_pipeline_key(pipeline, &cause->who);
    struct trib_placement write = describe_write(pipeline, cause, trib_state_find(pipeline->state, key));
    return send_by_block(pipeline, &write, lba, blocks);
}

int trib_flow_block_discard(void *arg, uint64_t lba, uint64_t blocks) {
    struct trib_pipeline *pipeline = arg;

    if (pipeline->policy->blocks.discarded)
        pipeline->policy->blocks.discarded(pipeline->policy_self, lba, blocks, pipeline->clock_bytes);
    return pipeline->drive->model->discard(pipeline->drive_self, lba, blocks);
}

int trib_flow_block_read(void *arg, uint64_t lba, uint32_t blocks) {
    struct trib_pipeline *pipeline = arg;

    return pipeline->drive->model->read(pipeline->drive_self, lba, blocks);
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
    if (decides_by_block(pipeline) && !(pipeline->needs & TRIB_LBA_OPTIONAL))
        return 0;
    struct trib_placement write = {.who = *who,
                                   .attribute = trib_state_find(pipeline->state, trib_pipeline_key(pipeline, who)),
                                   .lba = TRIB_LBA_UNKNOWN,
                                   .vstream = TRIB_STREAM_UNDECIDED,
                                   .clock_bytes = trib_state_clock(pipeline->state),
                                   .death_block = TRIB_NEVER};
    return pipeline->policy->place(pipeline->policy_self, &write);
}
