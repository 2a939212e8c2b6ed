// SPDX-License-Identifier: Apache-2.0
#include "compare/requirements.h"

#include <fmt/format.h>
#include <tributary/policy.h>

namespace cli {

uint32_t needs_of(const OptionText &options) {
    const trib_policy *policy = trib_policy_find(options.get("policy").c_str(), nullptr);
    return policy ? trib_policy_needs(policy, options.text().c_str()) : 0;
}

std::string missing(const OptionText &options, const Survey &survey) {
    const uint32_t needs = needs_of(options);
    const bool named = survey.named_bytes > 0, kinds = survey.kind_bytes > 0, hints = survey.hint_bytes > 0,
               levels = survey.level_bytes > 0;
    const struct {
        uint32_t need;
        bool there;
        const char *sentence;
    } checks[] = {
        {TRIB_NEEDS_SIGNATURE, survey.signature_bytes > 0, "call paths, which this {} does not have"},
        {TRIB_NEEDS_KIND, kinds, "kinds of files, which this {} does not have"},
        {TRIB_NEEDS_HINT, hints, "write hints, which this {} does not have"},
        {TRIB_NEEDS_LEVEL, levels, "levels of an LSM tree, which this {} does not have"},
        {TRIB_NEEDS_VSTREAM, named, "virtual streams named by the host, which this {} does not have"},
        {TRIB_NEEDS_ANY_NAME, named || kinds || hints || levels,
         "virtual streams, and neither the host names any nor a kind of file, hint or level does in this {}"},
        {TRIB_NEEDS_TRIM, survey.dies, "data that die, and nothing is overwritten, deleted or trimmed in this {}"},
        {TRIB_NEEDS_LBA, options.get("drive") != "none", "logical blocks, and without a drive there are none"},
    };
    for (const auto &check : checks)
        if ((needs & check.need) && !check.there)
            return "needs " + fmt::format(fmt::runtime(check.sentence), survey.what);
    return "";
}

} // namespace cli
