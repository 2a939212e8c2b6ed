// SPDX-License-Identifier: Apache-2.0
// The shim's table of descriptors, which trips the breaker where it contradicts itself.
#include "support/catch.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/breaker.h"
#include "support/descriptors_inside.h"
#include "support/folder.hpp"
#include "support/skip.hpp"

namespace {
uint64_t mapped_pages() {
    return std::stoull(trib_test::read_file("/proc/self/statm"));
}
} // namespace

TEST_CASE("an entry that says what cannot be trips the breaker") {
    const int what = GENERATE(0, 1, 2);
    trib_test::Folder folder;
    const int fd = open((folder / "a").c_str(), O_CREAT | O_RDWR, 0600);
    REQUIRE(fd > 2);
    trib_broken = 0;
    descriptors_write(fd);
    descriptors_write(fd);
    descriptors_close(fd);
    descriptors_write(fd);
    CHECK(trib_broken == 0);
    descriptors_spoil(fd, what);
    descriptors_close(fd);
    CHECK(trib_broken == 1u << TRIB_CHECK_DESCRIPTORS);
    trib_broken = 0;
    close(fd);
}

// ctest starts a process for each case.
TEST_CASE("a program of little memory has few slots, and descriptors beyond are recorded all the same") {
    if (trib_test::is_sanitized())
        return trib_test::skip("a sanitizer needs more");
    trib_test::Folder folder;
    const int fd = open((folder / "a").c_str(), O_CREAT | O_RDWR, 0600);
    REQUIRE(fd > 2);
    struct rlimit limit;
    REQUIRE(getrlimit(RLIMIT_DATA, &limit) == 0);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 400 * 128 * (32 + 128); // bytes; a slot and its name take 160, a 128th is for them
    REQUIRE(setrlimit(RLIMIT_DATA, &limit) == 0);
    CHECK(descriptors_write(dup2(fd, 128))); // the first number whose slot is not there from the start
    limit.rlim_cur = before;
    REQUIRE(setrlimit(RLIMIT_DATA, &limit) == 0);

    const int last = dup2(fd, 127 + 400), beyond = dup2(fd, 128 + 400);
    CHECK(descriptors_write(last));
    CHECK(descriptors_remember(last));
    CHECK(descriptors_write(beyond));
    CHECK(descriptors_write(beyond));
    CHECK_FALSE(descriptors_remember(beyond));
    for (const int each : {fd, last, beyond})
        close(each);
}

TEST_CASE("what is given back lies behind the last descriptor in use") {
    trib_test::Folder folder;
    const int fd = open((folder / "a").c_str(), O_CREAT | O_RDWR, 0600);
    REQUIRE(fd > 2);
    const int last = dup2(fd, 300), beyond = dup2(fd, 301);
    CHECK(descriptors_write(last));
    const uint64_t before = mapped_pages();
    descriptors_give_back();
    CHECK(mapped_pages() + 700 < before); // of 1,020 pages, with those of the first 300 slots and names
    CHECK(descriptors_remember(last));
    CHECK(descriptors_write(fd));
    CHECK(descriptors_remember(fd));
    CHECK(descriptors_write(beyond));
    CHECK_FALSE(descriptors_remember(beyond));
    for (const int each : {fd, last, beyond})
        close(each);
}
