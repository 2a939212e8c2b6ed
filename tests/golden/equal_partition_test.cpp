// SPDX-License-Identifier: Apache-2.0
// FIOS's comparator (TOS'22 section 6.1): the address space in equal parts.
#include "support/policy.hpp"

using namespace trib_test;

TEST_CASE("m streams and S0 cut the address space into m + 1 equal parts") {
    State state;
    Policy partition("equal-partition", state, 3); // 100 MiB: 25,600 blocks, 6,400 a part
    REQUIRE(partition.place_block(0, 0) == 0);
    REQUIRE(partition.place_block(6399, 0) == 0);
    REQUIRE(partition.place_block(6400, 0) == 1);
    REQUIRE(partition.place_block(12799, 0) == 1);
    REQUIRE(partition.place_block(12800, 0) == 2);
    REQUIRE(partition.place_block(19200, 0) == 3);
    REQUIRE(partition.place_block(25599, 0) == 3);
}

TEST_CASE("parts of a size that does not divide differ by one block") {
    State state;
    Policy partition("equal-partition", state, 2, "", 10 * 4096); // 10 blocks, 3 parts
    std::vector<uint16_t> streams;
    for (uint64_t lba = 0; lba < 10; lba++)
        streams.push_back(partition.place_block(lba, lba));
    REQUIRE(streams == std::vector<uint16_t>{0, 0, 0, 0, 1, 1, 1, 2, 2, 2});
}

TEST_CASE("without streams, or beyond the drive, all is S0") {
    State state;
    Policy none("equal-partition", state, 0);
    REQUIRE(none.place_block(25599, 0) == 0);
    Policy partition("equal-partition", state, 3);
    REQUIRE(partition.place_block(25600, 0) == 0);
}

TEST_CASE("a drive of unknown size cannot be cut") {
    State state;
    Policy partition("equal-partition", state, 3, "", 0);
    REQUIRE(partition.code == -EINVAL);
    REQUIRE(partition.sentence.find("equal-partition") != std::string::npos);
}
