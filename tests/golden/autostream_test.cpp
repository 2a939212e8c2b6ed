// SPDX-License-Identifier: Apache-2.0
// AutoStream's two tables, request by request, with numbers that a reader can follow. Chunks are
// 256 blocks of 4 KiB; the drive has 100 of them, so 1 % of its capacity is one chunk.
#include "support/pipeline.hpp"
#include "support/policy.hpp"

#include <vector>

using namespace trib_test;

namespace {

constexpr uint64_t CHUNK = 256; // blocks

// Requests of one block in the middle of a chunk, so that none is sequential.
uint16_t request(const Policy &policy, uint64_t chunk, uint64_t block_clock) {
    return policy.place_block(chunk * CHUNK + 2 * (block_clock % 64) + 1, block_clock);
}

trib_placement by(uint32_t thread) {
    trib_placement write{};
    write.thread = thread;
    return write;
}

} // namespace

TEST_CASE("autostream-sfr: the stream is log2 of the requests before, up to the last stream") {
    State state;
    Policy sfr("autostream-sfr", state, 3);
    const uint16_t want[] = {0,                      // nothing known
                             0,                      // one request: log2 1
                             1, 1,                   // two, three
                             2, 2, 2, 2,             // four to seven
                             3, 3, 3, 3, 3, 3, 3, 3, // eight to fifteen
                             3, 3, 3, 3};            // more than the last stream
    for (uint64_t i = 0; i < std::size(want); i++)
        REQUIRE(request(sfr, 7, i) == want[i]);
    REQUIRE(request(sfr, 8, 20) == 0); // another chunk
}

TEST_CASE("autostream-sfr: one is added, then the count is divided by 2 per decay period") {
    State state;
    Policy whole("autostream-sfr", state, 8, "aging=0"); // decay: 1 % = 256 blocks
    Policy real("autostream-sfr", state, 8, "aging=0,decay_exponent=real");
    for (uint64_t i = 0; i < 8; i++) { // 8 requests at once: real loses nearly nothing, too
        request(whole, 5, 0);
        request(real, 5, 0);
    }
    // 255 blocks later: no whole period, so 8 + 1 = 9; real: 9 / 2^0.996 = 4.51.
    REQUIRE(request(whole, 5, 255) == 3);
    REQUIRE(request(real, 5, 255) == 3);
    // 3 periods later: (9 + 1) / 8 = 1.25, and (4.51 + 1) / 8 = 0.69, which counts as this request.
    REQUIRE(request(whole, 5, 255 + 3 * 256) == 3);
    REQUIRE(request(real, 5, 255 + 3 * 256) == 2);
    REQUIRE(request(whole, 5, 255 + 3 * 256) == 0);
    REQUIRE(request(real, 5, 255 + 3 * 256) == 0);
    // 2.25 and 2 by now; then 3.25 and 3.
    REQUIRE(request(whole, 5, 255 + 3 * 256) == 1);
    REQUIRE(request(real, 5, 255 + 3 * 256) == 1);
}

TEST_CASE("autostream-sfr: a count that decayed 63 times or more is 1, not nothing") {
    State state;
    Policy sfr("autostream-sfr", state, 8, "aging=0");
    for (int i = 0; i < 1000; i++)
        request(sfr, 5, 0);
    request(sfr, 5, 1000 * 256);
    REQUIRE(request(sfr, 5, 1000 * 256) == 0); // log2 1
    REQUIRE(request(sfr, 5, 1000 * 256) == 1); // log2 2
}

TEST_CASE("autostream-sfr: every aging period without a request halves a count, seen at look-up") {
    State state;
    Policy sfr("autostream-sfr", state, 8, "aging=10,decay=1000000"); // 2560 blocks; no decay
    const auto sixteen = [&](uint64_t chunk) {
        for (int i = 0; i < 16; i++)
            request(sfr, chunk, 0);
    };
    for (uint64_t chunk : {1, 2, 3, 4})
        sixteen(chunk);
    REQUIRE(request(sfr, 1, 2559) == 4);     // the same period
    REQUIRE(request(sfr, 2, 2560) == 4);     // the period that ended had requests
    REQUIRE(request(sfr, 3, 2 * 2560) == 3); // one period without: 8
    REQUIRE(request(sfr, 4, 5 * 2560) == 0); // four without: 1
}

TEST_CASE("autostream-sfr: what goes on where the thread's last request ended keeps its stream") {
    State state;
    Policy sfr("autostream-sfr", state, 8);
    for (int i = 0; i < 4; i++)
        REQUIRE(sfr.place_block(10 * CHUNK + 100, 0) <= 1);
    const uint64_t hot = 10 * CHUNK + 101; // four requests: S2
    REQUIRE(sfr.place_block(hot - 1, 0) == 2);
    REQUIRE(sfr.place_block(hot, 0, 1, by(1)) == 2); // not its thread, but its chunk
    REQUIRE(sfr.place_block(hot, 0, 200) == 2);      // thread 0 goes on, into chunk 11
    REQUIRE(sfr.place_block(hot + 200, 0, 10) == 2); // sequential: not chunk 11's S0
    REQUIRE(sfr.place_block(hot + 211, 0, 1) == 1);  // a gap: chunk 11 had two requests
    REQUIRE(sfr.place_block(20 * CHUNK, 0, 1, by(1)) == 0);
    REQUIRE(sfr.place_block(hot + 212, 0, 1) == 1); // thread 1 did not end the sequence
}

TEST_CASE("autostream-sfr: two interleaved writers need a tracker each (A3)") {
    State state;
    Policy apart("autostream-sfr", state, 8), mixed("autostream-sfr", state, 8);
    uint64_t kept_apart = 0, kept_mixed = 0;
    for (uint64_t chunk : {10, 50}) // two hot places to start from: S3
        for (int i = 0; i < 8; i++)
            for (auto policy : {&apart, &mixed})
                policy->place_block(chunk * CHUNK + CHUNK - 1, 0, 1, by(2));
    for (uint64_t i = 0; i < 100; i++) // then four requests per chunk, which alone give S1
        for (uint32_t writer : {0u, 1u}) {
            const uint64_t lba = (writer ? 50 : 10) * CHUNK + CHUNK - 64 + 64 * i;
            kept_apart += apart.place_block(lba, 0, 64, by(writer)) == 3;
            kept_mixed += mixed.place_block(lba, 0, 64, by(0)) == 3; // one tracker for both
        }
    REQUIRE(kept_apart == 200);
    REQUIRE(kept_mixed == 2); // the hot places themselves
}

TEST_CASE("autostream-sfr: 32 threads are followed, the one unused for longest is forgotten") {
    State state;
    Policy sfr("autostream-sfr", state, 8);
    for (int i = 0; i < 8; i++)
        sfr.place_block(10 * CHUNK, 0, 1, by(99)); // S3
    const auto start = [&](uint32_t thread) { sfr.place_block(10 * CHUNK, 0, CHUNK, by(thread)); };
    const auto goes_on = [&](uint32_t thread) { return sfr.place_block(11 * CHUNK, 0, CHUNK, by(thread)) >= 3; };
    for (uint32_t thread = 0; thread < 31; thread++)
        start(thread); // 99 and 31 more
    start(0);          // now 1 is the next to go after 99
    REQUIRE(goes_on(0));
    start(31); // forgets 99
    start(32); // forgets 1
    REQUIRE(goes_on(2));
    REQUIRE_FALSE(goes_on(1)); // begins anew, and forgets 3
    REQUIRE_FALSE(goes_on(3)); // ... 4
    REQUIRE(goes_on(5));
    REQUIRE_FALSE(goes_on(4)); // ... 6
    REQUIRE(goes_on(32));
}

TEST_CASE("autostream-mq: a chunk rises to the queue of log2 of its requests") {
    State state;
    Policy mq("autostream-mq", state, 3);
    const uint16_t want[] = {0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
    for (uint64_t i = 0; i < std::size(want); i++)
        REQUIRE(request(mq, 7, i) == want[i]);
    REQUIRE(request(mq, 8, 0) == 0);
}

TEST_CASE("autostream-mq: an expired head sinks by one queue per request, with half its count") {
    State state;
    Policy mq("autostream-mq", state, 8);
    // Requests 1 to 8 to A: S3; the hottest's last interval, so the lifetime, is 1.
    for (int i = 0; i < 8; i++)
        request(mq, 1, 0);
    // Request 9 to B. A expires at 8 + 1 = 9, which is not before 9.
    REQUIRE(request(mq, 2, 0) == 0);
    // Request 10 to B: A (count 8) sinks to queue 2 with 4. Nobody else is left in queue 3, and A
    // is the hottest: the next is the largest of the topmost queue of the others, B with 2.
    REQUIRE(request(mq, 2, 0) == 0);
    // 11 to C. B (count 2, S1) expires at 11, A at 11.
    REQUIRE(request(mq, 3, 0) == 0);
    // 12 to C: A sinks to queue 1 with 2, B to queue 0 with 1.
    REQUIRE(request(mq, 3, 0) == 0);
    // 13 to A: it goes by queue 1; its count becomes 3.
    REQUIRE(request(mq, 1, 0) == 1);
    // 14 to B: queue 0; count 2, so queue 1 again.
    REQUIRE(request(mq, 2, 0) == 0);
    REQUIRE(request(mq, 2, 0) == 1);
}

TEST_CASE("autostream-mq: the lifetime is the hottest chunk's last interval, in requests") {
    State state;
    Policy mq("autostream-mq", state, 8);
    // H is written every 10th request, the others in turn once each: H is the hottest, lifetime 10.
    uint64_t next = 10;
    const auto others = [&](int count) {
        for (int i = 0; i < count; i++)
            request(mq, next++, 0);
    };
    request(mq, 1, 0);               // request 1
    others(9);                       // 2 to 10
    request(mq, 1, 0);               // 11: count 2, lifetime 10, queue 1, expires after 21
    others(10);                      // 12 to 21
    REQUIRE(request(mq, 1, 0) == 1); // 22: not sunk, its own request comes before the look. Count 3,
    others(11);                      // lifetime 11: expires after 33. 23 to 33
    REQUIRE(request(mq, 1, 0) == 1); // 34: count 4, queue 2, lifetime 12: expires after 46
    others(13);                      // 35 to 47: sinks at 47 with count 2
    REQUIRE(request(mq, 1, 0) == 1);
}

TEST_CASE("autostream-mq: nothing expires before a chunk was written twice") {
    State state;
    Policy mq("autostream-mq", state, 8);
    for (uint64_t chunk = 1; chunk < 90; chunk++)
        REQUIRE(request(mq, chunk, 0) == 0);
    for (int i = 0; i < 3; i++)
        request(mq, 1, 0);
    REQUIRE(request(mq, 1, 0) == 2);
}

TEST_CASE("autostream-mq: adjust_ref_cnt=1 keeps the count: the next request lifts it back") {
    State state;
    Policy halved("autostream-mq", state, 8), kept("autostream-mq", state, 8, "adjust_ref_cnt=1");
    for (auto mq : {&halved, &kept}) {
        for (int i = 0; i < 8; i++)
            request(*mq, 1, 0); // S3, expires after 9
        request(*mq, 2, 0);
        request(*mq, 3, 0); // 10: A sinks to queue 2
        REQUIRE(request(*mq, 1, 0) == 2);
    }
    REQUIRE(request(halved, 1, 0) == 2); // 4 + 1: still queue 2
    REQUIRE(request(kept, 1, 0) == 3);   // 8 + 1
}

TEST_CASE("autostream: a request counts for every chunk that it touches") {
    for (const char *name : {"autostream-sfr", "autostream-mq"}) {
        State state;
        Policy policy(name, state, 8);
        CAPTURE(name);
        for (int i = 0; i < 2; i++)
            REQUIRE(policy.place_block(3 * CHUNK - 1, 0, CHUNK + 2) == 0); // chunks 2, 3 and 4
        REQUIRE(request(policy, 1, 0) == 0);
        REQUIRE(request(policy, 2, 0) == 1);
        REQUIRE(request(policy, 3, 0) == 1);
        REQUIRE(request(policy, 4, 0) == 1);
        REQUIRE(request(policy, 5, 0) == 0);
    }
}

TEST_CASE("autostream: the last chunk of the drive may be short; the table is at most 32 bytes each") {
    for (const char *name : {"autostream-sfr", "autostream-mq"}) {
        State state;
        Policy policy(name, state, 8, "chunk=768K", 100 << 20); // 133.3 chunks of 192 blocks
        REQUIRE(policy.code == 0);
        REQUIRE(policy.place_block(25599, 0) == 0);
        REQUIRE(policy.policy->memory_bytes(policy.self) <= 134 * 32 + 4096);
    }
}

TEST_CASE("autostream: what cannot work is refused with a sentence") {
    State state;
    for (const char *name : {"autostream-sfr", "autostream-mq"}) {
        Policy odd(name, state, 8, "chunk=5000"), unknown(name, state, 8, "", 0);
        REQUIRE(odd.code == -EINVAL);
        REQUIRE(odd.sentence.find("5000 is no multiple of 4096") != std::string::npos);
        REQUIRE(unknown.code == -EINVAL);
        REQUIRE(unknown.sentence.find(name) == 0);
    }
}
