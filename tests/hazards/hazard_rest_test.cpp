// SPDX-License-Identifier: Apache-2.0
// Nothing of ours is left in a hooked process at rest: what the kernel shows of it is what it shows without the
// library, also of its forks and of what it becomes. And asynchronous writes are what they are.
#include "hazard.hpp"

using namespace trib_hazard;

namespace {

Command rest(const std::string &what, const std::string &how) {
    return {{program("rest"), what, how}, 40, false};
}

// With something for the library to say on standard error before the program does.
Command complaint(const std::string &what) {
    return {{program("rest"), what, "self"}, 40, false, {}, {"TRIBUTARY_SESSION=no/absolute/path"}};
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

TRIB_HAZARD("io_uring", {{program("queues"), "ring"}})
TRIB_HAZARD("native AIO", {{program("queues"), "queue"}})
TRIB_HAZARD("libaio", {{program("queues"), "libaio"}})
TRIB_HAZARD("io_uring of several threads", {{program("queues"), "threads"}})
