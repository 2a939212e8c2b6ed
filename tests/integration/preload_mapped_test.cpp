// SPDX-License-Identifier: Apache-2.0
// What the shim says of mapped files that are moved, cut, copied, or left as they are.
#include "support/preload_story.hpp"

using namespace trib_test;

TEST_CASE("pages that are dirty at the end of a process are recorded") {
    if (!knows_pages_or_skips())
        return;
    const Story story("left", GENERATE(false, true));
    CHECK(story.of("a") == Lines{"write 8192+4096"});
}

TEST_CASE("a child that ends says nothing of its parent's mappings") {
    if (!knows_pages_or_skips())
        return;
    const Story story("mapped_by_parent", GENERATE(false, true));
    CHECK(story.of("a") == Lines{"write 8192+4096"});
}

TEST_CASE("shared memory is no storage") {
    const Story story("in_memory", GENERATE(false, true));
    CHECK(story.of("after") == Lines{"write 0+10"});
    uint64_t bytes = 0;
    for (const trib_event &event : story.said.events)
        bytes += event.kind == TRIB_EVENT_WRITE ? event.length_bytes : 0;
    CHECK(bytes == 10);
}

TEST_CASE("a mapping that is moved over another takes its place, whose dirty pages are recorded") {
    if (!knows_pages_or_skips())
        return;
    const Story story("moved_over", GENERATE(false, true));
    CHECK(story.of("under") == Lines{"write 8192+4096"});
    CHECK(story.of("over") == Lines{"write 4096+4096", "write 16384+4096"});
}

TEST_CASE("a mapping that is cut, moved in part, or grows") {
    if (!knows_pages_or_skips())
        return;
    const Story story("moved_in_parts", GENERATE(false, true));
    CHECK(story.of("cut") == Lines{"write 524288+4096", "write 1044480+4096", "write 0+8192"});
    CHECK(story.of("split") == Lines{"write 532480+4096", "write 4096+4096", "write 1052672+4096"});
    CHECK(story.of("room").empty());
}

TEST_CASE("a file that mremap maps a second time") {
    if (!knows_pages_or_skips())
        return;
    const Story story("mapped_twice", GENERATE(false, true));
    if (story.skipped())
        return;
    CHECK(story.of("a") == Lines{"write 4096+4096", "write 8192+4096", "write 16384+4096"});
}

TEST_CASE("a thousand and twenty-four mappings are watched") {
    if (!knows_pages_or_skips())
        return;
    const Story story("many", GENERATE(false, true));
    CHECK(story.said.bytes("a") == 1024 * 4096);
}

TEST_CASE("mremap with MREMAP_DONTUNMAP is given the address that goes with it") {
    Folder plain, hooked, traces;
    const Outcome without = run_without({PRELOAD_STORY, "wished", plain.file("")});
    const Outcome with = run_alone({PRELOAD_STORY, "wished", hooked.file("")}, traces.file("trace"));
    CHECK(without.code == 0);
    CHECK(with.out == without.out);
    CHECK(has(without.out, "Invalid argument"));
}

TEST_CASE("a range that is longer than an event may be is recorded whole") {
    Folder folder, traces;
    if (is_in_memory(folder))
        return skip("the folder is in memory");
    trib_status status{};
    const Outcome outcome = run_in_session({PRELOAD_STORY, "long", folder.file("")}, traces.file("trace"),
                                           "policy=none,drive=none", {}, &status);
    REQUIRE(outcome.code == 0);
    const Said said = read_said(traces.file("trace"));
    uint64_t end = 0;
    for (const trib_event &event : said.events)
        if (event.kind == TRIB_EVENT_WRITE) {
            CHECK(event.offset_bytes == end);
            end += event.length_bytes;
        }
    CHECK(end == uint64_t{5} << 30);
    CHECK_FALSE(said.has_gap);
    CHECK(status.events_dropped == 0);
}
