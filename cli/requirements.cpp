// SPDX-License-Identifier: Apache-2.0
#include "requirements.h"

#include "policy/policy.h"

namespace cli {

namespace {

// Not a policy's own need: something, whatever it is, that tells virtual streams apart.
constexpr uint32_t NEEDS_ANY_NAME = 1u << 31;

uint32_t needs_of_map(const std::string &map) {
    if (map == "host" || map == "f2fs")
        return TRIB_NEEDS_VSTREAM;
    if (map == "hint")
        return TRIB_NEEDS_HINT;
    bool by_level = map == "level" || map == "hs8" || map == "cassandra" || map == "mixed1";
    return by_level ? TRIB_NEEDS_KIND | TRIB_NEEDS_LEVEL : TRIB_NEEDS_KIND;
}

uint32_t needs_of_source(const std::string &source) {
    if (source == "auto")
        return NEEDS_ANY_NAME;
    if (source == "host")
        return TRIB_NEEDS_VSTREAM;
    if (source == "hint")
        return TRIB_NEEDS_HINT;
    if (source == "kind")
        return TRIB_NEEDS_KIND;
    return source == "signature" ? TRIB_NEEDS_SIGNATURE : 0; // a tenant has everything
}

std::string option_or(const OptionText &options, const char *key, const char *fallback) {
    return options.has(key) ? options.get(key) : fallback;
}

} // namespace

uint32_t needs_of(const OptionText &options) {
    const std::string name = options.get("policy");
    const trib_policy *policy = trib_policy_find(name.c_str(), nullptr);
    if (!policy)
        return 0;
    if (name == "manual")
        return needs_of_map(option_or(options, "map", "level"));
    if (name == "vstream")
        return (policy->needs & ~static_cast<uint32_t>(TRIB_NEEDS_VSTREAM)) |
               needs_of_source(option_or(options, "source", "auto"));
    return policy->needs;
}

std::string missing(const OptionText &options, const Survey &survey) {
    const uint32_t needs = needs_of(options);
    const bool named = survey.named_bytes > 0, kinds = survey.kind_bytes > 0,
               hints = survey.hint_bytes > 0, levels = survey.level_bytes > 0;
    const struct {
        uint32_t need;
        bool there;
        const char *sentence;
    } checks[] = {
        {TRIB_NEEDS_SIGNATURE, survey.signature_bytes > 0,
         "call paths, which this work does not have"},
        {TRIB_NEEDS_KIND, kinds, "kinds of files, which this work does not have"},
        {TRIB_NEEDS_HINT, hints, "write hints, which this work does not have"},
        {TRIB_NEEDS_LEVEL, levels, "levels of an LSM tree, which this work does not have"},
        {TRIB_NEEDS_VSTREAM, named,
         "virtual streams named by the host, which this work does not have"},
        {NEEDS_ANY_NAME, named || kinds || hints || levels,
         "virtual streams, and in this work neither the host names any nor a kind of file, hint or "
         "level does"},
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
