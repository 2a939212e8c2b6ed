// SPDX-License-Identifier: Apache-2.0
// Runs a small program as it is, with the preload library, and under `trib record`, and compares what anybody can see
// of it: files, output, exit status, time. A library that does nothing would pass that: so each case says how much of
// what it writes `trib record` has to find. Nothing here knows how the library works. One thread.
#pragma once
#include "support/catch.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/folder.hpp"
#include "support/skip.hpp"

namespace trib_hazard {

using trib_test::Folder;
using trib_test::read_file;
using trib_test::skip;

enum class Way { Plain, Preloaded, Recorded };

// Processes, and programs that they become, each of which joins for itself, which takes time of its own.
struct Joins {
    int recorded = 1;  // under trib record: who writes
    int preloaded = 0; // a child that libc knows of joins before it writes, and a program at its start; 0: as many
};

struct Command {
    std::vector<std::string> arguments;
    double limit_s = 40;                                         // then the process group is killed: a hang
    bool timed = true;                                           // twice the time, and a bit
    std::function<void(const std::string &folder)> prepare = {}; // the folder that the program starts in
    std::vector<std::string> environment = {};                   // more variables
    uint64_t descriptors_max = 4096;                             // its hard limit, or ours if that is less
    Joins joins = {};
    size_t own_lines_max = 1;             // on standard error, ours; under trib record one for each cause of a loss
    uint64_t recorded_at_least_bytes = 0; // under `trib record`; what goes to standard output comes on top of it
};

struct Result {
    int status = -1; // as shells say it: 128 + signal
    bool hung = false;
    double elapsed_ms = 0; // until the program's end
    double tree_ms = 0;    // until that of the last process that it left behind
    std::string out, err;  // without the library's own
    std::string own;       // what the library or trib said
    size_t own_lines = 0;
    std::map<std::string, std::string> files; // name -> type, mode, links, size, bytes
    int processes = 0;                        // that joined; under trib record
    uint64_t recorded_bytes = 0;              // of writes in the record, without those that were lost; 0: no record
};

// Writes of one file in a record: offsets and lengths, in the record's order.
using Writes = std::vector<std::pair<uint64_t, uint64_t>>;

struct Record {
    bool there = false;
    std::map<std::string, Writes> writes; // by the last component of the name
    std::set<std::string> names;          // all that any file had
    uint64_t bytes(const std::string &name) const;
    bool once(const std::string &name, uint64_t count, uint64_t bytes_each) const; // each of `count` pieces, from 0 on
};

std::string program(const std::string &name); // of programs/
std::vector<std::string> hooked_environment(Way way, const std::string &trace, const std::string &folder);
std::string library();

// TRIB_HAZARD_CONTROL=1: every run goes without the library. Whatever then differs is the test's own fault, and each
// test that asks for a record or a join must fail: as it would with a library that does nothing.
Way way_of(Way asked);

// A trace that is asked for but not looked at goes where nobody looks.
Result run_once(Way way, const Command &command, const std::string &trace = "");
Record read_record(const std::string &trace);

bool is_installed(const std::string &program);

// The hazard's bar: everything that can be seen is the same, it takes at most twice the time, and a record has what it
// must have.
void same(Way way, const Command &command);

} // namespace trib_hazard

// One test per way, so that each can be seen to pass.
#define TRIB_HAZARD(NAME, ...)                                                                                         \
    TEST_CASE(NAME ", preloaded") {                                                                                    \
        same(Way::Preloaded, __VA_ARGS__);                                                                             \
    }                                                                                                                  \
    TEST_CASE(NAME ", under trib record") {                                                                            \
        same(Way::Recorded, __VA_ARGS__);                                                                              \
    }
