// SPDX-License-Identifier: Apache-2.0
// What the shim changes in a process: slots while libraries come and go, and vfork with a stack that both share.
#include "support/catch.hpp"

#include <csignal>
#include <map>

#include <sys/ptrace.h>
#include <sys/user.h>

#include "support/preload.hpp"
#include "support/skip.hpp"

namespace {

using namespace trib_test;

} // namespace

TEST_CASE("imports are patched while other threads open and close libraries, and nobody hangs") {
    Environment environment = preload_environment();
    environment["LD_PRELOAD"] = PRELOAD_SANITIZER;
    environment["TSAN_OPTIONS"] = "suppressions=" TRIB_SOURCE_DIR "/tests/support/tsan.supp";
    const Outcome outcome =
        run({"timeout", "-s", "KILL", "120", PRELOAD_LATE, "race", PRELOAD_LIBRARY, "5", PRELOAD_PLUGINS}, environment);
    INFO(outcome.err);
    CHECK(outcome.code == 0);
}

TEST_CASE("loaded into a running program with threads, the library sees imports and stdio") {
    if (is_sanitized()) // a runtime that comes before stands in front of write
        return skip("not under a sanitizer");
    Folder folder;
    const Environment environment = {{"TRIBUTARY", "process-ring=262144,trace=" + folder.file("trace")},
                                     {"TRIBUTARY_TRIB", TRIB_BINARY_DIR "/cli/trib"}};
    const Outcome outcome = run({PRELOAD_LATE, "write", PRELOAD_LIBRARY, folder.file("late.dat")}, environment);
    wait_for_end_of(folder.file("trace"));
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(outcome.out == "0 more slots\n"); // once patched, patched
    const Said said = read_said(folder.file("trace"));
    CHECK(said.bytes("late.dat") == 60);
}

TEST_CASE("no call waits for the loader, whose lock another thread has") {
    const std::vector<std::string> plugins = {PRELOAD_PLUGINS};
    for (bool records : {false, true}) {
        INFO("records " << records);
        Folder folder, traces;
        const std::vector<std::string> command = {PRELOAD_LATE, "locked", folder.file(""), plugins[0]};
        const Outcome outcome =
            records ? run_alone(command, traces.file("trace")) : run(command, preload_environment());
        INFO(outcome.err);
        CHECK(outcome.code == 0);
    }
}

TEST_CASE("a program that cannot be started is not waited for") {
    Folder folder;
    const Outcome outcome = run_alone({PRELOAD_VFORK, "spawn", folder.file("file")}, folder.file("trace"));
    REQUIRE(outcome.code == 0);
    CHECK(std::stol(outcome.out) < 400); // 20 ms each, on a busy machine, too; it was 41
}

TEST_CASE("children of vfork in many threads, theirs too, leave their parents' descriptors alone") {
    if (is_sanitized()) // its runtime stands in front of vfork
        return skip("not under a sanitizer");
    Folder plain, hooked, traces;
    const auto command = [](const Folder &folder) {
        return std::vector<std::string>{PRELOAD_VFORK, "many", folder.file(""), "4", "250"};
    };
    const Outcome expected = run(command(plain)), outcome = run_alone(command(hooked), traces.file("trace"));
    INFO(outcome.err);
    CHECK(expected.code == 0);
    CHECK(outcome.code == 0);
    CHECK(outcome.out == expected.out);
    CHECK(outcome.out == "2000 marks\n");
    const Said said = read_said(traces.file("trace"));
    for (int i = 0; i < 4; i++) {
        const std::string name = "file" + std::to_string(i);
        INFO(name);
        CHECK(read_file(hooked.file(name)) == std::string(250, 'x'));
        CHECK(said.bytes(name) == 250);
        const auto lines = said.of.find(name);
        REQUIRE(lines != said.of.end());
        unsigned closed = 0;
        for (const std::string &line : lines->second)
            closed += has(line, "close");
        CHECK(closed == 1); // by its owner, not by a child
    }
}

#ifdef __x86_64__
namespace {

// A shadow stack as the processor keeps it: calls push a second copy of the return address, returns must agree with it.
// The child of a vfork shares the memory of its parent's and has a pointer of its own. No hardware needed: every
// instruction between two breakpoints of the program is stepped.
class ShadowStack {
  public:
    unsigned calls = 0, returns = 0, wrong = 0, children = 0;
    int status = -1;

    void trace(const std::vector<std::string> &command, const Environment &environment) {
        const pid_t main = start(command, environment);
        pointer_[main] = uint64_t(1) << 40;
        for (bool is_inside = false;;) {
            int stopped = 0;
            const pid_t task = waitpid(-1, &stopped, __WALL);
            REQUIRE(task > 0);
            if (!WIFSTOPPED(stopped)) {
                if (task != main)
                    continue;
                status = WIFEXITED(stopped) ? WEXITSTATUS(stopped) : -1;
                return;
            }
            if (task == main && is_breakpoint(task, stopped)) {
                is_inside = !is_inside;
                pending_.erase(task);
                resume(task, is_inside);
                continue;
            }
            finish(task);
            if (stopped >> 16 == PTRACE_EVENT_VFORK)
                adopt(task);
            resume(task, is_inside);
        }
    }

  private:
    struct Step {
        bool is_call, is_return;
    };
    std::map<uint64_t, uint64_t> memory_;
    std::map<pid_t, uint64_t> pointer_;
    std::map<pid_t, Step> pending_;

    static pid_t start(const std::vector<std::string> &command, const Environment &environment) {
        const pid_t child = fork();
        if (child == 0) {
            std::vector<char *> arguments;
            for (const std::string &word : command)
                arguments.push_back(const_cast<char *>(word.c_str()));
            arguments.push_back(nullptr);
            for (const auto &[name, value] : environment)
                setenv(name.c_str(), value.c_str(), 1);
            ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
            execv(arguments[0], arguments.data());
            _exit(127);
        }
        int stopped = 0;
        REQUIRE(waitpid(child, &stopped, 0) == child);
        REQUIRE(WIFSTOPPED(stopped));
        REQUIRE(ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL) == 0);
        ptrace(PTRACE_CONT, child, nullptr, nullptr);
        return child;
    }

    static user_regs_struct registers(pid_t task) {
        user_regs_struct found{};
        ptrace(PTRACE_GETREGS, task, nullptr, &found);
        return found;
    }

    static uint64_t word(pid_t task, uint64_t at) {
        return static_cast<uint64_t>(ptrace(PTRACE_PEEKTEXT, task, at, nullptr));
    }

    static bool is_breakpoint(pid_t task, int stopped) {
        const bool is_trap = stopped >> 16 == 0 && WSTOPSIG(stopped) == SIGTRAP;
        return is_trap && (word(task, registers(task).rip - 1) & 0xff) == 0xcc;
    }

    void adopt(pid_t parent) {
        unsigned long child = 0;
        ptrace(PTRACE_GETEVENTMSG, parent, nullptr, &child);
        pointer_[static_cast<pid_t>(child)] = pointer_[parent];
        children++;
    }

    static Step read_step(pid_t task) {
        const uint64_t bytes = word(task, registers(task).rip);
        unsigned at = 0;
        const auto byte = [&](unsigned i) { return static_cast<uint8_t>(bytes >> 8 * i); };
        while (at < 6 && (byte(at) == 0xf2 || byte(at) == 0xf3 || byte(at) == 0x3e || (byte(at) & 0xf0) == 0x40))
            at++;
        const bool is_call = byte(at) == 0xe8 || (byte(at) == 0xff && (byte(at + 1) >> 3 & 7) == 2);
        return {is_call, byte(at) == 0xc3 || byte(at) == 0xc2};
    }

    // What the instruction that has been stepped over did.
    void finish(pid_t task) {
        const auto step = pending_.find(task);
        if (step == pending_.end() || pointer_.count(task) == 0)
            return;
        const user_regs_struct now = registers(task);
        uint64_t &pointer = pointer_[task];
        if (step->second.is_call) {
            memory_[pointer -= 8] = word(task, now.rsp);
            calls++;
        } else if (step->second.is_return) {
            const auto entry = memory_.find(pointer);
            if (entry != memory_.end()) { // else of a call before the first breakpoint
                wrong += entry->second != now.rip;
                returns++;
            }
            pointer += 8;
        }
        pending_.erase(step);
    }

    void resume(pid_t task, bool is_inside) {
        if (is_inside)
            pending_[task] = read_step(task);
        ptrace(is_inside ? PTRACE_SINGLESTEP : PTRACE_CONT, task, nullptr, nullptr);
    }
};

} // namespace

TEST_CASE("vfork agrees with a shadow stack that parent and child share") {
    if (is_sanitized())
        return skip("not under a sanitizer");
    ShadowStack stack;
    stack.trace({PRELOAD_VFORK, "once"}, preload_environment());
    CHECK(stack.status == 0);
    CHECK(stack.children == 2);
    CHECK(stack.calls > 20);
    CHECK(stack.returns > 5);
    CHECK(stack.wrong == 0);
}
#endif
