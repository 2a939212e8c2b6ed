// SPDX-License-Identifier: Apache-2.0
// When a recording stops: at its limit, at the floor of free disk, where a write fails. What was written stays a whole
// trace that says why.
#include "support/trace_recording.hpp"

#include <cerrno>
#include <csignal>

#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include "trace/output.h"
}

using namespace trib_test;

TEST_CASE("a recording that may not rotate stops at its limit and says why") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    trib_trace_writer *writer = open_writer(path, limits_of(kMax, 0));
    std::mt19937_64 random(3);
    trib_event event;
    int rc = 0;
    uint64_t count = 0;
    for (; count < 1000000 && rc == 0; count++) {
        event = random_event(random);
        rc = trib_trace_write(writer, &event);
    }
    REQUIRE(rc == -EFBIG);
    REQUIRE(trib_trace_write_note(writer, "late") == -EFBIG);
    REQUIRE(mentions(trib_trace_writer_stopped(writer), "trace_max"));
    REQUIRE(trib_trace_writer_close(writer) == -EFBIG);
    REQUIRE(read_bytes(path).size() <= kMax);
    REQUIRE(read_bytes(path).size() > kMax / 2);
    REQUIRE(mentions(stop_reason_of(path), "trace_max"));
    const auto contents = read_trace(path);
    REQUIRE(contents.end_result == 0);
    REQUIRE(contents.events.size() == count - 1); // all that were taken
}

TEST_CASE("recording stops above the floor of free disk, and does not begin below it") {
    ScratchFolder folder;
    struct statvfs status;
    REQUIRE(statvfs("/dev/shm", &status) == 0);
    char place[] = "/dev/shm/tributary-XXXXXX";
    REQUIRE(mkdtemp(place));
    const auto path = std::string(place) + "/t";
    const uint64_t free_bytes = static_cast<uint64_t>(status.f_bavail) * status.f_frsize;
    const Opened refused = try_open(path, limits_of(1ull << 30, 15, free_bytes + (64u << 20)));
    REQUIRE(refused.rc == -ENOSPC);
    const std::string free_mib = std::to_string(free_bytes >> 20);
    REQUIRE(mentions(refused.error, ": " + free_mib.substr(0, free_mib.size() / 2))); // others write there, too
    REQUIRE(mentions(refused.error, " MiB are free on this file system, disk_floor is "));
    REQUIRE_FALSE(is_there(path));

    trib_trace_writer *writer = open_writer(path, limits_of(1ull << 30, 15, free_bytes - (2u << 20)));
    REQUIRE(std::string(trib_trace_writer_stopped(writer)).empty());
    std::mt19937_64 random(3);
    int rc = 0;
    uint64_t count = 0;
    for (; count < 4000000 && rc == 0; count++) {
        const trib_event event = random_event(random);
        rc = trib_trace_write(writer, &event);
    }
    REQUIRE(rc == -ENOSPC);
    REQUIRE(mentions(trib_trace_writer_stopped(writer), "disk_floor"));
    REQUIRE(trib_trace_writer_close(writer) == -ENOSPC);
    const auto contents = read_trace(path);
    const std::string reason = stop_reason_of(path);
    REQUIRE(unlink(path.c_str()) == 0);
    REQUIRE(rmdir(place) == 0);
    REQUIRE(contents.end_result == 0);
    REQUIRE(contents.events.size() == count - 1);
    REQUIRE(mentions(reason, "disk_floor"));
}

TEST_CASE("a write that fails is taken back: what was written stays a whole trace that says why, without a signal") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    trib_trace_writer *writer = open_writer(path);
    std::mt19937_64 random(3);
    int rc = 0;
    uint64_t count = 0;
    {
        FileSizeLimit limit(100000); // in the second block; SIGXFSZ has its default action, which ends the program
        for (; count < 1000000 && rc == 0; count++) {
            const trib_event event = random_event(random);
            rc = trib_trace_write(writer, &event);
        }
    }
    sigset_t pending;
    sigpending(&pending);
    REQUIRE_FALSE(sigismember(&pending, SIGXFSZ));
    REQUIRE(rc == -EFBIG);
    REQUIRE(trib_trace_flush(writer) == -EFBIG);
    REQUIRE(mentions(trib_trace_writer_stopped(writer), "File too large"));
    REQUIRE(trib_trace_writer_close(writer) == -EFBIG);
    REQUIRE(read_bytes(path).size() < 100000);
    const auto contents = read_trace(path);
    INFO(contents.error);
    REQUIRE(contents.end_result == 0);
    REQUIRE(contents.events.size() > 500);
    REQUIRE(contents.events.size() < count);
    std::mt19937_64 again(3);
    for (const auto &read : contents.events)
        if (!same_event(read, random_event(again)))
            FAIL("not a prefix");
    REQUIRE(mentions(stop_reason_of(path), "File too large"));
}

TEST_CASE("a recording that cannot go on in a new file stays whole under its name and says why") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    trib_trace_writer *writer = open_writer(path, limits_of(kMax, 8));
    write_bytes(path + ".1", "somebody's");
    std::mt19937_64 random(3);
    int rc = 0;
    uint64_t count = 0;
    for (; count < 1000000 && rc == 0; count++) {
        const trib_event event = random_event(random);
        rc = trib_trace_write(writer, &event);
    }
    REQUIRE(rc == -EEXIST);
    REQUIRE(trib_trace_writer_close(writer) == -EEXIST);
    REQUIRE(read_bytes(path + ".1") == "somebody's");
    const auto contents = read_trace(path);
    REQUIRE(contents.end_result == 0);
    REQUIRE(contents.events.size() == count - 1);
    REQUIRE(mentions(stop_reason_of(path), "new file"));
}
