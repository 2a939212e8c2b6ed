// SPDX-License-Identifier: Apache-2.0
// DStream against its sections 3.1, 3.2 and 4.1, on numbers small enough to check by hand.
#include "support/policy.hpp"

#include <vector>

#include "rivals/dstream_cluster.h"

using namespace trib_test;

namespace {

using Values = std::vector<double>;
using Labels = std::vector<int>;

trib_dstream_clusters clusters(uint32_t most, trib_dstream_mode mode = TRIB_DSTREAM_EXECUTABLE) {
    trib_dstream_clusters k{};
    k.mode = mode;
    k.clusters_max = most;
    k.quiet_timestamps = 4;
    return k;
}

Labels step(trib_dstream_clusters &k, const Values &values) {
    k.elements = uint32_t(values.size());
    trib_dstream_step(&k, values.data());
    return Labels(k.label, k.label + values.size());
}

uint64_t cache(const Policy &policy) {
    return policy.policy->blocks.map_cache_bytes(policy.self);
}

constexpr uint64_t KIB = 1024, MIB = 1024 * KIB, GIB = 1024 * MIB;

} // namespace

TEST_CASE("counts join the nearest centre; the first centres are spread over the distinct counts") {
    auto k = clusters(3);
    // Seeds 0, 10, 100; 4 is nearer to 0, 20 to 10; centres 2, 15, 100.
    REQUIRE(step(k, {0, 4, 10, 20, 100}) == Labels{0, 0, 1, 1, 2});
    REQUIRE(k.used == 3);
    REQUIRE(k.c[0].centre == 2);
    REQUIRE(k.c[1].centre == 15);
    REQUIRE(k.c[2].centre == 100);
}

TEST_CASE("k is never more than the distinct counts") {
    auto k = clusters(16);
    REQUIRE(step(k, {0, 0, 10, 10, 100}) == Labels{0, 0, 1, 1, 2});
    REQUIRE(k.used == 3); // and every count sits in its centre: nothing to split
}

TEST_CASE("an element farther from its centre than the closest pair apart merges that pair") {
    auto k = clusters(4);
    // Seeds 0, 3, 100, 200; centres 0, 2.5, 120, 200; 100 and 140 are 20 from 120, the closest
    // pair 2.5 apart: it merges at 5/3, under the number of the larger. Then 80 apart: enough.
    const Values values{0, 2, 3, 100, 140, 200};
    REQUIRE(step(k, values) == Labels{1, 1, 1, 2, 2, 3});
    REQUIRE(k.used == 3);
    REQUIRE(k.c[1].centre == Approx(5.0 / 3));
    // 20 < 80 would split, but not within four timestamps of a merge.
    for (int timestamp = 0; timestamp < 4; timestamp++) {
        step(k, values);
        REQUIRE(k.used == 3);
    }
    // Then the mean of the two hottest centres, (120 + 200) / 2, is a centre, and takes the 140.
    REQUIRE(step(k, values) == Labels{1, 1, 1, 2, 0, 3});
    REQUIRE(k.used == 4);
    REQUIRE(k.c[0].centre == 160);
}

TEST_CASE("the same rules read for each element in turn") {
    // Centres 10, 50, 58: 0 is 10 from its centre, more than 8: 50 and 58 merge at 54. 20 is 10
    // from its centre, less than 44: (54 + 10) / 2 is a new one.
    const Values values{0, 20, 50, 58};
    auto literal = clusters(3, TRIB_DSTREAM_LITERAL);
    step(literal, values);
    REQUIRE(literal.used == 3);
    REQUIRE(literal.c[2].centre == 32);
    auto executable = clusters(3);
    step(executable, values);
    REQUIRE(executable.used == 2);
    // Rule 3 fires for an element in its very centre.
    literal = clusters(4, TRIB_DSTREAM_LITERAL);
    step(literal, {0, 10, 100});
    REQUIRE(literal.used == 4);
    REQUIRE(literal.c[3].centre == 55);
}

TEST_CASE("one cluster splits between its centre and the hottest element") {
    auto k = clusters(4);
    step(k, {5, 5, 5});
    REQUIRE(k.used == 1);
    step(k, {4, 4, 10}); // centre 6, farthest 4 away, no pair: (6 + 10) / 2
    REQUIRE(k.used == 2);
    REQUIRE(k.c[1].centre == 8);
}

TEST_CASE("a cluster that lost its members is dropped, or starts anew when k is fixed") {
    auto k = clusters(3), fixed = clusters(3, TRIB_DSTREAM_FIXED);
    step(k, {0, 0, 50, 100});
    step(fixed, {0, 0, 50, 100});
    step(k, {0, 0, 0, 90});
    REQUIRE(k.used == 2);
    // The middle one is empty: at first all sit in their centres, then 8 is the farthest from its.
    step(fixed, {0, 0, 0, 90});
    REQUIRE(fixed.used == 3);
    REQUIRE(step(fixed, {0, 1, 8, 90}) == Labels{0, 0, 1, 2});
}

TEST_CASE("updates are counted per partition; streams follow them at the end of a timestamp") {
    State state;
    Policy dstream("dstream", state, 16, "lstreams=4,timestamp=100"); // of 6,400 blocks each
    const uint64_t part = 6400;
    uint64_t clock = 0;
    auto write = [&](uint64_t lba, uint32_t pages) {
        clock += pages;
        return dstream.place_block(lba, clock - pages, pages);
    };
    // The first writes are no updates: nothing to cluster however often a timestamp passes.
    for (uint64_t p = 0; p < 4; p++)
        REQUIRE(write(p * part, 100) == 0);
    REQUIRE(write(0, 50) == 0); // partition 0: 50 updates
    REQUIRE(write(part, 40) == 0);
    dstream.policy->blocks.discarded(dstream.self, 2 * part, 10, 0);
    REQUIRE(write(2 * part, 10) == 0); // trimmed before: none
    // The timestamp is over: {50, 40, 0, 0} in ascending order are S1, S2, S3.
    REQUIRE(write(3 * part, 1) == 1);
    REQUIRE(write(2 * part, 1) == 1);
    REQUIRE(write(part, 1) == 2);
    REQUIRE(write(0, 1) == 3);
    REQUIRE(dstream.reclusterings() == 0);
}

TEST_CASE("a count is the last timestamp's, or half of it and half of those before") {
    for (bool smooth : {false, true}) {
        State state;
        Policy dstream("dstream", state, 2, smooth ? "lstreams=2,timestamp=100,ewma=0.5" : "lstreams=2,timestamp=100");
        const uint64_t part = 12800;
        dstream.place_block(0, 0, 100);
        dstream.place_block(part, 100, 100);
        dstream.place_block(0, 200, 100);
        REQUIRE(dstream.place_block(0, 300, 1) == 2); // {100, 0}, or {50, 0}
        dstream.place_block(part, 301, 60);
        dstream.place_block(0, 361, 9);
        dstream.place_block(1000, 370, 30); // not written before
        // {10, 60}: 10 is nearer to 0 than to 100. {30, 30}: both are nearer to 50.
        CHECK(dstream.place_block(0, 400, 1) == (smooth ? 2 : 1));
        CHECK(dstream.place_block(part, 401, 1) == 2);
    }
}

TEST_CASE("what streams do not take, the mapping cache gets: 192 KB of 4 MB each on 16 GB") {
    State state;
    auto bytes = [&](const char *text) {
        Policy policy("dstream", state, 16, text, 16 * GIB);
        REQUIRE(policy.code == 0);
        return cache(policy);
    };
    CHECK(bytes("") == 1 * MIB); // k starts at 16
    CHECK(bytes("k=16") == 1 * MIB);
    CHECK(bytes("k=1") == 4 * MIB - 192 * KIB);
    CHECK(bytes("k=7") == 4 * MIB - 7 * 192 * KIB);
    CHECK(bytes("budget=growing") == 4 * MIB);
    CHECK(bytes("budget=growing,k=1") == 4 * MIB + 15 * 192 * KIB);
    CHECK(bytes("pool=1M,buffer=100K,k=10") == 24 * KIB);
    CHECK(bytes("pool=1M,buffer=100K,k=16") == 0);
    Policy quarter("dstream", state, 16, "k=16", 4 * GIB);
    CHECK(cache(quarter) == 256 * KIB); // the same shares of a map of a quarter the size
    Policy narrow("dstream", state, 4, "", 16 * GIB);
    CHECK(cache(narrow) == 4 * MIB - 4 * 192 * KIB);
}
