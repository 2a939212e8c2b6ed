// SPDX-License-Identifier: Apache-2.0
// How a command ends when it cannot do its work: one sentence that says what to do next, and an
// exit code. Immutable once thrown; safe to carry from a worker thread to the main one.
#pragma once

#include <stdexcept>
#include <string>

namespace cli {

// Documented in trib(1); scripts rely on them: append only.
enum ExitCode : int {
    EXIT_OK = 0,
    EXIT_RUNTIME = 1,     // I/O, corrupt or foreign input
    EXIT_USAGE = 2,       // unknown command, option, policy, drive or preset
    EXIT_DRIVE_SMALL = 3, // the drive has no room for the trace
};

class Failure : public std::runtime_error {
  public:
    Failure(ExitCode code, const std::string &sentence) : std::runtime_error(sentence), code_(code) {
    }
    ExitCode code() const {
        return code_;
    }

  private:
    ExitCode code_;
};

// -EINVAL is a wrong option; everything else happened at run time.
Failure core_failure(int error, const std::string &sentence);

} // namespace cli
