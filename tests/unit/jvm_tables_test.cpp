// SPDX-License-Identifier: Apache-2.0
// The JVM adapter's tables under threads: a signature is its key's or nobody's, a name has one number, bytes add up.
#include "support/catch.hpp"
#include "support/skip.hpp"

#include <cstdint>
#include <map>
#include <thread>
#include <vector>

#ifdef HAVE_JVM
#include "support/jvm_tables.h"
extern "C" {
#include "tally.h"
}

TEST_CASE("a signature that is found is the one that was remembered by that key") {
    CHECK(jvm_recall_wrong(4, 100000) == 0);
}

TEST_CASE("a name has one number for all threads, and what is beyond the room has none") {
    CHECK(jvm_tags_wrong(4, 1500) == 0);
}

TEST_CASE("bytes of a signature add up over threads") {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; i++)
        threads.emplace_back([] {
            for (uint64_t n = 0; n < 20000; n++)
                trib_tally_add(1 + n % 10, n % 3);
        });
    for (std::thread &thread : threads)
        thread.join();
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> found;
    trib_tally_visit(
        [](void *arg, uint64_t signature, uint64_t writes, uint64_t bytes) {
            (*static_cast<decltype(found) *>(arg))[signature] = {writes, bytes};
        },
        &found);
    REQUIRE(found.size() == 10);
    uint64_t writes = 0, bytes = 0;
    for (const auto &[signature, sums] : found) {
        CHECK(sums.first == 8000);
        writes += sums.first;
        bytes += sums.second;
    }
    CHECK((writes == 80000 && bytes == 4 * (20000 - 1))); // 0 + 1 + 2, again and again, but the last
    CHECK(trib_tally_lost() == 0);
    for (uint64_t n = 1; n <= 9; n++) // all begin to look at one row, and look at eight
        trib_tally_add(5000 + (n << 20), 1);
    CHECK(trib_tally_lost() == 1);
}
#else
TEST_CASE("the JVM adapter's tables") {
    trib_test::skip("no JDK");
}
#endif
