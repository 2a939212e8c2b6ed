// SPDX-License-Identifier: Apache-2.0
// What the shim says of descriptors that are passed on, marked, copied onto themselves, and of what a child shares.
#include "support/preload_story.hpp"

using namespace trib_test;

TEST_CASE("a descriptor that stays what it is keeps its name and its offset") {
    const Story story("kept", GENERATE(false, true));
    CHECK(story.of("marked") == Lines{"write 0+10", "write 10+20"});
    CHECK(story.of("same") == Lines{"write 0+10", "write 10+20"});
    CHECK(story.of("early") == Lines{"write 0+10"});
    CHECK(story.of("number") == Lines{"write 0+150"});
    CHECK(story.of("?").empty());
}

TEST_CASE("a descriptor that is made to append, and no more") {
    CHECK(Story("appends", GENERATE(false, true)).of("a") == Lines{"write 0+100", "write 100+10", "write 5+7"});
}

TEST_CASE("a descriptor that is sent to another process shares its offset") {
    const Story story("passed", GENERATE(false, true));
    for (const char *name : {"a", "b", "c"}) // sendmsg, sendmmsg, by number
        CHECK(story.said.writes(name) == Lines{"write 0+10", "write 10+20", "write 30+30"});
}

TEST_CASE("a program that is spawned shares offsets, and the caller's errno stays") {
    const Story story("spawned", GENERATE(false, true));
    CHECK(story.said.writes("a") == Lines{"write 0+10", "write 10+6", "write 16+20"});
    CHECK(story.said.writes("b") == Lines{"write 0+10", "write 10+6", "write 16+30"});
}

TEST_CASE("calls that could have locked the program in and did not leave it recorded") {
    CHECK(Story("not_locked", GENERATE(false, true)).of("a") == Lines{"write 0+10"});
}

TEST_CASE("the child of a vfork does not join in its parent's place") {
#ifdef __SANITIZE_THREAD__
    return skip("below ThreadSanitizer the child of a vfork is one of fork");
#endif
    const Story story("vfork_first", GENERATE(false, true),
                      true); // in a session the child's own write is lost, and counted
    const Lines writes = story.said.writes("parent");
    REQUIRE(writes.size() == 10);
    CHECK(writes.front() == "write 0+10");
    CHECK(writes.back() == "write 90+10");
}

TEST_CASE("libc's daemon() gives the standard streams other files") {
    const Story story("daemon_of_libc", GENERATE(false, true));
    CHECK(story.said.writes("a") == Lines{"write 0+10"});
    CHECK(story.said.writes("b") == Lines{"write 0+10"});
    CHECK(story.of("?").empty());
}

TEST_CASE("rings with entries of 128 bytes") {
    const Story story("wide_ring", GENERATE(false, true));
    if (!story.skipped())
        CHECK(story.of("a") == Lines{"write 0+100", "write 1000+101", "write 2000+102"});
}

TEST_CASE("the memory of a ring that is put to another use is not looked at") {
    const Story story("ring_replaced", GENERATE(false, true));
    if (!story.skipped())
        CHECK(story.said.writes("a") == Lines{"write 0+10"});
}
