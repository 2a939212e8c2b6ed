// SPDX-License-Identifier: Apache-2.0
// The regime a comparison runs in: how full the drive is, with what, how fine its superblocks are.
// It decides the digits, so it is chosen from the trace; what it came to be is compare/regime_found.h. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "common/option_text.h"
#include "source/survey.h"

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

} // namespace cli
