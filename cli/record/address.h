// SPDX-License-Identifier: Apache-2.0
// Where the socket of a daemon is: by its name, or fresh for one command. Pure but for the folder that is made.
#pragma once

#include <string>

namespace cli {

// A name (letters, digits, - _ .) to a path: /run/tributary/NAME.sock for root, else in $XDG_RUNTIME_DIR/tributary,
// else in /tmp/tributary-UID. A path stays as it is. make: the folder, with mode 0755 for root and 0700 for others.
// Throws Failure.
std::string daemon_address(const std::string &name, bool make);

// Where named daemons' sockets are.
std::string daemon_folder();

// The way back: what a person calls the daemon at this path.
std::string daemon_name(const std::string &address);

// One that nobody can guess, for the processes of one command.
std::string fresh_address();

} // namespace cli
