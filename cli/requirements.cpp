// SPDX-License-Identifier: Apache-2.0
#include "requirements.h"

#include "policy/policy.h"

namespace cli {

uint32_t needs_of(const OptionText &options) {
    const trib_policy *policy = trib_policy_find(options.get("policy").c_str(), nullptr);
    uint32_t needs = policy ? policy->needs : 0;
    if (options.get("policy") != "manual" || !options.has("map"))
        return needs;
    std::string map = options.get("map");
    needs &= ~static_cast<uint32_t>(TRIB_NEEDS_LEVEL);
    if (map == "host" || map == "f2fs")
        return needs | TRIB_NEEDS_VSTREAM;
    if (map == "hint")
        return needs | TRIB_NEEDS_HINT;
    bool by_level = map == "level" || map == "hs8" || map == "cassandra" || map == "mixed1";
    return by_level ? needs | TRIB_NEEDS_LEVEL : needs;
}

std::string missing(const OptionText &options, const Survey &survey) {
    const uint32_t needs = needs_of(options);
    const struct {
        uint32_t need;
        bool there;
        const char *sentence;
    } checks[] = {
        {TRIB_NEEDS_SIGNATURE, survey.signature_bytes > 0,
         "call paths, which this work does not have"},
        {TRIB_NEEDS_HINT, survey.hint_bytes > 0, "write hints, which this work does not have"},
        {TRIB_NEEDS_LEVEL, survey.level_bytes > 0,
         "levels of an LSM tree, which this work does not have"},
        {TRIB_NEEDS_VSTREAM, survey.named_bytes > 0,
         "virtual streams named by the host, which this work does not have"},
        {TRIB_NEEDS_TRIM, survey.dies,
         "data that die, and in this work nothing is overwritten, deleted or trimmed"},
        {TRIB_NEEDS_LBA, options.get("drive") != "none",
         "logical blocks, and without a drive there are none"},
    };
    for (const auto &check : checks)
        if ((needs & check.need) && !check.there)
            return std::string("needs ") + check.sentence;
    return "";
}

} // namespace cli
