// SPDX-License-Identifier: Apache-2.0
// The least write amplification that a workload allows on a drive, where theory has a closed form.
#pragma once

#include <tributary/pipeline.h>

#include "source/experiment.h"

namespace cli {

// Uniform writes: greedy collection (Desnoyers, TOS 2014). Hot/cold and zipf: groups of equal heat
// kept apart, spare space divided optimally. -1 for all others, and where the heat shifts.
// cold_bytes: on the drive before the first write; they need no spare space.
double optimum_waf(const Experiment &experiment, const trib_drive_report &drive, double cold_bytes);

} // namespace cli
