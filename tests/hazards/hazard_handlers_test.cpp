// SPDX-License-Identifier: Apache-2.0
// Every hooked path is async-signal-safe: a handler may do whatever main is doing.
#include "hazard.hpp"

#include <cstdlib>

#include <unistd.h>

using namespace trib_hazard;

namespace {

// Thousands of small files: in memory the program's own part of the time is short, and the race is met more often.
const int kInMemory = access("/dev/shm", W_OK) == 0 ? setenv("TMPDIR", "/dev/shm", 1) : -1;

// Fewer than the signals' own writes alone, and than always wait in a ring for a daemon that gets no processor.
constexpr uint64_t kMuch_bytes = 10000;

Command handlers(const std::string &name, uint64_t recorded_bytes = kMuch_bytes) {
    Command command{{program("handlers"), name}, 15};
    command.recorded_at_least_bytes = recorded_bytes;
    return command;
}

// A hundred processes write 6 bytes each, or one to standard output twice; a busy machine may let a join time out.
Command stepped(const std::string &name, uint64_t recorded_bytes) {
    Command command{{program("stepped"), name}, 40, false};
    command.recorded_at_least_bytes = recorded_bytes;
    return command;
}

Command jumps() {
    Command command = handlers("jumps", 1000);
    command.own_lines_max = 2; // the ring is full, and events are cut off in the middle
    return command;
}

} // namespace

TRIB_HAZARD("handlers that open and write while main opens", handlers("main_opens"))
TRIB_HAZARD("handlers that open and write while main writes", handlers("main_writes"))
TRIB_HAZARD("handlers that open and write while main renames and unlinks", handlers("main_renames"))
TRIB_HAZARD("handlers that open and write while main maps and syncs", handlers("main_maps"))
TRIB_HAZARD("handlers that open and write while main forks", handlers("main_forks"))
TRIB_HAZARD("handlers that open and write from the first write on", handlers("first"))
TRIB_HAZARD("handlers on an alternate stack of 16 KiB", handlers("small_stack"))
TRIB_HAZARD("handlers beside threads that write", handlers("threads"))
// What jumps leave unfinished in the ring is lost, and much of what is behind it.
TRIB_HAZARD("handlers that jump out of a write", jumps())
// Such a handler makes the library give back what nobody uses, behind which the interrupted use goes on.
TRIB_HAZARD("a handler that locks memory behind each instruction of a copied descriptor's first use",
            stepped("copy_instructions", 10 + 75 * 6))
TRIB_HAZARD("a handler that locks memory behind each instruction of an inherited descriptor's first use",
            stepped("write_instructions", 10))
TRIB_HAZARD("a handler that locks memory behind each system call of an inherited descriptor's first use",
            stepped("write_system_calls", 10))
