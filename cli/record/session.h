// SPDX-License-Identifier: Apache-2.0
// `trib record -- CMD` and `trib run -- CMD`: a session around a command, its processes covered by
// libtributary-preload.so (docs/howto/any-program.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cli {

struct SessionOptions {
    std::vector<std::string> command;
    std::string trace;               // "" = none
    std::string policy, drive, gc;   // record: pcstream learns, no drive
    std::vector<std::string> set;    // "key=value,..." that win over everything else
    std::optional<std::string> json; // where to
    std::string preload, path;       // the library, the socket; "" = found, made
    bool users = false;              // other users' processes may join
    bool no_wait = false;            // end with the command, whatever still runs
};

// Returns the exit status for the caller: the command's. Throws Failure before the command ran.
int record(const SessionOptions &options);
int run_under(const SessionOptions &options);

} // namespace cli
