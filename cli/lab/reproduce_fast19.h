// SPDX-License-Identifier: Apache-2.0
// What FAST'19's figures have in common on generators (reproduce_pcstream.cpp) and on recorded
// traces (reproduce_recorded.cpp).
#pragma once

#include <string>
#include <vector>

#include "lab/reproduce.h"

namespace cli {

constexpr const char *FAST19 = "Kim et al., PCStream, FAST'19";

struct Scheme {
    const char *name, *pipeline;
};

// Without where survivors go. AutoStream is the better of two, MQ where a figure has one.
extern const std::vector<Scheme> FAST19_SCHEMES;

// Fig. 12; trials "WORK SCHEME" and "WORK SCHEME+int".
std::vector<Finding> judge_internal_streams(const std::vector<std::string> &works, const TrialResults &results);

// Fig. 13: share of the written bytes that went to S0, in percent.
double unknown_percent(const RunResult &run);

// Fig. 13; names of trials, which name the findings, too.
struct TableTrials {
    std::string none, small, full; // by the table that they have
};

std::vector<Finding> judge_table_size(const TableTrials &trials, const TrialResults &results);

} // namespace cli
