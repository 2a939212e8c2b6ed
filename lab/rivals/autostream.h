/* SPDX-License-Identifier: Apache-2.0 */
/* What the two AutoStream policies share: the chunks that block addresses are counted by, and the
 * stream of a count. Thread safety: pure functions on plain data. */
#ifndef TRIB_POLICY_AUTOSTREAM_H
#define TRIB_POLICY_AUTOSTREAM_H

#include <tributary/policy.h>

TRIB_C_BEGIN

/* About 32 bytes per chunk of 1 MiB (vStream-FTL's account of AutoStream, TCE'21). */
#define TRIB_AUTOSTREAM_CHUNK_FALLBACK "1M"
#define TRIB_AUTOSTREAM_CHUNK_MAX      1099511627776.0 /* 1 TiB */

struct trib_autostream_chunks {
    uint64_t chunk_blocks;
    uint32_t count; /* chunks of the drive */
};

/* 0; -EINVAL (chunk_bytes is no multiple of a block, the drive's size is not known or gives more
 * chunks than 2^31) with a sentence that begins with `policy`. */
int trib_autostream_chunks_open(struct trib_autostream_chunks *out, const char *policy, uint64_t chunk_bytes,
                                const struct trib_policy_env *env, struct trib_error *error);

struct trib_autostream_range {
    uint32_t first, last; /* chunks that a request touches, both included */
};

static inline struct trib_autostream_range trib_autostream_range(const struct trib_autostream_chunks *chunks,
                                                                 const struct trib_placement *write) {
    uint64_t end = write->lba + write->length_bytes / TRIB_BLOCK_BYTES;
    return (struct trib_autostream_range){(uint32_t)(write->lba / chunks->chunk_blocks),
                                          (uint32_t)((end - 1) / chunks->chunk_blocks)};
}

/* min(floor(log2(count)), streams), 0 for counts below 2. */
static inline uint16_t trib_autostream_level(uint64_t count, uint32_t streams) {
    uint32_t level = count ? 63u - (uint32_t)__builtin_clzll(count) : 0;
    return (uint16_t)(level < streams ? level : streams);
}

TRIB_C_END
#endif
