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
#include <time.h>

#include <tributary/page.h>

#include "base/assert.h"
#include "base/hash.h"
#include "flow.h"

static int run_write(struct trib_pipeline *pipeline, const struct trib_event *event);
static int run_narrowed_write(struct trib_pipeline *pipeline, const struct trib_event *event);
static int run_death(struct trib_pipeline *pipeline, const struct trib_event *event);

int trib_flow_run(struct trib_pipeline *pipeline, const struct trib_event *event) {
    pipeline->counters.events++;
    pipeline->clock_bytes = trib_state_clock(pipeline->state);
    switch (event->kind) {
    case TRIB_EVENT_WRITE:
        return pipeline->settings.pages == TRIB_PAGES_AS_RECORDED ? run_write(pipeline, event)
                                                              : run_narrowed_write(pipeline, event);
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

struct trib_context trib_flow_who(struct trib_context who, uint32_t thread, uint32_t pages) {
    if (pages == TRIB_PAGES_AS_RECORDED || !trib_page_is(&who))
        return who;
    bool by_content = pages & TRIB_PAGES_CONTENT, by_modifications = pages & TRIB_PAGES_MODIFICATIONS;
    uint8_t class = by_content ? trib_page_class_of(&who) : TRIB_PAGE_UNKNOWN;
    who.io_activity = (uint8_t)(class << 4 | (by_modifications ? trib_page_logarithm_of(&who) : 0));
    if (!by_content) {
        who.level = TRIB_LEVEL_UNKNOWN;
        who.column_family = 0;
    }
    if (!(pages & TRIB_PAGES_FRONT))
        who.signature = trib_page_unnoted_signature(class);
    if (pages & TRIB_PAGES_FLUSHER)
        who.signature = trib_hash_mix(who.signature, thread);
    return who;
}

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

/* ---- what does the policy cost? ---- */

/* A prime, so that what a policy does once per so many pages is met as often as it happens. */
#define PROBE_EVERY 61

/* Of one call in PROBE_EVERY, when it began; 0 for the others. */
static uint64_t probe_begins(uint64_t calls) {
    struct timespec now;

    if (TRIB_LIKELY(calls % PROBE_EVERY != 0))
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void probe_ends(uint64_t began_ns, uint32_t timed[TRIB_PROBE_CLASSES]) {
    struct timespec now;

    if (TRIB_LIKELY(began_ns == 0))
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - began_ns + 1;
    unsigned octave = 63 - (unsigned)__builtin_clzll(ns), eighth = (unsigned)(ns << 3 >> octave) & 7;
    unsigned class = octave * 8 + eighth;
    timed[class < TRIB_PROBE_CLASSES ? class : TRIB_PROBE_CLASSES - 1]++;
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

    if (pipeline->policy->died) {
        struct trib_flow_probe *probe = &pipeline->probe;
        uint64_t began_ns = probe_begins(probe->died_calls++);
        pipeline->policy->died(pipeline->policy_self, death);
        probe_ends(began_ns, probe->died_timed);
    }
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
                                   .vstream = event->stream,
                                   .clock_bytes = pipeline->clock_bytes};
}

static bool decides_by_block(const struct trib_pipeline *pipeline) {
    return pipeline->policy->needs & TRIB_NEEDS_LBA;
}

static uint16_t ask_policy(struct trib_pipeline *pipeline, const struct trib_placement *write) {
    struct trib_flow_probe *probe = &pipeline->probe;
    uint64_t began_ns = probe_begins(probe->place_calls++);
    uint16_t stream = pipeline->policy->place(pipeline->policy_self, write);

    probe_ends(began_ns, probe->place_timed);
    return stream;
}

static void tick(struct trib_pipeline *pipeline, uint64_t clock_bytes) {
    const struct trib_policy *policy = pipeline->policy;

    if (policy->tick)
        policy->tick(pipeline->policy_self, clock_bytes);
    if (!policy->map_cache_bytes || !pipeline->drive || !pipeline->drive->resize_map_cache)
        return;
    uint64_t bytes = policy->map_cache_bytes(pipeline->policy_self);
    if (bytes != pipeline->map_cache_bytes)
        pipeline->drive->resize_map_cache(pipeline->drive_self, bytes);
    pipeline->map_cache_bytes = bytes;
}

static void observe_write(const struct trib_pipeline *pipeline, const struct trib_event *event,
                          uint64_t key, uint16_t stream) {
    struct trib_write_report report = {.who = event->who,
                                       .key = key,
                                       .clock_bytes = pipeline->clock_bytes,
                                       .length_bytes = event->length_bytes,
                                       .stream = stream};

    pipeline->observer.wrote(pipeline->observer.arg, &report);
}

static int run_write(struct trib_pipeline *pipeline, const struct trib_event *event) {
    struct trib_event placed = *event;
    uint64_t key = trib_flow_key(&event->who, pipeline->settings.salt);

    if (!is_possible_range(event))
        return -EINVAL;
    trib_attribute_ref attribute = trib_state_intern(pipeline->state, key, &event->who);
    struct trib_placement write = describe_write(pipeline, event, attribute);
    /* By block: trib_flow_block_write asks, with the address. */
    placed.stream = decides_by_block(pipeline) ? TRIB_STREAM_UNDECIDED : ask_policy(pipeline, &write);

    int learned = trib_extents_write(pipeline->extents, &placed, attribute, pipeline->clock_bytes,
                                     on_death, pipeline);
    if (learned == -EINVAL)
        return learned; /* a full arena (-ENOSPC) only loses the lifetime, and is counted there */
    trib_state_clock_advance(pipeline->state, event->length_bytes);
    int rc = pipeline->volume
                 ? trib_volume_write(pipeline->volume, decides_by_block(pipeline) ? event : &placed)
                 : 0;

    if (pipeline->observer.wrote)
        observe_write(pipeline, event, key, placed.stream);
    tick(pipeline, pipeline->clock_bytes + event->length_bytes);
    return rc;
}

static int run_narrowed_write(struct trib_pipeline *pipeline, const struct trib_event *event) {
    struct trib_event seen = *event;

    seen.who = trib_flow_who(event->who, event->thread, pipeline->settings.pages);
    return run_write(pipeline, &seen);
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
    if (pipeline->observer.block_wrote)
        pipeline->observer.block_wrote(pipeline->observer.arg, lba, blocks, stream);
    return pipeline->drive->write(pipeline->drive_self, lba, blocks, stream, NULL);
}

static uint64_t death_of_next_block(const struct trib_pipeline *pipeline, uint64_t block) {
    uint32_t death = block < pipeline->deaths_count ? pipeline->deaths[block] : UINT32_MAX;
    return death == UINT32_MAX ? TRIB_NEVER : death;
}

/* Neighbours that the policy puts in one stream travel together. */
static int send_by_block(struct trib_pipeline *pipeline, struct trib_placement *write, uint64_t lba,
                         uint32_t blocks) {
    uint32_t step = pipeline->policy->needs & TRIB_NEEDS_PAGE ? 1 : blocks;
    uint32_t waiting = 0;
    uint16_t stream = 0;
    int rc = 0;

    write->length_bytes = (uint64_t)step * TRIB_BLOCK_BYTES;
    for (uint32_t done = 0; done < blocks && rc == 0; done += step) {
        write->lba = lba + done;
        write->block_clock = pipeline->counters.blocks_written + waiting;
        write->death_block = death_of_next_block(pipeline, write->block_clock);
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
    uint64_t key = trib_flow_key(&cause->who, pipeline->settings.salt);
    struct trib_placement write =
        describe_write(pipeline, cause, trib_state_find(pipeline->state, key));
    return send_by_block(pipeline, &write, lba, blocks);
}

int trib_flow_block_discard(void *arg, uint64_t lba, uint64_t blocks) {
    struct trib_pipeline *pipeline = arg;

    if (pipeline->policy->discarded)
        pipeline->policy->discarded(pipeline->policy_self, lba, blocks, pipeline->clock_bytes);
    if (pipeline->observer.block_discarded)
        pipeline->observer.block_discarded(pipeline->observer.arg, lba, blocks);
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
    if (decides_by_block(pipeline) && !(pipeline->policy->needs & TRIB_LBA_OPTIONAL))
        return 0;
    struct trib_context seen = trib_flow_who(*who, 0, pipeline->settings.pages);
    uint64_t key = trib_flow_key(&seen, pipeline->settings.salt);
    struct trib_placement write = {.who = seen,
                                   .attribute = trib_state_find(pipeline->state, key),
                                   .lba = TRIB_LBA_UNKNOWN,
                                   .vstream = TRIB_STREAM_UNDECIDED,
                                   .clock_bytes = trib_state_clock(pipeline->state)};
    return pipeline->policy->place(pipeline->policy_self, &write);
}
