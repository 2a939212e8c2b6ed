// SPDX-License-Identifier: Apache-2.0
// The regime a comparison runs in: how full the drive is, with what, how fine its superblocks are.
// It decides the digits, so it is chosen from the trace, printed above the table, and checked. Pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json.h"
#include "option_text.h"
#include "run.h"
#include "survey.h"

namespace cli {

struct RegimeOptions {
    std::optional<double> fill_percent; // live data at their peak, of the exported capacity [90]
    std::optional<double> cold_percent; // cold files, of the live data at their peak [30]
    std::optional<std::string> capacity, over_provisioning, superblock, streams;

    double fill() const {
        return fill_percent.value_or(90);
    }
    double cold() const {
        return cold_percent.value_or(30);
    }
};

// What `first` leaves open is taken from `second`.
RegimeOptions regime_or(const RegimeOptions &first, const RegimeOptions &second);
// Without what `drive`, the user's own text, says.
RegimeOptions regime_without(const RegimeOptions &regime, const OptionText &drive);

// Options of the drive: what the user said in `drive` and `set`, and for the rest a drive sized to
// the trace. A preset or a capacity of the user's is left alone.
OptionText drive_options(const RegimeOptions &regime, const OptionText &drive, const Survey &survey);

// Simulated IOPS are wanted wherever a drive can tell them, unless the user said otherwise.
void default_to_latency(OptionText &drive);

// What the runs found the regime to be.
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
