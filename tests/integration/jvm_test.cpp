// SPDX-License-Identifier: Apache-2.0
// The agent in a real JVM: same results, Java call paths, the same signatures on every JDK and by every way in.
#include "support/catch.hpp"
#include "support/skip.hpp"

#ifndef JVM_HOMES
TEST_CASE("the JVM adapter") {
    trib_test::skip("no JDK, or ThreadSanitizer, whose layout of memory HotSpot does not leave it");
}
#else

#include <filesystem>

#include "support/jvm.hpp"

#include <cerrno>
#include <chrono>
#include <thread>
#include <tributary/pipeline.h>

namespace {

using namespace trib_test;
namespace fs = std::filesystem;

// Compiled by the oldest for all.
const std::string &classes() {
    static const Folder folder;
    static const std::string path = [] {
        const Outcome outcome = compile(homes().front(), "Store", "11", folder.file("c"));
        if (outcome.code)
            throw std::runtime_error(outcome.err);
        return folder.file("c");
    }();
    return path;
}

struct Run {
    Folder data, work;
    Outcome outcome;
    std::string trace = work.file("trace");

    Run(const std::string &home, std::vector<std::string> flags, bool preloaded = false,
        const std::string &rounds = "3") {
        std::vector<std::string> command = java(home, preloaded ? trace : "");
        for (std::string &flag : flags)
            if (const size_t at = flag.find("@"); at != std::string::npos)
                flag.replace(at, 1, trace);
        command.insert(command.end(), flags.begin(), flags.end());
        for (const char *rest : {"-cp", classes().c_str(), "org.example.Store"})
            command.emplace_back(rest);
        for (const std::string &argument : {data.file(""), rounds, std::string("20"), std::string("0")})
            command.push_back(argument);
        outcome = run(command);
    }
    void check_same() const {
        INFO(outcome.err);
        CHECK(outcome.code == 0);
        CHECK(outcome.out == "stored\n");
        CHECK(fs::file_size(data.file("log")) == 3000);
        CHECK(fs::file_size(data.file("compact-1")) == 20 * 8192);
        CHECK(read_file(data.file("report")) == "done\n");
        CHECK(read_file(data.file("mapped")).at(15 * 4096) == 1);
    }
};

// The rows of a state file that nobody uses, by signature.
std::map<uint64_t, trib_attribute_report> learned(const std::string &state) {
    std::map<uint64_t, trib_attribute_report> rows;
    trib_pipeline *pipeline = nullptr;
    trib_error error{};
    int rc = -EBUSY; // for a moment: the daemon of a program that has ended
    for (unsigned i = 0; i < 200 && rc == -EBUSY; i++) {
        rc = trib_pipeline_open(&pipeline, ("policy=none,drive=none,state=" + state).c_str(), false, &error);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    INFO(error.text);
    REQUIRE(rc == 0);
    const auto add = [](void *all, const trib_attribute_report *row) {
        (*static_cast<std::map<uint64_t, trib_attribute_report> *>(all))[row->who.signature] = *row;
    };
    trib_pipeline_visit_attributes(pipeline, add, &rows);
    trib_pipeline_close(pipeline);
    return rows;
}

} // namespace

TEST_CASE("Java call paths, the same on every JDK, as agent and preloaded") {
    std::set<uint64_t> flushes, compactions, logs, maps;
    for (const std::string &home : homes())
        for (const bool preloaded : {false, true}) {
            INFO(home << (preloaded ? " preloaded" : " agent"));
            const Run run = preloaded ? Run(home, {}, true) : Run(home, {agent("trace=@")});
            run.check_same();
            CHECK(run.outcome.err == "");
            const JavaTrace trace(run.trace);
            const JavaPath flush = trace.path("flush"), compaction = trace.path("compact"), log = trace.path("log");
            CHECK((flush.frames == std::vector<std::string>{"org.example.Store.append", "org.example.Store.writeTable",
                                                            "org.example.Store.flush",
                                                            "org.example.Store.lambda$round$0"}));
            CHECK(compaction.has("org.example.Store.compact"));
            CHECK((log.frames == std::vector<std::string>{"org.example.Store.log", "org.example.Store.main"}));
            if (!is_in_memory(run.data))
                CHECK(trace.path("mapped").has("org.example.Store.mapped"));
            CHECK(trace.path("chunks").frames.front() == "org.example.Store.append"); // checksums go with their chunks
            CHECK((trace.path("audit").frames == std::vector<std::string>{"java.util.logging"}));
            const std::vector<std::string> deep = trace.path("deep").frames; // one from inside, six from outside
            CHECK(deep.size() == 7);
            CHECK(deep.back() == "org.example.Store.main");
            CHECK(trace.path("ints").frames == trace.path("longs").frames);
            CHECK(trace.path("ints").signature != trace.path("longs").signature);
            CHECK(trace.deaths >= 3);
            flushes.insert(flush.signature);
            compactions.insert(compaction.signature);
            logs.insert(log.signature);
        }
    CHECK((flushes.size() == 1 && compactions.size() == 1 && logs.size() == 1));
    CHECK(*flushes.begin() != *compactions.begin());
}

TEST_CASE("JIT tiers and frame pointers change no signature") {
    const std::string home = homes().front();
    std::set<uint64_t> flushes;
    for (const char *flag :
         {"-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation", "-XX:+PreserveFramePointer"}) {
        INFO(flag);
        const Run run(home, {agent("trace=@"), flag}, false, "60");
        CHECK(run.outcome.code == 0);
        CHECK(run.outcome.err == "");
        const JavaTrace trace(run.trace);
        flushes.insert(trace.path("flush").signature);
    }
    CHECK(flushes.size() == 1);
}

TEST_CASE("virtual threads, and classes that are unloaded") {
    for (const std::string &home : homes()) {
        Folder work;
        const std::string compiled = work.file("classes");
        if (compile(home, "Threads", "21", compiled).code)
            continue; // before 21
#ifdef JVM_SANITIZER // whose shadow lies where ZGC wants its heap
        const char *collector = "-XX:+UseParallelGC";
#else
        const char *collector = "-XX:+UseZGC";
#endif
        for (const char *flag : {"-XX:+PreserveFramePointer", collector}) {
            INFO(home << " " << flag);
            Folder data;
            const std::string trace = work.file("trace");
            std::vector<std::string> command = java(home);
            command.insert(command.end(), {flag, agent("trace=" + trace), "-cp", compiled, "org.example.Threads",
                                           data.file(""), compiled});
            const Outcome outcome = run(command);
            INFO(outcome.err);
            CHECK((outcome.code == 0 && outcome.out == "done\n" && outcome.err.empty()));
            const JavaTrace read(trace);
            CHECK((read.path("virtual").frames ==
                   std::vector<std::string>{"org.example.Threads.write", "org.example.Threads.lambda$main$0"}));
            CHECK(read.path("unloaded").frames.front() == "org.example.Threads$Job.run");
            CHECK(read.bytes("virtual") == 2 * 5000 * 64);
            CHECK(read.bytes("unloaded") == 100 * 50 * 64);
        }
    }
}

TEST_CASE("the checks of the JVM itself find nothing") {
    for (const std::string &home : homes()) {
        const Run run(home, {"-Xcheck:jni", agent("trace=@")});
        run.check_same();
        CHECK_FALSE(has(run.outcome.err + run.outcome.out, "WARNING"));
        CHECK_FALSE(has(run.outcome.err + run.outcome.out, "FATAL"));
    }
}

TEST_CASE("wrong options: a sentence, and the JVM ends only where strict asks for it") {
    const std::string home = homes().front();
    for (const char *wrong : {"path=half", "nonsense=1", "policy=none-such"}) {
        const Run lenient(home, {agent(wrong)}), strict(home, {agent(std::string("strict=1,") + wrong)});
        lenient.check_same();
        CHECK(has(lenient.outcome.err, "runs without Tributary"));
        CHECK(strict.outcome.code != 0);
        CHECK(has(strict.outcome.err, "tributary: "));
        CHECK(has(strict.outcome.err, "ends, as strict asks"));
        CHECK_FALSE(has(strict.outcome.out, "tributary: ")); // the JVM names the library itself
    }
}

TEST_CASE("path=full records more frames") {
    const Run run(homes().front(), {agent("trace=@,path=full")});
    run.check_same();
    const JavaTrace full(run.trace);
    CHECK(full.path("flush").frames.size() == 4);
    CHECK(full.path("deep").frames.size() == 14);
    CHECK(full.signatures("chunks").size() == 2);
    CHECK(full.signatures("audit").size() >= 2);
    const Run short_one(homes().front(), {agent("trace=@,innermost=0,outermost=2")});
    CHECK((JavaTrace(short_one.trace).path("flush").frames ==
           std::vector<std::string>{"org.example.Store.flush", "org.example.Store.lambda$round$0"}));
}

TEST_CASE("attached to a running JVM: twice, commands, stop and start again") {
    for (const std::string &home : homes()) {
        INFO(home);
        Folder data, work;
        const std::string trace = work.file("trace"), dump = work.file("dump");
        std::vector<std::string> command = java(home);
        command.insert(command.end(), {"-XX:+EnableDynamicAgentLoading", "-cp", classes(), "org.example.Store",
                                       data.file(""), "3", "20", "15"});
        const Outcome outcome = run_beside(command, data.file("compact-2"),
                                           "load 'trace=" + trace + "'; sleep 1; load 'trace=" + trace +
                                               "'; load stop; sleep 1;"
                                               "load start; sleep 1; load 'dump,file=" +
                                               dump + "'");
        INFO(outcome.err);
        CHECK(outcome.code == 0);
        CHECK(outcome.out == "stored\n");
        const JavaTrace read(trace);
        CHECK((read.path("log").frames == std::vector<std::string>{"org.example.Store.log", "org.example.Store.main"}));
        const std::string dumped = read_file(dump);
        INFO(dumped);
        CHECK(has(dumped, "java-frames on"));
        CHECK(has(dumped, "    org.example.Store.log\n"));
    }
}

TEST_CASE("what the agent writes itself is no write of the program's") {
    const std::string home = homes().front();
    for (const bool preloaded : {false, true}) { // either way its own calls go through the hooks
        INFO((preloaded ? "preloaded" : "attached"));
        Folder data, work;
        const std::string trace = work.file("trace"), dump = work.file("dump");
        std::vector<std::string> command = java(home, preloaded ? trace : "");
        command.insert(command.end(), {"-XX:+EnableDynamicAgentLoading", "-cp", classes(), "org.example.Store",
                                       data.file(""), "3", "20", "15"});
        const Outcome outcome =
            run_beside(command, data.file("compact-2"),
                       (preloaded ? "" : "load 'trace=" + trace + "'; ") + "load 'dump,file=" + dump + "'");
        INFO(outcome.err);
        CHECK(outcome.code == 0);
        CHECK(has(read_file(dump), "java-frames on"));
        const JavaTrace read(trace);
        CHECK(read.bytes("log") > 0);
        CHECK(read.bytes("dump") == 0);
    }
}

TEST_CASE("kill -9: the next start goes on with what was learned, and with what is alive") {
    const std::string home = homes().front();
    Folder data, work;
    const Run untouched(home, {agent("trace=@")});
    const JavaTrace trace(untouched.trace);
    const uint64_t log = trace.path("log").signature, flush = trace.path("flush").signature;
    const std::string state = work.file("state");
    std::vector<std::string> command = java(home);
    const std::string options = "policy=pcstream,drive=none,state=" + state;
    command.insert(command.end(), {agent(options), "-cp", classes(), "org.example.Store", data.file(""), "3", "20"});
    std::vector<std::string> killed = command;
    killed.push_back("100");
    const Outcome outcome = run_beside(killed, data.file("compact-2"), "sleep 2; kill -9 $C");
    INFO(outcome.err);
    REQUIRE(outcome.code == 128 + 9);
    const auto before = learned(state);
    const uint64_t logged_bytes = fs::file_size(data.file("log"));
    CHECK(before.at(flush).written_bytes == 3 * 20 * 8192);
    CHECK(before.at(flush).samples == 0);
    CHECK(before.at(log).written_bytes <= logged_bytes);
    CHECK(before.at(log).written_bytes >= logged_bytes / 2); // maintenance runs every 16 ms, on an idle machine
    command.push_back("0");
    CHECK(run(command).code == 0);
    const auto after = learned(state);
    CHECK(after.at(flush).written_bytes == 2 * before.at(flush).written_bytes);
    CHECK(after.at(flush).died_bytes == after.at(flush).written_bytes); // overwritten, then deleted
    CHECK(after.at(flush).samples > 3);
    CHECK(after.at(log).written_bytes == before.at(log).written_bytes + 3000);
}
#endif
