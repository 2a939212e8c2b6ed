// SPDX-License-Identifier: Apache-2.0
// Whatever goes into an event file comes out of it, for sequences long enough to fill blocks,
// dictionaries and several restart intervals.
#include "support/catch.hpp"

#include "support/events.hpp"
#include "support/trace_file.hpp"

using namespace trib_test;

namespace {

template <typename Source> void round_trip(Source next, size_t count, unsigned flush_percent, uint64_t seed) {
    ScratchFolder folder;
    const auto path = folder.file("t");
    Random random(seed);
    trib_trace_writer *writer = nullptr;
    REQUIRE(trib_trace_writer_open(&writer, path.c_str(), nullptr) == 0);
    std::vector<trib_event> events(count);
    for (auto &event : events) {
        event = next();
        if (trib_trace_write(writer, &event) != 0 || (random.chance(flush_percent) && trib_trace_flush(writer) != 0))
            FAIL("cannot write");
    }
    const uint64_t expected_bytes = trib_trace_writer_bytes(writer);
    REQUIRE(trib_trace_writer_close(writer) == 0);
    const auto contents = read_trace(path);
    REQUIRE(contents.error == "");
    REQUIRE(contents.end_result == 0);
    REQUIRE(contents.events.size() == count);
    for (size_t i = 0; i < count; i++)
        if (!same_event(contents.events[i], events[i]))
            FAIL("event " << i << " differs");
    REQUIRE(read_bytes(path).size() == expected_bytes + 72); // the end block
}

} // namespace

TEST_CASE("plausible file events round-trip") {
    for (uint64_t seed = 1; seed <= 10; seed++) {
        FileEvents source(seed);
        round_trip([&] { return source.next(); }, 20000, seed % 2, seed);
    }
}

TEST_CASE("block events round-trip") {
    BlockEvents source(1, 1 << 24);
    round_trip([&] { return source.next(); }, 200000, 0, 1);
}

TEST_CASE("events with every field arbitrary and extreme round-trip") {
    for (uint64_t seed = 1; seed <= 10; seed++) {
        Random random(seed);
        round_trip([&] { return arbitrary_event(random); }, 50000, seed % 3, seed);
    }
}

TEST_CASE("more files and contexts than the dictionaries hold round-trip") {
    Random random(5);
    uint64_t clock = 0;
    round_trip(
        [&] {
            trib_event event{};
            event.kind = TRIB_EVENT_WRITE;
            event.file = random.below(random.chance(50) ? 100 : 20000);
            event.who.signature = random.below(random.chance(50) ? 50 : 5000);
            event.length_bytes = random.between(1, 5000);
            event.offset_bytes = random.next() >> 20;
            event.clock_bytes = clock;
            clock += event.length_bytes;
            if (random.chance(5)) {
                event.kind = TRIB_EVENT_DEATH;
                event.cause = TRIB_CAUSE_UNLINK;
                event.length_bytes = TRIB_LENGTH_TO_END;
                clock = event.clock_bytes;
            }
            return event;
        },
        1000000, 0, 5);
}

TEST_CASE("the same events give the same bytes") {
    ScratchFolder folder;
    std::string bytes[2];
    trib_trace_limits limits = TRIB_TRACE_LIMITS_DEFAULT;
    limits.recording = 7;
    for (auto &copy : bytes) {
        const auto path = folder.file("t");
        FileEvents source(11);
        trib_trace_writer *writer = nullptr;
        REQUIRE(trib_trace_writer_open_within(&writer, path.c_str(), &limits, nullptr) == 0);
        for (const auto &event : source.take(30000))
            REQUIRE(trib_trace_write(writer, &event) == 0);
        REQUIRE(trib_trace_writer_close(writer) == 0);
        copy = read_bytes(path);
    }
    REQUIRE(bytes[0] == bytes[1]);
}
