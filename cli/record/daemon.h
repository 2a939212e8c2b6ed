// SPDX-License-Identifier: Apache-2.0
// `trib daemon`: the process that owns policy, drive, state and trace; and what is asked of one from outside.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tributary/status.h>

namespace cli {

struct DaemonOptions {
    std::string name = "default", address; // address: "" = by name
    std::string policy, drive, gc, state, trace, allow;
    std::vector<std::string> set; // "key=value,..." that win over everything else
    bool is_private = false;      // ends some time after the last process
    int ready = -1;               // descriptor for "0" or "CODE sentence" once it is known
    unsigned linger_ms = 1000;
};

// Until a signal or somebody on the socket ends it. Exit status.
int daemon(const DaemonOptions &options);

// what: stop, pause or resume.
int control_daemon(const std::string &name, const std::string &what);

struct StatusOptions {
    std::string name = "default";
    std::optional<std::string> json;
    bool openmetrics = false, is_named = false; // the name was given
};
int daemon_status(const StatusOptions &options);

// Somebody listens at the socket.
bool daemon_answers(const std::string &address);

// What a daemon says of itself. Throws Failure: nobody answers at the socket.
std::string ask_status(const std::string &address, trib_status_kind kind);

} // namespace cli
