// SPDX-License-Identifier: Apache-2.0
// A hook whose notes do not fit the flushes is taken out; one that came late is not.
#include "support/catch.hpp"

#include <cstring>

#include "options.h"
#include "self_test.h"

namespace {

// One of `period` flushed pages has no note. The first verdict other than open.
trib_verdict judge(trib_self_test &test, unsigned flushes, unsigned period, uint64_t lsn = 1000) {
    for (unsigned i = 1; i <= flushes; i++) {
        trib_verdict now = trib_self_test_flush(&test, lsn + i, i % period != 0, 8192);
        if (now != TRIB_VERDICT_OPEN)
            return now;
    }
    return TRIB_VERDICT_OPEN;
}

} // namespace

TEST_CASE("nine tenths of a thousand") {
    trib_self_test good{}, just{}, bad{};
    CHECK(judge(just, 1500, 10) == TRIB_VERDICT_PASSED); // 900 of the 1,000 behind the first
    CHECK(judge(good, 1500, 20) == TRIB_VERDICT_PASSED);
    CHECK(judge(good, 5000, 2) == TRIB_VERDICT_OPEN); // once passed, passed
    CHECK(judge(bad, 1500, 5) == TRIB_VERDICT_FAILED);
    CHECK(judge(bad, 5000, 5) == TRIB_VERDICT_OPEN); // said once
}

TEST_CASE("no verdict before a thousand") {
    trib_self_test test{};
    CHECK(judge(test, 1000, 2) == TRIB_VERDICT_OPEN); // the first page gives the base
    CHECK(judge(test, 10, 2) == TRIB_VERDICT_FAILED);
}

TEST_CASE("pages that were dirty before the hook came do not count against it") {
    trib_self_test test{};
    for (unsigned i = 0; i < 5000; i++) // oldest first, as checkpoints flush
        CHECK(trib_self_test_flush(&test, 100 + i % 50, false, 8192) == TRIB_VERDICT_OPEN);
    CHECK(trib_self_test_flush(&test, 1000, true, 8192) == TRIB_VERDICT_OPEN);
    for (unsigned i = 0; i < 5000; i++)
        CHECK(trib_self_test_flush(&test, 200 + i % 50, false, 8192) == TRIB_VERDICT_OPEN);
    CHECK(judge(test, 1500, 100, 2000) == TRIB_VERDICT_PASSED);
}

TEST_CASE("not one note for more pages than the pool holds") {
    trib_self_test test{};
    trib_verdict verdict = TRIB_VERDICT_OPEN;
    unsigned flushes = 0;
    while (verdict == TRIB_VERDICT_OPEN && flushes < 100000) {
        verdict = trib_self_test_flush(&test, 100 + flushes, false, 8192);
        flushes++;
    }
    CHECK(verdict == TRIB_VERDICT_NO_NOTES);
    CHECK(flushes == 8192 + TRIB_SELF_TEST_FLUSHES + 1);
}

TEST_CASE("pages without LSN tell nothing") {
    trib_self_test test{};
    for (unsigned i = 0; i < 20000; i++)
        CHECK(trib_self_test_flush(&test, 0, false, 8192) == TRIB_VERDICT_OPEN);
}

TEST_CASE("the hook's own options") {
    trib_buffer_options options{};
    trib_error error{};
    REQUIRE(trib_buffer_options_parse("", &options, &error) == 0);
    const trib_buffer_options *at_start = trib_buffer_settings(); // before the environment was read: the same defaults
    CHECK(options.page_bytes == at_start->page_bytes);
    CHECK(options.depth == at_start->depth);
    CHECK(options.layout == at_start->layout);
    CHECK(options.front == at_start->front);
    REQUIRE(trib_buffer_options_parse("frames=64K,page=8192,depth=9,front=off,report=on,layout=known,", &options,
                                      &error) == 0);
    CHECK(options.frames == 65536);
    CHECK(options.page_bytes == 8192);
    CHECK(options.depth == 9);
    CHECK_FALSE(options.front);
    CHECK(options.report);
    CHECK(options.layout == TRIB_LAYOUT_KNOWN);
    trib_buffer_options before = options;
    for (const char *bad : {"frames", "frames=", "frames=-1", "frames=3T", "page=5000", "page=2K", "depth=33",
                            "front=maybe", "colour=red", "=1", "depth=9,frames=x", "layout=any"}) {
        INFO(bad);
        CHECK(trib_buffer_options_parse(bad, &options, &error) != 0);
        CHECK(error.text[0] != '\0');
        CHECK(std::memcmp(&options, &before, sizeof before) == 0);
    }
    CHECK(trib_buffer_options_parse(std::string(500, 'x').c_str(), &options, &error) != 0);
}
