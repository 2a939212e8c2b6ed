// SPDX-License-Identifier: Apache-2.0
// The future of known work. Block writes depend on the work and on how files get their blocks, not
// on the policy, so one pass without placement learns when each of them dies, for all runs of the
// same work on a drive of the same size. Results are immutable: threads may share them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compare/run.h"

namespace cli {

// deaths[i]: how many blocks have reached the drive when the i-th block written is overwritten or
// trimmed; UINT32_MAX: it never is.
using Deaths = std::shared_ptr<const std::vector<uint32_t>>;

// One pass over the plan's work. Throws Failure as run_trace does, and when the work has more
// blocks than 32 bits count.
Deaths future(const RunPlan &plan, RunMeter &meter);

// Tells those of the plans whose policy needs it; one pass per work and address space, side by side
// on `jobs` threads (0 = one per core). Throws Failure.
void add_future_where_needed(const std::vector<RunPlan *> &plans, unsigned jobs);

} // namespace cli
