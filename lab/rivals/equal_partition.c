/* SPDX-License-Identifier: Apache-2.0 */
/* Paper       Bhimani et al., ACM Transactions on Storage 18(2), 2022, section 6.1: the comparator
 *             "equal partition" of FIOS.
 * Idea        None: the address space is cut into as many equal parts as there are streams. What a
 *             policy by address gains over it, it gains by looking at the data.
 * Uses        Block address, per 4-KiB block (a write may cross a cut).
 * Constants   None.
 * Deviations  S0 takes part, so m streams besides S0 make m + 1 parts.
 * Cost        A multiplication and a division. */
#include <errno.h>
#include <stdlib.h>

#include "rivals/rivals.h"

struct partition {
    uint64_t blocks, parts;
};

static const struct trib_option_spec options[] = {TRIB_OPTIONS_END};

static int partition_open(void **self, const struct trib_policy_env *env, struct trib_options *given,
                          struct trib_error *error) {
    struct partition *partition;
    int rc = trib_options_take(given, options, NULL, error);
    if (rc)
        return rc;
    if (env->blocks == 0 || env->blocks > UINT32_MAX)
        return trib_fail(error, -EINVAL, "equal-partition: needs a drive of 1 to 2^32-1 blocks, to cut it");
    partition = malloc(sizeof *partition);
    if (!partition)
        return trib_fail(error, -ENOMEM, "equal-partition: out of memory");
    *partition = (struct partition){.blocks = env->blocks, .parts = env->streams + 1ull};
    *self = partition;
    return 0;
}

static uint16_t partition_place(void *self, const struct trib_placement *write) {
    const struct partition *partition = self;
    if (write->lba >= partition->blocks)
        return 0;
    return (uint16_t)(write->lba * partition->parts / partition->blocks);
}

const struct trib_policy trib_policy_equal_partition = {
    .name = "equal-partition",
    .summary = "the address space in equal parts (FIOS's comparator)",
    .options = options,
    .needs = TRIB_NEEDS_LBA | TRIB_NEEDS_PAGE,
    .open = partition_open,
    .close = free,
    .place = partition_place,
};
