// SPDX-License-Identifier: Apache-2.0
// A command that `trib` runs on someone's behalf: same terminal, same standard streams, signals
// passed on, its exit status kept. One owner, one command at a time.
#pragma once

#include <csignal>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cli {

// As env(1) and the shells have them.
enum ChildExit : int {
    CHILD_OWN_FAILURE = 125, // ours, before the command ran
    CHILD_NOT_EXECUTABLE = 126,
    CHILD_NOT_FOUND = 127,
    CHILD_SIGNAL = 128, // plus the signal's number
};

// Where exec(3) will find the command. Throws Failure: nowhere (127), or nothing that may be run (126), so that a
// mistyped one moves no trace and starts no recorder.
std::string find_command(const std::string &command);

class Child {
  public:
    // Blocks the signals that are to be passed on in this and all later threads.
    Child();
    ~Child();
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;

    // "NAME=value" of `environment` replace those of the same name. 0 or the errno of exec.
    int start(const std::vector<std::string> &command, const std::vector<std::string> &environment);
    // Until it ends: its exit status, 128 + n for signal n.
    int wait();
    // Sleeps; true when somebody asks to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT).
    bool asked_to_end(long milliseconds) const;

  private:
    pid_t pid_ = -1;
    sigset_t passed_on_, before_;
    struct sigaction child_before_ = {}, size_before_ = {};
};

} // namespace cli
