// SPDX-License-Identifier: Apache-2.0
// The preload adapter tells of each call once, with its file, offset and length: of deeds whose outcome is known, alone
// (a pipeline in the process) and in a session (children too).
#include "support/catch.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "support/preload_story.hpp"

using namespace trib_test;

TEST_CASE("writes are told once, where they went") {
    const bool session = GENERATE(false, true);
    CHECK(Story("writes", session).of("a") == Lines{"write 0+1000", "write 8192+4096", "write 1000+150",
                                                    "write 20000+150", "write 1150+150", "write 30000+100",
                                                    "write 5+10", "write 115+1", "write 116+2", "write 40000+3"});
    CHECK(Story("append", session).of("a") ==
          Lines{"write 0+10", "write 10+10", "write 20+5", "write 25+5", "write 30+7"});
    const Story tracked("tracked", session);
    CHECK(tracked.said.writes("a") ==
          Lines{"write 0+10", "write 110+10", "write 120+10", "write 130+10", "write 1000+10"});
    CHECK(tracked.said.writes("b") == Lines{"write 0+1", "write 50+1", "write 51+1"});
    const Story copies("copies", session);
    CHECK(copies.of("a") == Lines{"write 0+100", "write 1000+100", "write 100+100", "write 3000+30"});
}

TEST_CASE("what stdio writes inside libc is told, at exit too") {
    const Story story("stdio", GENERATE(false, true));
    const Lines lines = story.of("a"); // how stdio cuts what exceeds its buffer is libc's business
    REQUIRE(lines.size() >= 3);
    CHECK(lines.front() == "write 0+6");
    CHECK(lines.back() == "sync 0+end close");
    CHECK(story.said.bytes("a") == 10006);
    CHECK(story.of("b") == Lines{"write 0+13"});
    for (const char *name : {"d", "e"})
        CHECK(story.said.writes(name) == Lines{"write 0+6", "write 100+3", "write 0+2", "write 50+7"});
    CHECK(story.said.writes("f") == Lines{"write 0+2", "write 12+1"});
    CHECK(story.said.events.back().who.signature != TRIB_SIGNATURE_UNKNOWN); // libc's alone, but for the program
}

TEST_CASE("asynchronous writes are told at submission") {
    // Not the last one, which the kernel refuses.
    CHECK(Story("aio", GENERATE(false, true)).of("a") == Lines{"write 4096+512", "write 8192+150"});
}

TEST_CASE("what a ring of io_uring without liburing is given is told at submission") {
    const Story ring("ring", GENERATE(false, true));
    if (!ring.skipped())
        CHECK(ring.of("a") == Lines{"write 600+300"});
}

// Cases of their own: a kernel may have one and not the other.
static void check_liburing(const std::string &story) {
    const Story uring(story, GENERATE(false, true));
    if (!uring.skipped())
        CHECK(uring.of("a") == Lines{"write 100+700", "write 2000+150", "death 100+50 trim", "sync 0+end fsync",
                                     "write 4096+10", "write 5120+20", "write 6144+30"});
}

TEST_CASE("each of liburing's functions that submit tells what it submits") {
    check_liburing("uring");
}

TEST_CASE("each of liburing's functions that submit tells what it submits of entries of 128 bytes") {
    check_liburing("uring128");
}

TEST_CASE("names that go take their data along") {
    const Story story("names", GENERATE(false, true));
    const auto last = [&](const char *name) {
        const Lines lines = story.of(name);
        return lines.size() == 3 ? lines.back() : "of " + std::to_string(lines.size());
    };
    for (const char *name : {"unlink", "unlinkat", "remove", "raw"})
        CHECK(last(name) == "death 0+end unlink");
    CHECK(last("target") == "death 0+end rename");
    CHECK(last("truncate") == "death 4096+end truncate");
    CHECK(last("ftruncate") == "death 100+end truncate");
    for (const char *name : {"opened", "created", "stdio"})
        CHECK(last(name) == "death 0+end truncate");
    for (const char *name : {"linked", "source", "exchange"})
        CHECK(story.of(name) == Lines{"write 0+8192", "sync 0+end close"});
}

TEST_CASE("parts of files die and are synced") {
    const bool session = GENERATE(false, true);
    CHECK(Story("ranges", session).of("a") == Lines{"write 0+65536", "death 4096+8192 trim", "death 16384+4096 trim",
                                                    "death 32768+end trim", "sync 0+4096 range", "sync 8192+end range",
                                                    "sync 0+end fsync", "sync 0+end fsync", "sync 0+end close"});
    CHECK(Story("nameless", session).of("a") ==
          Lines{"write 0+100", "write 100+100", "write 200+100", "death 0+end unlink"});
}

TEST_CASE("nothing dies of a file that is made as long as it is, or longer") {
    CHECK(Story("sizes", true).of("a") == Lines{"write 0+100", "sync 0+end close"});
}

TEST_CASE("a nameless file dies with the parent's descriptor, not with a child's") {
    const Story story("shared", true);
    Lines deaths, others;
    for (const std::string &line : story.of("a"))
        (line.rfind("death", 0) == 0 ? deaths : others).push_back(line);
    CHECK(deaths == Lines{"death 0+end unlink"});
    REQUIRE_FALSE(story.of("a").empty());
    CHECK(story.of("a").back() == "death 0+end unlink");
    CHECK(std::count(others.begin(), others.end(), "write 100+100") == 1);
}

TEST_CASE("pages written through memory are told of when they are synced") {
    if (is_in_memory(Folder()))
        return skip("the folder is in memory");
    const Story story("map", GENERATE(false, true));
    if (!has_cachestat()) { // whole ranges
        REQUIRE_FALSE(story.of("a").empty());
        CHECK(story.of("a")[0] == "write 0+1048576");
        return;
    }
    CHECK(story.of("a") ==
          Lines{"write 0+4096", "write 8192+4096", "write 409600+8192", "write 8192+4096", "write 999424+4096"});
}

TEST_CASE("what another thread maps at an address that a call has just freed is not taken for what was there") {
    if (!knows_pages_or_skips())
        return;
    const Story story("remapped", GENERATE(false, true));
    CHECK(story.of("b") == Lines{"write 8192+4096", "write 16384+4096"});
    CHECK(story.of("c") == Lines{"write 4096+4096"});
}

TEST_CASE("pages of a mapped file whose descriptor is closed are told of as well, and its locks are kept") {
    if (is_in_memory(Folder()))
        return skip("the folder is in memory");
    const Story story("unheld", GENERATE(false, true));
    if (!has_cachestat()) {
        REQUIRE_FALSE(story.of("a").empty());
        CHECK(story.of("a").back() == "write 0+1000000");
        return;
    }
    CHECK(story.of("a") == Lines{"sync 0+end close", "write 8192+4096", "write 409600+4096"});
    CHECK(story.of("locked") == Lines{"sync 0+end close", "write 0+4096"});
}

TEST_CASE("children are recorded, in a session and by a daemon of the program's own") {
    const Story together("fork", GENERATE(true, false));
    CHECK(together.said.writes("parent") == Lines{"write 0+10", "write 10+30", "write 100+5"});
    CHECK(together.of("child") == Lines{"write 0+20"});
    CHECK(together.of("clone") == Lines{"write 0+40"});

    const Story execs("exec", true);
    CHECK(execs.said.writes("before") == Lines{"write 0+10", "write 10+10"});
    CHECK(execs.said.writes("shell") == Lines{"write 0+6"});
    CHECK(execs.said.writes("dd") == Lines{"write 0+4096", "write 4096+4096"});
    CHECK(Story("starts", true).outcome.code == 0);
    CHECK(Story("daemon", true).said.writes("a") == Lines{"write 0+10"});
}

TEST_CASE("a child that first writes long after its parent's end has kept their daemon") {
    CHECK(Story("outlives", false).said.writes("a") == Lines{"write 0+10"});
}

TEST_CASE("threads and signal handlers lose nothing") {
    const bool session = GENERATE(false, true);
    const Story threads("threads", session);
    for (const char *name : {"t0", "t1", "t2", "t3"}) {
        const Lines writes = threads.said.writes(name);
        REQUIRE(writes.size() == 1000);
        CHECK(writes.front() == "write 0+100");
        CHECK(writes.back() == "write 99900+100");
    }
    const Story signals("signals", session);
    CHECK(signals.said.bytes("handler") == 1 + std::stoul(signals.outcome.out));
}

TEST_CASE("a program's own hints are told") {
    const Story story("hinted", GENERATE(false, true));
    std::vector<int> hints;
    for (const trib_event &event : story.said.events)
        if (event.kind == TRIB_EVENT_WRITE)
            hints.push_back(event.who.write_hint);
    CHECK(hints == std::vector<int>{TRIB_HINT_LONG, TRIB_HINT_SHORT, TRIB_HINT_NOT_SET, TRIB_HINT_EXTREME});
}

TEST_CASE("streams reach the kernel as hints only when asked for") {
    Folder folder;
    const std::vector<std::string> command = {PRELOAD_STORY, "hint", folder.file("")};
    Environment environment = preload_environment();
    environment["TRIBUTARY"] = "policy=manual,map=sqlite"; // databases: S2
    CHECK(run(command, environment).out == "0\n");
    environment["TRIBUTARY_HINTS"] = "1";
    CHECK(run(command, environment).out == "3\n"); // of the four hints, the second
    CHECK(run_in_session(command, folder.file("trace"), "policy=manual,map=sqlite", {{"TRIBUTARY_HINTS", "1"}}).out ==
          "3\n"); // its two writes are at two call sites
}
