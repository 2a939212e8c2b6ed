// SPDX-License-Identifier: Apache-2.0
// `trib compare`: the same work under many pipelines, side by side on all cores.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/option_text.h"
#include "compare/regime_found.h"
#include "source/regime.h"
#include "source/source.h"

namespace cli {

struct CompareOptions {
    SourceSpec source;
    std::string drive;
    std::vector<std::string> policies; // "[label:]policy[,key=value...][,internal=...]"; empty = the default set
    std::vector<std::string> gcs = {"same", "shared"};
    std::vector<std::string> set;
    RegimeOptions regime;
    unsigned jobs = 0;               // 0 = one per core
    std::optional<std::string> json; // where to; "" = standard output
};

// One policy of the table, before it meets a drive.
struct RowSpec {
    std::string label; // for JSON; unique names are up to the user
    std::string title; // for the table, where two columns already say internal and salt
    std::string policy;
    OptionText options;   // of the pipeline, without the drive's
    std::string internal; // who takes the survivors whatever gc says: twin, substream, chain; or ""
    bool salt = false;
};

// Rows, as of --policy, that the policies ask to be shown in (enum trib_variant_use).
std::vector<std::string> variant_rows(uint32_t use);

RowSpec parse_row(const std::string &text); // throws Failure (usage)

void compare(const CompareOptions &options); // throws Failure

} // namespace cli
