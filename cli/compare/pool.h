// SPDX-License-Identifier: Apache-2.0
// Independent runs on several threads, with their progress on standard error. Results come back in
// the order of the plans, whatever the number of threads.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compare/run.h"

namespace cli {

// Calls work(i) for each i < count on `jobs` threads (0 = one per core), in order of i as threads
// become free. total_bytes: what the meter's done_bytes will have reached at the end. Throws the
// failure of the first i that failed; the others end early (meter.stop).
void run_each(size_t count, unsigned jobs, const std::string &title, uint64_t total_bytes,
              const std::function<void(size_t, RunMeter &)> &work);

std::vector<RunResult> run_all(const std::vector<RunPlan> &plans, unsigned jobs);

// The same for one plan.
RunResult run_one(const RunPlan &plan);

} // namespace cli
