// SPDX-License-Identifier: Apache-2.0
// Calls give what libc gives: for pointers that the kernel answers with EFAULT, for threads that are cancelled, while
// objects are loaded, and in processes with many mappings.
#include "hazard.hpp"

#include <algorithm>

using namespace trib_hazard;

namespace {

// What each call gave is a line of its child's own, in a file: at least that is recorded of a program whose calls fail.
constexpr uint64_t kLines_bytes = 100, kLine_bytes = 10;

Command pointers(const std::string &group) {
    Command command{{program("pointers"), group}};
    command.recorded_at_least_bytes = kLines_bytes;
    return command;
}

// Of mappings.c: main and 200 threads write once each.
constexpr uint64_t kThreads_bytes = 201 * 10;

Command mappings(const std::string &count) {
    Command command{{program("mappings"), count}};
    command.recorded_at_least_bytes = kThreads_bytes;
    return command;
}

Command loader() {
    Command command{{program("loader"), "beside"}, 30};
    command.recorded_at_least_bytes = 1000; // of writers that go on until the last object is loaded
    return command;
}

// glibc's cancellation points among the hooked calls (POSIX.1-2017 2.9.5, and what glibc adds to it).
struct Call {
    const char *name;
    bool is_point;
};
constexpr Call kWrites[] = {{"write", true},     {"pwrite", true},     {"writev", true},    {"pwritev", true},
                            {"pwritev2", true},  {"fsync", true},      {"fdatasync", true}, {"sync_file_range", true},
                            {"fallocate", true}, {"sendmsg", true},    {"splice", true},    {"copy_file_range", true},
                            {"sendfile", false}, {"raw_write", false}, {"raw_fsync", false}};
constexpr Call kNames[] = {{"open", true},       {"openat", true},    {"creat", true},     {"unlink", false},
                           {"unlinkat", false},  {"remove", false},   {"rename", false},   {"renameat", false},
                           {"renameat2", false}, {"truncate", false}, {"ftruncate", false}};
constexpr Call kDescriptors[] = {
    {"close_open", true},  {"close_bad", true},       {"close_range", false}, {"dup", false},
    {"dup2", false},       {"dup3", false},           {"fcntl", false},       {"fcntl_dup", false},
    {"fcntl_lock", false}, {"fcntl_lock_wait", true}, {"lseek", false}};
constexpr Call kMaps[] = {{"mmap", false}, {"munmap", false}, {"msync", true}};
constexpr Call kOthers[] = {{"posix_spawn", false}, {"execve", false}, {"none", false}};
// In libc's own hands: whether a point is met depends on its buffers.
constexpr const char *kStdio[] = {"fopen", "fclose"};

template <size_t N> void check_deferred(Way way, const Call (&calls)[N]) {
    uint64_t recorded_bytes = 0;
    for (const Call &call : calls) {
        Command command{{program("cancel"), "deferred", call.name}};
        command.timed = false;
        const Result plain = run_once(Way::Plain, command), hooked = run_once(way, command);
        INFO(call.name << " hooked: " << hooked.own);
        const std::string expected = call.is_point ? ": cancelled;" : ": no cancellation point;";
        CHECK(plain.out.find(expected) != std::string::npos); // the table is libc's
        CHECK(hooked.out == plain.out);
        CHECK(hooked.status == plain.status);
        CHECK(hooked.files == plain.files);
        recorded_bytes += hooked.recorded_bytes;
    }
    if (way == Way::Recorded)
        CHECK(recorded_bytes >= N / 2 * kLine_bytes); // a busy machine may let a join time out, not each
}

void check_asynchronous(Way way, const std::vector<std::string> &names) {
    uint64_t recorded_bytes = 0;
    for (const std::string &name : names) {
        Command command{{program("cancel"), "asynchronous", name}, 15};
        const Result plain = run_once(Way::Plain, command), hooked = run_once(way, command);
        INFO(name << " hooked: " << hooked.own);
        REQUIRE_FALSE(plain.hung);
        CHECK_FALSE(hooked.hung);
        CHECK(hooked.out == plain.out);
        CHECK(hooked.status == plain.status);
        recorded_bytes += hooked.recorded_bytes;
    }
    if (way == Way::Recorded)
        CHECK(recorded_bytes >= names.size() / 2 * kLine_bytes);
}

// The best of several, until it is good enough.
double median_us(Way way, const std::string &mappings, double enough_us) {
    double best = 1e9;
    uint64_t recorded_bytes = 0;
    for (int i = 0; i < 4 && best > enough_us; i++) {
        const Result result = run_once(way, {{program("mappings"), mappings, "print"}});
        REQUIRE(result.status == 0);
        best = std::min(best, std::stod(result.out));
        recorded_bytes = std::max(recorded_bytes, result.recorded_bytes);
    }
    if (way == Way::Recorded)
        CHECK(recorded_bytes >= kThreads_bytes); // or it is the time of doing nothing
    return best;
}

} // namespace

TRIB_HAZARD("bad pointers to the write family", pointers("writes"))
TRIB_HAZARD("bad pointers to calls by name", pointers("names"))
TRIB_HAZARD("bad descriptors", pointers("descriptors"))
TRIB_HAZARD("bad mappings", pointers("maps"))
TRIB_HAZARD("bad pointers to copies and messages", pointers("copies"))
TRIB_HAZARD("bad pointers to calls by number", pointers("raw"))
TRIB_HAZARD("bad pointers to asynchronous writes", pointers("aio"))
TRIB_HAZARD("bad pointers to exec", pointers("programs"))

#define TRIB_CANCEL(NAME, CALLS)                                                                                       \
    TEST_CASE("a pending cancel at " NAME ", preloaded") {                                                             \
        check_deferred(Way::Preloaded, CALLS);                                                                         \
    }                                                                                                                  \
    TEST_CASE("a pending cancel at " NAME ", under trib record") {                                                     \
        check_deferred(Way::Recorded, CALLS);                                                                          \
    }
TRIB_CANCEL("writes and syncs", kWrites)
TRIB_CANCEL("calls by name", kNames)
TRIB_CANCEL("descriptors", kDescriptors)
TRIB_CANCEL("mappings", kMaps)
TRIB_CANCEL("programs", kOthers)

TEST_CASE("a pending cancel at stdio, preloaded") {
    for (const char *name : kStdio)
        same(Way::Preloaded, {{program("cancel"), "deferred", name}});
}
TEST_CASE("a pending cancel at stdio, under trib record") {
    for (const char *name : kStdio)
        same(Way::Recorded, {{program("cancel"), "deferred", name}});
}

TEST_CASE("asynchronous cancels at writes, preloaded") {
    check_asynchronous(Way::Preloaded, {"write", "pwrite", "writev", "fsync", "raw_write", "sendfile"});
}
TEST_CASE("asynchronous cancels at writes, under trib record") {
    check_asynchronous(Way::Recorded, {"write", "pwrite", "writev", "fsync", "raw_write", "sendfile"});
}
TEST_CASE("asynchronous cancels at names and descriptors, preloaded") {
    check_asynchronous(Way::Preloaded, {"open", "rename", "unlink", "truncate", "dup2", "close", "ftruncate"});
}
TEST_CASE("asynchronous cancels at names and descriptors, under trib record") {
    check_asynchronous(Way::Recorded, {"open", "rename", "unlink", "truncate", "dup2", "close", "ftruncate"});
}
TEST_CASE("asynchronous cancels at mappings, preloaded") {
    check_asynchronous(Way::Preloaded, {"munmap", "msync"});
}
TEST_CASE("asynchronous cancels at mappings, under trib record") {
    check_asynchronous(Way::Recorded, {"munmap", "msync"});
}

TRIB_HAZARD("objects are loaded while threads write", loader())

TEST_CASE("objects are loaded while imports are patched late") {
    const Result late = run_once(Way::Plain, {{program("loader"), "late", library()}, 30});
    if (late.status == 77)
        return skip(late.out);
    CHECK_FALSE(late.hung);
    CHECK(late.status == 0);
    CHECK(late.out == "0 failures\n");
}

TRIB_HAZARD("threads come and go with 5000 mappings", mappings("5000"))
TRIB_HAZARD("threads come and go with 60000 mappings", mappings("60000"))

// The bar of the issue, and what the write itself takes.
void check_first_write(Way way) {
    if (run_once(Way::Plain, {{program("mappings"), "60000"}}).status == 77)
        return skip("vm.max_map_count is too low");
    const double plain_us = median_us(Way::Plain, "60000", 0), hooked_us = median_us(way, "60000", 20 + plain_us);
    INFO("median " << plain_us << " us without, " << hooked_us << " us with");
    CHECK(hooked_us <= 20 + plain_us);
}
TEST_CASE("a new thread's first write with 60000 mappings takes 20 us, preloaded") {
    check_first_write(Way::Preloaded);
}
TEST_CASE("a new thread's first write with 60000 mappings takes 20 us, under trib record") {
    check_first_write(Way::Recorded);
}
