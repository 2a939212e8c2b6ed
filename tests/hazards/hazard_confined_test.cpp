// SPDX-License-Identifier: Apache-2.0
// Sandboxes, limits and other users' rights: what a program may not do, the library does not do in its name.
#include "hazard.hpp"

#include <sys/stat.h>
#include <unistd.h>

using namespace trib_hazard;

namespace {

Command late(const std::string &name) {
    return {{program("confined"), name, "late"}};
}
Command early(const std::string &name) {
    return {{program("confined"), name, "early"}};
}
Command inherited(const std::string &name) {
    return {{program("confined"), name, "inherited"}};
}

// Of programs that lock themselves in at a bad moment. Time is not compared: some wait, some are stopped at every call.
Command locked(const std::string &name, const std::vector<std::string> &before = {}) {
    Command command{before};
    command.arguments.insert(command.arguments.end(), {program("locked"), name});
    command.timed = false;
    return command;
}
// A session whose daemon is not there, so that every write may be the one that joins.
const std::vector<std::string> kNoDaemon = {"env", "TRIBUTARY_SESSION=/nowhere/session"};
const std::vector<std::string> kNoDaemonForHints = {"env", "TRIBUTARY_SESSION=/nowhere/session", "TRIBUTARY_HINTS=1"};

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

TRIB_HAZARD("seccomp strict mode", late("strict"))
TRIB_HAZARD("seccomp strict mode before the first write", early("strict"))
TRIB_HAZARD("a filter that kills at sockets", late("no_sockets"))
TRIB_HAZARD("a filter that kills at sockets, before the first write", early("no_sockets"))
TRIB_HAZARD("a filter that kills at opening files", late("no_files"))
TRIB_HAZARD("a filter that kills at opening files, before the first write", early("no_files"))
TRIB_HAZARD("a filter that kills at new processes", late("no_processes"))
TRIB_HAZARD("a filter that kills at new processes, before the first write", early("no_processes"))
TRIB_HAZARD("a filter that kills at memory calls", late("no_memory_calls"))
TRIB_HAZARD("a filter that kills at memory calls, before the first write", early("no_memory_calls"))
TRIB_HAZARD("a filter that refuses all but writes", late("only_writes"))
TRIB_HAZARD("a filter that refuses all but writes, before the first write", early("only_writes"))
TRIB_HAZARD("system calls that only libc may make", late("dispatch"))
TRIB_HAZARD("system calls that only libc may make, before the first write", early("dispatch"))
TRIB_HAZARD("an inherited filter that kills at sockets", inherited("no_sockets"))
TRIB_HAZARD("an inherited filter that kills at new processes", inherited("no_processes"))
TRIB_HAZARD("no new executable memory", late("mdwe"))
TRIB_HAZARD("no new executable memory before the first write", early("mdwe"))
TRIB_HAZARD("a filter that allows only writes, and no daemon", locked("after_a_while", kNoDaemon))
TRIB_HAZARD("a filter that allows only writes, no daemon, and hints", locked("after_a_while", kNoDaemonForHints))
TRIB_HAZARD("locked in by another thread during a vfork", locked("during_vfork"))
TRIB_HAZARD("locked in by another thread during a vfork, and no daemon", locked("during_vfork", kNoDaemon))
TRIB_HAZARD("a forked child that locks itself in, wherever its parent's first write is", locked("in_forked_child"))

TRIB_HAZARD("no descriptor number left", late("descriptors_0"))
TRIB_HAZARD("no descriptor number left before the first write", early("descriptors_0"))
TRIB_HAZARD("three descriptor numbers", late("descriptors_3"))
TRIB_HAZARD("three descriptor numbers before the first write", early("descriptors_3"))
TRIB_HAZARD("four descriptor numbers", late("descriptors_4"))
TRIB_HAZARD("four descriptor numbers before the first write", early("descriptors_4"))
TRIB_HAZARD("no memory to map", late("no_memory"))
TRIB_HAZARD("no memory to map before the first write", early("no_memory"))
TRIB_HAZARD("a heap that is full", late("full_heap"))
TRIB_HAZARD("a heap that is full before the first write", early("full_heap"))
TRIB_HAZARD("a limit of file size", late("file_size"))
TRIB_HAZARD("a limit of file size before the first write", early("file_size"))
TRIB_HAZARD("no process more", late("processes"))
TRIB_HAZARD("no process more before the first write", early("processes"))
TRIB_HAZARD("memory that is locked", late("locked_memory"))
TRIB_HAZARD("memory that is locked before the first write", early("locked_memory"))
TRIB_HAZARD("a small limit of locked memory", late("little_locked_memory"))
TRIB_HAZARD("a small limit of locked memory before the first write", early("little_locked_memory"))
TRIB_HAZARD("a small limit of data", late("little_data"))

TEST_CASE("a set-uid program ignores LD_PRELOAD and writes no trace") {
    check_setuid("preloaded");
}
TEST_CASE("a set-uid program that loads the library obeys no environment") {
    check_setuid("loads");
}
