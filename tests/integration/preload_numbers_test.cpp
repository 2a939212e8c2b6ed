// SPDX-License-Identifier: Apache-2.0
// What the shim says of calls that a program makes by number, through syscall().
#include "support/preload_story.hpp"

#include <algorithm>

using namespace trib_test;

TEST_CASE("writes by number") {
    const bool session = GENERATE(false, true);
    CHECK(Story("writes_by_number", session).of("a") == Lines{"write 0+10", "write 100+150", "write 250+100",
                                                              "write 350+200", "write 550+30", "write 1000+20",
                                                              "write 2000+150"});
    CHECK(Story("aio_by_number", session).of("a") == Lines{"write 4096+512"});
}

TEST_CASE("parts of files by number") {
    const Story story("ranges_by_number", GENERATE(false, true));
    CHECK(story.of("a") == Lines{"write 0+65536", "death 4096+8192 trim", "sync 0+end fsync", "sync 0+end fsync",
                                 "death 32768+end truncate", "death 16384+end truncate", "sync 0+end close"});
    CHECK(story.of("b") == Lines{"write 0+10", "sync 0+end close"});
}

TEST_CASE("names that go by number") {
    const Story story("names_by_number", GENERATE(false, true));
    for (const char *name : {"unlink", "unlinkat"})
        CHECK(story.of(name) == Lines{"write 0+10", "sync 0+end close", "death 0+end unlink"});
    for (const char *name : {"rename", "renameat", "renameat2"})
        CHECK(story.of(name) == Lines{"write 0+10", "sync 0+end close", "death 0+end rename"});
}

TEST_CASE("descriptors by number have their names") {
    const Story story("descriptors_by_number", GENERATE(false, true));
    for (const char *name : {"open", "openat", "openat2", "creat", "dup", "dup2", "dup3", "fcntl"}) {
        INFO(name);
        CHECK(story.said.writes(name) == Lines{"write 0+10"});
    }
    CHECK(story.of("?").empty());
}

TEST_CASE("folders by number are followed as far as they can be") {
    const Story story("folders_by_number", GENERATE(false, true));
    std::vector<std::string> paths;
    for (const auto &[file, path] : story.said.paths)
        paths.push_back(path);
    std::sort(paths.begin(), paths.end());
    CHECK(paths == std::vector<std::string>{story.folder.file("sub/followed"), "unknown"});
}

TEST_CASE("a program that locks itself in by number is asked nothing from then on") {
#ifdef __SANITIZE_THREAD__
    return skip("ThreadSanitizer's runtime makes system calls of its own");
#endif
    const Story story("locked_in_by_number", GENERATE(false, true));
    if (!story.skipped())
        CHECK(story.said.writes("known") == Lines{"write 0+10"});
}
