// SPDX-License-Identifier: Apache-2.0
// What a policy relies on and the work at hand lacks. Pure functions.
#pragma once

#include <string>

#include "common/option_text.h"
#include "source/survey.h"

namespace cli {

// Needs of a policy (enum trib_policy_needs) with these options.
uint32_t needs_of(const OptionText &options);

// "" when everything is there; else what is missing, to follow the policy's name: "needs call
// paths, which this trace does not have".
std::string missing(const OptionText &options, const Survey &survey);

} // namespace cli
