// SPDX-License-Identifier: Apache-2.0
// Nothing of ours is left in a hooked process at rest: what the kernel shows of it is what it shows without the
// library, also of its forks and of what it becomes. And asynchronous writes are what they are.
#include "hazard.hpp"

using namespace trib_hazard;

namespace {

constexpr uint64_t kWrites_bytes = 2000; // of rest.c, and again of a fork that writes

Command rest(const std::string &what, const std::string &how) {
    Command command{{program("rest"), what, how}, 40, false};
    command.recorded_at_least_bytes = how == "fork_writes" ? 2 * kWrites_bytes : kWrites_bytes;
    return command;
}

// With something for the library to say on standard error before the program does.
Command complaint(const std::string &what) {
    return {{program("rest"), what, "self"}, 40, false, {}, {"TRIBUTARY_SESSION=no/absolute/path"}};
}

Command sanitized(const std::string &name, uint64_t recorded_bytes) {
    Command command{{program(name), "writes"}};
    command.recorded_at_least_bytes = recorded_bytes;
    return command;
}

Command queues(const std::string &name, uint64_t recorded_bytes) {
    Command command{{program("queues"), name}};
    command.recorded_at_least_bytes = recorded_bytes;
    return command;
}

} // namespace

#define TRIB_AT_REST(WHAT)                                                                                             \
    TRIB_HAZARD("at rest: " WHAT, rest(WHAT, "self"))                                                                  \
    TRIB_HAZARD("at rest: " WHAT " of a fork", rest(WHAT, "fork"))                                                     \
    TRIB_HAZARD("at rest: " WHAT " of a fork that writes", rest(WHAT, "fork_writes"))                                  \
    TRIB_HAZARD("at rest: " WHAT " after exec", rest(WHAT, "exec"))
TRIB_AT_REST("descriptors")
TRIB_AT_REST("threads")
TRIB_AT_REST("locks")
TRIB_AT_REST("environment")
TRIB_AT_REST("signals")
TRIB_AT_REST("limits")
TRIB_AT_REST("children")
TRIB_AT_REST("memory")
TRIB_AT_REST("streams")

TEST_CASE("at rest: streams behind a line of the library's, preloaded") {
    same(Way::Preloaded, complaint("streams"));
    CHECK(run_once(Way::Preloaded, complaint("streams")).own_lines == 1);
}

TRIB_HAZARD("a program with AddressSanitizer in it", sanitized("sanitized", 20 * 100 + 10 + 5 + 10))
TRIB_HAZARD("a program with AddressSanitizer as a library", sanitized("sanitized_by_library", 20 * 100 + 10 + 5 + 10))

TRIB_HAZARD("io_uring", queues("ring", 1 + 35 * 512 + 10))
TRIB_HAZARD("io_uring, requests that the kernel refuses", queues("refused", 1 + 100 * 10))
TRIB_HAZARD("native AIO", queues("queue", 1 + 40 * 512 + 10))
TRIB_HAZARD("libaio", queues("libaio", 1 + 19 * 512 + 10))
TRIB_HAZARD("io_uring of several threads", queues("threads", 5 * 200 * 10))
// What stands in memory that is no longer there goes unseen.
TRIB_HAZARD("io_uring whose memory is unmapped by number", queues("unmapped", 1 + 2 * 10 + 10))
TRIB_HAZARD("io_uring whose memory is mapped over by number", queues("mapped_over", 1 + 2 * 10 + 10))
TRIB_HAZARD("io_uring whose memory shrinks by number", queues("shrunk", 1 + 2 * 10 + 10))
TRIB_HAZARD("io_uring whose memory is moved over by number", queues("moved_over", 1 + 2 * 10 + 10))
TRIB_HAZARD("io_uring whose memory goes through libc", queues("by_name", 2 * (1 + 2 * 10 + 10)))
TRIB_HAZARD("io_uring whose memory a child has not", queues("kept_from_child", 1 + 10))

TEST_CASE("what io_uring refuses is not recorded, and what follows is") {
    const Way way = GENERATE(Way::Preloaded, Way::Recorded);
    Folder folder;
    const Result result = run_once(way, {{program("queues"), "refused"}}, folder / "trace");
    if (result.status == 77)
        return skip(result.out);
    REQUIRE(result.status == 0);
    CHECK(result.own.find("damaged") == std::string::npos);
    Record record = read_record(folder / "trace");
    REQUIRE(record.there);
    auto &writes = record.writes["a"];
    REQUIRE(writes.size() == 101);
    CHECK(writes.front() == std::make_pair(uint64_t{0}, uint64_t{1}));
    writes.erase(writes.begin());
    CHECK(record.once("a", 100, 10));
}
