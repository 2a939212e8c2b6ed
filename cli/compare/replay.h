// SPDX-License-Identifier: Apache-2.0
// `trib replay`: one trace under one pipeline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "source/source.h"

namespace cli {

struct ReplayOptions {
    SourceSpec source;
    std::string policy, drive, gc;
    std::vector<std::string> set;    // "key=value,..." that win over everything else
    std::optional<std::string> json; // where to; "" = standard output
    std::string dump;                // file for the drive's state; "" = none
};

void replay(const ReplayOptions &options); // throws Failure

} // namespace cli
