// SPDX-License-Identifier: Apache-2.0
// SepBIT's six classes, write by write: user classes 0 and 1 are S1 and S2, survivor classes 2 to 5
// internal streams 0 to 3.
#include "support/pipeline.hpp"
#include "support/policy.hpp"

using namespace trib_test;

namespace {

void collected(const Policy &policy, uint64_t opened_age, uint16_t stream = 1, bool internal = false) {
    trib_reclaim unit{};
    unit.stream = stream;
    unit.internal = internal;
    unit.opened_age = opened_age;
    policy.policy->blocks.reclaimed(policy.self, &unit);
}

uint16_t moved(const Policy &policy, uint64_t lba, uint64_t block_clock, uint16_t victim_class, bool internal = false) {
    trib_relocation page{};
    page.lba = lba;
    page.block_clock = block_clock;
    page.victim_class = victim_class;
    page.victim_internal = internal;
    return policy.policy->relocate(policy.self, &page);
}

// Makes l the mean of 16 segments of class 0: eight of half of it, eight of one and a half.
void set_l(const Policy &policy, uint64_t l) {
    for (int i = 0; i < 8; i++) {
        collected(policy, l / 2);
        collected(policy, l + l / 2);
    }
}

} // namespace

TEST_CASE("sepbit: l begins infinite: first writes are class 1, rewrites class 0") {
    State state;
    Policy sepbit("sepbit", state, 8);
    REQUIRE(sepbit.place_block(5, 0) == 2);
    REQUIRE(sepbit.place_block(5, 1) == 1);
    REQUIRE(sepbit.place_block(6, 2) == 2);
    REQUIRE(sepbit.place_block(5, 1000000) == 1);
    REQUIRE(sepbit.place_block(6, 1000001) == 1);
}

TEST_CASE("sepbit: class 0 is what replaces data younger than l") {
    State state;
    Policy sepbit("sepbit", state, 8);
    set_l(sepbit, 100);
    for (uint64_t lba = 0; lba < 4; lba++)
        sepbit.place_block(lba, 10 + lba);
    REQUIRE(sepbit.place_block(0, 10 + 99) == 1);
    REQUIRE(sepbit.place_block(1, 11 + 100) == 2);
    REQUIRE(sepbit.place_block(1, 11 + 100 + 99) == 1); // from its last write, not its first
    REQUIRE(sepbit.place_block(2, 12 + 1000) == 2);
}

TEST_CASE("sepbit: l is the mean of 16 segments of class 0, then of the next 16") {
    State state;
    Policy sepbit("sepbit", state, 8);
    sepbit.place_block(0, 10);
    for (int i = 0; i < 15; i++)
        collected(sepbit, 100);
    for (int i = 0; i < 20; i++) { // other streams and survivors do not count
        collected(sepbit, 1, 2);
        collected(sepbit, 1, 0);
        collected(sepbit, 1, 1, true);
    }
    REQUIRE(sepbit.place_block(0, 10 + 5000) == 1); // 15: still infinite
    collected(sepbit, 1700);                        // (15 * 100 + 1700) / 16 = 200
    REQUIRE(sepbit.place_block(0, 5010 + 199) == 1);
    REQUIRE(sepbit.place_block(0, 5209 + 200) == 2);
    for (int i = 0; i < 16; i++)
        collected(sepbit, 50);
    REQUIRE(sepbit.place_block(0, 5409 + 49) == 1);
    REQUIRE(sepbit.place_block(0, 5458 + 50) == 2);
}

TEST_CASE("sepbit: survivors of class 0 are class 2, others go by their age against 4 l and 16 l") {
    State state;
    Policy sepbit("sepbit", state, 8);
    sepbit.place_block(0, 10);
    REQUIRE(moved(sepbit, 0, 1000000, 2) == 1); // l infinite: everything is young
    set_l(sepbit, 100);
    REQUIRE(moved(sepbit, 0, 10 + 5, 1) == 0);
    REQUIRE(moved(sepbit, 0, 10 + 5000, 1) == 0); // whatever its age
    for (uint16_t internal : {0, 1}) {            // of class 1, and of survivors moved before
        const uint16_t victim = internal ? 1 : 2;
        REQUIRE(moved(sepbit, 0, 10 + 399, victim, internal) == 1);
        REQUIRE(moved(sepbit, 0, 10 + 400, victim, internal) == 2);
        REQUIRE(moved(sepbit, 0, 10 + 1599, victim, internal) == 2);
        REQUIRE(moved(sepbit, 0, 10 + 1600, victim, internal) == 3);
    }
    sepbit.place_block(0, 5000); // the age is since the user's write: moving did not change it
    REQUIRE(moved(sepbit, 0, 5399, 2) == 1);
    REQUIRE(moved(sepbit, 77, 5399, 0) == 3); // never written by the user: cold data of the drive
}

TEST_CASE("sepbit: ages do not wrap: what was written 2^32 blocks ago is old") {
    State state;
    Policy sepbit("sepbit", state, 8, "", 64 << 12); // 64 blocks
    set_l(sepbit, 100);
    const uint64_t turn = 1ull << 32;
    sepbit.place_block(0, 10);
    for (uint64_t i = 1; i < 64; i++) // in between, each write looks at one other entry
        sepbit.place_block(i, (turn / 2) + 100 + i);
    sepbit.place_block(1, turn - 1);
    REQUIRE(sepbit.place_block(0, turn + 20) == 2); // 10 modulo 2^32
    REQUIRE(sepbit.place_block(0, turn + 21) == 1);
    REQUIRE(sepbit.place_block(1, turn + 22) == 1);
    sepbit.place_block(2, 2 * turn - 2); // clocks whose numbers mean something else inside
    sepbit.place_block(3, 2 * turn - 1);
    REQUIRE(sepbit.place_block(2, 2 * turn + 23) == 1);
    REQUIRE(sepbit.place_block(3, 2 * turn + 24) == 1);
}

TEST_CASE("sepbit: with fewer than two streams, what has none is S0") {
    State state;
    Policy one("sepbit", state, 1), none("sepbit", state, 0);
    REQUIRE(one.place_block(5, 0) == 0);
    REQUIRE(one.place_block(5, 1) == 1);
    REQUIRE(none.place_block(5, 0) == 0);
    REQUIRE(none.place_block(5, 1) == 0);
}

TEST_CASE("sepbit: gc=class needs four internal streams, which eight streams bring by themselves") {
    Pipeline few(Drive("64M") + ",policy=sepbit,gc=class,internal_streams=3");
    REQUIRE(few.rc() == -EINVAL);
    REQUIRE(few.error().find("4 classes, the drive has 3 internal streams") != std::string::npos);
    Pipeline enough(Drive("64M") + ",policy=sepbit,gc=class");
    REQUIRE(enough.rc() == 0);
    Pipeline two(Drive("64M") + ",policy=sepbit,gc=same,internal_streams=3");
    REQUIRE(two.rc() == 0);
    Pipeline nowhere("policy=sepbit,drive=none");
    REQUIRE(nowhere.rc() == -EINVAL);
    REQUIRE(nowhere.error().find("known size") != std::string::npos);
}
