/* SPDX-License-Identifier: Apache-2.0 */
/* The only list of policies. */
#include <stdio.h>
#include <string.h>

#include "policy/policies.h"

const struct trib_policy *const trib_policies[] = {
    &trib_policy_none,
    &trib_policy_manual,
    &trib_policy_rocksdb_hints,
    &trib_policy_pcstream,
    &trib_policy_autostream_sfr,
    &trib_policy_autostream_mq,
    &trib_policy_vstream,
    &trib_policy_dstream,
    &trib_policy_fios,
    &trib_policy_ofios,
    &trib_policy_equal_partition,
    &trib_policy_sepbit,
    &trib_policy_oracle,
    &trib_policy_tributary,
    NULL,
};

const struct trib_policy *trib_policy_find(const char *name, struct trib_error *error) {
    struct trib_error names = {""};
    size_t used = 0;
    for (size_t i = 0; trib_policies[i]; i++) {
        if (!strcmp(trib_policies[i]->name, name))
            return trib_policies[i];
        if (used < sizeof names.text)
            used += (size_t)snprintf(names.text + used, sizeof names.text - used, " %s",
                                     trib_policies[i]->name);
    }
    trib_fail(error, 0, "unknown policy '%s'; valid:%.400s", name, names.text);
    return NULL;
}
