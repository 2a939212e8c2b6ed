// SPDX-License-Identifier: Apache-2.0
// The rules of `tributary` by hand: what a context believes, which class that is, when a block's past counts.
#include "support/policy.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "policy/tributary_contexts.h"

using namespace trib_test;

namespace {

struct Contexts {
    explicit Contexts(uint32_t refine = 0, double decay = 0.5) {
        trib_contexts_settings settings{};
        settings.refine = refine;
        settings.admit = 2;
        settings.decay = decay;
        settings.history_average = 0.5;
        settings.censored = true;
        REQUIRE(trib_contexts_open(&contexts, &settings, 1000) == 0);
    }
    ~Contexts() {
        trib_contexts_close(contexts);
    }
    Contexts(const Contexts &) = delete;

    uint32_t write(uint64_t signature, uint64_t lba, uint64_t clock, uint8_t hint = 0) const {
        trib_placement write{};
        write.who = context(signature, TRIB_FILE_UNKNOWN, hint);
        write.lba = lba;
        write.block_clock = clock;
        return trib_contexts_write(contexts, &write).leaf;
    }
    double lifetime(uint32_t node, uint64_t clock) const {
        return trib_contexts_lifetime(contexts, node, clock);
    }
    trib_contexts *contexts = nullptr;
};

constexpr uint64_t MiB = 1 << 20;

} // namespace

TEST_CASE("tributary: a lifetime is the mean over deaths") {
    Contexts c;
    const uint32_t node = c.write(7, 0, 0);
    REQUIRE(c.lifetime(node, 0) == 0); // nothing is known
    REQUIRE(c.write(7, 1, 0) == node);
    trib_contexts_kill(c.contexts, 0, 10);
    trib_contexts_kill(c.contexts, 1, 30);
    REQUIRE(c.lifetime(node, 30) == 20);
    trib_contexts_kill(c.contexts, 1, 90); // dead already
    trib_contexts_kill(c.contexts, 5, 90); // never written
    REQUIRE(c.lifetime(node, 90) == 20);
}

TEST_CASE("tributary: what outlives the mean counts with its age, what is younger does not") {
    Contexts c;
    const uint32_t node = c.write(7, 0, 0);
    c.write(7, 1, 0);
    trib_contexts_kill(c.contexts, 0, 10);
    REQUIRE(c.lifetime(node, 10) == 10); // the survivor is as old as the mean
    REQUIRE(c.lifetime(node, 90) == 50); // (10 + 90) / 2
    REQUIRE(c.lifetime(node, 990) == 500);
}

TEST_CASE("tributary: a context leans on its parent until it has seen as many deaths") {
    Contexts c(TRIB_REFINE_SALTS);
    const uint32_t shorter = c.write(7, 0, 0, TRIB_HINT_SHORT), longer = c.write(7, 1, 0, TRIB_HINT_LONG);
    REQUIRE(shorter != longer);
    REQUIRE(c.contexts->node[shorter].parent == c.contexts->node[longer].parent);
    trib_contexts_kill(c.contexts, 0, 10);
    trib_contexts_kill(c.contexts, 1, 100);
    // The call path: (10 + 100) / 2 = 55, which weighs 2 deaths in each child.
    REQUIRE(c.lifetime(shorter, 100) == Approx((10 + 2 * 55) / 3.0));
    REQUIRE(c.lifetime(longer, 100) == Approx((100 + 2 * 55) / 3.0));
}

TEST_CASE("tributary: a block's past is the mean age at which it was overwritten") {
    Contexts c(TRIB_REFINE_HISTORY);
    auto past = [&] { return trib_past_mean(&c.contexts->blocks[3]); };
    const uint32_t first = c.write(7, 3, 0);
    REQUIRE(past() == 0);
    const uint32_t second = c.write(7, 3, 16);
    REQUIRE(past() == 16);
    REQUIRE(second != first); // another context, of the same path
    REQUIRE(trib_contexts_path(c.contexts, second) == trib_contexts_path(c.contexts, first));
    c.write(7, 3, 16 + 64);
    REQUIRE(past() == 40); // the mean of both
    c.write(7, 3, 80 + 256);
    REQUIRE(past() == 148); // from now on half of the newest
    trib_contexts_kill(c.contexts, 3, 400);
    c.write(7, 3, 500); // a trimmed block has no past
    REQUIRE(past() == 0);
    REQUIRE(trib_past_overwrites(&c.contexts->blocks[3]) == 0);
}

TEST_CASE("tributary: a mean age is kept to 0.4 %, up to the largest that a block can have") {
    for (double age = 1; age < 4294967295.0; age *= 1.37) {
        trib_block_past block{};
        trib_past_note(&block, uint64_t(age), 0.125);
        REQUIRE(trib_past_mean(&block) == Approx(std::floor(age)).epsilon(0.004));
    }
    trib_block_past block{};
    for (int i = 0; i < 100; i++)
        trib_past_note(&block, 1000, 0.125);
    REQUIRE(trib_past_overwrites(&block) == 15);
    for (int i = 0; i < 40; i++) // rounding does not hold the mean back
        trib_past_note(&block, 100, 0.125);
    REQUIRE(trib_past_mean(&block) == Approx(100).epsilon(0.05));
}

TEST_CASE("tributary: a region's past begins with the mean age of what its 64 blocks held") {
    Contexts c;
    for (uint64_t block = 0; block < 8; block++)
        c.write(7, block, block);
    REQUIRE(c.contexts->regions[0].mean == 0);
    for (uint64_t block = 0; block < 8; block++)
        c.write(7, block, 100 + block);
    REQUIRE(c.contexts->regions[0].mean == 100);
    REQUIRE(c.contexts->regions[1].mean == 0);
    c.write(7, 0, 120); // age 20; the ninth: (8 * 100 + 20) / 9
    REQUIRE(c.contexts->regions[0].mean == Approx(820.0 / 9));
}

TEST_CASE("tributary: after 32 overwrites a region's past is the time between them") {
    trib_region_past region{};
    uint64_t clock = 1000;
    // Blocks 0, 2, 4, ... one each 10: 64 of them take 640. Ages are of a colder time.
    for (int i = 0; i < 32; i++)
        trib_past_note_region(&region, 2 * i % 64, 5000, clock += 10);
    REQUIRE(region.mean == 5000);
    trib_past_note_region(&region, 1, 5000, clock += 10);
    REQUIRE(region.mean == Approx(5000 - (5000 - 640) / 32.0));
    for (int i = 0; i < 200; i++)
        trib_past_note_region(&region, 3 * i % 64, 5000, clock += 10);
    REQUIRE(region.mean == Approx(640).epsilon(0.02));
    trib_past_note_region(&region, 40, 600, clock += 1000); // the heat has gone: one arrival says so
    REQUIRE(region.mean == Approx(640 + (64000 - 640) / 32.0).epsilon(0.02));
}

TEST_CASE("tributary: a log that passes through a region is one arrival, also if its tail is written again") {
    trib_region_past region{};
    uint64_t clock = 0;
    for (int round = 0; round < 10; round++, clock += 900)
        for (uint64_t block = 0; block < 64; block++) {
            trib_past_note_region(&region, 640 + block, round ? 964 : 1, clock++);
            trib_past_note_region(&region, 640 + block, 1, clock);
        }
    // Each round takes 64 + 900, and 64 blocks arrive together.
    REQUIRE(region.mean == Approx(964));
}

TEST_CASE("tributary: a path follows the past that explains its lifetimes") {
    const bool by_block = GENERATE(true, false);
    CAPTURE(by_block);
    Contexts c(TRIB_REFINE_BLOCKS | TRIB_REFINE_REGIONS);
    uint32_t node = 0;
    // Lifetimes of about 8 and 512. Either a block's are its own, and neighbours differ; or 64 neighbours share one,
    // which now and then changes, so that what a block saw last is out of date.
    std::mt19937 random(3);
    uint64_t clock = 0;
    for (int round = 0; round < 400; round++) {
        const bool swapped = !by_block && round / 16 % 2;
        for (uint64_t block = 0; block < 128; block++) {
            const bool hot = by_block ? block % 2 : (block / 64 == 0) != swapped;
            if (hot || random() % 64 == 0)
                node = c.write(7, block, clock += 1);
        }
        trib_contexts_look(c.contexts, clock);
    }
    REQUIRE(c.contexts->node[node].predictor == (by_block ? TRIB_BY_BLOCK : TRIB_BY_REGION));
}

TEST_CASE("tributary: a past that says nothing is not followed") {
    Contexts c(TRIB_REFINE_BLOCKS | TRIB_REFINE_REGIONS);
    uint32_t node = 0;
    std::mt19937 random(4);
    for (uint64_t clock = 0; clock < 50000; clock++) {
        node = c.write(7, random() % 1000, clock);
        if (clock % 1000 == 0)
            trib_contexts_look(c.contexts, clock);
    }
    REQUIRE(c.contexts->node[node].predictor == TRIB_BY_CONTEXT);
    REQUIRE(c.contexts->node[node].overwrites > 100); // there was evidence
}

TEST_CASE("tributary: what is not used any more is forgotten, and its room is given again") {
    Contexts c;
    const uint32_t node = c.write(7, 0, 0);
    for (int i = 0; i < 20; i++)
        trib_contexts_look(c.contexts, 0);
    REQUIRE(c.contexts->node[node].key != 0); // its block is alive
    trib_contexts_kill(c.contexts, 0, 10);
    for (int i = 0; i < 20; i++)
        trib_contexts_look(c.contexts, 0);
    REQUIRE(c.contexts->node[node].key == 0);
    for (uint64_t signature = 1; signature < 3 * TRIB_CONTEXTS_MAX; signature++) {
        c.write(signature, 1, signature);
        if (signature % 1000 == 0)
            for (int i = 0; i < 10; i++)
                trib_contexts_look(c.contexts, 0);
    }
    REQUIRE(c.contexts->refused == 0);
}

TEST_CASE("tributary: a full table takes a context for its parent") {
    Contexts c;
    for (uint64_t i = 1; i < TRIB_CONTEXTS_MAX; i++)
        REQUIRE(c.write(i, i % 1000, i) != 0);
    REQUIRE(c.write(1u << 30, 5, 1u << 20) == 0);
    REQUIRE(c.contexts->refused == 1);
    trib_contexts_kill(c.contexts, 5, 1u << 21); // of nobody: nothing happens
}

TEST_CASE("tributary: classes are octaves below four capacities, the last takes the rest") {
    State state;
    struct {
        uint64_t lifetime;
        uint16_t fine, coarse;
    } const rows[] = {{5000, 0, 0}, {3000, 1, 1}, {1500, 2, 1}, {700, 3, 2}, {60, 7, 4}, {3, 8, 6}};
    for (const auto &row : rows)
        for (const bool coarse : {false, true}) {
            CAPTURE(row.lifetime, coarse);
            Policy p("tributary", state, 8,
                     std::string("plan=") + (coarse ? "coarse" : "fine") + ",interval=1,censored=off",
                     1000 * TRIB_BLOCK_BYTES);
            REQUIRE(p.code == 0);
            trib_placement write{};
            write.who = context(7);
            uint64_t clock = 0;
            for (int i = 0; i < 300; i++) { // one block, written every `lifetime` blocks
                p.place_block(1, clock, 1, write);
                p.tick(clock * TRIB_BLOCK_BYTES);
                clock += row.lifetime;
            }
            REQUIRE(p.place_block(1, clock, 1, write) == (coarse ? row.coarse : row.fine));
        }
}

// Bounds between classes lie where four capacities over the lifetime is a power of two: here at 500 blocks.
TEST_CASE("tributary: near a bound a lifetime stays in the class that it came from") {
    State state;
    Policy p("tributary", state, 8, "plan=paths,interval=1,censored=off", 1000 * TRIB_BLOCK_BYTES);
    REQUIRE(p.code == 0);
    trib_placement write{};
    write.who = context(7);
    uint64_t clock = 0;
    const auto stream_after = [&](uint64_t lifetime) {
        for (int i = 0; i < 600; i++) { // one block, overwritten at that age
            p.place_block(1, clock, 1, write);
            p.tick(clock * TRIB_BLOCK_BYTES);
            clock += lifetime;
        }
        return p.place_block(1, clock, 1, write);
    };
    REQUIRE(stream_after(480) == 4);
    REQUIRE(stream_after(530) == 4); // 0.08 octaves beyond the bound
    REQUIRE(stream_after(580) == 3); // 0.21
    REQUIRE(stream_after(530) == 3);
    REQUIRE(stream_after(480) == 3);
    REQUIRE(stream_after(440) == 4);
}

// 16 blocks of a file by one path, overwritten at an age of 500 blocks; 16 of another, trimmed at that age: half a
// capacity, which `fine` puts into stream 4: floor(log2(4 / 0.5)) + 1.
TEST_CASE("tributary: plan=files tells apart what dies with its file, not what is overwritten") {
    State state;
    const bool files = GENERATE(true, false);
    CAPTURE(files);
    Policy p("tributary", state, 8, std::string("plan=") + (files ? "files" : "fine") + ",interval=1,censored=off",
             1000 * TRIB_BLOCK_BYTES);
    REQUIRE(p.code == 0);
    trib_placement in_place{}, file{};
    in_place.who = context(7);
    file.who = context(8);
    uint64_t clock = 0;
    uint16_t last_in_place = 0, last_file = 0;
    for (int round = 0; round < 20; round++, clock += 500 - 16) {
        for (uint64_t block = 0; block < 16; block++) {
            p.discard(100 + block, 1, clock * TRIB_BLOCK_BYTES);
            last_file = p.place_block(100 + block, clock, 1, file);
            last_in_place = p.place_block(block, clock, 1, in_place);
            p.tick(clock++ * TRIB_BLOCK_BYTES);
        }
    }
    REQUIRE(last_file == 4);
    REQUIRE(last_in_place == (files ? 0 : 4));
}

TEST_CASE("tributary: simulated starts as plan=files") {
    State state, other;
    Policy simulated("tributary", state, 8, "", 256 * MiB), files("tributary", other, 8, "plan=files", 256 * MiB);
    trib_placement in_place{}, file{};
    in_place.who = context(7);
    file.who = context(8);
    uint16_t most = 0;
    for (uint64_t clock = 0; clock < 20000; clock++) { // a third of the capacity: nothing is collected
        const bool trimmed = clock % 2;
        const uint64_t lba = trimmed ? 2000 + clock % 500 : clock % 500;
        trib_placement &write = trimmed ? file : in_place;
        for (Policy *p : {&simulated, &files})
            if (trimmed)
                p->discard(lba, 1, clock * TRIB_BLOCK_BYTES);
        const uint16_t stream = simulated.place_block(lba, clock, 1, write);
        REQUIRE(stream == files.place_block(lba, clock, 1, write));
        REQUIRE((trimmed || stream == 0));
        most = std::max(most, stream);
        simulated.tick(clock * TRIB_BLOCK_BYTES);
        files.tick(clock * TRIB_BLOCK_BYTES);
    }
    REQUIRE(most > 0);
}

TEST_CASE("tributary: plan=none separates nothing, and without an address the row decides") {
    State state;
    Policy none("tributary", state, 8, "plan=none"), fine("tributary", state, 8, "plan=fine");
    const trib_attribute_ref ref = state.intern(9);
    state.row(9).stream = 5;
    trib_placement write{};
    write.attribute = ref;
    REQUIRE(fine.place_block(TRIB_LBA_UNKNOWN, 0, 1, write) == 5);
    state.row(9).stream = 9; // of a state file from a drive with more streams
    REQUIRE(fine.place_block(TRIB_LBA_UNKNOWN, 0, 1, write) == 0);
    for (uint64_t clock = 0; clock < 5000; clock++) {
        REQUIRE(none.place_block(clock % 7, clock) == 0);
        none.tick(clock);
    }
}

TEST_CASE("oracle: streams are windows of death time, modulo all but the last") {
    State state;
    // 256 blocks, windows of 10 % = 25; 8 streams: windows 0..6 ahead, the eighth for the rest
    Policy p("oracle", state, 8, "death_window=10", MiB);
    trib_placement write{};
    const struct {
        uint64_t now, death;
        uint16_t stream;
    } rows[] = {{0, 10, 1},    {0, 25, 2},    {0, 174, 7},   {0, 175, 8},  {0, TRIB_NEVER, 8},
                {100, 120, 5}, {100, 175, 1}, {100, 274, 4}, {100, 275, 8}};
    for (const auto &row : rows) {
        CAPTURE(row.now, row.death);
        write.death_block = row.death;
        REQUIRE(p.place_block(3, row.now, 1, write) == row.stream);
    }
}

TEST_CASE("oracle by lifetime: octaves of what is left, from four capacities down") {
    State state;
    Policy p("oracle", state, 8, "by=lifetime", MiB); // 256 blocks
    trib_placement write{};
    const struct {
        uint64_t now, death;
        uint16_t stream;
    } rows[] = {{0, TRIB_NEVER, 8}, {0, 1024, 8},  {0, 1023, 7},  {0, 512, 7},   {0, 511, 6},
                {100, 355, 5},      {100, 116, 2}, {100, 115, 1}, {100, 100, 1}, {100, 99, 8}};
    for (const auto &row : rows) {
        CAPTURE(row.now, row.death);
        write.death_block = row.death;
        REQUIRE(p.place_block(3, row.now, 1, write) == row.stream);
    }
}

TEST_CASE("oracle with a blur: normal in the octaves of what is left, and the same whenever it is asked") {
    State state;
    Policy p("oracle", state, 8, "by=lifetime,blur=1", 1024 * MiB); // 262,144 blocks
    const uint64_t death = 262144 * 3 / 4;                          // stream 5 holds half a capacity to one
    trib_placement write{};
    write.death_block = death;
    unsigned counts[9] = {};
    for (uint64_t lba = 0; lba < 10000; lba++) {
        uint16_t stream = p.place_block(lba, 0, 1, write);
        counts[stream]++;
        REQUIRE(p.place_block(lba, 0, 1, write) == stream);
    }
    // log2(3/4) = -0.415: the bounds of stream 5 are -0.585 and 0.415 standard deviations away, so 38.2 % are within
    REQUIRE(std::fabs(counts[5] / 10000.0 - 0.382) < 0.02);
    REQUIRE(std::fabs(counts[6] / 10000.0 - 0.261) < 0.02);
    REQUIRE(std::fabs(counts[4] / 10000.0 - 0.223) < 0.02);
    REQUIRE(counts[8] > 0); // said to live four capacities: 0.8 %
}
