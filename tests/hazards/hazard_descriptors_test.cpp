// SPDX-License-Identifier: Apache-2.0
// Descriptors are the program's: what it closes, opens and numbers itself is what it gets, and no byte of ours ever
// goes through a number of its own.
#include "hazard.hpp"

#include <algorithm>
#include <sstream>

using namespace trib_hazard;

namespace {

Command recorded(Command command, uint64_t bytes) {
    command.recorded_at_least_bytes = bytes;
    return command;
}

Command closing(const std::string &name) {
    return recorded({{program("closing"), name}}, 200 * 5); // lines of its log
}

Command numbers(const std::string &name, uint64_t bytes) {
    return recorded({{program("numbers"), name}}, bytes);
}

// A few lines each, of the shell and of what it starts.
Command shell(const std::string &shell, const std::string &name) {
    return recorded({{shell, TRIB_HAZARD_SOURCES "/programs/redirections.sh", name}}, 100);
}

} // namespace

TRIB_HAZARD("closefrom, then a database that is only read", closing("closefrom"))
TRIB_HAZARD("close_range, then a database that is only read", closing("close_range"))
TRIB_HAZARD("close_range by number, then a database that is only read", closing("raw_close_range"))
TRIB_HAZARD("a loop that closes all, then a database that is only read", closing("loop"))
TRIB_HAZARD("close_range of everything, standard streams too", closing("everything"))
TRIB_HAZARD("closefrom before the first write", closing("before_first_write"))
TRIB_HAZARD("closefrom in a daemon's child", closing("in_child"))

TRIB_HAZARD("dup2 onto every number", numbers("onto_all", 252 * (10 + 8)))
TRIB_HAZARD("dup3 by number onto every number", numbers("onto_all_raw", 6 + 252 + 10))
TRIB_HAZARD("the lowest free number is the program's", numbers("lowest", 1 + 20))
TRIB_HAZARD("dup2 of a database over numbers while files are written", numbers("over_and_over", 300))

TRIB_HAZARD("bash, exec 3> after a first write", shell("bash", "exec3"))
TRIB_HAZARD("bash, exec onto all numbers", shell("bash", "all"))
TRIB_HAZARD("bash, here-documents", shell("bash", "here"))
TRIB_HAZARD("bash, streams that are swapped and restored", shell("bash", "swap"))
TRIB_HAZARD("sh, exec 3> after a first write", shell("sh", "exec3"))
TRIB_HAZARD("sh, exec onto all numbers", shell("sh", "all"))
TRIB_HAZARD("sh, here-documents", shell("sh", "here"))
TRIB_HAZARD("sh, streams that are swapped and restored", shell("sh", "swap"))

namespace {

Command full(const std::string &name) {
    return recorded({{program("full"), name}}, 20 * 10);
}

// The process joins all the same: what it wrote is in the record.
void check_recorded(Way way, const std::string &name) {
    Folder folder;
    const Result result = run_once(way, full(name), folder / "trace");
    if (result.status == 77)
        return skip(result.out);
    INFO(result.own << result.err);
    CHECK(result.status == 0);
    const Record record = read_record(folder / "trace");
    REQUIRE(record.there);
    CHECK(record.once("a", 20, 10));
}

} // namespace

#define TRIB_FULL(NAME, CASE)                                                                                          \
    TRIB_HAZARD(NAME, full(CASE))                                                                                      \
    TEST_CASE(NAME ": it is recorded, preloaded") {                                                                    \
        check_recorded(Way::Preloaded, CASE);                                                                          \
    }                                                                                                                  \
    TEST_CASE(NAME ": it is recorded, under trib record") {                                                            \
        check_recorded(Way::Recorded, CASE);                                                                           \
    }
TRIB_FULL("a full table of descriptors", "table")
TRIB_FULL("a limit of three descriptors", "three")
TRIB_FULL("a full table of descriptors in a child", "table_of_child")

namespace {

constexpr double kFork_us = 300;        // each child looked at every number below: 1,100
constexpr uint64_t kForking_bytes = 20; // of forking.c

struct Forks {
    double low_us = 1e9, high_us = 1e9; // beside descriptors of low numbers alone, and of a high one
    double growth_us() const {
        return high_us - low_us;
    }
};

void add(const Result &result, Forks &forks) {
    INFO(result.own << result.err);
    REQUIRE(result.status == 0);
    std::istringstream said(result.out);
    double low_us = 0, high_us = 0;
    REQUIRE(said >> low_us >> high_us);
    forks.low_us = std::min(forks.low_us, low_us);
    forks.high_us = std::min(forks.high_us, high_us);
}

// The least of 200 forks of each kind, and of several runs in turn, until it is good enough.
void check_forks(Way way) {
    Command forking{{program("forking")}};
    forking.descriptors_max = 20000;
    Forks plain, hooked;
    Folder folder;
    uint64_t recorded_bytes = 0; // or the forks are those of a program without the library
    const auto is_good = [&] {
        return recorded_bytes == kForking_bytes && hooked.growth_us() <= plain.growth_us() + kFork_us;
    };
    for (int i = 0; i < 5 && !is_good(); i++) {
        const Result without = run_once(Way::Plain, forking);
        if (without.status == 77)
            return skip(without.out);
        add(without, plain);
        const std::string trace = folder / ("trace" + std::to_string(i));
        add(run_once(way, forking, trace), hooked);
        recorded_bytes = std::max(recorded_bytes, read_record(trace).bytes("a"));
    }
    INFO("a fork takes " << plain.low_us << " and " << plain.high_us << " us without, " << hooked.low_us << " and "
                         << hooked.high_us << " us with");
    CHECK(hooked.growth_us() <= plain.growth_us() + kFork_us);
    CHECK(recorded_bytes == kForking_bytes);
}

} // namespace

TEST_CASE("a fork costs no more for a descriptor of a high number, preloaded") {
    check_forks(Way::Preloaded);
}
TEST_CASE("a fork costs no more for a descriptor of a high number, under trib record") {
    check_forks(Way::Recorded);
}
