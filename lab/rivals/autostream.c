/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks of AutoStream. */
#include "rivals/autostream.h"

#include <errno.h>

#define CHUNKS_MAX (1u << 31)

int trib_autostream_chunks_open(struct trib_autostream_chunks *out, const char *policy, uint64_t chunk_bytes,
                                const struct trib_policy_env *env, struct trib_error *error) {
    if (chunk_bytes % TRIB_BLOCK_BYTES)
        return trib_fail(error, -EINVAL, "%s: option 'chunk': %llu is no multiple of 4096", policy,
                         (unsigned long long)chunk_bytes);
    if (!env->blocks)
        return trib_fail(error, -EINVAL, "%s counts writes by block address and needs a drive of known size", policy);
    uint64_t chunk_blocks = chunk_bytes / TRIB_BLOCK_BYTES;
    uint64_t count = (env->blocks - 1) / chunk_blocks + 1;
    if (count > CHUNKS_MAX)
        return trib_fail(error, -EINVAL, "%s: %llu chunks are more than 2^31; use a larger 'chunk'", policy,
                         (unsigned long long)count);
    *out = (struct trib_autostream_chunks){chunk_blocks, (uint32_t)count};
    return 0;
}
