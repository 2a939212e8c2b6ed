// SPDX-License-Identifier: Apache-2.0
// Arenas as a kill or damage leaves them, made by hand (docs/formats/state.md, "Slots"): what is
// true is kept, the rest goes.
#include <vector>

#include "lifetime/extents.h"
#include "support/catch.hpp"

namespace {

constexpr uint64_t K = 1024;
constexpr uint64_t kKinds = 3, kLengths = 0xFFFFFFFF;

class Arena {
  public:
    trib_state *state = nullptr;
    trib_extents *extents = nullptr;
    trib_state_arena arena = {};
    trib_attribute_ref writer = 0;
    std::vector<trib_death> deaths;

    Arena() {
        trib_state_config config = {nullptr, 8, 64};
        REQUIRE(trib_state_open(&state, &config, nullptr) == 0);
        REQUIRE(trib_extents_open(&extents, state) == 0);
        trib_context who = {};
        writer = trib_state_intern(state, 1, &who);
        trib_state_run_arena(state, &arena);
    }
    ~Arena() {
        trib_extents_close(extents);
        trib_state_close(state);
    }

    void write(uint64_t file, uint64_t offset, uint64_t length) {
        trib_event event = {};
        event.file = file, event.offset_bytes = offset, event.length_bytes = length;
        REQUIRE(trib_extents_write(extents, &event, writer, 0, nullptr, nullptr) == 0);
    }
    void kill_file(uint64_t file) {
        trib_event event = {};
        event.file = file, event.length_bytes = TRIB_LENGTH_TO_END;
        deaths.clear();
        REQUIRE(trib_extents_kill(extents, &event, 0, collect, &deaths) == 0);
    }
    // Slots count from 1, in the order they were taken.
    uint64_t &word(uint32_t slot, unsigned number) {
        return static_cast<uint64_t *>(arena.slots)[(slot - 1) * 4 + number];
    }
    trib_extents_stats repaired() {
        arena.words[TRIB_ARENA_CHANGING] = 1;
        trib_extents_stats stats;
        trib_extents_statistics(extents, &stats);
        REQUIRE(arena.words[TRIB_ARENA_CHANGING] == 0);
        REQUIRE(trib_state_attribute(state, writer)->live_bytes == stats.live_bytes);
        return stats;
    }

  private:
    static void collect(void *arg, const trib_death *death) {
        static_cast<std::vector<trib_death> *>(arg)->push_back(*death);
    }
};

// Slot 1: HEAD of file 7; slot 3: [0, 4 K); slot 2: [8 K, 12 K); slot 4: [16 K, 20 K). Slot 5: file
// 8 alone, 4 K.
struct Example : Arena {
    Example() {
        write(7, 8 * K, 4 * K);
        write(7, 0, 4 * K);
        write(7, 16 * K, 4 * K);
        write(8, 0, 4 * K);
        REQUIRE((word(1, 0) & kKinds) == 2);
        REQUIRE((word(5, 0) & kKinds) == 3);
    }
};

} // namespace

TEST_CASE("an arena that is whole stays as it was") {
    Example x;
    auto stats = x.repaired();
    REQUIRE(stats.runs == 4);
    REQUIRE(stats.slots == 5);
    REQUIRE(stats.live_bytes == 16 * K);
    x.kill_file(7);
    REQUIRE(x.deaths.size() == 3);
    x.kill_file(8);
    REQUIRE(x.deaths.size() == 1);
}

TEST_CASE("killed before a run was cut: what lies behind the hole begins the next run") {
    Example x;
    x.word(3, 1) = (x.word(3, 1) & ~kLengths) | 11 * K; // [0, 11 K) and [8 K, 12 K)
    REQUIRE(x.repaired().live_bytes == 20 * K);
    x.kill_file(7);
    REQUIRE(x.deaths.size() == 3);
    REQUIRE(x.deaths[0].length_bytes == 8 * K);
    REQUIRE(x.deaths[1].offset_bytes == 8 * K);
    REQUIRE(x.deaths[1].length_bytes == 4 * K);
}

TEST_CASE("the later slot may be the one that reaches too far") {
    Example x;
    x.word(2, 1) = (x.word(2, 1) & ~kLengths) | 100 * K; // met before its neighbour [16 K, 20 K)
    REQUIRE(x.repaired().live_bytes == 20 * K);
    x.word(4, 1) = (x.word(4, 1) & ~kLengths) | 5 * K;
    REQUIRE(x.repaired().live_bytes == 21 * K);
}

TEST_CASE("runs whose file is gone go, and their slots are used again") {
    Example x;
    x.word(1, 0) = 0;
    auto stats = x.repaired();
    REQUIRE(stats.runs == 1);
    REQUIRE(stats.slots == 1);
    x.kill_file(7);
    REQUIRE(x.deaths.empty());
    for (uint64_t file = 100; file < 163; file++)
        x.write(file, 0, 4 * K); // all 64 slots
    REQUIRE(x.repaired().slots == 64);
}

TEST_CASE("killed between the run of its own and the change to a HEAD: the SINGLE stands") {
    Example x;
    x.word(1, 0) = (x.word(1, 0) & ~kKinds) | 3;
    x.word(1, 1) = (uint64_t)x.writer << 32 | 4 * K;
    auto stats = x.repaired();
    REQUIRE(stats.runs == 2);
    REQUIRE(stats.live_bytes == 8 * K);
}

TEST_CASE("files without runs, files twice, empty runs and runs out of range go") {
    Example x;
    x.word(2, 0) &= ~kKinds, x.word(3, 0) &= ~kKinds; // two of three runs
    REQUIRE(x.repaired().slots == 3);
    x.word(4, 1) &= ~kLengths; // the last one is empty now
    REQUIRE(x.repaired().slots == 1);
    x.write(9, 0, 4 * K);
    x.write(10, 0, 4 * K);
    for (uint32_t slot = 1; slot <= 5; slot++)
        if ((x.word(slot, 0) & kKinds) == 3 && x.word(slot, 3) == 10)
            x.word(slot, 3) = 9;
    REQUIRE(x.repaired().runs == 2);

    Example y;
    y.word(2, 3) = y.word(2, 3) | 0xFFFFFFFFFFFFull << 16; // behind the end of the address space
    REQUIRE(y.repaired().runs == 3);
}

TEST_CASE("links, free slots and counters are not believed") {
    Example x;
    for (uint32_t slot = 1; slot <= 5; slot++)
        x.word(slot, 2) |= ~0xFFull;
    x.word(1, 1) = ~0ull;
    for (unsigned word = 2; word < TRIB_ARENA_WORDS; word++)
        if (word != 6) // runs dropped, which nothing else tells
            x.arena.words[word] = ~0ull;
    auto stats = x.repaired();
    REQUIRE(stats.runs == 4);
    REQUIRE(stats.slots == 5);
    REQUIRE(stats.live_bytes == 16 * K);
    x.arena.words[1] = ~0ull; // more slots than there are
    REQUIRE(x.repaired().runs == 4);
    x.kill_file(7);
    REQUIRE(x.deaths.size() == 3);
}

TEST_CASE("an index that contradicts itself is rebuilt by the next call") {
    Example x;
    for (uint32_t slot = 1; slot <= 5; slot++)
        x.word(slot, 2) = (x.word(slot, 2) & 0xFF) | (uint64_t)slot << 8 | (uint64_t)slot << 36; // cycles
    x.kill_file(7); // ends; whatever it found, the tree is not trusted any more
    x.kill_file(7);
    REQUIRE(x.repaired().runs <= 4);
    x.kill_file(8);
    x.kill_file(7);
    REQUIRE(x.repaired().slots == 0);
}
