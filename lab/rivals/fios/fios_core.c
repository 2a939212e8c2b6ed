/* SPDX-License-Identifier: Apache-2.0 */
#include "rivals/fios/fios_core.h"

#include <errno.h>
#include <string.h>

#include "log/log.h"

#define NO_CHUNK UINT32_MAX

static int check(const struct trib_fios_knobs *knobs, const struct trib_policy_env *env, const char *name,
                 struct trib_error *error) {
    if (env->blocks == 0 || env->blocks > UINT32_MAX)
        return trib_fail(error, -EINVAL, "%s: needs a drive of 1 to 2^32-1 blocks, to have a row per chunk", name);
    if (knobs->chunk_bytes % TRIB_BLOCK_BYTES)
        return trib_fail(error, -EINVAL, "%s: chunk must be a multiple of 4096 bytes", name);
    if (knobs->features == 0 || ((knobs->features & 1) && knobs->features != 1))
        return trib_fail(error, -EINVAL, "%s: features is auto, or one feature or more", name);
    return 0;
}

static int allocate(struct trib_fios_core *core, const struct trib_fios_rules *rules) {
    int rc = trib_fios_dictionary_open(&core->dictionary[0], core->chunks);
    if (rc == 0)
        rc = trib_fios_dictionary_open(&core->dictionary[1], core->chunks);
    if (rc == 0)
        rc = trib_fios_trace_open(&core->trace, core->blocks, core->chunk_blocks);
    if (rc == 0)
        rc = trib_fios_training_open(&core->training, rules);
    return rc;
}

int trib_fios_core_open(struct trib_fios_core *core, const struct trib_fios_knobs *knobs,
                        const struct trib_policy_env *env, const char *name, bool keep_unknown,
                        struct trib_error *error) {
    int rc = check(knobs, env, name, error);
    if (rc)
        return rc;
    uint64_t chunk_blocks = knobs->chunk_bytes / TRIB_BLOCK_BYTES;
    *core = (struct trib_fios_core){.blocks = (uint32_t)env->blocks,
                                    .chunk_blocks = (uint32_t)chunk_blocks,
                                    .chunks = (uint32_t)((env->blocks + chunk_blocks - 1) / chunk_blocks),
                                    .streams =
                                        env->streams < TRIB_FIOS_STREAMS_MAX ? env->streams + 1 : TRIB_FIOS_STREAMS_MAX,
                                    .last_chunk = NO_CHUNK};
    struct trib_fios_rules rules = {.matrix = knobs->matrix,
                                    .features = knobs->features >> 1,
                                    .streams = core->streams,
                                    .limits = knobs->limits,
                                    .gb_per_day = knobs->gb_per_day,
                                    .keep_unknown = keep_unknown};
    memcpy(rules.weights, knobs->weights, sizeof rules.weights);
    rc = allocate(core, &rules);
    if (rc) {
        trib_fios_core_close(core);
        return trib_fail(error, rc, "%s: no memory for %u chunks of a drive of %u blocks", name, core->chunks,
                         core->blocks);
    }
    return 0;
}

void trib_fios_core_stop_learning(struct trib_fios_core *core) {
    trib_fios_trace_close(&core->trace);
    trib_fios_training_close(core->training);
    core->training = NULL;
    trib_fios_dictionary_close(&core->dictionary[1 - core->current]);
}

void trib_fios_core_close(struct trib_fios_core *core) {
    trib_fios_core_stop_learning(core);
    trib_fios_dictionary_close(&core->dictionary[core->current]);
}

void trib_fios_core_train(struct trib_fios_core *core) {
    trib_fios_training_begin(core->training, &core->trace, &core->dictionary[core->current],
                             &core->dictionary[1 - core->current]);
}

static void report(const struct trib_fios_result *result) {
    char letters[TRIB_FIOS_FEATURES + 1];
    const struct trib_fios_attributes *found = &result->attributes;
    trib_log(TRIB_LOG_INFO,
             "fios: ACF %.2f, RW %.0f %%, R %.2f, S %.0f KiB, lambda %.0f GB/day: features %s; "
             "%u chunks in %u streams",
             found->autocorrelation, found->random_percent, found->reuse, found->write_kib, found->gb_per_day,
             trib_fios_feature_letters(result->features, letters), result->touched, result->streams);
}

void trib_fios_core_swap(struct trib_fios_core *core) {
    core->current = 1 - core->current;
    core->result = *trib_fios_training_result(core->training);
    core->last_chunk = NO_CHUNK;
    report(&core->result);
}

uint16_t trib_fios_core_place(struct trib_fios_core *core, const struct trib_placement *page) {
    if (page->lba >= core->blocks)
        return 0;
    uint32_t chunk = (uint32_t)page->lba / core->chunk_blocks;
    core->block_clock = page->block_clock + 1;
    if (core->trace.birth)
        trib_fios_trace_write(&core->trace, page);
    if (chunk != core->last_chunk) {
        core->last_chunk = chunk;
        core->last_stream = trib_fios_dictionary_find(&core->dictionary[core->current], chunk);
    }
    return core->last_stream;
}

static uint64_t dictionary_bytes(const struct trib_fios_dictionary *dictionary) {
    return (uint64_t)dictionary->chunks / 2 + 1 + 5ull * dictionary->ranges_max;
}

uint64_t trib_fios_core_memory_bytes(const struct trib_fios_core *core) {
    uint64_t bytes = sizeof *core + dictionary_bytes(&core->dictionary[0]) + dictionary_bytes(&core->dictionary[1]);
    if (core->trace.birth)
        bytes += (uint64_t)core->trace.blocks * sizeof *core->trace.birth +
                 (uint64_t)core->trace.chunks * sizeof *core->trace.chunk;
    return core->training ? bytes + trib_fios_training_memory_bytes() : bytes;
}
