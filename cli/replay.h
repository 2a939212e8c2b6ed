// SPDX-License-Identifier: Apache-2.0
// `trib replay`: one trace under one pipeline.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cli {

struct ReplayOptions {
    std::string trace, policy, drive, gc;
    std::vector<std::string> set; // "key=value,..." that win over everything else
    bool truncated_ok = false;
    std::optional<std::string> json; // where to; "" = standard output
};

void replay(const ReplayOptions &options); // throws Failure

} // namespace cli
