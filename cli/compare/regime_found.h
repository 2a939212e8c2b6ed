// SPDX-License-Identifier: Apache-2.0
// What the runs found the regime of a comparison to be: printed above the table, and checked. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/json.h"
#include "compare/run.h"
#include "source/survey.h"

namespace cli {

struct Regime {
    trib_drive_report drive = {};
    double live_peak_percent = 0;  // of the exported capacity
    double cold_percent = 0;       // of the live data at their peak
    double capacities_written = 0; // by the host, after the cold fill
    double open_share_percent = 0; // reclaim units open at once (the most of any row), of the over-provisioned ones
    uint32_t open_units_peak = 0;
};

Regime regime_of(const std::vector<RunResult> &runs, const Survey &survey);
std::string regime_text(const Regime &regime);
Json json_regime(const Regime &regime);
Json json_drive(const trib_drive_report &drive);

// Sentences for what would make the digits misleading; `waf_none`: steady WAF without placement, 0
// = not run.
std::vector<std::string> regime_warnings(const Regime &regime, double waf_none);

} // namespace cli
