/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's list of policies, and those that packs have added. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "policy/policies.h"

#define POLICIES_MAX 64u

static const struct trib_policy *policies[POLICIES_MAX + 1] = {
    &trib_policy_none,     &trib_policy_rocksdb_hints, &trib_policy_manual,
    &trib_policy_pcstream, &trib_policy_tributary,     NULL,
};

const struct trib_policy *const *trib_policies(void) {
    return policies;
}

static const struct trib_policy *look(const struct trib_policy *const *list, const char *name) {
    for (size_t i = 0; list[i]; i++)
        if (!strcmp(list[i]->name, name))
            return list[i];
    return NULL;
}

static int check_policy(const struct trib_policy_pack *pack, size_t index, struct trib_error *error) {
    const struct trib_policy *policy = pack->policies[index];

    if (!policy->name || !policy->name[0] || strpbrk(policy->name, ",=: "))
        return trib_fail(error, -EINVAL, "policy %zu of the pack has no usable name", index + 1);
    if (!policy->summary || !policy->options || !policy->open || !policy->close || !policy->place)
        return trib_fail(error, -EINVAL, "policy '%.64s' of the pack lacks its summary, options, open, close or place",
                         policy->name);
    if (look(policies, policy->name))
        return trib_fail(error, -EEXIST, "there is a policy '%.64s' already", policy->name);
    if (look(pack->policies, policy->name) != policy)
        return trib_fail(error, -EEXIST, "the pack has two policies '%.64s'", policy->name);
    return 0;
}

int trib_policies_add(const struct trib_policy_pack *pack, struct trib_error *error) {
    size_t known = 0, count = 0;

    if (pack->version != TRIB_POLICY_VERSION)
        return trib_fail(error, -EPROTO, "the pack is built for version %u of tributary/policy.h, this is version %u",
                         pack->version, TRIB_POLICY_VERSION);
    if (!pack->policies || !pack->policies[0])
        return trib_fail(error, -EINVAL, "the pack has no policy");
    while (policies[known])
        known++;
    for (; pack->policies[count]; count++) {
        int code = check_policy(pack, count, error);
        if (code)
            return code;
    }
    if (count > POLICIES_MAX - known)
        return trib_fail(error, -ENOSPC, "more than %u policies", POLICIES_MAX);
    memcpy(policies + known, pack->policies, count * sizeof *policies);
    return 0;
}

const struct trib_policy *trib_policy_find(const char *name, struct trib_error *error) {
    const struct trib_policy *found = look(policies, name);
    struct trib_error names = {""};
    size_t used = 0;

    if (found)
        return found;
    for (size_t i = 0; policies[i] && used < sizeof names.text; i++)
        used += (size_t)snprintf(names.text + used, sizeof names.text - used, " %s", policies[i]->name);
    trib_fail(error, 0, "unknown policy '%s'; valid:%.400s", name, names.text);
    return NULL;
}

uint32_t trib_policy_needs(const struct trib_policy *policy, const char *text) {
    struct trib_options *options = NULL;
    uint32_t needs = policy->needs;

    if (policy->needs_given && trib_options_open(&options, text, NULL) == 0)
        needs |= policy->needs_given(options);
    trib_options_close(options);
    return needs;
}
