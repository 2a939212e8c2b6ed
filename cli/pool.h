// SPDX-License-Identifier: Apache-2.0
// Independent runs on several threads, with their progress on standard error. Results come back in
// the order of the plans, whatever the number of threads.
#pragma once

#include <vector>

#include "run.h"

namespace cli {

// jobs: 0 = one per core. Throws the failure of the first plan that failed; the others end early.
std::vector<RunResult> run_all(const std::vector<RunPlan> &plans, unsigned jobs);

// The same for one plan.
RunResult run_one(const RunPlan &plan);

} // namespace cli
