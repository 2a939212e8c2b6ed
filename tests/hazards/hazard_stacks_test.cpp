// SPDX-License-Identifier: Apache-2.0
// Small and foreign stacks, and threads that end while others write.
#include "hazard.hpp"

using namespace trib_hazard;

namespace {

Command stacks(const std::string &name, bool timed = true) {
    return {{program("stacks"), name}, 30, timed};
}

} // namespace

TRIB_HAZARD("a thread of 16 KiB whose first write is the process's first", stacks("small_thread"))
TRIB_HAZARD("a thread of 16 KiB in a process that has written", stacks("small_thread_later"))
TRIB_HAZARD("a thread on a stack of the program's own", stacks("own_stack"))
TRIB_HAZARD("an alternate stack of 8 KiB", stacks("alternate"))
TRIB_HAZARD("a report of a stack overflow", stacks("overflow"))
TRIB_HAZARD("fibres of 16 KiB whose first write is the process's first", stacks("fibres_small"))
TRIB_HAZARD("fibres of 256 KiB in a process that has written", stacks("fibres_large"))
TRIB_HAZARD("fibres in a thread", stacks("fibres_in_thread"))
TRIB_HAZARD("short threads beside steady ones", stacks("short_threads"))
TRIB_HAZARD("writes from thread-local destructors", stacks("late_in_thread"))
TRIB_HAZARD("main's thread ends first", stacks("main_ends_first"))
TRIB_HAZARD("writes at exit", stacks("at_exit"))
TRIB_HAZARD("exit beside threads that write", stacks("exit_beside_writers"))
