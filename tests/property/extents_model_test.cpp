// SPDX-License-Identifier: Apache-2.0
// Random writes and deaths against the naive model; every row's sums and every run compared after
// each step.
#include "property/extents_model.hpp"

#include <errno.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <tuple>

#include "support/catch.hpp"

using namespace extents_model;

namespace {

constexpr double kBirthTolerance = 128; // bytes: two units, for runs that lost the rest of a division

void collect(void *arg, const trib_death *death) {
    static_cast<std::vector<trib_death> *>(arg)->push_back(*death);
}

void require_same(const std::vector<Death> &expected, const std::vector<trib_death> &got) {
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < expected.size(); i++) {
        const Death &e = expected[i];
        const trib_death &g = got[i];
        bool same = g.attribute == e.attribute && g.file == e.file && g.offset_bytes == e.offset &&
                    g.length_bytes == e.length && g.stream == e.stream && g.cause == e.cause &&
                    std::fabs((double)g.age_bytes - (double)e.age) <= kBirthTolerance;
        CAPTURE(i, g.file, g.offset_bytes, e.offset, g.length_bytes, e.length, g.age_bytes, (double)e.age);
        REQUIRE(same);
    }
}

class Subject {
  public:
    trib_state *state = nullptr;
    trib_extents *extents = nullptr;
    std::vector<trib_attribute_ref> attributes;

    explicit Subject(uint32_t runs, unsigned writers = 3) {
        trib_state_config config = {nullptr, 64, runs};
        REQUIRE(trib_state_open(&state, &config, nullptr) == 0);
        REQUIRE(trib_extents_open(&extents, state) == 0);
        trib_context who = {};
        for (unsigned i = 1; i <= writers; i++)
            attributes.push_back(trib_state_intern(state, 1000 + i, &who));
    }
    ~Subject() {
        trib_extents_close(extents);
        trib_state_close(state);
    }

    std::vector<trib_death> write(const Write &w) {
        trib_event event = {};
        event.file = w.file, event.offset_bytes = w.offset, event.length_bytes = w.length;
        event.stream = w.stream;
        std::vector<trib_death> deaths;
        REQUIRE(trib_extents_write(extents, &event, w.attribute, w.clock, collect, &deaths) == 0);
        return deaths;
    }

    std::vector<trib_death> kill(uint64_t file, uint64_t from, uint64_t length, uint64_t clock, uint8_t cause) {
        trib_event event = {};
        event.file = file, event.offset_bytes = from, event.length_bytes = length, event.cause = cause;
        std::vector<trib_death> deaths;
        REQUIRE(trib_extents_kill(extents, &event, clock, collect, &deaths) == 0);
        return deaths;
    }

    void check(const Model &model, uint64_t clock) const {
        std::vector<trib_death> live;
        trib_extents_visit(extents, clock, collect, &live);
        std::sort(live.begin(), live.end(), [](const trib_death &a, const trib_death &b) {
            return std::tie(a.file, a.offset_bytes) < std::tie(b.file, b.offset_bytes);
        });
        std::vector<Death> expected;
        for (auto &[file, runs] : model.files)
            for (auto &[offset, run] : runs)
                expected.push_back({run.attribute, file, offset, run.length, clock - run.birth, run.stream, 0});
        require_same(expected, live);
        check_sums(live, clock);
    }

    // No overlap, nothing out of the range that was written, sums as the runs say.
    void check_balance(uint64_t clock) const {
        std::vector<trib_death> live;
        trib_extents_visit(extents, clock, collect, &live);
        std::map<std::pair<uint64_t, uint64_t>, uint64_t> ends;
        std::map<uint32_t, uint64_t> rows;
        uint64_t bytes = 0;
        for (auto &run : live) {
            ends[{run.file, run.offset_bytes}] = run.offset_bytes + run.length_bytes;
            rows[run.attribute] += run.length_bytes;
            bytes += run.length_bytes;
        }
        bool disjoint = ends.size() == live.size();
        for (auto run = ends.begin(); run != ends.end(); run++) {
            auto next = std::next(run);
            disjoint &=
                next == ends.end() || next->first.first != run->first.first || run->second <= next->first.second;
        }
        REQUIRE(disjoint);
        trib_extents_stats stats;
        trib_extents_statistics(extents, &stats);
        REQUIRE(stats.runs == live.size());
        REQUIRE(stats.slots <= 40);
        REQUIRE(stats.live_bytes == bytes);
        for (trib_attribute_ref ref : attributes)
            REQUIRE(trib_state_attribute(state, ref)->live_bytes == rows[ref]);
    }

  private:
    void check_sums(const std::vector<trib_death> &live, uint64_t clock) const {
        trib_extents_stats stats;
        trib_extents_statistics(extents, &stats);
        uint64_t live_bytes = 0;
        std::map<uint32_t, std::pair<uint64_t, double>> rows;
        for (auto &run : live) {
            live_bytes += run.length_bytes;
            rows[run.attribute].first += run.length_bytes;
            rows[run.attribute].second += (double)run.length_bytes * (double)(clock - run.age_bytes) / 4096;
        }
        REQUIRE(stats.runs == live.size());
        REQUIRE(stats.live_bytes == live_bytes);
        REQUIRE(stats.runs_dropped == 0);
        for (trib_attribute_ref ref : attributes) {
            const trib_attribute *row = trib_state_attribute(state, ref);
            REQUIRE(row->live_bytes == rows[ref].first);
            REQUIRE(row->written_bytes - row->died_bytes == rows[ref].first);
            REQUIRE(row->live_birth_sum == Approx(rows[ref].second).epsilon(1e-9).margin(1e-3));
        }
    }
};

struct Shape {
    uint64_t files, blocks, block_bytes, kill_percent;
};

void run_random(unsigned seed, int steps, const Shape &shape) {
    std::mt19937_64 random(seed);
    auto below = [&](uint64_t n) { return random() % n; };
    Subject subject(1 << 16);
    Model model;
    uint64_t clock = 0;
    std::map<uint64_t, uint64_t> cursor; // sequential writers, so that runs grow

    for (int step = 0; step < steps; step++) {
        uint64_t file = below(shape.files);
        uint64_t from = below(shape.blocks) * shape.block_bytes;
        uint64_t length = (1 + below(4)) * shape.block_bytes;
        if (below(2) == 0)
            from = cursor[file];
        if (from > shape.blocks * shape.block_bytes)
            from = 0;
        if (below(100) < shape.kill_percent) {
            bool all = below(3) == 0;
            auto cause = (uint8_t)(TRIB_CAUSE_TRIM + below(4));
            from = all ? 0 : from;
            bool to_end = below(2) == 0;
            auto expected = model.kill(file, from, to_end ? UINT64_MAX : from + length, clock, cause);
            require_same(expected, subject.kill(file, from, to_end ? TRIB_LENGTH_TO_END : length, clock, cause));
        } else {
            Write w = {file,
                       from,
                       length,
                       subject.attributes[below(10) ? file % 3 : below(3)],
                       (uint16_t)(below(20) ? 1 : below(4)),
                       clock};
            require_same(model.write(w), subject.write(w));
            cursor[file] = from + length;
            clock += length + below(2) * below(1 << 19);
        }
        if (step % 16 == 0)
            subject.check(model, clock);
    }
    subject.check(model, clock);
}

} // namespace

TEST_CASE("random block writes agree with the naive model") {
    for (unsigned seed = 1; seed <= 6; seed++)
        run_random(seed, 4000, {4, 64, 4096, 8});
}

TEST_CASE("random unaligned writes agree with the naive model") {
    for (unsigned seed = 11; seed <= 16; seed++)
        run_random(seed, 4000, {3, 200, 77, 10});
}

TEST_CASE("many small files agree with the naive model") {
    for (unsigned seed = 21; seed <= 26; seed++)
        run_random(seed, 4000, {200, 4, 512, 30});
}

TEST_CASE("one address space of many blocks agrees with the naive model") {
    run_random(31, 20000, {1, 4096, 4096, 2});
}

// Blocks overwritten as they were written, found by hints; halves of blocks now and then make the
// hints wrong.
TEST_CASE("a large tree of blocks with stale hints agrees with the naive model") {
    constexpr uint64_t kBlocks = 4096, kBlock = 4096;
    std::mt19937_64 random(51);
    Subject subject(1 << 16);
    Model model;
    uint64_t clock = 0;
    for (uint64_t step = 0; step < 3 * kBlocks; step++, clock += kBlock) {
        uint64_t block = step < kBlocks ? step * 5 % kBlocks : random() % 2 ? random() % 64 : random() % kBlocks;
        Write w = {0, block * kBlock, kBlock, subject.attributes[block % 3], 1, clock};
        if (step > kBlocks && random() % 8 == 0) {
            w.length = kBlock / 2;
            w.offset += random() % 2 * w.length;
        }
        if (step > kBlocks && random() % 16 == 0) {
            auto expected = model.kill(0, w.offset, w.offset + w.length, clock, TRIB_CAUSE_TRIM);
            require_same(expected, subject.kill(0, w.offset, w.length, clock, TRIB_CAUSE_TRIM));
        } else {
            require_same(model.write(w), subject.write(w));
        }
        if (step % 1024 == 0)
            subject.check(model, clock);
    }
    subject.check(model, clock);
}

// With the arena full, runs are lost and the model is no guide; what is kept must still add up.
TEST_CASE("a full arena loses runs but never its balance") {
    for (unsigned seed = 41; seed <= 44; seed++) {
        std::mt19937_64 random(seed);
        Subject subject(40);
        uint64_t clock = 0, dropped = 0;
        for (int step = 0; step < 20000; step++) {
            trib_event event = {};
            event.file = random() % 6, event.offset_bytes = random() % 32 * 4096;
            event.length_bytes = (1 + random() % 8) * 2048, event.stream = 1;
            event.cause = TRIB_CAUSE_TRIM;
            std::vector<trib_death> deaths;
            if (random() % 4 == 0)
                REQUIRE(trib_extents_kill(subject.extents, &event, clock, collect, &deaths) == 0);
            else
                dropped += trib_extents_write(subject.extents, &event, subject.attributes[random() % 3], clock, collect,
                                              &deaths) == -ENOSPC;
            clock += 4096;
            subject.check_balance(clock);
        }
        REQUIRE(dropped > 100);
    }
}
