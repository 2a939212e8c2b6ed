// SPDX-License-Identifier: Apache-2.0
// The miniature simulations of the policy `tributary`, by hand: when a plan is changed, how what was seen fades, which
// drive is imitated, and what a trim takes along.
#include "support/catch.hpp"

#include <cstdint>
#include <cstring>

#include "flash/flash.h"
#include "policy/tributary_miniature.h"

namespace {

constexpr uint32_t kStreams = 8;

struct Miniature {
    trib_miniature self{};
    explicit Miniature(double decay = 1, const char *gc = "shared") {
        trib_policy_env env{};
        env.streams = kStreams;
        env.blocks = 16384;
        env.usable_blocks = env.blocks;
        env.capacity_bytes = env.blocks * TRIB_BLOCK_BYTES;
        env.spare_blocks = env.blocks / 4;
        env.reclaim_unit_bytes = 256 * TRIB_BLOCK_BYTES;
        std::strcpy(env.gc, gc);
        std::strcpy(env.victim, "greedy");
        REQUIRE(trib_miniature_open(&self, &env, decay) == 0);
        REQUIRE(trib_miniature_plays(&self));
        REQUIRE(self.scale == 4);
        for (double &copied : self.copied)
            copied = 1000;
        self.written = 10000;
    }
    ~Miniature() {
        trib_miniature_close(&self);
    }
    Miniature(const Miniature &) = delete;
    void write(uint64_t lba, const uint8_t (&stream)[TRIB_PLANS]) {
        trib_miniature_write(&self, lba, stream);
    }
    bool holds(uint64_t page, uint32_t plan = 0) const {
        return trib_flash_lookup(self.stage[plan], page) != UINT32_MAX;
    }
};

constexpr uint8_t kNone[TRIB_PLANS] = {};

} // namespace

TEST_CASE("a plan is changed for half a percent less, not for a tenth") {
    Miniature miniature;
    miniature.self.copied[2] = 1000 - 11; // 1.1 -> 1.0989
    CHECK(trib_miniature_choose(&miniature.self, 0) == 0);
    miniature.self.copied[2] = 1000 - 54; // 0.49 % of 1.1
    CHECK(trib_miniature_choose(&miniature.self, 0) == 0);
    miniature.self.copied[2] = 1000 - 56; // 0.51 %
    CHECK(trib_miniature_choose(&miniature.self, 0) == 2);
    miniature.self.copied[5] = 1000 - 57; // the best of those that are better
    CHECK(trib_miniature_choose(&miniature.self, 0) == 5);
    CHECK(trib_miniature_choose(&miniature.self, 2) == 2);
}

TEST_CASE("where hardly anything is copied the plan stays") {
    Miniature miniature;
    miniature.self.copied[3] = 0;
    miniature.self.copied[0] = 99; // just under one copy in a hundred writes
    CHECK(trib_miniature_choose(&miniature.self, 0) == 0);
    miniature.self.copied[0] = 101;
    CHECK(trib_miniature_choose(&miniature.self, 0) == 3);
}

TEST_CASE("what was copied and written fades alike") {
    Miniature miniature(0.5);
    miniature.self.copied[1] = 4000;
    trib_miniature_choose(&miniature.self, 0);
    CHECK(miniature.self.copied[0] == 500);
    CHECK(miniature.self.copied[1] == 2000);
    CHECK(miniature.self.written == 5000);
    miniature.write(0, kNone);
    trib_miniature_choose(&miniature.self, 0);
    CHECK(miniature.self.copied[1] == 1000);
    CHECK(miniature.self.written == 2501); // the newest counts whole
    CHECK(trib_miniature_waf(&miniature.self, 1) == Approx(1 + 1000.0 / 2501));
}

TEST_CASE("of two plans that copy alike the one with fewer open superblocks wins") {
    Miniature miniature;
    for (uint8_t n = 0; n <= kStreams; n++) {
        const uint8_t stream[TRIB_PLANS] = {n, n, n, n, n, n, 0};
        miniature.write(4u * n, stream);
    }
    trib_miniature_choose(&miniature.self, 0); // counts what was written
    for (double &copied : miniature.self.copied)
        copied = 1000;
    CHECK(trib_miniature_choose(&miniature.self, 0) == 6);
    CHECK(trib_miniature_choose(&miniature.self, 6) == 6);
}

TEST_CASE("a drive's own destination of survivors is imitated where a miniature can") {
    trib_flash_stream_stats stats{};
    const auto has_internal = [&](const char *gc, uint16_t stream) {
        Miniature miniature(1, gc);
        return trib_flash_stream_statistics(miniature.self.stage[0], stream, true, &stats) == 0;
    };
    CHECK(has_internal("twin", kStreams)); // one for each stream
    CHECK_FALSE(has_internal("same", 0));
    CHECK(has_internal("shared", 0));
    CHECK_FALSE(has_internal("shared", 1));
    CHECK(has_internal("class", 0)); // answers that a miniature does not have: shared
    CHECK_FALSE(has_internal("class", 1));
    CHECK(has_internal("", 0));
}

TEST_CASE("a trim takes the sampled blocks that lie in it, all of them, and no other") {
    Miniature miniature;
    const auto fill = [&] {
        for (uint64_t lba = 0; lba < 40; lba += 4)
            miniature.write(lba, kNone);
    };
    fill();
    trib_miniature_discard(&miniature.self, 1, 3); // between two of them
    CHECK(miniature.holds(0));
    CHECK(miniature.holds(1));
    trib_miniature_discard(&miniature.self, 1, 4); // block 4 is the second
    CHECK(miniature.holds(0));
    CHECK_FALSE(miniature.holds(1));
    fill();
    trib_miniature_discard(&miniature.self, 4, 1);
    CHECK_FALSE(miniature.holds(1));
    CHECK_FALSE(miniature.holds(1, 6));
    CHECK(miniature.holds(2));
    trib_miniature_discard(&miniature.self, 8, 1 << 20); // beyond the drive's end
    CHECK(miniature.holds(0));
    for (uint64_t page = 2; page < 10; page++)
        CHECK_FALSE(miniature.holds(page));
}

TEST_CASE("only every n-th block is sampled") {
    Miniature miniature;
    miniature.write(2, kNone);
    CHECK_FALSE(miniature.holds(0));
    CHECK(trib_miniature_samples(&miniature.self, 16380));
    CHECK_FALSE(trib_miniature_samples(&miniature.self, 16384));
    miniature.write(16380, kNone);
    CHECK(miniature.holds(4095));
}
