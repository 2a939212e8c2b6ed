// SPDX-License-Identifier: Apache-2.0
// After start-up a hooked program makes its own system calls, and but for each process's joining and questions about
// its own files no other. What is allowed is in one place: below. What must be there is checked, too: one join of each
// process that writes, and one question for each of its files, or the library does nothing at all.
#include "hazard.hpp"

#include <algorithm>
#include <sstream>

using namespace trib_hazard;

namespace {

using Counts = std::map<std::string, int>;

// ---- what is allowed ----

// Once for each program that writes, at its first write: the memory of call paths.
const Counts kPreparing = {{"readlinkat", 1}, {"prlimit64", 2},      {"mmap", 3},  {"mprotect", 1},
                           {"madvise", 1},    {"rt_sigprocmask", 2}, {"getpid", 1}};

// Once for each process that writes. One of several threads does it in a thread aside, whose calls have no mark.
const Counts kJoining = {{"unshare", 1}, {"newfstatat", 1}, {"clock_gettime", 1},  {"socket", 1}, {"connect", 1},
                         {"fcntl", 4},   {"sendmsg", 1},    {"pidfd_open", 1},     {"ppoll", 1},  {"recvmsg", 1},
                         {"fstat", 2},   {"mmap", 2},       {"madvise", 2},        {"close", 7},  {"getpid", 2},
                         {"clone", 1},   {"futex", 2},      {"rt_sigprocmask", 2}, {"openat", 1}, {"read", 1},
                         {"mprotect", 1}};

// Once for the first process that has options of its own, TRIBUTARY=...: the private daemon's start.
const Counts kStarting = {{"clone", 1},     {"clone3", 1}, {"vfork", 1},   {"wait4", 1},
                          {"pipe2", 1},     {"read", 1},   {"close", 2},   {"ppoll", 1},
                          {"nanosleep", 1}, {"socket", 1}, {"connect", 1}, {"rt_sigprocmask", 2}};

// Questions about the program's own files, as docs/decisions/0010 lists them.
struct Asked {
    int written = 0;  // descriptors that are new: fstat
    int devices = 0;  // fstatfs
    int offsets = 0;  // of writes through what can be read, or is shared: lseek
    int by_name = 0;  // unlink, truncate, O_TRUNC; rename asks two: newfstatat
    int dirty = 0;    // at the program's own sync of mapped pages: cachestat
    int futexes = 0;  // a thread that is waited for, or has ended already
    int programs = 0; // that are started: unshare of memory, which says whether anybody shares it
};
Counts questions(const Asked &asked) {
    return {{"fstat", asked.written},      {"fstatfs", asked.devices}, {"lseek", asked.offsets},
            {"newfstatat", asked.by_name}, {"cachestat", asked.dirty}, {"futex", asked.futexes},
            {"unshare", asked.programs}};
}
constexpr int kDirtyOf16Pages = 9; // one dirty page among 16, found by halving: 1 + 2 for each half

const Counts kNothing;

// ---- what was called ----

struct Traced {
    std::vector<Counts> processes; // and threads, in the order of their marks; calls after the mark
    int connected = 0;             // all of them, before their marks, too
    int status = -1;
};

bool is_call(const std::string &rest) {
    return !rest.empty() && (isalpha(static_cast<unsigned char>(rest[0])) || rest[0] == '_') &&
           rest.find('(') != std::string::npos;
}

Traced read_strace(const std::string &path) {
    Traced traced;
    std::ifstream in(path);
    std::map<std::string, size_t> place; // of a pid's current life
    for (std::string line; std::getline(in, line);) {
        const size_t space = line.find(' ');
        if (space == std::string::npos)
            continue;
        const std::string pid = line.substr(0, space), rest = line.substr(line.find_first_not_of(' ', space));
        if (rest.rfind("<... execve resumed", 0) == 0 && rest.find("= 0") != std::string::npos)
            place.erase(pid); // starts up again
        traced.connected += (rest.rfind("connect(", 0) == 0 || rest.rfind("<... connect resumed", 0) == 0) &&
                            rest.find(" = 0") != std::string::npos;
        if (!is_call(rest))
            continue;
        std::string name = rest.substr(0, rest.find('('));
        if (name == "newfstatat" && rest.find(", \"\", ") != std::string::npos)
            name = "fstat"; // as libc makes it
        if (name == "syscall_0x1c3")
            name = "cachestat";
        if (name == "sched_get_priority_max" && rest.find("0x5452") != std::string::npos) {
            place[pid] = traced.processes.size();
            traced.processes.emplace_back();
        } else if (place.count(pid)) {
            traced.processes[place[pid]][name]++;
        }
        if (name == "execve" && rest.find("= 0") != std::string::npos)
            place.erase(pid); // starts up again
    }
    return traced;
}

Traced trace(Way way, const std::string &script) {
    Folder folder;
    const std::string path = folder / "strace";
    Command command{{"strace", "-f", "-o", path}};
    Folder runtime;
    way = way_of(way);
    if (way == Way::Preloaded) // for the program, not for strace
        for (const std::string &variable : hooked_environment(way, folder / "trace", runtime / ""))
            command.arguments.insert(command.arguments.end(), {"-E", variable});
    command.arguments.insert(command.arguments.end(), {program("script"), script});
    const Result result = run_once(way == Way::Preloaded ? Way::Plain : way, command, folder / "trace");
    INFO(result.err << result.own);
    REQUIRE_FALSE(result.hung);
    Traced traced = read_strace(path);
    traced.status = result.status;
    return traced;
}

bool can_trace() {
    if (!is_installed("strace")) {
        skip("strace is not installed");
        return false;
    }
    if (trace(Way::Plain, "quiet").processes.size() == 1)
        return true;
    skip("strace may not trace here");
    return false;
}

void add(Counts &to, const Counts &more) {
    for (const auto &[name, count] : more)
        to[name] += count;
}

int of(const Counts &counts, const std::string &name) {
    const auto found = counts.find(name);
    return found == counts.end() ? 0 : found->second;
}

// What is too much, or missing: "socket +3".
std::string beyond(const Counts &plain, const Counts &hooked, const Counts &allowed) {
    std::ostringstream text;
    Counts all = plain;
    add(all, hooked);
    for (const auto &[name, unused] : all) {
        const int more = of(hooked, name) - of(plain, name);
        const bool is_chance = name == "futex" && more < 0; // whether a thread that is waited for has ended already
        if (!is_chance && (more < 0 || more > of(allowed, name)))
            text << name << (more < 0 ? " " : " +") << more << " (allowed " << of(allowed, name) << ") ";
    }
    return text.str();
}

struct Part {
    bool joins; // makes the process's first write. With options of its own a process has joined before its mark
    Counts questions;
};

bool has_joined(const Counts &plain, const Counts &hooked) {
    return of(hooked, "connect") > of(plain, "connect");
}

Counts allowed_to(const Part &part, bool joined, bool starts) {
    Counts allowed = part.questions;
    if (joined) {
        add(allowed, kJoining);
        add(allowed, kPreparing); // the child of a fork has its parent's memory, and needs none of it
    }
    if (joined && starts)
        add(allowed, kStarting);
    return allowed;
}

void check_calls(Way way, const std::string &script, const std::vector<Part> &parts) {
    if (!can_trace())
        return;
    const Traced plain = trace(Way::Plain, script), hooked = trace(way, script);
    CHECK(hooked.status == plain.status);
    REQUIRE(plain.processes.size() == parts.size());
    REQUIRE(hooked.processes.size() == parts.size());
    int joins = 0;
    for (size_t i = 0; i < parts.size(); i++) {
        const Counts &without = plain.processes[i], &with = hooked.processes[i];
        const bool joined = parts[i].joins && has_joined(without, with);
        INFO("process or thread " << i << " of " << script);
        CHECK(beyond(without, with, allowed_to(parts[i], joined, i == 0 && way == Way::Preloaded)) == "");
        CHECK(of(with, "fstat") - of(without, "fstat") ==
              of(parts[i].questions, "fstat") + (joined ? of(kJoining, "fstat") : 0));
        if (way == Way::Recorded)
            CHECK(of(with, "connect") - of(without, "connect") == (parts[i].joins ? 1 : 0));
        joins += parts[i].joins;
    }
    CHECK(hooked.connected - plain.connected >= joins);
}

} // namespace

#define TRIB_CALLS(NAME, SCRIPT, ...)                                                                                  \
    TEST_CASE("system calls of " NAME ", preloaded") {                                                                 \
        check_calls(Way::Preloaded, SCRIPT, __VA_ARGS__);                                                              \
    }                                                                                                                  \
    TEST_CASE("system calls of " NAME ", under trib record") {                                                         \
        check_calls(Way::Recorded, SCRIPT, __VA_ARGS__);                                                               \
    }
// clang-format off: one line each
TRIB_CALLS("a program that writes nothing", "quiet", {{false, kNothing}})
TRIB_CALLS("the write family", "writes", {{true, questions({1, 1, 101, 1})}})
TRIB_CALLS("the write family, where nobody can read", "writes_only", {{true, questions({1, 1, 0, 1})}})
TRIB_CALLS("ten files", "files", {{true, questions({10, 1, 10, 10})}})
TRIB_CALLS("appends", "append", {{true, questions({1, 1, 20})}})
TRIB_CALLS("unlink, rename and truncate", "names", {{true, questions({3, 1, 3, 10})}})
TRIB_CALLS("syncs", "syncs", {{true, questions({1, 1, 5, 1})}})
TRIB_CALLS("mapped pages", "maps", {{true, questions({2, 1, 0, 1, 3 * kDirtyOf16Pages + 1})}})
TRIB_CALLS("pipes", "pipes", {{false, questions({1})}})
TRIB_CALLS("forks", "forks", {{true, questions({1, 1, 1, 1})}, {false, kNothing}, {true, questions({1, 1, 1, 1})}})
TRIB_CALLS("another program", "execs", {{true, questions({1, 1, 1, 1, 0, 0, 1})}, {true, questions({10, 1, 10, 10})}})
TRIB_CALLS("threads", "threads",
           {{true, questions({1, 1, 1, 1, 0, 3})},
            {false, questions({1, 0, 20, 1})},
            {false, questions({1, 0, 20, 1})},
            {false, questions({1, 0, 20, 1})}})
TRIB_CALLS("handlers that write", "handlers", {{true, questions({1, 1, 10, 1})}})
TRIB_CALLS("copies and copied descriptors", "copies", {{true, questions({4, 1, 16, 2})}})
// clang-format on
