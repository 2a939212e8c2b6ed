// SPDX-License-Identifier: Apache-2.0
// The Linux streams driver, 4.13 to 5.17: NOT_SET and NONE no stream, the others hint - 1, with
// four streams or not at all.
#include "support/policy.hpp"

using namespace trib_test;

TEST_CASE("rocksdb-hints: the stream is the hint less one") {
    State state;
    const uint32_t streams = GENERATE(4, 5, 16);
    Policy hints("rocksdb-hints", state, streams);
    REQUIRE(hints.place(context(1, TRIB_FILE_MANIFEST, TRIB_HINT_NOT_SET)) == 0);
    REQUIRE(hints.place(context(1, TRIB_FILE_OTHER, TRIB_HINT_NONE)) == 0);
    REQUIRE(hints.place(context(1, TRIB_FILE_WAL, TRIB_HINT_SHORT)) == 1);
    REQUIRE(hints.place(context(1, TRIB_FILE_SST, TRIB_HINT_MEDIUM)) == 2);
    REQUIRE(hints.place(context(1, TRIB_FILE_SST, TRIB_HINT_LONG)) == 3);
    REQUIRE(hints.place(context(1, TRIB_FILE_SST, TRIB_HINT_EXTREME)) == 4);
    REQUIRE(hints.place(context(1, TRIB_FILE_SST, 6)) == 0); // no such hint
    REQUIRE(hints.place(context(1, TRIB_FILE_SST, 255)) == 0);
}

TEST_CASE("rocksdb-hints: a level-style compaction run lands where RocksDB says") {
    // base_level 1: L0 and L1 share MEDIUM, L2 LONG, L3 and deeper EXTREME (algorithms:
    // calculate_sst_write_lifetime_hint).
    State state;
    Policy hints("rocksdb-hints", state, 8);
    const uint8_t hint_of_level[] = {TRIB_HINT_MEDIUM, TRIB_HINT_MEDIUM, TRIB_HINT_LONG, TRIB_HINT_EXTREME,
                                     TRIB_HINT_EXTREME};
    const uint16_t want[] = {2, 2, 3, 4, 4};
    for (int8_t level = 0; level < 5; level++)
        REQUIRE(hints.place(context(1, TRIB_FILE_SST, hint_of_level[level], level)) == want[level]);
}

TEST_CASE("rocksdb-hints: fewer than four streams are none") {
    State state;
    Policy hints("rocksdb-hints", state, 3);
    REQUIRE(hints.code == 0);
    REQUIRE(hints.place(context(1, TRIB_FILE_WAL, TRIB_HINT_SHORT)) == 0);
}
