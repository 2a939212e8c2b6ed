/* SPDX-License-Identifier: Apache-2.0 */
/* The published rivals, a policy pack (tributary/policy.h). Thread safety: constant data. */
#ifndef TRIB_LAB_RIVALS_H
#define TRIB_LAB_RIVALS_H

#include <tributary/policy.h>

TRIB_C_BEGIN

extern const struct trib_policy trib_policy_autostream_sfr;
extern const struct trib_policy trib_policy_autostream_mq;
extern const struct trib_policy trib_policy_vstream;
extern const struct trib_policy trib_policy_dstream;
extern const struct trib_policy trib_policy_fios;
extern const struct trib_policy trib_policy_ofios;
extern const struct trib_policy trib_policy_equal_partition;
extern const struct trib_policy trib_policy_sepbit;
extern const struct trib_policy trib_policy_oracle;

/* NULL-terminated, and as a pack. */
extern const struct trib_policy *const trib_rivals_list[];
extern const struct trib_policy_pack trib_rivals;

TRIB_C_END
#endif
