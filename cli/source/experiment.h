// SPDX-License-Identifier: Apache-2.0
// A committed experiment: which work, on which drive, how much of it (docs/formats/workloads.md,
// bench/experiments/*.ini). Plain data once loaded.
#pragma once

#include <cstdint>
#include <string>

#include "common/option_text.h"
#include "source/regime.h"

namespace cli {

struct Experiment {
    std::string path, name, summary; // name: of the file, without folder and ending
    // Either a workload with its options (size and host included) ...
    std::string workload, workload_options;
    // ... or a recorded trace beside the file, its format and the reader's options.
    std::string trace, format, import_options;
    std::string beside;   // another recorded trace of ours, replayed at the same time; "" = none
    RegimeOptions regime; // fill, cold, capacity, op, superblock, streams of [drive]
    OptionText drive;     // the other keys of [drive], for the pipeline
};

// By the ending ".ini"; the file need not exist.
bool is_experiment(const std::string &path);

// Throws Failure: not there, unknown section or key (lists the valid ones), bad value.
Experiment load_experiment(const std::string &path);

} // namespace cli
