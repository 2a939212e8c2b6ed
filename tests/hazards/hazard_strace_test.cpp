// SPDX-License-Identifier: Apache-2.0
// After start-up a hooked program makes its own system calls, and but for each process's joining and questions about
// its own files no other. What is allowed is in one place: below.
#include "hazard.hpp"

#include <algorithm>
#include <sstream>

using namespace trib_hazard;

namespace {

using Counts = std::map<std::string, int>;

// ---- what is allowed ----

// Once for each process that writes: socket, connection, what comes through it, the mappings, and the end of both.
const Counts kJoining = {{"socket", 1},  {"connect", 1}, {"sendmsg", 1}, {"sendto", 1},
                         {"recvmsg", 1}, {"ppoll", 2},   {"mmap", 3},    {"munmap", 3},
                         {"close", 3},   {"fcntl", 2},   {"fstat", 2},   {"prctl", 1},
                         {"getpid", 1},  {"gettid", 1},  {"geteuid", 1}, {"rt_sigprocmask", 2}};

// Once for the first process that has options of its own, TRIBUTARY=...: the private daemon's start.
const Counts kStarting = {{"clone", 1},     {"clone3", 1}, {"vfork", 1},   {"wait4", 1},
                          {"pipe2", 1},     {"read", 1},   {"close", 2},   {"ppoll", 1},
                          {"nanosleep", 1}, {"socket", 1}, {"connect", 1}, {"rt_sigprocmask", 2}};

// Questions about the program's own files.
Counts questions(int written_descriptors, int devices, int unknown_offsets, int by_name, int syncs) {
    return {{"fstat", written_descriptors}, // one per newly written descriptor
            {"statfs", devices},            // one per device
            {"fstatfs", devices},
            {"lseek", unknown_offsets}, // SEEK_CUR after a write whose offset is unknown
            {"newfstatat", by_name},    // before unlink, rename, truncate
            {"cachestat", syncs}};      // at the program's own sync
}

const Counts kNothing;

// ---- what was called ----

struct Traced {
    std::vector<Counts> processes; // and threads, in the order of their marks; calls after the mark
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
    bool joins; // makes the process's first write
    Counts questions;
};

void check_calls(Way way, const std::string &script, const std::vector<Part> &parts) {
    if (!can_trace())
        return;
    const Traced plain = trace(Way::Plain, script), hooked = trace(way, script);
    CHECK(hooked.status == plain.status);
    REQUIRE(plain.processes.size() == parts.size());
    REQUIRE(hooked.processes.size() == parts.size());
    for (size_t i = 0; i < parts.size(); i++) {
        Counts allowed = parts[i].questions;
        if (parts[i].joins)
            add(allowed, kJoining);
        if (parts[i].joins && i == 0 && way == Way::Preloaded)
            add(allowed, kStarting);
        INFO("process or thread " << i << " of " << script);
        CHECK(beyond(plain.processes[i], hooked.processes[i], allowed) == "");
    }
}

} // namespace

#define TRIB_CALLS(NAME, SCRIPT, ...)                                                                                  \
    TEST_CASE("system calls of " NAME ", preloaded") {                                                                 \
        check_calls(Way::Preloaded, SCRIPT, __VA_ARGS__);                                                              \
    }                                                                                                                  \
    TEST_CASE("system calls of " NAME ", under trib record") {                                                         \
        check_calls(Way::Recorded, SCRIPT, __VA_ARGS__);                                                               \
    }
TRIB_CALLS("a program that writes nothing", "quiet", {{false, kNothing}})
TRIB_CALLS("the write family", "writes", {{true, questions(1, 1, 0, 0, 0)}})
TRIB_CALLS("ten files", "files", {{true, questions(10, 1, 0, 0, 0)}})
TRIB_CALLS("appends", "append", {{true, questions(1, 1, 20, 0, 0)}})
TRIB_CALLS("unlink, rename and truncate", "names", {{true, questions(3, 1, 0, 5, 0)}})
TRIB_CALLS("syncs", "syncs", {{true, questions(1, 1, 0, 0, 10)}})
TRIB_CALLS("mapped pages", "maps", {{true, questions(1, 1, 0, 0, 3)}})
TRIB_CALLS("pipes", "pipes", {{true, questions(1, 1, 0, 0, 0)}})
TRIB_CALLS("forks", "forks", {{true, questions(1, 1, 0, 0, 0)}, {false, kNothing}, {true, questions(1, 1, 0, 0, 0)}})
TRIB_CALLS("another program", "execs", {{true, questions(1, 1, 0, 0, 0)}, {true, questions(10, 1, 0, 0, 0)}})
TRIB_CALLS("threads", "threads",
           {{true, {{"fstat", 1}, {"statfs", 1}, {"fstatfs", 1}, {"futex", 3}}}, // it waits for threads, or need not
            {false, questions(1, 0, 0, 0, 0)},
            {false, questions(1, 0, 0, 0, 0)},
            {false, questions(1, 0, 0, 0, 0)}})
TRIB_CALLS("handlers that write", "handlers", {{true, questions(1, 1, 0, 0, 0)}})
TRIB_CALLS("copies and copied descriptors", "copies", {{true, questions(4, 1, 16, 0, 0)}})
