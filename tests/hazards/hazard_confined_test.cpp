// SPDX-License-Identifier: Apache-2.0
// Sandboxes, limits and other users' rights: what a program may not do, the library does not do in its name.
#include "hazard.hpp"

#include <sys/stat.h>
#include <unistd.h>

using namespace trib_hazard;

namespace {

// What confined.c writes: before it is confined, and then. Nobody joins who is locked in: joining takes calls that a
// filter may not allow.
constexpr uint64_t kFirst_bytes = 6, kWork_bytes = 10 * 9 + 12000, kAfter_bytes = 10, kNothing_bytes = 0;

constexpr uint64_t kOverLimit_bytes = 5; // of ten, the limit of file size being 100

// Joining takes a task for a moment, which this limit refuses to all but root.
const uint64_t kOfRoot_bytes = geteuid() == 0 ? kWork_bytes : kNothing_bytes;

Command confined(const std::string &name, const std::string &when, uint64_t recorded_bytes) {
    Command command{{program("confined"), name, when}};
    command.recorded_at_least_bytes = recorded_bytes;
    return command;
}
// In a process that has joined, which needs no system call to record.
Command late(const std::string &name, uint64_t recorded_bytes = kFirst_bytes + kWork_bytes) {
    return confined(name, "late", recorded_bytes);
}
Command early(const std::string &name, uint64_t recorded_bytes) {
    return confined(name, "early", recorded_bytes);
}
Command inherited(const std::string &name) {
    return confined(name, "inherited", kNothing_bytes);
}

// Of programs that lock themselves in at a bad moment. Time is not compared: some wait, some are stopped at every call.
// Nor is there a record: nobody has a daemon, or it depends on the moment who joins.
Command locked(const std::string &name, const std::vector<std::string> &before = {}) {
    Command command{before};
    command.arguments.insert(command.arguments.end(), {program("locked"), name});
    command.timed = false;
    return command;
}
// A session whose daemon is not there, so that every write may be the one that joins.
const std::vector<std::string> kNoDaemon = {"env", "TRIBUTARY_SESSION=/nowhere/session"};
const std::vector<std::string> kNoDaemonForHints = {"env", "TRIBUTARY_SESSION=/nowhere/session", "TRIBUTARY_HINTS=1"};

// Of this process, which its children have, too.
unsigned filters() {
    const std::string status = read_file("/proc/self/status"), name = "\nSeccomp_filters:\t";
    const size_t at = status.find(name);
    return at == std::string::npos ? 0 : std::stoul(status.substr(at + name.size()));
}

// Below a filter more than this process has, and with that many said to be harmless.
void check_said_harmless(Way way, unsigned known) {
    Folder folder;
    Command command{
        {"env", "TRIBUTARY_FILTERS=" + std::to_string(known), program("confined"), "kills_at_nothing", "inherited"}};
    const unsigned count = filters() + 1;
    const bool is_recorded = known >= count;
    Result result = run_once(way, command, folder / "trace0");
    if (result.status == 77)
        return skip("no filter can be made here");
    Record record = read_record(folder / "trace0");
    for (int i = 1; i < 4 && is_recorded && record.bytes("a") < kWork_bytes; i++) { // a busy machine: no join in time
        const std::string trace = folder / ("trace" + std::to_string(i));
        result = run_once(way, command, trace);
        record = read_record(trace);
    }
    INFO(result.own << result.err);
    CHECK(result.status == 0);
    CHECK(record.bytes("a") == (is_recorded ? kWork_bytes : 0));
    const std::string number = std::to_string(count),
                      said = count == 1 ? "1 filter); if this lets" : number + " filters); if these let";
    const std::string line = "tributary: its system calls are filtered (seccomp, " + said +
                             " it join a daemon, say so with TRIBUTARY_FILTERS=" + number + "; running without\n";
    CHECK(result.own_lines == (is_recorded ? 0 : 1));
    CHECK((result.own.find(line) != std::string::npos) == !is_recorded);
}

// Runs the set-uid program as nobody, with everything in the environment that the library obeys.
void check_setuid(const std::string &how) {
    if (geteuid() != 0)
        return skip("only root can make a set-uid program");
    Folder folder;
    const std::string copy = folder / "program", trace = folder / "trace";
    std::filesystem::copy_file(program("setuid"), copy);
    chmod((folder / ".").c_str(), 0777);
    REQUIRE(chmod(copy.c_str(), 04755) == 0);
    Command command{{program("setuid"), "as_nobody", copy, how, library(), trace}};
    command.prepare = [](const std::string &start) {
        chmod(start.c_str(), 0777);
        chmod((start + "/..").c_str(), 0755);
    };
    const Result plain = run_once(Way::Plain, command);
    INFO(plain.out << plain.err);
    if (plain.status == 77)
        return skip(plain.out);
    CHECK_FALSE(plain.hung);
    CHECK(plain.status == 0);
    CHECK(plain.out == "secure 1, effective 0\nwritten\n");
    CHECK(plain.err == "");
    for (const char *left : {"trace", "state", "session"})
        CHECK_FALSE(std::filesystem::exists(folder / left));
}

} // namespace

// In strict mode the processor's clock cannot be read, and an event without a time is none.
TRIB_HAZARD("seccomp strict mode", late("strict", kFirst_bytes))
TRIB_HAZARD("seccomp strict mode before the first write", early("strict", kNothing_bytes))
TRIB_HAZARD("a filter that kills at sockets", late("no_sockets"))
TRIB_HAZARD("a filter that kills at sockets, before the first write", early("no_sockets", kNothing_bytes))
TRIB_HAZARD("a filter that kills at opening files", late("no_files"))
TRIB_HAZARD("a filter that kills at opening files, before the first write", early("no_files", kNothing_bytes))
TRIB_HAZARD("a filter that kills at new processes", late("no_processes"))
TRIB_HAZARD("a filter that kills at new processes, before the first write", early("no_processes", kNothing_bytes))
TRIB_HAZARD("a filter that kills at memory calls", late("no_memory_calls"))
TRIB_HAZARD("a filter that kills at memory calls, before the first write", early("no_memory_calls", kNothing_bytes))
TRIB_HAZARD("a filter that refuses all but writes", late("only_writes"))
TRIB_HAZARD("a filter that refuses all but writes, before the first write", early("only_writes", kNothing_bytes))
TRIB_HAZARD("system calls that only libc may make", late("dispatch"))
TRIB_HAZARD("system calls that only libc may make, before the first write", early("dispatch", kNothing_bytes))
TRIB_HAZARD("an inherited filter that kills at sockets", inherited("no_sockets"))
TRIB_HAZARD("an inherited filter that kills at new processes", inherited("no_processes"))
TEST_CASE("a filter from before is not trusted, and the line says how many there are, preloaded") {
    check_said_harmless(Way::Preloaded, filters());
}
TEST_CASE("a filter from before is not trusted, and the line says how many there are, under trib record") {
    check_said_harmless(Way::Recorded, filters());
}
TEST_CASE("a filter from before that TRIBUTARY_FILTERS counts keeps nobody from joining, preloaded") {
    check_said_harmless(Way::Preloaded, filters() + 1);
}
TEST_CASE("a filter from before that TRIBUTARY_FILTERS counts keeps nobody from joining, under trib record") {
    check_said_harmless(Way::Recorded, filters() + 1);
}
TRIB_HAZARD("no new executable memory", late("mdwe", kFirst_bytes + kWork_bytes + kAfter_bytes))
TRIB_HAZARD("no new executable memory before the first write", early("mdwe", kWork_bytes + kAfter_bytes))
TRIB_HAZARD("a filter that allows only writes, and no daemon", locked("after_a_while", kNoDaemon))
TRIB_HAZARD("a filter that allows only writes, no daemon, and hints", locked("after_a_while", kNoDaemonForHints))
TRIB_HAZARD("locked in by another thread during a vfork", locked("during_vfork"))
TRIB_HAZARD("locked in by another thread during a vfork, and no daemon", locked("during_vfork", kNoDaemon))
TRIB_HAZARD("locked in beside a first write", locked("beside_first_write"))
TRIB_HAZARD("a forked child that locks itself in, wherever its parent's first write is", locked("in_forked_child"))

// Joining takes a descriptor for a moment, and room in memory for a ring.
TRIB_HAZARD("no descriptor number left", late("descriptors_0"))
TRIB_HAZARD("no descriptor number left before the first write", early("descriptors_0", kNothing_bytes))
TRIB_HAZARD("three descriptor numbers", late("descriptors_3"))
TRIB_HAZARD("three descriptor numbers before the first write", early("descriptors_3", kWork_bytes))
TRIB_HAZARD("four descriptor numbers", late("descriptors_4"))
TRIB_HAZARD("four descriptor numbers before the first write", early("descriptors_4", kWork_bytes))
TRIB_HAZARD("no memory to map", late("no_memory"))
TRIB_HAZARD("no memory to map before the first write", early("no_memory", kNothing_bytes))
TRIB_HAZARD("a heap that is full", late("full_heap", kFirst_bytes + kWork_bytes + 20 * kAfter_bytes))
TRIB_HAZARD("a heap that is full before the first write", early("full_heap", kNothing_bytes))
TRIB_HAZARD("a limit of file size", late("file_size", kFirst_bytes + kWork_bytes + kOverLimit_bytes))
TRIB_HAZARD("a limit of file size before the first write", early("file_size", kWork_bytes + kOverLimit_bytes))
TRIB_HAZARD("no process more", late("processes"))
TRIB_HAZARD("no process more before the first write", early("processes", kOfRoot_bytes))
TRIB_HAZARD("memory that is locked", late("locked_memory"))
TRIB_HAZARD("memory that is locked before the first write", early("locked_memory", kWork_bytes))
TRIB_HAZARD("a small limit of locked memory", late("little_locked_memory"))
TRIB_HAZARD("a small limit of locked memory before the first write", early("little_locked_memory", kWork_bytes))
TRIB_HAZARD("a small limit of data", late("little_data"))

TEST_CASE("a set-uid program ignores LD_PRELOAD and writes no trace") {
    check_setuid("preloaded");
}
TEST_CASE("a set-uid program that loads the library obeys no environment") {
    check_setuid("loads");
}
