// SPDX-License-Identifier: Apache-2.0
// FIOS's features, matrix and training against TOS'22 sections 3.1 to 3.4, on numbers small enough
// to check by hand. A chunk is 8 blocks of 4 KiB; the clock counts blocks.
#include "support/fios.hpp"
#include "support/policy.hpp"

#include <algorithm>
#include <cmath>

using namespace trib_test;

namespace {

constexpr uint32_t F = 1u << TRIB_FIOS_FREQUENCY, S = 1u << TRIB_FIOS_SEQUENTIALITY, A = 1u << TRIB_FIOS_ADJACENT,
                   C = 1u << TRIB_FIOS_COHERENCY;

using Streams = std::vector<int>;

// Chunk i is written counts[i] times, in turns.
void write_counts(Fios &fios, std::vector<int> counts) {
    for (bool any = true; any;) {
        any = false;
        for (uint32_t chunk = 0; chunk < counts.size(); chunk++)
            if (counts[chunk]-- > 0) {
                fios.touch(chunk);
                any = true;
            }
    }
}

} // namespace

TEST_CASE("frequency, binary: more writes than the median of the touched chunks") {
    Fios fios(fios_rules(F), 6, 64);
    write_counts(fios, {1, 4, 3, 10, 2}); // the sixth is not touched; the median of five is 3
    REQUIRE(fios.train() == Streams{0, 1, 0, 1, 0, 0});
    REQUIRE(fios.result().touched == 5);
    REQUIRE(fios.result().patterns == 2); // one binary feature: two streams at most
    REQUIRE(fios.result().streams == 2);
}

TEST_CASE("frequency, decimal: ten steps by rank") {
    Fios fios(fios_rules(F, TRIB_FIOS_DECIMAL), 10, 128);
    write_counts(fios, {1, 3, 5, 7, 9, 10, 8, 6, 4, 2});
    REQUIRE(fios.train() == Streams{0, 2, 4, 6, 8, 9, 7, 5, 3, 1});
}

TEST_CASE("equal chunks are in one step") {
    Fios fios(fios_rules(F, TRIB_FIOS_DECIMAL), 10, 128);
    write_counts(fios, {1, 1, 1, 1, 1, 1, 2, 2, 3, 3}); // 0, 6 and 8 of 10 are smaller
    REQUIRE(fios.train() == Streams{0, 0, 0, 0, 0, 0, 1, 1, 2, 2});
    REQUIRE(fios.result().patterns == 3);
}

TEST_CASE("a request is one access, however many blocks of the chunk it writes") {
    Fios fios(fios_rules(F), 4, 64);
    fios.write(0, 8); // all of chunk 0
    fios.touch(1);
    fios.touch(3);
    fios.touch(1);
    REQUIRE(fios.train() == Streams{0, 1, 0, 0});
    REQUIRE(fios.trace.requests == 4);
}

TEST_CASE("sequentiality: most writes began where the one before had ended") {
    Fios fios(fios_rules(S), 5, 64);
    for (uint64_t block = 0; block < 4; block++)
        fios.write(block); // 3 of 4 go on
    fios.write(16);        // chunk 2: once by chance, twice not
    fios.write(17);
    fios.write(16);
    fios.write(24, 2); // chunk 3: 1 of 2, which is no majority
    fios.write(26, 2);
    fios.write(39); // chunk 4: one write, elsewhere
    REQUIRE(fios.train() == Streams{1, 0, 0, 0, 0});
}

TEST_CASE("adjacent access: last written in the later half") {
    Fios fios(fios_rules(A), 5, 10);
    for (uint32_t chunk : {4, 0, 1, 2, 3, 4, 0})
        fios.touch(chunk); // last: chunk 0 at 6, 1 at 2, 2 at 3, 3 at 4, 4 at 5; the median is 4
    REQUIRE(fios.train() == Streams{1, 0, 0, 0, 1});

    Fios decimal(fios_rules(A, TRIB_FIOS_DECIMAL), 5, 10);
    for (uint32_t chunk : {4, 0, 1, 2, 3, 4, 0})
        decimal.touch(chunk);
    REQUIRE(decimal.train() == Streams{4, 0, 1, 2, 3}); // in the order of the last writes
}

TEST_CASE("coherency: friends were written together in two windows (Fig. 6)") {
    // 64 windows of 8 blocks. Chunks 2 and 3 meet in T1, T2 and T4. Chunk 1 is written in T2 and
    // T3, where it is the only one that comes back; chunk 4 once.
    Fios fios(fios_rules(C), 6, 512);
    const std::vector<std::vector<uint32_t>> windows = {{2, 3}, {1, 2, 3}, {1, 4}, {3, 2}};
    for (size_t window = 0; window < windows.size(); window++) {
        fios.clock = 8 * window;
        for (uint32_t chunk : windows[window])
            fios.touch(chunk);
    }
    REQUIRE(fios.train() == Streams{0, 0, 1, 1, 0, 0});
}

TEST_CASE("coherency, decimal: the number of friend groups, from the least to the most") {
    // Chunks 0 and 1 meet in four windows: six pairs. 2 and 3 in two: one pair. 4 never returns.
    Fios fios(fios_rules(C, TRIB_FIOS_DECIMAL), 5, 512);
    const std::vector<std::vector<uint32_t>> windows = {{0, 1}, {0, 1}, {0, 1}, {0, 1}, {2, 3}, {2, 3}, {4}};
    for (size_t window = 0; window < windows.size(); window++) {
        fios.clock = 8 * window;
        for (uint32_t chunk : windows[window])
            fios.touch(chunk);
    }
    REQUIRE(fios.train() == Streams{2, 2, 1, 1, 0}); // 6, 1 and 0 groups: 9/9, 1.5 -> 2/9, 0
    REQUIRE(fios.result().patterns == 3);
}

TEST_CASE("two binary features make at most four streams, and fewer streams merge patterns") {
    auto write = [](Fios &fios) {
        for (uint64_t block = 0; block < 6; block++)
            fios.write(block); // chunk 0: often, sequentially
        for (int i = 0; i < 6; i++)
            fios.write(8 + 3 * (i % 2)); // chunk 1: often, at random
        fios.write(16);                  // chunk 2: seldom, sequentially
        fios.write(17);
        fios.write(18);
        fios.write(32); // chunks 4 and 6: seldom, at random
        fios.write(48);
    };
    Fios fios(fios_rules(F | S), 7, 64);
    write(fios); // writes 6 6 3 1 1: the median is 3; the step to chunk 2's first write is random
    // Patterns (F S): chunk 0 (1 1), 1 (1 0), 2 (0 1), 4 and 6 (0 0); by distance, then S first.
    REQUIRE(fios.train() == Streams{3, 2, 1, 0, 0, 0, 0});

    trib_fios_rules heavy = fios_rules(F | S, TRIB_FIOS_BINARY, 2);
    heavy.weights[TRIB_FIOS_SEQUENTIALITY] = 10; // two streams: this axis decides
    Fios weighted(heavy, 7, 64);
    write(weighted);
    REQUIRE(weighted.train() == Streams{1, 0, 1, 0, 0, 0, 0});
}

TEST_CASE("one stream, or no write at all, is S0") {
    Fios one(fios_rules(F | S | A | C, TRIB_FIOS_DECIMAL, 1), 4, 64);
    write_counts(one, {1, 2, 3, 4});
    REQUIRE(one.train() == Streams{0, 0, 0, 0});
    Fios none(fios_rules(F), 4, 64);
    REQUIRE(none.train() == Streams{0, 0, 0, 0});
    REQUIRE(none.result().touched == 0);
}

TEST_CASE("the size of a step changes the number of steps, nothing else") {
    Streams first;
    uint32_t steps = 0;
    for (uint32_t chunks_per_step : {1u, 7u, 1000u}) {
        Fios fios(fios_rules(F | A | C, TRIB_FIOS_DECIMAL, 5), 40, 400);
        for (uint32_t i = 0; i < 400; i++)
            fios.touch(i * i % 37);
        const Streams streams = fios.train(chunks_per_step);
        if (!first.empty()) {
            REQUIRE(streams == first);
            REQUIRE(fios.steps < steps);
        }
        first = streams;
        steps = fios.steps;
    }
}

TEST_CASE("attributes: random share, reuse, size; the rate is the user's") {
    Fios fios(fios_rules(0), 10, 64);
    fios.write(0, 4);
    fios.write(4, 4); // goes on
    fios.write(0, 4); // overwrites
    fios.write(40, 4);
    const trib_fios_attributes found = trib_fios_trace_attributes(&fios.trace);
    REQUIRE(found.random_percent == 75);
    REQUIRE(found.reuse == Approx(16.0 / 12)); // 16 blocks, 12 of them distinct
    REQUIRE(found.write_kib == 16);
    REQUIRE(found.gb_per_day == 0);
    fios.train();
    REQUIRE(fios.result().attributes.gb_per_day == 1000);
}

TEST_CASE("autocorrelation of the time between writes, lag 1, by hand") {
    // Gaps 1 2 3 4: mean 2.5, deviations -1.5 -0.5 0.5 1.5. Products 0.75 - 0.25 + 0.75 = 1.25,
    // squares 5: 0.25.
    Fios rising(fios_rules(0), 10, 64);
    uint64_t lba = 0;
    for (uint32_t blocks : {1, 2, 3, 4, 5}) {
        rising.write(lba, blocks);
        lba = (lba + 16) % 64;
    }
    REQUIRE(trib_fios_trace_attributes(&rising.trace).autocorrelation == Approx(0.25));

    Fios even(fios_rules(0), 10, 64);
    for (int i = 0; i < 10; i++)
        even.write(uint64_t(i) * 7 % 64, 2);
    REQUIRE(trib_fios_trace_attributes(&even.trace).autocorrelation == 1); // by definition
}

TEST_CASE("selection joins in: even gaps and random writes at a high rate are AC") {
    Fios fios(fios_rules(0), 40, 400);
    for (uint32_t i = 0; i < 200; i++)
        fios.touch(i * 7 % 39);
    fios.train();
    // R is 200 / 39.
    REQUIRE(fios.result().theta == 0b11001);
    REQUIRE(fios.result().features == (A | C));
}

TEST_CASE("correlation of a feature's rank with the lifetimes of the pages that died, by hand") {
    // Chunk 0 is written at 0, 2 and 4: two deaths at age 2. Chunk 1 at 1 and 5: one at age 4.
    Fios fios(fios_rules(F), 4, 8);
    for (uint32_t chunk : {0, 1, 0, 2, 0, 1})
        fios.touch(chunk);
    fios.train();
    // Touched: 0, 1, 2. Ranks: chunk 2 (1 write) 0, chunk 1 floor(10 / 3) = 3, chunk 0 6.
    // Deaths (rank, age): (6, 2) (6, 2) (3, 4): on a falling line.
    REQUIRE(fios.result().correlation[TRIB_FIOS_FREQUENCY] == Approx(-1));
    // Nothing was sequential: no variance, no correlation.
    REQUIRE(fios.result().correlation[TRIB_FIOS_SEQUENTIALITY] == 0);
}

TEST_CASE("a trim ends a lifetime, and the next write starts a new one") {
    Fios fios(fios_rules(F), 4, 64);
    fios.write(0);      // at 0
    fios.write(8);      // at 1
    fios.discard(0, 8); // at 2: age 2
    fios.write(0);      // at 2
    fios.write(16);     // at 3
    fios.write(0);      // at 4: age 2
    REQUIRE(fios.trace.chunk[0].deaths == 2);
    REQUIRE(fios.trace.chunk[0].lifetimes == 4);
    REQUIRE(fios.trace.chunk[1].deaths == 0);
}

TEST_CASE("OFIOS: outside the sample the nearest trained chunk decides, inside it no news is none") {
    // Chunks of 1 MiB, so that each is a region of its own in the sample of one in three.
    trib_fios_rules rules = fios_rules(F);
    rules.keep_unknown = true;
    Fios fios(rules, 60, 4000, 256);
    fios.trace.sample = 3;
    std::vector<uint32_t> inside;
    for (uint32_t chunk = 0; chunk < 60; chunk++) {
        trib_fios_base_set(&fios.now, chunk, 7); // what was known before
        if (trib_fios_trace_samples(&fios.trace, chunk))
            inside.push_back(chunk);
    }
    REQUIRE(inside.size() > 8);
    REQUIRE(inside.size() < 40);
    // All but the sampled chunk `quiet` are written; every second sampled one often.
    const uint32_t quiet = inside[4];
    Streams want(60, -1);
    for (size_t i = 0; i < inside.size(); i++)
        want[inside[i]] = i % 2;
    want[quiet] = 7;
    for (uint32_t chunk = 0; chunk < 60; chunk++)
        for (int i = 0; chunk != quiet && i < (want[chunk] == 1 ? 5 : 1); i++)
            fios.touch(chunk);
    for (int chunk = 0; chunk < 60; chunk++)
        for (int distance = 1; want[size_t(chunk)] < 0 && distance < 60; distance++)
            for (int other : {chunk - distance, chunk + distance}) // the left of two equally near
                if (want[size_t(chunk)] < 0 && other >= 0 && other < 60 && uint32_t(other) != quiet &&
                    std::find(inside.begin(), inside.end(), uint32_t(other)) != inside.end())
                    want[size_t(chunk)] = 100 + want[size_t(other)];
    for (int &stream : want)
        stream %= 100;
    REQUIRE(fios.train() == want);
}

TEST_CASE("another seed draws another sample; all of it is one in one") {
    Fios fios(fios_rules(F), 600, 100, 256);
    fios.trace.sample = 8;
    size_t first = 0, both = 0, second = 0;
    for (uint32_t chunk = 0; chunk < 600; chunk++) {
        fios.trace.seed = 1;
        const bool a = trib_fios_trace_samples(&fios.trace, chunk);
        fios.trace.seed = 2;
        const bool b = trib_fios_trace_samples(&fios.trace, chunk);
        first += a;
        second += b;
        both += a && b;
    }
    // Of 600, 75 each and 9 in both are expected; six standard deviations around them.
    REQUIRE(first > 25);
    REQUIRE(first < 125);
    REQUIRE(second > 25);
    REQUIRE(second < 125);
    REQUIRE(both < 30);
    fios.trace.sample = 1;
    REQUIRE(trib_fios_trace_samples(&fios.trace, 599));
}

TEST_CASE("the policy: S0 while it watches, then each chunk has its stream for good") {
    State state;
    // 1 MiB: 256 blocks, 32 chunks. A quarter is 64 blocks, of which it waits for 65.
    Policy fios("fios", state, 4, "train=25,features=frequency", 1 << 20);
    REQUIRE(fios.code == 0);
    uint64_t clock = 0;
    auto write = [&](uint64_t lba) {
        const uint16_t stream = fios.place_block(lba, clock++);
        fios.tick(clock * TRIB_BLOCK_BYTES);
        return stream;
    };
    for (int i = 0; i < 64; i++) // 63 rounds of a hot block; another one once
        REQUIRE(write(i == 30 ? 80 : 3) == 0);
    REQUIRE(fios.reclusterings() == 0);
    REQUIRE(write(3) == 0); // the last of the training
    for (int i = 0; i < 20; i++)
        write(3); // training goes on beside the writes
    REQUIRE(fios.reclusterings() == 1);
    REQUIRE(write(3) == 1);
    REQUIRE(write(7) == 1); // the rest of its chunk
    REQUIRE(write(8) == 0); // the next one was not touched
    REQUIRE(write(80) == 0);
    for (int i = 0; i < 500; i++)
        write(80); // too late
    REQUIRE(write(80) == 0);
    REQUIRE(fios.reclusterings() == 1);
}

TEST_CASE("the online policy: each window has the dictionary of the one before") {
    State state;
    // 4 MiB: 1024 blocks, a quarter of them a window of 257; watched: 75 % of it and one, 193.
    Policy ofios("ofios", state, 4, "features=frequency,sample=1,matrix=binary", 4 << 20);
    REQUIRE(ofios.code == 0);
    uint64_t clock = 0;
    auto write = [&](uint64_t lba) {
        const uint16_t stream = ofios.place_block(lba, clock++);
        ofios.tick(clock * TRIB_BLOCK_BYTES);
        return stream;
    };
    auto window = [&](uint64_t hot, uint64_t cold) {
        std::vector<uint16_t> streams;
        for (int i = 0; i < 257; i++)
            streams.push_back(write(i % 16 == 5 ? cold : hot));
        return streams;
    };
    const auto first = window(3, 80);
    REQUIRE(std::count(first.begin(), first.end(), 0) == 257);
    REQUIRE(ofios.reclusterings() == 1);
    auto second = window(3, 80); // now the hot chunk has S1
    REQUIRE(std::count(second.begin(), second.end(), 1) == 257 - 16);
    auto third = window(80, 3); // the workload turns; what is known is of the window before
    REQUIRE(std::count(third.begin(), third.end(), 0) == 257 - 16);
    auto fourth = window(80, 3);
    REQUIRE(std::count(fourth.begin(), fourth.end(), 1) == 257 - 16);
    REQUIRE(ofios.reclusterings() == 4);
}

TEST_CASE("train_window: only the last part of each window is watched") {
    State state;
    Policy ofios("ofios", state, 4, "features=frequency,sample=1,matrix=binary,train_window=50", 4 << 20);
    uint64_t clock = 0;
    auto write = [&](uint64_t lba) {
        const uint16_t stream = ofios.place_block(lba, clock++);
        ofios.tick(clock * TRIB_BLOCK_BYTES);
        return stream;
    };
    for (int i = 0; i < 120; i++) // not seen: the training begins at block 128
        write(3);
    for (int i = 120; i < 257; i++)
        write(i % 8 ? 80 : 160);
    REQUIRE(ofios.reclusterings() == 1);
    REQUIRE(write(3) == 0);
    REQUIRE(write(80) == 1);
    REQUIRE(write(160) == 0);
}

TEST_CASE("what cannot work is refused with a sentence") {
    State state;
    Policy small("fios", state, 4, "chunk=6000");
    REQUIRE(small.code == -EINVAL);
    REQUIRE(small.sentence.find("4096") != std::string::npos);
    Policy both("ofios", state, 4, "features=auto+frequency");
    REQUIRE(both.code == -EINVAL);
    Policy none("fios", state, 4, "features=none");
    REQUIRE(none.code == -EINVAL);
    Policy blind("fios", state, 4, "", 0);
    REQUIRE(blind.code == -EINVAL);
    REQUIRE(blind.sentence.find("drive") != std::string::npos);
    Policy missing("fios", state, 4, "dictionary=no-such-file");
    REQUIRE(missing.code == -ENOENT);
    REQUIRE(missing.sentence.find("no-such-file") != std::string::npos);
}
