// SPDX-License-Identifier: Apache-2.0
// The block bitmap against a vector of flags: same answers to every question, at every odd size.
#include "support/catch.hpp"
#include "support/events.hpp"

#include "volume/blocks.h"
#include "volume/extent_map.h"

#include <vector>

namespace {

struct Bitmap {
    explicit Bitmap(uint64_t count) {
        REQUIRE(trib_blocks_open(&blocks, count) == 0);
    }
    ~Bitmap() {
        trib_blocks_close(&blocks);
    }
    trib_blocks blocks{};
};

uint64_t naive_next(const std::vector<bool> &taken, uint64_t from, bool wanted) {
    while (from < taken.size() && taken[from] != wanted)
        from++;
    return from;
}

} // namespace

TEST_CASE("the bitmap agrees with a vector of flags") {
    const uint64_t count = GENERATE(1, 2, 63, 64, 65, 127, 4095, 4096, 4097, 10007);
    CAPTURE(count);
    Bitmap bitmap(count);
    std::vector<bool> taken(count, false);
    trib_test::Random random(count);
    for (int step = 0; step < 2000; step++) {
        const uint64_t lba = random.below(count);
        const bool flag = taken[lba];
        const uint64_t stop = std::min(naive_next(taken, lba, !flag), lba + 1 + random.below(300));
        const trib_block_run run{lba, stop - lba};
        if (flag)
            trib_blocks_release(&bitmap.blocks, run);
        else
            trib_blocks_take(&bitmap.blocks, run);
        std::fill(taken.begin() + lba, taken.begin() + stop, !flag);

        const uint64_t from = random.below(count + 1);
        REQUIRE(trib_blocks_next_free(&bitmap.blocks, from) == naive_next(taken, from, false));
        REQUIRE(trib_blocks_next_taken(&bitmap.blocks, from, count) == naive_next(taken, from, true));
        REQUIRE(bitmap.blocks.free_count == uint64_t(std::count(taken.begin(), taken.end(), false)));
        REQUIRE(trib_blocks_is_taken(&bitmap.blocks, lba) == taken[lba]);
    }
}

TEST_CASE("searches find free runs, the lowest or the next that is long enough") {
    Bitmap bitmap(1000);
    trib_blocks_take(&bitmap.blocks, {0, 1000});
    SECTION("nothing free") {
        REQUIRE(trib_blocks_find_lowest(&bitmap.blocks, 5).count == 0);
        REQUIRE(trib_blocks_find_near(&bitmap.blocks, 17, 5).count == 0);
    }
    SECTION("one run below the goal is found by wrapping") {
        trib_blocks_release(&bitmap.blocks, {10, 3});
        const auto run = trib_blocks_find_near(&bitmap.blocks, 500, 8);
        REQUIRE(run.lba == 10);
        REQUIRE(run.count == 3);
    }
    SECTION("near prefers a run that holds everything, lowest does not") {
        trib_blocks_release(&bitmap.blocks, {10, 3});
        trib_blocks_release(&bitmap.blocks, {600, 2});
        trib_blocks_release(&bitmap.blocks, {700, 20});
        REQUIRE(trib_blocks_find_near(&bitmap.blocks, 500, 8).lba == 700);
        REQUIRE(trib_blocks_find_near(&bitmap.blocks, 500, 8).count == 8);
        REQUIRE(trib_blocks_find_near(&bitmap.blocks, 500, 2).lba == 600);
        REQUIRE(trib_blocks_find_near(&bitmap.blocks, 500, 200).count == 20);
        REQUIRE(trib_blocks_find_lowest(&bitmap.blocks, 8).lba == 10);
        REQUIRE(trib_blocks_find_lowest(&bitmap.blocks, 8).count == 3);
    }
    SECTION("a goal inside a free run begins there") {
        trib_blocks_release(&bitmap.blocks, {100, 50});
        REQUIRE(trib_blocks_find_near(&bitmap.blocks, 120, 10).lba == 120);
    }
}

TEST_CASE("an extent map agrees with a page table") {
    trib_extent_map map{};
    std::vector<uint32_t> table(400, UINT32_MAX);
    trib_test::Random random(7);
    for (int step = 0; step < 20000; step++) {
        const uint64_t page = random.below(table.size()), end = page + 1 + random.below(table.size() - page);
        REQUIRE(trib_extent_map_reserve(&map, 1) == 0);
        if (random.chance(40)) {
            trib_extent_map_remove(&map, page, end);
            std::fill(table.begin() + page, table.begin() + end, UINT32_MAX);
        } else {
            const trib_extent at = trib_extent_map_at(&map, page, end);
            REQUIRE(at.count > 0);
            for (uint32_t i = 0; i < at.count; i++)
                REQUIRE(table[page + i] == (at.lba == UINT32_MAX ? UINT32_MAX : at.lba + i));
            if (at.lba == UINT32_MAX) {
                // Half of the time at a place that continues a neighbour on both sides.
                const uint32_t lba = random.chance(50) ? uint32_t(1000 + page) : uint32_t(random.below(100000));
                trib_extent_map_insert(&map, {page, lba, at.count});
                for (uint32_t i = 0; i < at.count; i++)
                    table[page + i] = lba + i;
            }
        }
        for (uint32_t i = 0; i < map.count; i++) {
            const trib_extent &extent = map.extents[i];
            REQUIRE(extent.count > 0);
            for (uint32_t j = 0; j < extent.count; j++)
                REQUIRE(table[extent.page + j] == extent.lba + j);
            if (i == 0)
                continue;
            const trib_extent &before = map.extents[i - 1];
            REQUIRE(before.page + before.count <= extent.page);
            const bool joins = before.page + before.count == extent.page && before.lba + before.count == extent.lba;
            REQUIRE_FALSE(joins); // neighbours that continue each other are one
        }
        uint64_t mapped = 0;
        for (uint32_t i = 0; i < map.count; i++)
            mapped += map.extents[i].count;
        REQUIRE(mapped ==
                uint64_t(std::count_if(table.begin(), table.end(), [](uint32_t l) { return l != UINT32_MAX; })));
    }
    trib_extent_map_close(&map);
}
