// SPDX-License-Identifier: Apache-2.0
// A line for people never lands in a file that got the number of standard error.
#include "support/catch.hpp"

#include <fcntl.h>
#include <string>
#include <unistd.h>

#include "base/line.h"
#include "base/safe_copy.h"
#include "support/process.hpp"

namespace {

using namespace trib_test;

// Says a line while descriptor 2 is this file, opened so.
bool say_into(const std::string &path, int flags) {
    const char *const pieces[] = {"one ", "line", nullptr};
    const int kept = dup(2), fd = open(path.c_str(), flags | O_CREAT, 0600);
    REQUIRE(kept >= 0);
    REQUIRE(dup2(fd, 2) == 2);
    const bool said = trib_line(pieces);
    dup2(kept, 2);
    close(kept);
    close(fd);
    return said;
}

} // namespace

TEST_CASE("a line goes to standard error as it was, or to a log, and nowhere else") {
    Folder folder;
    trib_line_start();
    CHECK(say_into(folder / "log", O_WRONLY | O_APPEND));
    CHECK(read_file(folder / "log") == "tributary: one line\n");
    CHECK_FALSE(say_into(folder / "data.db", O_RDWR));
    CHECK_FALSE(say_into(folder / "data.db", O_WRONLY));
    CHECK_FALSE(say_into(folder / "data.db", O_RDWR | O_APPEND));
    CHECK(read_file(folder / "data.db").empty());

    const int kept = dup(2), log = open((folder / "first").c_str(), O_RDWR | O_CREAT, 0600);
    dup2(log, 2);
    trib_line_start(); // a program that was started so
    const std::string endless(2 * TRIB_LINE_BYTES_MAX, 'x');
    const char *const pieces[] = {endless.c_str(), nullptr};
    const bool said = trib_line(pieces);
    close(2);
    const bool said_to_nobody = trib_line(pieces);
    dup2(kept, 2);
    close(kept);
    close(log);
    CHECK(said);
    CHECK_FALSE(said_to_nobody);
    CHECK(read_file(folder / "first").size() == TRIB_LINE_BYTES_MAX);
    CHECK(read_file(folder / "first").back() == '\n');
}

TEST_CASE("memory that is not there is no fault") {
    const uint64_t here = 42;
    uint64_t copy = 0;
    errno = 77;
    CHECK(trib_safe_copy(&copy, &here, sizeof copy));
    CHECK(copy == 42);
    CHECK_FALSE(trib_safe_copy(&copy, reinterpret_cast<const void *>(8), sizeof copy));
    CHECK_FALSE(trib_safe_copy(&copy, reinterpret_cast<const void *>(0xffff800000001000), sizeof copy));
    CHECK(copy == 42);
    CHECK(errno == 77);
}
