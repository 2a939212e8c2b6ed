// SPDX-License-Identifier: Apache-2.0
// What other processes of the machine do does not reach a program by way of the library.
#include "hazard.hpp"

using namespace trib_hazard;

namespace {

// Of the mapped file three times at least the page that is dirty, and a small write.
Command neighbours() {
    Command command{{program("neighbours"), "locks"}};
    command.recorded_at_least_bytes = 3 * 4096 + 10;
    return command;
}

} // namespace

TRIB_HAZARD("a mapped file beside 60000 locks of another process", neighbours())
