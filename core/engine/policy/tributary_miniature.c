/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/tributary_miniature.h"

#include <errno.h>

#include "flash/flash.h"

#define SUPERBLOCK_PAGES_MIN 64u   /* of a miniature; with 16 greedy collection looks better than it is */
#define BLOCKS_MIN           2048u /* likewise */
#define SCALE_MAX            1024u
#define BETTER               0.005 /* of the WAF: what a change of plan must promise */
#define EVIDENCE             0.01  /* copies per write: below, there is nothing to gain */
#define LOAD_OF_STREAMS      0.008 /* of the WAF: what a plan with all streams must promise over one with none */

static uint64_t scale_of(const struct trib_policy_env *env) {
    uint64_t unit = env->reclaim_unit_bytes / TRIB_BLOCK_BYTES, scale = 1;
    while (scale < SCALE_MAX && unit / (2 * scale) >= SUPERBLOCK_PAGES_MIN && env->blocks / (2 * scale) >= BLOCKS_MIN)
        scale *= 2;
    return scale;
}

/* Drives that do not say how they collect are taken for what most are: greedy, survivors apart. So are destinations
 * that depend on answers or stream numbers which a miniature does not have. */
static void imitate(struct trib_flash_config *config, const struct trib_policy_env *env) {
    int gc = trib_gc_find(env->gc, TRIB_GC_SHARED);
    config->gc = gc == TRIB_GC_SAME || gc == TRIB_GC_TWIN ? (enum trib_gc_destination)gc : TRIB_GC_SHARED;
    config->victim = (enum trib_victim)trib_victim_find(env->victim, TRIB_VICTIM_GREEDY);
}

static int open_stages(struct trib_miniature *r, const struct trib_policy_env *env,
                       const struct trib_flash_config *config) {
    uint64_t first_cold = (env->usable_blocks + r->scale - 1) / r->scale;
    for (uint32_t plan = 0; plan < TRIB_PLANS; plan++) {
        struct trib_error unused;
        int code = trib_flash_open(&r->stage[plan], config, &unused);
        if (code)
            return code;
        if (env->usable_blocks && first_cold < r->blocks)
            trib_flash_write(r->stage[plan], first_cold, (uint32_t)(r->blocks - first_cold), 0);
        trib_flash_reset_counters(r->stage[plan]);
    }
    return 0;
}

int trib_miniature_open(struct trib_miniature *r, const struct trib_policy_env *env, double decay) {
    *r = (struct trib_miniature){.scale = scale_of(env), .streams = env->streams, .decay = decay};
    r->blocks = env->blocks / r->scale;
    if (r->blocks < BLOCKS_MIN || !env->spare_blocks || !env->reclaim_unit_bytes)
        return 0;
    struct trib_flash_config config = {
        .logical_pages = r->blocks,
        .over_provisioning = (double)env->spare_blocks / (double)env->blocks,
        .superblock_pages = (uint32_t)(env->reclaim_unit_bytes / TRIB_BLOCK_BYTES / r->scale),
        .streams = env->streams,
        .victim_choices = 10,
        .seed = 1,
    };
    imitate(&config, env);
    int code = open_stages(r, env, &config);
    if (code)
        trib_miniature_close(r);
    /* A geometry that the model refuses (too little spare for its superblocks) is not simulated. */
    return code == -EINVAL ? 0 : code;
}

void trib_miniature_close(struct trib_miniature *r) {
    for (uint32_t plan = 0; plan < TRIB_PLANS; plan++) {
        trib_flash_close(r->stage[plan]);
        r->stage[plan] = NULL;
    }
}

void trib_miniature_write(struct trib_miniature *r, uint64_t lba, const uint8_t stream[TRIB_PLANS]) {
    if (!trib_miniature_samples(r, lba))
        return;
    for (uint32_t plan = 0; plan < TRIB_PLANS; plan++)
        trib_flash_write(r->stage[plan], lba / r->scale, 1, stream[plan]);
}

void trib_miniature_discard(struct trib_miniature *r, uint64_t lba, uint64_t blocks) {
    if (!r->stage[0])
        return;
    uint64_t first = (lba + r->scale - 1) / r->scale;
    uint64_t end = (lba + blocks + r->scale - 1) / r->scale;
    if (end > r->blocks)
        end = r->blocks;
    if (first >= end)
        return;
    for (uint32_t plan = 0; plan < TRIB_PLANS; plan++)
        trib_flash_discard(r->stage[plan], first, end - first);
}

double trib_miniature_waf(const struct trib_miniature *r, uint32_t plan) {
    return r->written > 0 ? 1 + r->copied[plan] / r->written : 0;
}

static void count(struct trib_miniature *r) {
    struct trib_flash_stats stats = {0};
    for (uint32_t plan = 0; plan < TRIB_PLANS; plan++) {
        trib_flash_statistics(r->stage[plan], &stats);
        r->copied[plan] = r->copied[plan] * r->decay + (double)(stats.gc_pages - r->copied_before[plan]);
        r->copied_before[plan] = stats.gc_pages;
    }
    r->written = r->written * r->decay + (double)(stats.host_pages - r->written_before);
    r->written_before = stats.host_pages;
}

/* Among equals the plan that keeps fewer superblocks open. */
static double burden(const struct trib_miniature *r, uint32_t plan) {
    struct trib_flash_stats stats;
    trib_flash_statistics(r->stage[plan], &stats);
    double share = (double)stats.streams_used / (double)(r->streams + 1);
    return trib_miniature_waf(r, plan) * (1 + LOAD_OF_STREAMS * share);
}

uint32_t trib_miniature_choose(struct trib_miniature *r, uint32_t present) {
    uint32_t best = present;
    if (!r->stage[0])
        return present;
    count(r);
    if (r->copied[present] < EVIDENCE * r->written)
        return present;
    for (uint32_t plan = 0; plan < TRIB_PLANS; plan++)
        if (burden(r, plan) < burden(r, best))
            best = plan;
    return burden(r, best) < burden(r, present) * (1 - BETTER) ? best : present;
}

uint64_t trib_miniature_memory(const struct trib_miniature *r) {
    uint64_t bytes = 0;
    for (uint32_t plan = 0; plan < TRIB_PLANS && r->stage[plan]; plan++) {
        struct trib_flash_stats stats;
        trib_flash_statistics(r->stage[plan], &stats);
        bytes += stats.memory_bytes;
    }
    return bytes;
}
