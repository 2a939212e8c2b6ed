// SPDX-License-Identifier: Apache-2.0
// The optional jar: tags make signatures of their own, the bean says what the agent sees, and neither needs the agent.
#include "support/catch.hpp"
#include "support/skip.hpp"

#ifndef JVM_HOMES
TEST_CASE("the jar of the JVM adapter") {
    trib_test::skip("no JDK, or ThreadSanitizer, whose layout of memory HotSpot does not leave it");
}
#else

#include "support/jvm.hpp"

namespace {

using namespace trib_test;

const std::string &classes() {
    static const Folder folder;
    static const std::string path = [] {
        const Outcome outcome = compile(homes().front(), "Tagged", "11", folder.file("c"), JVM_JAR);
        if (outcome.code)
            throw std::runtime_error(outcome.err);
        return folder.file("c");
    }();
    return path;
}

// `flags` come first; the program waits for an agent so many seconds.
std::vector<std::string> tagged(std::vector<std::string> command, const Folder &data,
                                const std::vector<std::string> &flags = {}, const std::string &wait_s = "0") {
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"-cp", classes() + ":" + JVM_JAR, "org.example.Tagged", data.file(""), wait_s});
    return command;
}

const char *const kSeen = "active true frames on paths 1 covered true written true\n";

// Three paths that differ by the tag alone. Returns the signature of the tagged one.
uint64_t check_tags(const std::string &path, const Folder &data) {
    const JavaTrace trace(path);
    if (!is_in_memory(data)) {
        CHECK(trace.bytes("mapped") >= 4096);
        CHECK(trace.bytes("mapped") < 64 * 4096); // not all that is mapped, also after a pause
    }
    const JavaPath plain = trace.path("plain"), orders = trace.path("orders"), deep = trace.path("deep");
    CHECK(plain.frames.front() == "org.example.Tagged.write");
    CHECK(orders.frames.front() == "#orders");
    CHECK(deep.frames.front() == "#orders:6");
    CHECK(std::vector<std::string>(orders.frames.begin() + 1, orders.frames.end()) == plain.frames);
    CHECK(std::vector<std::string>(deep.frames.begin() + 1, deep.frames.end()) == plain.frames);
    return deep.signature;
}

} // namespace

TEST_CASE("without the agent tags and bean do nothing") {
    for (const std::string &home : homes()) {
        Folder data;
        const Outcome outcome = run(tagged(java(home), data));
        CHECK(outcome.code == 0);
        CHECK(outcome.out ==
              "active false frames the native agent is not in this JVM paths 0 covered false written false\n");
        CHECK(outcome.err == "");
    }
}

TEST_CASE("tags are frames of the path, the same by every way in and on every JDK") {
    std::set<uint64_t> signatures;
    for (const std::string &home : homes()) {
        INFO(home);
        Folder data, work;
        const std::string trace = work.file("trace");
        for (const char *flag : {"-XX:+PreserveFramePointer", "-Xcheck:jni"}) {
            const Outcome outcome = run(tagged(java(home), data, {agent("trace=" + trace), flag}));
            INFO(outcome.err);
            CHECK((outcome.code == 0 && outcome.out == kSeen && outcome.err.empty()));
            signatures.insert(check_tags(trace, data));
        }
        const Outcome preloaded = run(tagged(java(home, trace), data));
        INFO(preloaded.err); // from JDK 24 on the JVM warns of System.load
        CHECK((preloaded.code == 0 && preloaded.out == kSeen));
        signatures.insert(check_tags(trace, data));
        Folder fresh;
        const Outcome attached = run_beside(tagged(java(home), fresh, {"-XX:+EnableDynamicAgentLoading"}, "60"),
                                            fresh.file("ready"), "load 'trace=" + trace + "'");
        INFO(attached.out << attached.err);
        CHECK((attached.code == 0 && attached.out == kSeen));
        signatures.insert(check_tags(trace, fresh));
    }
#ifndef JVM_SANITIZER // whose runtime stands between the JVM and the library, or does not, by the way in
    CHECK(signatures.size() == 1);
#endif
}

TEST_CASE("of a thousand call paths in four threads no chain is taken for another") {
    Folder compiled;
    REQUIRE(compile(homes().front(), "Paths", "11", compiled.file("c"), JVM_JAR).code == 0);
    for (const std::string &home : homes())
        for (const std::string fast : {"check", "on"}) {
            INFO(home << " fast=" << fast);
            Folder data;
            std::vector<std::string> command = java(home);
            command.insert(command.end(),
                           {"-XX:+PreserveFramePointer", agent("policy=none,drive=none,fast=" + fast), "-cp",
                            compiled.file("c") + ":" + JVM_JAR, "org.example.Paths", data.file(""), "4", "10000"});
            const Outcome outcome = run(command);
            INFO(outcome.out << outcome.err);
            CHECK(outcome.code == 0);
            CHECK(has(outcome.out, "fast on wrong 0 checked "));
            CHECK_FALSE(has(outcome.out, fast == "check" ? "checked 0k" : "checked 4"));
        }
}

TEST_CASE("as a Java agent the jar registers its bean in a program that does not know it") {
    for (const std::string &home : homes()) {
        Folder data, work;
        const std::vector<std::string> flags = {agent("trace=" + work.file("trace")),
                                                std::string("-javaagent:") + JVM_JAR};
        const Outcome outcome = run(tagged(java(home), data, flags));
        INFO(outcome.err);
        CHECK((outcome.code == 0 && outcome.out == kSeen));
    }
}
#endif
