// SPDX-License-Identifier: Apache-2.0
// Children of every make behave as without the library, and all that they write is in the record, once.
#include "hazard.hpp"

using namespace trib_hazard;

namespace {

const std::string kTwoWrites = "printf 0123456789 >wrapped; printf 0123456789 >>wrapped";
constexpr uint64_t kPieces = 20, kPiece_bytes = 10; // of processes.c

// Their parents say on standard output, which is a file, how their children ended.
const std::map<std::string, Joins> kJoins = {{"fork", {2}},
                                             {"_Fork", {2}},
                                             {"clone", {2}},
                                             {"clone3", {2}},
                                             {"vfork", {2}}, // the program that the child becomes
                                             {"vfork_ends", {1}},
                                             {"clone_vm", {1}},
                                             {"clone_files", {2}},
                                             {"spawn", {2}},
                                             {"spawn_actions", {2}},
                                             {"system", {3, 4}}, // sh; sh, which becomes cat
                                             {"spawn_missing", {1, 1 + 10}},
                                             {"tree", {1 + 3 + 9 + 27}},
                                             {"shared_offset", {1 + 4}},
                                             {"daemon_after_write", {2, 3}},
                                             {"daemon_before_write", {1, 3}},
                                             {"daemon_between", {3}},
                                             {"daemon_of_libc", {2}},
                                             {"prefork_early", {3}},
                                             {"prefork_late", {3}},
                                             {"prefork_early_leaves", {3}},
                                             {"prefork_late_leaves", {2, 3}},
                                             {"killed", {3}},
                                             {"zombies", {1 + 50}}};

Command processes(const std::string &name) {
    Command command{{program("processes"), name}};
    command.joins = kJoins.at(name);
    return command;
}

// Files that the command leaves behind in pieces of 10 bytes: each piece is in the record once.
void check_recorded(Way way, const Command &command, const std::vector<std::string> &names, uint64_t pieces = kPieces) {
    Folder folder;
    const std::string trace = folder / "trace";
    const Result result = run_once(way, command, trace);
    if (result.status == 77)
        return skip(result.out);
    INFO(result.own << result.err);
    REQUIRE_FALSE(result.hung);
    CHECK(result.status == 0);
    const Record record = read_record(trace);
    REQUIRE(record.there);
    for (const std::string &name : names) {
        INFO(name << ": " << record.bytes(name) << " bytes recorded");
        CHECK(record.once(name, pieces, kPiece_bytes));
    }
}

// By the last figures of a private daemon, which is not that of `env`.
int joined_preloaded(const std::string &name) {
    Folder folder;
    const std::string figures = folder / "figures.prom", sought = "\ntributary_processes_total{";
    Command command = processes(name);
    command.arguments.insert(command.arguments.begin(), {"env", "TRIBUTARY=policy=none,metrics-file=" + figures});
    run_once(Way::Preloaded, command);
    const std::string text = read_file(figures);
    const size_t at = text.find(sought);
    const size_t value = at == std::string::npos ? at : text.find("} ", at);
    return value == std::string::npos ? 0 : std::stoi(text.substr(value + 2));
}

std::vector<std::string> tree() {
    std::vector<std::string> names = {"t"};
    for (size_t i = 0; i < names.size(); i++)
        for (int k = 0; names[i].size() < 4 && k < 3; k++)
            names.push_back(names[i] + std::to_string(k));
    return names;
}

Command shell(const std::vector<std::string> &before, const std::string &script) {
    Command command{before};
    command.arguments.insert(command.arguments.end(), {"sh", "-c", script});
    return command;
}

// Programs that are locked, started three times or become, and that write at their end.
Command spawning(const std::string &name) {
    Command command{{program("spawning"), name}};
    command.joins = {1, 4};
    command.recorded_at_least_bytes = 10;
    return command;
}

} // namespace

#define TRIB_PROCESSES(NAME, CASE, ...)                                                                                \
    TRIB_HAZARD(NAME, processes(CASE))                                                                                 \
    TEST_CASE(NAME ": what all wrote is recorded once, preloaded") {                                                   \
        check_recorded(Way::Preloaded, processes(CASE), __VA_ARGS__);                                                  \
    }                                                                                                                  \
    TEST_CASE(NAME ": what all wrote is recorded once, under trib record") {                                           \
        check_recorded(Way::Recorded, processes(CASE), __VA_ARGS__);                                                   \
    }
TRIB_PROCESSES("fork", "fork", {"parent", "child", "after"})
TRIB_PROCESSES("_Fork", "_Fork", {"parent", "child"})
TRIB_PROCESSES("clone by number", "clone", {"parent", "child"})
TRIB_PROCESSES("clone3 by number", "clone3", {"parent", "child"})
TRIB_PROCESSES("vfork of a child that writes and executes", "vfork", {"parent", "child", "of_child", "after"})
TRIB_PROCESSES("vfork of a child that writes and ends", "vfork_ends", {"parent", "of_child", "after"})
TRIB_PROCESSES("clone with CLONE_VM and CLONE_VFORK", "clone_vm", {"parent", "child", "after"})
TRIB_PROCESSES("clone with CLONE_FILES", "clone_files", {"parent", "child", "after"})
TRIB_PROCESSES("posix_spawn", "spawn", {"parent", "child", "after"})
TRIB_PROCESSES("posix_spawn with file actions", "spawn_actions", {"parent", "child"})
TRIB_PROCESSES("a tree of forks", "tree", tree())
TRIB_PROCESSES("a daemon that writes after its parent's end", "daemon_after_write", {"pidfile", "daemon"})
TRIB_PROCESSES("a daemon whose parent wrote nothing", "daemon_before_write", {"daemon"})
TRIB_PROCESSES("a daemon whose middle process writes", "daemon_between", {"pidfile", "between", "daemon"})
TRIB_PROCESSES("libc's daemon()", "daemon_of_libc", {"pidfile", "daemon"})
TRIB_PROCESSES("workers started after a pid file", "prefork_early", {"pidfile", "worker0", "worker1"})
TRIB_PROCESSES("workers started before any write", "prefork_late", {"worker0", "worker1"})
TRIB_PROCESSES("workers whose parent leaves after a pid file", "prefork_early_leaves",
               {"pidfile", "worker0", "worker1"})
TRIB_PROCESSES("workers whose parent leaves without a write", "prefork_late_leaves", {"worker0", "worker1"})
TRIB_PROCESSES("children that are killed", "killed", {"child", "aborted", "parent"})

TRIB_HAZARD("system and popen", processes("system"))
TRIB_HAZARD("spawning a missing program", processes("spawn_missing"))
TRIB_HAZARD("a lock on a program that is spawned", spawning("locked_and_spawned"))
TRIB_HAZARD("a lock on a program that is executed", spawning("locked_and_executed"))
TRIB_HAZARD("programs spawned beside a thread that opens files",
            Command{{program("spawning"), "lowest_number"}, 40, false})
TRIB_HAZARD("fifty short children", processes("zombies"))
TRIB_HAZARD("children that share an offset", processes("shared_offset"))

TEST_CASE("children that share an offset: recorded where they wrote, under trib record") {
    check_recorded(Way::Recorded, processes("shared_offset"), {"shared"}, 4 * kPieces);
}

// Or the tests above allow another time than they say.
TEST_CASE("as many processes join as time is allowed for, under trib record") {
    for (const auto &[name, joins] : kJoins) {
        int joined = 0;
        for (int i = 0; i < 4 && joined < joins.recorded; i++) // a busy machine may let a join time out
            joined = run_once(Way::Recorded, processes(name)).processes;
        INFO(name);
        CHECK(joined == joins.recorded);
    }
}
TEST_CASE("as many processes join as time is allowed for, preloaded") {
    for (const auto &[name, joins] : kJoins) {
        const int expected = joins.preloaded ? joins.preloaded : joins.recorded;
        int joined = 0;
        for (int i = 0; i < 4 && joined < expected; i++)
            joined = joined_preloaded(name);
        INFO(name);
        CHECK(joined == expected);
    }
}

#define TRIB_WRAPPED(NAME, ...)                                                                                        \
    TRIB_HAZARD(NAME, shell({__VA_ARGS__}, kTwoWrites + "; cat wrapped"))                                              \
    TEST_CASE(NAME ": recorded, preloaded") {                                                                          \
        check_recorded(Way::Preloaded, shell({__VA_ARGS__}, kTwoWrites), {"wrapped"}, 2);                              \
    }                                                                                                                  \
    TEST_CASE(NAME ": recorded, under trib record") {                                                                  \
        check_recorded(Way::Recorded, shell({__VA_ARGS__}, kTwoWrites), {"wrapped"}, 2);                               \
    }
TRIB_WRAPPED("behind timeout", "timeout", "5")
TRIB_WRAPPED("behind nice", "nice")
TRIB_WRAPPED("behind setsid", "setsid", "-w")
TRIB_WRAPPED("behind env and a wrapper script", "env", "sh", "-c", "\"$0\" \"$@\"; exit $?")

// Which fork made it does not matter: a number that is only of its namespace must not keep a place in the daemon.
TEST_CASE("5000 short processes in a PID namespace, under trib record") {
    const std::vector<std::string> inside = {"unshare", "--pid", "--fork"};
    Command nothing{inside}, command{inside, 120};
    nothing.arguments.push_back("true");
    command.arguments.insert(command.arguments.end(), {program("processes"), "many"});
    const Result possible = run_once(Way::Plain, nothing);
    if (possible.status != 0)
        return skip("no PID namespace can be made here: " + possible.err);
    Folder folder;
    const std::string trace = folder / "trace";
    const Result result = run_once(Way::Recorded, command, trace);
    INFO(result.own << result.err);
    REQUIRE_FALSE(result.hung);
    CHECK(result.status == 0);
    const Record record = read_record(trace);
    REQUIRE(record.there);
    CHECK(record.once("many", 5000, 10));
    CHECK(result.own.find("lost") == std::string::npos);
    CHECK(result.own.find("trib: 5,000 processes") != std::string::npos);
}

TEST_CASE("a file that is renamed has its new name in the record, under trib record") {
    Folder folder;
    const std::string trace = folder / "trace";
    const Result result = run_once(Way::Recorded, shell({}, "printf 0123456789 >before; mv before after"), trace);
    REQUIRE(result.status == 0);
    const Record record = read_record(trace);
    CHECK(record.names == std::set<std::string>{"before", "after"});
}
