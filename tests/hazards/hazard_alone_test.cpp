// SPDX-License-Identifier: Apache-2.0
// Joining a daemon adds no child, and no thread that a program could notice once its call has returned.
#include "hazard.hpp"

using namespace trib_hazard;

namespace {

Command alone(const std::string &name) {
    return {{program("alone"), name}};
}

} // namespace

TRIB_HAZARD("nobody waits for a child that it has not made", alone("wall"))
TRIB_HAZARD("the first child is the init of a new PID namespace", alone("newpid"))
TRIB_HAZARD("a process of one thread stays one: new user namespaces", alone("newuser"))
TRIB_HAZARD("a process of one thread stays one: what /proc says", alone("threads"))
