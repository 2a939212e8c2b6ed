// SPDX-License-Identifier: Apache-2.0
// The agent in a real JVM: same results, Java call paths, the same signatures on every JDK and by every way in.
#include "support/catch.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include <sys/vfs.h>

#include "support/folder.hpp"
#include "support/process.hpp"
#include "support/trace_file.hpp"
#include <tributary/signature.h>

#ifndef JVM_HOMES
TEST_CASE("the JVM door") {
    WARN("no JDK, or a sanitizer: not tested");
}
#else

namespace {

using namespace trib_test;
namespace fs = std::filesystem;

const std::string kSource = std::string(TRIB_SOURCE_DIR) + "/tests/support/java/org/example/Store.java";

std::vector<std::string> homes() {
    std::vector<std::string> found;
    std::stringstream list(JVM_HOMES);
    for (std::string home; std::getline(list, home, ':');)
        found.push_back(home);
    return found;
}

// Compiled by the oldest for all.
const std::string &classes() {
    static const Folder folder;
    static const std::string path = [] {
        const Outcome outcome = run({homes().front() + "/bin/javac", "--release", "11", "-d", folder.file("c"), kSource});
        if (outcome.code)
            throw std::runtime_error(outcome.err);
        return folder.file("c");
    }();
    return path;
}

struct Path {
    uint64_t signature = 0;
    std::vector<std::string> frames;
    bool has(const std::string &frame) const {
        return std::find(frames.begin(), frames.end(), frame) != frames.end();
    }
};

// Read in order: the number of a file that is gone is given away again.
struct Trace {
    struct Write {
        std::string file;
        uint64_t signature, bytes;
    };
    std::vector<Write> writes;
    unsigned deaths = 0;
    std::map<uint32_t, trib_module> modules;
    std::map<uint64_t, std::vector<trib_frame>> paths;

    explicit Trace(const std::string &path) {
        trib_trace_reader *reader = nullptr;
        trib_trace_item item{};
        trib_error error{};
        std::map<uint64_t, std::string> names;
        REQUIRE(trib_trace_reader_open(&reader, path.c_str(), nullptr, &error) == 0);
        int rc = 0;
        while ((rc = trib_trace_next(reader, &item, &error)) == 1) {
            const std::string text = item.kind == TRIB_TRACE_NAME ? item.text : "";
            if (item.kind == TRIB_TRACE_NAME)
                names[item.id] = text.substr(text.rfind('/') + 1);
            else if (item.kind == TRIB_TRACE_MODULE)
                modules[item.module_index] = item.module;
            else if (item.kind == TRIB_TRACE_SIGNATURE)
                paths[item.id].assign(item.frames, item.frames + item.frame_count);
            else if (item.kind == TRIB_TRACE_EVENT && item.event.kind == TRIB_EVENT_WRITE)
                writes.push_back({names[item.event.file], item.event.who.signature, item.event.length_bytes});
            else if (item.kind == TRIB_TRACE_EVENT)
                deaths += item.event.kind == TRIB_EVENT_DEATH;
        }
        trib_trace_reader_close(reader);
        INFO(error.text);
        REQUIRE(rc == 0);
    }
    std::set<uint64_t> signatures(const std::string &prefix) const {
        std::set<uint64_t> found;
        for (const Write &write : writes)
            if (write.file.rfind(prefix, 0) == 0)
                found.insert(write.signature);
        return found;
    }
    uint64_t bytes(const std::string &prefix) const {
        uint64_t sum = 0;
        for (const Write &write : writes)
            sum += write.file.rfind(prefix, 0) == 0 ? write.bytes : 0;
        return sum;
    }
    // The one that all writes to the files with this prefix have.
    Path path(const std::string &prefix) const {
        const std::set<uint64_t> found = signatures(prefix);
        INFO(prefix);
        REQUIRE(found.size() == 1);
        return {*found.begin(), frames(*found.begin())};
    }
    std::vector<std::string> frames(uint64_t signature) const {
        std::vector<std::string> found;
        for (const trib_frame &frame : paths.at(signature)) {
            char text[512];
            trib_signature_symbolise(&modules.at(frame.module), frame.offset_bytes, text, sizeof text);
            found.emplace_back(text);
        }
        return found;
    }
};

struct Run {
    Folder data, work;
    Outcome outcome;
    std::string trace = work.file("trace");

    Run(const std::string &home, std::vector<std::string> flags, const Environment &environment = {},
        const std::string &rounds = "3") {
        for (std::string &flag : flags)
            if (const size_t at = flag.find("@"); at != std::string::npos)
                flag.replace(at, 1, trace);
        std::vector<std::string> command = {"timeout", "-k", "5", "100", "env"};
        for (const auto &[name, value] : environment) // of Java alone: timeout would own the pipeline
            command.push_back(name + "=" + value);
        for (std::string &argument : command)
            if (const size_t at = argument.find("@"); at != std::string::npos)
                argument.replace(at, 1, trace);
        command.push_back(home + "/bin/java");
        command.emplace_back("-XX:-UsePerfData");
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

// Memory file systems have no pages to write back.
bool is_in_memory(const Folder &folder) {
    struct statfs system;
    return statfs(folder.file("").c_str(), &system) == 0 && system.f_type == 0x01021994;
}

std::string agent(const std::string &options) {
    return std::string("-agentpath:") + JVM_LIBRARY + "=" + options;
}

const Environment kPreload = {{"LD_PRELOAD", JVM_LIBRARY}, {"TRIBUTARY", "trace=@"}};

} // namespace

TEST_CASE("Java call paths, the same on every JDK, as agent and preloaded") {
    std::set<uint64_t> flushes, compactions, logs, maps;
    for (const std::string &home : homes())
        for (const bool preloaded : {false, true}) {
            INFO(home << (preloaded ? " preloaded" : " agent"));
            const Run run = preloaded ? Run(home, {}, kPreload) : Run(home, {agent("trace=@")});
            run.check_same();
            CHECK(run.outcome.err == "");
            const Trace trace(run.trace);
            const Path flush = trace.path("flush"), compaction = trace.path("compact"), log = trace.path("log");
            CHECK((flush.frames == std::vector<std::string>{"org.example.Store.append", "org.example.Store.writeTable",
                                                            "org.example.Store.flush", "org.example.Store.lambda$round$0"}));
            CHECK(compaction.has("org.example.Store.compact"));
            CHECK((log.frames == std::vector<std::string>{"org.example.Store.log", "org.example.Store.main"}));
            if (!is_in_memory(run.data))
                CHECK(trace.path("mapped").has("org.example.Store.mapped"));
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
    for (const char *flag : {"-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation", "-XX:+PreserveFramePointer"}) {
        INFO(flag);
        const Run run(home, {agent("trace=@"), flag}, {}, "60");
        CHECK(run.outcome.code == 0);
        CHECK(run.outcome.err == "");
        const Trace trace(run.trace);
        flushes.insert(trace.path("flush").signature);
    }
    CHECK(flushes.size() == 1);
}

TEST_CASE("virtual threads, and classes that are unloaded") {
    for (const std::string &home : homes()) {
        Folder work;
        const std::string compiled = work.file("classes");
        const std::string source = std::string(TRIB_SOURCE_DIR) + "/tests/support/java/org/example/Threads.java";
        if (run({home + "/bin/javac", "--release", "21", "-d", compiled, source}).code)
            continue; // before 21
        for (const char *flag : {"-XX:+PreserveFramePointer", "-XX:+UseZGC"}) {
            INFO(home << " " << flag);
            Folder data;
            const std::string trace = work.file("trace");
            const Outcome outcome = run({"timeout", "-k", "5", "100", home + "/bin/java", flag, agent("trace=" + trace),
                                         "-cp", compiled, "org.example.Threads", data.file(""), compiled});
            CHECK((outcome.code == 0 && outcome.out == "done\n" && outcome.err.empty()));
            const Trace read(trace);
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

TEST_CASE("wrong options: a sentence, and the JVM ends only where strict=1 asks for it") {
    const std::string home = homes().front();
    for (const char *wrong : {"path=half", "nonsense=1", "policy=none-such"}) {
        const Run lenient(home, {agent(wrong)}), strict(home, {agent(std::string("strict=1,") + wrong)});
        lenient.check_same();
        CHECK(has(lenient.outcome.err, "runs without Tributary"));
        CHECK(strict.outcome.code != 0);
        CHECK(has(strict.outcome.err, "tributary: "));
        CHECK_FALSE(has(strict.outcome.out, "tributary: ")); // the JVM names the library itself
    }
}

TEST_CASE("path=full tells more frames") {
    const Run run(homes().front(), {agent("trace=@,path=full")});
    run.check_same();
    CHECK(Trace(run.trace).path("flush").frames.size() == 4);
    const Run short_one(homes().front(), {agent("trace=@,innermost=0,outermost=2")});
    CHECK((Trace(short_one.trace).path("flush").frames ==
           std::vector<std::string>{"org.example.Store.flush", "org.example.Store.lambda$round$0"}));
}

TEST_CASE("attached to a running JVM: twice, commands, stop and start again") {
    for (const std::string &home : homes()) {
        INFO(home);
        Folder data, work;
        const std::string trace = work.file("trace"), dump = work.file("dump");
        const std::string script =
            "J=" + quoted(home) + "; timeout -k 5 100 $J/bin/java -XX:+EnableDynamicAgentLoading -XX:-UsePerfData -cp " + quoted(classes()) +
            " org.example.Store " + quoted(data.file("")) + " 3 20 15 & P=$!; sleep 3;"
            "C=$(ls /proc/$P/task/$P/children >/dev/null 2>&1 && cat /proc/$P/task/$P/children); C=${C%% *}; C=${C:-$P};"
            "load() { $J/bin/jcmd $C JVMTI.agent_load " + quoted(JVM_LIBRARY) + " \"\\\"$1\\\"\" >&2; };"
            "load 'trace=" + trace + "'; sleep 1; load 'trace=" + trace + "'; load stop; sleep 1; load start; sleep 1;"
            "load 'dump,file=" + dump + "'; wait $P";
        const Outcome outcome = run({"sh", "-c", script});
        INFO(outcome.err);
        CHECK(outcome.code == 0);
        CHECK(outcome.out == "stored\n");
        const Trace read(trace);
        CHECK((read.path("log").frames == std::vector<std::string>{"org.example.Store.log", "org.example.Store.main"}));
        const std::string dumped = read_file(dump);
        INFO(dumped);
        CHECK(has(dumped, "java-frames on"));
        CHECK(has(dumped, "    org.example.Store.log\n"));
    }
}
#endif
