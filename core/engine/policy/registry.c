/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's list of policies, and those that a pack has added (tributary/policy.h). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/policies.h"

#define POLICIES_MAX 64u

static const struct trib_policy *policies[POLICIES_MAX + 1] = {
    &trib_policy_none,     &trib_policy_manual,    &trib_policy_rocksdb_hints,
    &trib_policy_pcstream, &trib_policy_tributary, NULL,
};

const struct trib_policy *const *trib_policies(void) {
    return policies;
}

static const struct trib_policy *look(const char *name) {
    for (size_t i = 0; policies[i]; i++)
        if (!strcmp(policies[i]->name, name))
            return policies[i];
    return NULL;
}

int trib_policies_add(const struct trib_policy *const *pack, struct trib_error *error) {
    size_t count = 0;

    while (policies[count])
        count++;
    for (size_t i = 0; pack[i]; i++) {
        if (look(pack[i]->name))
            return trib_fail(error, -EEXIST, "there is a policy '%.64s' already", pack[i]->name);
        if (count + i == POLICIES_MAX)
            return trib_fail(error, -ENOSPC, "more than %u policies", POLICIES_MAX);
        policies[count + i] = pack[i];
    }
    return 0;
}

const struct trib_policy *trib_policy_find(const char *name, struct trib_error *error) {
    const struct trib_policy *found = look(name);
    struct trib_error names = {""};
    size_t used = 0;

    if (found)
        return found;
    for (size_t i = 0; policies[i] && used < sizeof names.text; i++)
        used += (size_t)snprintf(names.text + used, sizeof names.text - used, " %s", policies[i]->name);
    trib_fail(error, 0, "unknown policy '%s'; valid:%.400s", name, names.text);
    return NULL;
}
