// SPDX-License-Identifier: Apache-2.0
// Joining a daemon adds no child, and no thread that a program could notice once its call has returned.
#include "hazard.hpp"

using namespace trib_hazard;

namespace {

constexpr uint64_t kWrite_bytes = 10;

// 40 processes write once each. A busy machine may let a join time out: most of them are asked for.
constexpr int kProcesses = 40;
constexpr uint64_t kMost_bytes = 30 * kWrite_bytes;

Command alone(const std::string &name, uint64_t recorded_bytes, int processes = 1) {
    Command command{{program("alone"), name}};
    command.joins = {processes};
    command.recorded_at_least_bytes = recorded_bytes;
    return command;
}

} // namespace

TRIB_HAZARD("nobody waits for a child that it has not made", alone("wall", kMost_bytes, kProcesses))
TRIB_HAZARD("the first child is the init of a new PID namespace", alone("newpid", kWrite_bytes))
TRIB_HAZARD("a process of one thread stays one: new user namespaces", alone("newuser", kMost_bytes, kProcesses))
TRIB_HAZARD("a process of one thread stays one: what /proc says", alone("threads", kWrite_bytes))
TRIB_HAZARD("who adopts orphans gets no daemon for a child", alone("adopter", 0))
TRIB_HAZARD("a real-time thread waits for no ordinary one", alone("real_time", 0))
TRIB_HAZARD("a file whose server does not answer", Command{{program("servers"), "silent"}, 40, false})
