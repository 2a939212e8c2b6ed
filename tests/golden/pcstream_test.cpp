// SPDX-License-Identifier: Apache-2.0
// PCStream against FAST'19 sections 5.2 and 5.3, on numbers small enough to check by hand.
// Lifetimes in pages of 4 KiB. Capacity 100 MiB, so that the default interval of 1 % is 1 MiB.
#include "support/policy.hpp"

#include <tributary/pipeline.h>

#include <map>
#include <vector>

using namespace trib_test;

namespace {

constexpr uint64_t PAGE = 4096, MIB = 1 << 20;

// Every signature dies 16 times at its age: enough to be admitted, and the mean is the age.
void learn(Policy &policy, const std::vector<uint64_t> &lifetimes_pages, uint64_t first_key = 1) {
    for (size_t i = 0; i < lifetimes_pages.size(); i++)
        policy.learn(first_key + i, lifetimes_pages[i] * PAGE, 16);
}

std::vector<uint16_t> streams(const Policy &policy, size_t count) {
    std::vector<uint16_t> result;
    for (uint64_t key = 1; key <= count; key++)
        result.push_back(policy.place(key));
    return result;
}

using Streams = std::vector<uint16_t>;

} // namespace

TEST_CASE("a lifetime is the average of the old one and the new one") {
    State state;
    Policy pcstream("pcstream", state, 8);
    pcstream.learn(1, 100 * PAGE, 1);
    REQUIRE(state.row(1).lifetime_mean == 100.0 * PAGE); // the first sets it
    pcstream.learn(1, 200 * PAGE, 1);
    REQUIRE(state.row(1).lifetime_mean == 150.0 * PAGE);
    pcstream.learn(1, 50 * PAGE, 1);
    REQUIRE(state.row(1).lifetime_mean == 100.0 * PAGE);

    Policy steadier("pcstream", state, 8, "average=0.25");
    steadier.learn(1, 300 * PAGE, 1);
    REQUIRE(state.row(1).lifetime_mean == 150.0 * PAGE);
}

TEST_CASE("S0 until a lifetime is known and streams were dealt") {
    State state;
    Policy pcstream("pcstream", state, 8);
    REQUIRE(pcstream.place(context(77)) == 0); // no row at all
    pcstream.learn(1, 10 * PAGE, 15);
    pcstream.tick(2 * MIB);
    REQUIRE(pcstream.place(1) == 0); // one death short
    pcstream.learn(1, 10 * PAGE, 1);
    pcstream.tick(2 * MIB + 1);
    REQUIRE(pcstream.place(1) == 0); // not looked at again before 3 MiB
    pcstream.tick(3 * MIB);
    REQUIRE(pcstream.place(1) == 1);
    REQUIRE(pcstream.reclusterings() == 1);
}

TEST_CASE("fewer signatures than streams: each its own, shortest first") {
    State state;
    Policy pcstream("pcstream", state, 4);
    learn(pcstream, {500, 3, 40, 500});
    pcstream.tick(MIB);
    // Equal lifetimes do not share: the smaller key comes first.
    REQUIRE(streams(pcstream, 4) == Streams{3, 1, 2, 4});
}

TEST_CASE("more signatures than streams: k-means, k = m, named by centroid") {
    State state;
    Policy pcstream("pcstream", state, 3);
    learn(pcstream, {1000, 2, 110, 1, 100, 3});
    pcstream.tick(MIB);
    REQUIRE(streams(pcstream, 6) == Streams{3, 1, 2, 1, 2, 1});
}

TEST_CASE("linear distance spends clusters on the long-lived, log distance does not") {
    for (const bool log : {false, true}) {
        State state;
        Policy pcstream("pcstream", state, 2, log ? "distance=log" : "distance=linear");
        learn(pcstream, {1, 10, 100, 1000});
        pcstream.tick(MIB);
        // Linear: {1 10 100} costs 5,994, any other cut > 400,000. Log2(1 + x) = 1 3.46 6.66 9.97:
        // halves.
        REQUIRE(streams(pcstream, 4) == (log ? Streams{1, 1, 2, 2} : Streams{1, 1, 1, 2}));
    }
}

TEST_CASE("clustering methods are told apart") {
    // Lifetimes 1 3 6 10 15 21 (gaps 2 3 4 5 6), m = 2; worked out in cluster_methods_test for the
    // values less one.
    const std::map<std::string, Streams> want = {
        {"exact", {1, 1, 1, 1, 2, 2}}, {"lloyd", {1, 1, 1, 2, 2, 2}}, {"agglomerative", {1, 1, 1, 2, 2, 2}}};
    for (const auto &[method, expected] : want) {
        CAPTURE(method);
        State state;
        Policy pcstream("pcstream", state, 2, "clustering=" + method);
        learn(pcstream, {1, 3, 6, 10, 15, 21});
        pcstream.tick(MIB);
        REQUIRE(streams(pcstream, 6) == expected);
    }
}

TEST_CASE("re-clustering waits until 10 % of the lifetimes changed by half") {
    State state;
    Policy pcstream("pcstream", state, 8);
    learn(pcstream, std::vector<uint64_t>(20, 100));
    pcstream.tick(MIB);
    REQUIRE(pcstream.reclusterings() == 1);

    pcstream.learn(1, 100000 * PAGE, 1); // 1 of 20 is 5 %
    pcstream.tick(2 * MIB);
    REQUIRE(pcstream.reclusterings() == 1);

    pcstream.learn(2, 200 * PAGE, 1); // average 150: not more than half
    pcstream.tick(3 * MIB);
    REQUIRE(pcstream.reclusterings() == 1);

    pcstream.learn(2, 153 * PAGE, 1); // 151.5: the second that changed, 10 %
    pcstream.tick(4 * MIB);
    REQUIRE(pcstream.reclusterings() == 2);
    REQUIRE(pcstream.place(1) > pcstream.place(2));
    REQUIRE(pcstream.place(2) > pcstream.place(3));

    pcstream.tick(5 * MIB); // nothing changed since
    REQUIRE(pcstream.reclusterings() == 2);
}

TEST_CASE("a shrinking lifetime counts as a change too") {
    State state;
    Policy pcstream("pcstream", state, 2, "average=1");
    learn(pcstream, {10, 1000});
    pcstream.tick(MIB);
    REQUIRE(streams(pcstream, 2) == Streams{1, 2});
    pcstream.learn(2, 501 * PAGE, 1);
    pcstream.tick(2 * MIB);
    REQUIRE(pcstream.reclusterings() == 1);
    pcstream.learn(2, 5 * PAGE, 1);
    pcstream.tick(3 * MIB);
    REQUIRE(streams(pcstream, 2) == Streams{2, 1}); // names follow centroids
}

TEST_CASE("relabel=overlap moves as few signatures as it can") {
    const bool overlap = GENERATE(false, true);
    State state;
    Policy pcstream("pcstream", state, 3, std::string("average=1") + (overlap ? ",relabel=overlap" : ""));
    learn(pcstream, {1, 2, 100, 110, 1000, 1010});
    pcstream.tick(MIB);
    REQUIRE(streams(pcstream, 6) == Streams{1, 1, 2, 2, 3, 3});
    learn(pcstream, {5000, 5010}); // the shortest become the longest
    pcstream.tick(2 * MIB);
    REQUIRE(pcstream.reclusterings() == (overlap ? 1 : 2)); // those that moved one
    REQUIRE(streams(pcstream, 6) == (overlap ? Streams{1, 1, 2, 2, 3, 3} : Streams{3, 3, 1, 1, 2, 2}));
}

TEST_CASE("relabel=overlap: of equal overlaps the smaller label takes the smaller stream") {
    State state;
    Policy pcstream("pcstream", state, 3, "relabel=overlap");
    learn(pcstream, {10, 1000});
    pcstream.tick(MIB);
    REQUIRE(streams(pcstream, 2) == Streams{1, 2}); // S3 is left
}

TEST_CASE("data that do not die: their age raises a lifetime, or counts for nothing") {
    const bool censored = GENERATE(true, false);
    State state;
    Policy pcstream("pcstream", state, 4, censored ? "" : "censored=off");
    learn(pcstream, {10, 20, 300});
    state.intern(4);
    const uint64_t now = 1000 * PAGE * 16;
    // Signature 1 has old live data beside its young dead; 4 has never seen a death, its data were
    // born at 0.
    for (uint64_t key : {1, 4}) {
        state.row(key).live_bytes = 10 * PAGE;
        state.row(key).live_birth_sum = 0;
    }
    state.intern(5); // live, but young: nothing is known
    state.row(5).live_bytes = 10 * PAGE;
    state.row(5).live_birth_sum = double(10 * PAGE) * double(now - 5 * PAGE) / PAGE;
    pcstream.tick(now);
    if (censored) // 2: 20 pages, 3: 300, then 1 and 4: both 16,000
        REQUIRE(streams(pcstream, 5) == Streams{3, 1, 2, 4, 0});
    else
        REQUIRE(streams(pcstream, 5) == Streams{1, 2, 3, 0, 0});
}

TEST_CASE("clustering=firstcome deals numbers in order until none is left, by bytes written") {
    State state;
    Policy pcstream("pcstream", state, 2, "clustering=firstcome");
    for (uint64_t key : {1, 2, 3, 4})
        state.intern(key);
    state.row(2).written_bytes = 501 * PAGE;
    pcstream.tick(MIB);
    REQUIRE(streams(pcstream, 4) == Streams{0, 1, 0, 0});
    state.row(1).written_bytes = 500 * PAGE; // more than 500 are asked for
    state.row(4).written_bytes = 900 * PAGE;
    pcstream.tick(2 * MIB);
    REQUIRE(streams(pcstream, 4) == Streams{0, 1, 0, 2});
    state.row(1).written_bytes = 900 * PAGE;
    pcstream.tick(3 * MIB);
    REQUIRE(streams(pcstream, 4) == Streams{0, 1, 0, 2});
    REQUIRE(pcstream.reclusterings() == 0);
}

TEST_CASE("clustering=firstcome goes on where an earlier process stopped") {
    State state;
    for (uint64_t key : {1, 2, 3}) {
        state.intern(key);
        Policy pcstream("pcstream", state, 2, "clustering=firstcome");
        state.row(key).written_bytes = 501 * PAGE;
        pcstream.tick(key * MIB);
    }
    Policy again("pcstream", state, 2, "clustering=firstcome");
    REQUIRE(streams(again, 3) == Streams{1, 2, 0});
}

TEST_CASE("the first look comes an interval after opening, whatever was written before") {
    State state;
    trib_state_clock_advance(state.state, 500 * MIB);
    Policy pcstream("pcstream", state, 4);
    learn(pcstream, {10, 20});
    pcstream.tick(500 * MIB);
    pcstream.tick(501 * MIB - 1);
    REQUIRE(streams(pcstream, 2) == Streams{0, 0});
    pcstream.tick(501 * MIB);
    REQUIRE(streams(pcstream, 2) == Streams{1, 2});
}

TEST_CASE("what was learned outlives the policy, also on a drive with fewer streams") {
    State state;
    {
        Policy pcstream("pcstream", state, 4);
        learn(pcstream, {10, 20, 300, 4000});
        pcstream.tick(MIB);
    }
    Policy same("pcstream", state, 4);
    REQUIRE(streams(same, 4) == Streams{1, 2, 3, 4}); // at once, without a look
    REQUIRE(same.reclusterings() == 0);
    Policy fewer("pcstream", state, 2);
    REQUIRE(streams(fewer, 4) == Streams{1, 2, 0, 0}); // never a number that the drive lacks
    fewer.tick(2 * MIB);
    REQUIRE(streams(fewer, 4) == Streams{1, 1, 1, 2});
}

TEST_CASE("a signature that the table forgot is unknown again") {
    State state(4);
    Policy pcstream("pcstream", state, 4);
    learn(pcstream, {10});
    const trib_attribute_ref old = trib_state_find(state.state, 1);
    pcstream.tick(MIB);
    REQUIRE(pcstream.place(context(1), old) == 1);
    for (uint64_t key = 100; key < 104; key++)
        state.intern(key);
    REQUIRE(pcstream.place(context(1), old) == 0);
    pcstream.died(old, 10 * PAGE); // and its deaths are nobody's
    pcstream.tick(2 * MIB);
    REQUIRE(pcstream.reclusterings() == 1);
}

TEST_CASE("the whole flow: a log that is overwritten, tables that are deleted, a catalogue that stays") {
    // Each round writes 1 MiB of log (overwritten by the next round), and 1 MiB of a new table,
    // deleted four rounds later. Clock per round 2 MiB: the log lives 2 MiB, a table from its write
    // to its death 4 x 2 MiB + 1 MiB of the next log.
    trib_pipeline *pipeline = nullptr;
    trib_error error{};
    REQUIRE(trib_pipeline_open(&pipeline, "policy=pcstream,drive=none,streams=8,attributes=16,runs=1024", false,
                               &error) == 0);
    auto event = [](trib_event_kind kind, uint64_t file, uint64_t signature) {
        trib_event e{};
        e.kind = uint8_t(kind);
        e.file = file;
        e.length_bytes = kind == TRIB_EVENT_WRITE ? MIB : TRIB_LENGTH_TO_END;
        e.cause = uint8_t(kind == TRIB_EVENT_DEATH ? TRIB_CAUSE_UNLINK : TRIB_CAUSE_NONE);
        e.who = context(signature);
        e.stream = TRIB_STREAM_UNDECIDED;
        return e;
    };
    auto process = [&](const trib_event &e) { REQUIRE(trib_pipeline_process(pipeline, &e) == 0); };
    process(event(TRIB_EVENT_WRITE, 999, 30)); // the catalogue
    for (uint64_t round = 0; round < 100; round++) {
        process(event(TRIB_EVENT_WRITE, 1, 10));
        if (round >= 4)
            process(event(TRIB_EVENT_DEATH, 100 + round - 4, 20));
        process(event(TRIB_EVENT_WRITE, 100 + round, 20));
    }
    std::map<uint64_t, trib_attribute_report> rows;
    trib_pipeline_visit_attributes(
        pipeline,
        [](void *arg, const trib_attribute_report *row) {
            (*static_cast<std::map<uint64_t, trib_attribute_report> *>(arg))[row->who.signature] = *row;
        },
        &rows);
    REQUIRE(rows.size() == 3);
    REQUIRE(rows[10].lifetime_mean_bytes == double(2 * MIB));
    REQUIRE(rows[20].lifetime_mean_bytes == double(8 * MIB));
    REQUIRE(rows[10].stream == 1);
    REQUIRE(rows[20].stream == 2);
    REQUIRE(rows[30].stream == 3); // never died: older than every mean, so the longest
    trib_status status;
    trib_pipeline_status(pipeline, &status);
    REQUIRE(status.reclusterings >= 1);
    REQUIRE(status.reclusterings <= 3);
    REQUIRE(trib_pipeline_close(pipeline) == 0);
}
