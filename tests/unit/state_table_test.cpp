// SPDX-License-Identifier: Apache-2.0
// The attribute table: look-up, eviction of the row written to longest ago, references that notice
// it.
#include <list>
#include <random>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "state/state.h"
#include "support/catch.hpp"

namespace {

class State {
  public:
    trib_state *self = nullptr;

    explicit State(uint32_t attributes, uint32_t runs = 16) {
        trib_state_config config = {nullptr, attributes, runs};
        REQUIRE(trib_state_open(&self, &config, nullptr) == 0);
    }
    ~State() {
        trib_state_close(self);
    }
    State(const State &) = delete;

    trib_attribute_ref intern(uint64_t key) {
        trib_context who = {};
        who.signature = key;
        return trib_state_intern(self, key, &who);
    }
    // As recording a write does.
    void touch(trib_attribute_ref ref) {
        trib_attribute *row = trib_state_attribute(self, ref);
        REQUIRE(row);
        row->last_write_bytes = trib_state_clock_advance(self, 4096) + 1;
    }
};

} // namespace

TEST_CASE("sizes out of range are refused with a sentence") {
    for (trib_state_config config : {trib_state_config{nullptr, 0, 16}, trib_state_config{nullptr, (1u << 20) + 1, 16},
                                     trib_state_config{nullptr, 1, 0}, trib_state_config{nullptr, 1, 1u << 28}}) {
        trib_state *state = nullptr;
        trib_error error = {};
        REQUIRE(trib_state_open(&state, &config, &error) == -EINVAL);
        REQUIRE(state == nullptr);
        REQUIRE(error.text[0] != '\0');
    }
}

TEST_CASE("a large anonymous arena costs nothing until it is used") {
    State state(30720, 16u << 20);
    trib_state_arena arena;
    trib_state_run_arena(state.self, &arena);
    REQUIRE(arena.capacity == 16u << 20);
    REQUIRE(arena.needs_rebuild);
}

TEST_CASE("an interned key is found again, others are not") {
    State state(8);
    trib_attribute_ref ref = state.intern(42);

    REQUIRE(ref != 0);
    REQUIRE(state.intern(42) == ref);
    REQUIRE(trib_state_find(state.self, 42) == ref);
    REQUIRE(trib_state_find(state.self, 43) == 0);
    REQUIRE(trib_state_attribute_count(state.self) == 1);
    const trib_attribute *row = trib_state_attribute(state.self, ref);
    REQUIRE(row->key == 42);
    REQUIRE(row->who.signature == 42);
    REQUIRE(row->stream == 0);
}

TEST_CASE("key 0 and reference 0 are nobody") {
    State state(8);
    REQUIRE(state.intern(0) == 0);
    REQUIRE(trib_state_find(state.self, 0) == 0);
    REQUIRE(trib_state_attribute(state.self, 0) == nullptr);
    REQUIRE(trib_state_attribute_count(state.self) == 0);
}

TEST_CASE("references that nobody gave out lead nowhere") {
    State state(8);
    state.intern(1);
    for (uint32_t ref : {1u, 7u, 8u, 0xFFFFFu, 2u << 20, 0xFFFFFFFFu, 1u << 20 | 1u, 1u << 20 | 9u})
        REQUIRE(trib_state_attribute(state.self, ref) == nullptr);
}

TEST_CASE("a full table evicts the row written to longest ago") {
    State state(3);
    trib_attribute_ref a = state.intern(1), b = state.intern(2), c = state.intern(3);
    state.touch(b), state.touch(c), state.touch(a); // b is the oldest

    trib_attribute_ref d = state.intern(4);
    REQUIRE(trib_state_evictions(state.self) == 1);
    REQUIRE(trib_state_attribute_count(state.self) == 3);
    REQUIRE(trib_state_find(state.self, 2) == 0);
    REQUIRE(trib_state_attribute(state.self, b) == nullptr);
    REQUIRE(trib_state_attribute(state.self, d)->key == 4);
    REQUIRE(trib_state_find(state.self, 1) == a);
    REQUIRE(trib_state_find(state.self, 3) == c);

    trib_attribute_ref again = state.intern(2); // comes back as a new row; c goes
    REQUIRE(trib_state_attribute(state.self, c) == nullptr);
    REQUIRE(again != b);
    REQUIRE(trib_state_attribute(state.self, b) == nullptr);
}

TEST_CASE("rows never written to leave in the order they came") {
    State state(4);
    for (uint64_t key = 1; key <= 4; key++)
        state.intern(key);
    for (uint64_t key = 5; key <= 8; key++) {
        state.intern(key);
        REQUIRE(trib_state_find(state.self, key - 4) == 0);
        REQUIRE(trib_state_find(state.self, key - 3) != 0);
    }
}

TEST_CASE("an evicted row starts from nothing") {
    State state(1);
    trib_attribute *row = trib_state_attribute(state.self, state.intern(1));
    row->stream = 3, row->samples = 9, row->lifetime_mean = 1e6, row->live_bytes = 77, row->flags = 5;
    row->written_bytes = 12, row->died_bytes = 11, row->live_birth_sum = 4, row->lifetime_clustered = 8;
    row->lifetime_variance = 6;

    row = trib_state_attribute(state.self, state.intern(2));
    REQUIRE(row->stream + row->samples + row->flags + row->live_bytes + row->written_bytes + row->died_bytes == 0);
    REQUIRE(row->lifetime_mean + row->live_birth_sum + row->lifetime_clustered + row->lifetime_variance == 0);
}

TEST_CASE("4095 generations of one row are told apart, and none is 0") {
    State state(1);
    std::set<trib_attribute_ref> seen;
    for (uint64_t key = 1; key <= 4095; key++)
        seen.insert(state.intern(key));
    REQUIRE(seen.size() == 4095);
    REQUIRE(seen.count(0) == 0);
    REQUIRE(seen.count(state.intern(5000)) == 1); // then they repeat
}

TEST_CASE("eviction is exact LRU under random use") {
    for (uint32_t capacity : {1u, 2u, 341u}) {
        State state(capacity);
        std::mt19937_64 random(capacity);
        std::list<uint64_t> recent; // front: written last
        for (int step = 0; step < 30000; step++) {
            uint64_t key = 1 + random() % (capacity * 2);
            auto here = std::find(recent.begin(), recent.end(), key);
            REQUIRE((trib_state_find(state.self, key) != 0) == (here != recent.end()));
            state.touch(state.intern(key));
            if (here != recent.end())
                recent.erase(here);
            recent.push_front(key);
            if (recent.size() > capacity)
                recent.pop_back();
        }
        REQUIRE(trib_state_attribute_count(state.self) == recent.size());
    }
}

TEST_CASE("rows are visited once each, in index order") {
    State state(5);
    for (uint64_t key = 1; key <= 7; key++)
        state.intern(key);
    std::set<uint64_t> keys;
    trib_attribute_ref ref = 0;
    uint32_t previous = 0, visited = 0;
    for (uint32_t next = 0; (next = trib_state_next(state.self, next, &ref)); visited++) {
        REQUIRE(next > previous);
        previous = next;
        keys.insert(trib_state_attribute(state.self, ref)->key);
    }
    REQUIRE(visited == 5);
    REQUIRE(keys == std::set<uint64_t>{3, 4, 5, 6, 7});
}

TEST_CASE("the clock adds up over threads") {
    State state(1);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            for (int n = 0; n < 10000; n++)
                trib_state_clock_advance(state.self, 3);
        });
    for (auto &thread : threads)
        thread.join();
    REQUIRE(trib_state_clock(state.self) == 4 * 10000 * 3);
}

TEST_CASE("look-ups from other threads never miss a key that stays, nor meet a wrong row") {
    constexpr uint64_t kHot = 64, kCapacity = 128;
    State state(kCapacity);
    for (uint64_t key = 1; key <= kHot; key++)
        state.touch(state.intern(key));
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> missed{0}, wrong{0}, found{0};

    std::vector<std::thread> readers;
    for (int i = 0; i < 2; i++)
        readers.emplace_back([&, i] {
            for (uint64_t n = i; !stop; n++) {
                uint64_t key = 1 + n % kHot;
                trib_attribute_ref ref = trib_state_find(state.self, key);
                const trib_attribute *row = trib_state_attribute(state.self, ref);
                missed += ref == 0;
                wrong += row && row->key != key;
                found++;
            }
        });
    for (uint64_t cold = 1000; cold < 60000 || found < 100000; cold++) { // each evicts a cold row
        trib_state_lock(state.self);
        state.touch(state.intern(cold));
        for (uint64_t key = cold % 8 + 1; key <= kHot; key += 8)
            state.touch(trib_state_find(state.self, key));
        trib_state_unlock(state.self);
    }
    stop = true;
    for (auto &reader : readers)
        reader.join();
    REQUIRE(trib_state_evictions(state.self) > 50000);
    REQUIRE(missed == 0);
    REQUIRE(wrong == 0);
}
