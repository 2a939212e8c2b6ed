/* SPDX-License-Identifier: Apache-2.0 */
/* The only list of rivals. */
#include "rivals/rivals.h"

const struct trib_policy *const trib_rivals_list[] = {
    &trib_policy_autostream_sfr,
    &trib_policy_autostream_mq,
    &trib_policy_vstream,
    &trib_policy_dstream,
    &trib_policy_fios,
    &trib_policy_ofios,
    &trib_policy_equal_partition,
    &trib_policy_sepbit,
    &trib_policy_oracle,
    NULL,
};

const struct trib_policy_pack trib_rivals = {.version = TRIB_POLICY_VERSION, .policies = trib_rivals_list};
