// SPDX-License-Identifier: Apache-2.0
// `trib inspect`: what is in a trace or a state file.
#pragma once

#include <cstdint>
#include <string>

namespace cli {

struct InspectOptions {
    std::string file;
    bool json = false;
    bool events = false; // every item instead of tables
    uint64_t limit = 0;  // of events; 0 = all
    bool truncated_ok = false;
};

void inspect(const InspectOptions &options); // throws Failure

// Its parts. All throw Failure.
void inspect_trace(const InspectOptions &options);
void dump_items(const InspectOptions &options); // of a trace
void inspect_state(const InspectOptions &options);

} // namespace cli
