// SPDX-License-Identifier: Apache-2.0
// Tables of option specs for people, machines and docs/options.md. Pure functions.
#pragma once

#include <string>

#include "base/options.h"
#include "common/json.h"

namespace cli {

std::string option_values(const trib_option_spec &spec);     // "size", "a|b|c", "1 to 63"
std::string options_text(const trib_option_spec *specs);     // table of <= 80 columns
std::string options_markdown(const trib_option_spec *specs); // table
Json options_json(const trib_option_spec *specs);

} // namespace cli
