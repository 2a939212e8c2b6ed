// SPDX-License-Identifier: Apache-2.0
// Small and foreign stacks, and threads that end while others write.
#include "hazard.hpp"

using namespace trib_hazard;

namespace {

constexpr uint64_t kWrite_bytes = 10, kMany_bytes = 12000 * kWrite_bytes,
                   kSome_bytes = 200 * kWrite_bytes; // of stacks.c

// Whatever stack it is on, all that it writes is recorded: how much that is.
Command stacks(const std::string &name, uint64_t recorded_bytes) {
    Command command{{program("stacks"), name}, 30};
    command.recorded_at_least_bytes = recorded_bytes;
    return command;
}

} // namespace

TRIB_HAZARD("a thread of 16 KiB whose first write is the process's first",
            stacks("small_thread", kMany_bytes + kWrite_bytes))
TRIB_HAZARD("a thread of 16 KiB in a process that has written",
            stacks("small_thread_later", kWrite_bytes + kMany_bytes + kWrite_bytes))
TRIB_HAZARD("a thread on a stack of the program's own", stacks("own_stack", kMany_bytes + kWrite_bytes))
TRIB_HAZARD("an alternate stack of 8 KiB", stacks("alternate", kMany_bytes))
TRIB_HAZARD("a report of a stack overflow", stacks("overflow", 9))
TRIB_HAZARD("fibres of 16 KiB whose first write is the process's first",
            stacks("fibres_small", kMany_bytes + kWrite_bytes))
TRIB_HAZARD("fibres of 256 KiB in a process that has written",
            stacks("fibres_large", kWrite_bytes + kMany_bytes + kWrite_bytes))
TRIB_HAZARD("fibres in a thread", stacks("fibres_in_thread", kMany_bytes + kWrite_bytes))
TRIB_HAZARD("short threads beside steady ones",
            stacks("short_threads", 300 * kWrite_bytes + 2 * (kSome_bytes + kWrite_bytes)))
TRIB_HAZARD("writes from thread-local destructors", stacks("late_in_thread", 40 * kWrite_bytes))
TRIB_HAZARD("main's thread ends first", stacks("main_ends_first", kWrite_bytes + kSome_bytes + kWrite_bytes))
TRIB_HAZARD("writes at exit", stacks("at_exit", 2 * kWrite_bytes + 16))
// Endless: each thread has written once when the others are waited for.
TRIB_HAZARD("exit beside threads that write", stacks("exit_beside_writers", 3 * kWrite_bytes))

namespace {

// It knows the ways in which libc makes threads and processes, and ends where another is tried. Its own words go
// nowhere, and its own time is nobody's concern.
void check_under_valgrind(Way way) {
    if (!is_installed("valgrind"))
        return skip("valgrind is not installed");
    Command command = stacks("small_thread", kMany_bytes + kWrite_bytes);
    command.arguments.insert(command.arguments.begin(), {"valgrind", "--tool=none", "--log-file=/dev/null"});
    command.timed = false;
    same(way, command);
}

} // namespace

TEST_CASE("a thread whose first write is the process's first, under valgrind, preloaded") {
    check_under_valgrind(Way::Preloaded);
}
TEST_CASE("a thread whose first write is the process's first, under valgrind, under trib record") {
    check_under_valgrind(Way::Recorded);
}
