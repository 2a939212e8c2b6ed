// SPDX-License-Identifier: Apache-2.0
// The commands of `trib`, room by room: flags to calls. What a command needs lives as long as the app.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace cli {

// record, run, daemon, status, top. `command`: what followed "--"; `exit_code`: of the command that was run.
void add_record_commands(CLI::App &app, const std::vector<std::string> &command, int &exit_code);
void add_compare_commands(CLI::App &app); // replay, compare
void add_inspect_commands(CLI::App &app); // inspect, and the lists of what there is
void add_lab_commands(CLI::App &app);     // lab matrix, lab reproduce

} // namespace cli
