// SPDX-License-Identifier: Apache-2.0
// The ring of events: order, drops, and holes that a killed producer leaves.
#include "support/catch.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "ring/ring.h"

namespace {

constexpr uint64_t kSlots = 64;

struct Ring {
    std::unique_ptr<void, decltype(&std::free)> memory;
    trib_ring ring = {};
    explicit Ring(uint64_t slots = kSlots)
        : memory(std::aligned_alloc(64, (trib_ring_bytes(slots) + 63) / 64 * 64), &std::free) {
        std::memset(memory.get(), 0, trib_ring_bytes(slots)); // zero is empty
        trib_ring_bind(&ring, memory.get(), slots);
    }
    bool push(uint64_t file, uint8_t kind = TRIB_EVENT_WRITE) {
        uint64_t ticket;
        trib_event event = {};
        event.kind = kind, event.file = file, event.length_bytes = kind == TRIB_EVENT_WRITE ? 10 : TRIB_LENGTH_TO_END;
        trib_event *slot = trib_ring_claim(&ring, &event, &ticket);
        if (!slot)
            return false;
        *slot = event;
        trib_ring_publish(&ring, ticket);
        return true;
    }
    // The event's file, or 0 when it is not there.
    uint64_t take(uint64_t ticket) {
        if (trib_ring_turn(&ring, ticket) != TRIB_RING_FILLED)
            return 0;
        const uint64_t file = trib_ring_event(&ring, ticket)->file;
        trib_ring_release(&ring, ticket);
        ring.ends->head = ticket + 1;
        return file;
    }
};

} // namespace

TEST_CASE("a ring gives back what came in, in order, over many laps") {
    Ring ring;
    for (uint64_t i = 0; i < 10 * kSlots; i++) {
        REQUIRE(ring.push(i + 1));
        REQUIRE(ring.take(i) == i + 1);
        CHECK(trib_ring_turn(&ring.ring, i) == TRIB_RING_TAKEN);
        CHECK(trib_ring_turn(&ring.ring, i + 1) == TRIB_RING_WAITING);
    }
}

TEST_CASE("a full ring drops and counts, and has room for deaths longer than for writes") {
    Ring ring;
    uint64_t writes = 0, deaths = 0;
    while (ring.push(1))
        writes++;
    while (ring.push(1, TRIB_EVENT_DEATH))
        deaths++;
    CHECK(writes == kSlots - kSlots / 16);
    CHECK(deaths == kSlots / 16);
    CHECK(ring.ring.ends->dropped_events == 2);
    CHECK(ring.ring.ends->dropped_bytes == 10); // a death is worth no bytes
    REQUIRE(ring.take(0) == 1);
    CHECK(ring.push(2, TRIB_EVENT_DEATH));
    CHECK_FALSE(ring.push(2));
}

TEST_CASE("a hole does not hide what lies behind it, and can be given up") {
    Ring ring;
    uint64_t hole;
    trib_event event = {};
    event.kind = TRIB_EVENT_WRITE;
    REQUIRE(trib_ring_claim(&ring.ring, &event, &hole) != nullptr);
    REQUIRE(ring.push(5));
    CHECK(trib_ring_turn(&ring.ring, hole) == TRIB_RING_WAITING);
    CHECK(ring.take(hole + 1) == 5);
    trib_ring_release(&ring.ring, hole);
    ring.ring.ends->head = 2;
    for (uint64_t i = 2; i < 3 * kSlots; i++) {
        REQUIRE(ring.push(i));
        REQUIRE(ring.take(i) == i);
    }
}

TEST_CASE("damage in a ring costs its producer events, never time") {
    Ring ring;
    for (uint64_t turn : {1ull, 64ull, 1ull << 63, ~0ull}) {
        ring.ring.turns[ring.ring.ends->tail & ring.ring.mask] = turn;
        CHECK_FALSE(ring.push(1));
    }
    ring.ring.turns[0] = 0;
    for (uint64_t tail : {1ull << 20, ~0ull, 1ull << 63}) {
        ring.ring.ends->tail = tail;
        CHECK_FALSE(ring.push(1));
    }
    CHECK(ring.ring.ends->dropped_events == 7);
}

TEST_CASE("threads share a ring and lose nothing") {
    constexpr uint64_t kThreads = 4, kEach = 20000;
    Ring ring(1024);
    std::vector<std::thread> threads;
    for (uint64_t t = 1; t <= kThreads; t++)
        threads.emplace_back([&ring, t] {
            for (uint64_t i = 0; i < kEach; i++)
                while (!ring.push(t << 32 | i))
                    std::this_thread::yield();
        });
    std::map<uint64_t, uint64_t> next;
    for (uint64_t ticket = 0; ticket < kThreads * kEach;) {
        const uint64_t file = ring.take(ticket);
        if (!file) {
            std::this_thread::yield();
            continue;
        }
        if ((file & 0xffffffff) != next[file >> 32]++)
            FAIL("thread " << (file >> 32) << " out of order");
        ticket++;
    }
    for (std::thread &thread : threads)
        thread.join();
    CHECK(next.size() == kThreads);
}
