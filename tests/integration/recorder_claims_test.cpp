// SPDX-License-Identifier: Apache-2.0
// What processes say of themselves: what cannot be is damage and moves no total, and what one has said is not held
// against the next that gets its place.
#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <tributary/client.h>

#include "base/clock.h"
#include "support/folder.hpp"
#include "support/recorder.hpp"

using namespace trib_test;

namespace {

struct Claim {
    const char *what;
    uint64_t events, bytes;
};

const Claim kImpossible[] = {{"more events than anybody counts", uint64_t{1} << 32, 100},
                             {"counters that went back", UINT64_MAX, 0},
                             {"more bytes than the events may have", 3, 3 * TRIB_EVENT_BYTES_MAX + 1},
                             {"bytes that went back", 3, UINT64_MAX}};
constexpr Claim kMost = {"the most that three events may have", 3, 3 * TRIB_EVENT_BYTES_MAX};

} // namespace

TEST_CASE("drops that cannot be are damage, and neither counted nor shown") {
    const Claim claim = GENERATE(from_range(std::begin(kImpossible), std::end(kImpossible)));
    INFO(claim.what);
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    trib_test_claim_drops(client, claim.events, claim.bytes);
    recorder.take();
    recorder.take();
    CHECK(recorder.counts().events_dropped == 0);
    CHECK(recorder.counts().bytes_dropped == 0);
    CHECK(recorder.counts().damaged == 1);
    REQUIRE(recorder.producers(1).size() == 1);
    CHECK(recorder.producers(1)[0].damaged == 1);
    CHECK(recorder.producers(1)[0].events_dropped == 0); // or it would stand before all others
    trib_client_close(client);
}

TEST_CASE("the most that events can have dropped is believed") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    trib_test_claim_drops(client, kMost.events, kMost.bytes);
    recorder.take();
    CHECK(recorder.counts().events_dropped == kMost.events);
    CHECK(recorder.counts().bytes_dropped == kMost.bytes);
    CHECK(recorder.counts().damaged == 0);
    trib_client_close(client);
}

TEST_CASE("what a process says to have missed without a daemon is believed within the same bounds") {
    const auto joined_with = [](const Claim &claim) {
        Folder folder;
        Recorder recorder(folder / "s");
        trib_client *client = nullptr;
        REQUIRE(trib_client_open(&client, (folder / "s").c_str(), nullptr) == 0);
        trib_test_claim_missed(client, claim.events, claim.bytes);
        for (unsigned i = 0; i < 20 && trib_client_join(client) != 0; i++)
            sleep_ms(100);
        recorder.wait_for(&trib_test_counts::processes, 1);
        sleep_ms(20); // what it missed is counted next
        trib_client_close(client);
        return recorder.counts();
    };
    for (const Claim &claim : kImpossible) {
        INFO(claim.what);
        const trib_test_counts counts = joined_with(claim);
        CHECK(counts.events_dropped == 0);
        CHECK(counts.bytes_dropped == 0);
    }
    const trib_test_counts counts = joined_with(kMost);
    CHECK(counts.events_dropped == kMost.events);
    CHECK(counts.bytes_dropped == kMost.bytes);
}

TEST_CASE("a reason that is none is damage, and names no program") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    REQUIRE(trib_test_put_uncovered(client, TRIB_UNCOVERED_SETUID, "/first"));
    REQUIRE(trib_test_put_uncovered(client, TRIB_UNCOVERED_COUNT - 1, "/last"));
    recorder.take();
    CHECK(recorder.counts().damaged == 0);
    const uint64_t why = GENERATE(as<uint64_t>{}, TRIB_COVERED, TRIB_UNCOVERED_COUNT, UINT32_MAX, 1ull << 32 | 1);
    INFO(why);
    REQUIRE(trib_test_put_uncovered(client, why, "/none"));
    recorder.take();
    CHECK(recorder.counts().damaged == 1);
    CHECK(recorder.uncovered ==
          std::map<std::string, uint32_t>{{"/first", TRIB_UNCOVERED_SETUID}, {"/last", TRIB_UNCOVERED_COUNT - 1}});
    trib_client_close(client);
}

TEST_CASE("a process that gets the place of an ended one begins from nothing") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *former = join_patiently(folder / "s");
    REQUIRE(former);
    for (unsigned i = 0; i < 3; i++)
        REQUIRE(submit_as_is(former, write_of(1, trib_now_ns(), 10)));
    trib_test_claim_drops(former, 4, 40);
    trib_test_claim_broken(former, 5, 6);
    CHECK(recorder.take_all().size() == 3);
    std::vector<trib_status_producer> rows = recorder.producers(4);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].events == 3);
    CHECK(rows[0].bytes == 30);
    CHECK(rows[0].events_dropped == 4);
    CHECK(rows[0].bytes_dropped == 40);
    CHECK(rows[0].broken == 5);
    trib_event nonsense = write_of(1, 1);
    nonsense.kind = TRIB_EVENT_READ + 1;
    REQUIRE(submit_as_is(former, nonsense));
    recorder.take();
    CHECK(recorder.producers(4)[0].damaged == 1);
    trib_client_close(former);
    recorder.take();
    recorder.take();
    REQUIRE(recorder.counts().processes_live == 0);

    trib_client *next = join_patiently(folder / "s");
    REQUIRE(next);
    recorder.take();
    rows = recorder.producers(4);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].events == 0);
    CHECK(rows[0].bytes == 0);
    CHECK(rows[0].events_dropped == 0);
    CHECK(rows[0].bytes_dropped == 0);
    CHECK(rows[0].broken == 0);
    CHECK(rows[0].damaged == 0);
    REQUIRE(submit_as_is(next, write_of(1, trib_now_ns(), 10)));
    trib_test_claim_drops(next, 1, 1);
    CHECK(recorder.take_all().size() == 1);
    CHECK(recorder.counts().events_dropped == 4 + 1 + 1); // the nonsense, too
    CHECK(recorder.counts().bytes_dropped == 41);
    trib_client_close(next);
}

TEST_CASE("who lost most is shown first, then who wrote most, however few there is room for") {
    Folder folder;
    Recorder recorder(folder / "s");
    const struct { uint64_t bytes, lost; } told[] = {{100, 0}, {3000, 0}, {10, 2}, {200, 0}, {20, 7}, {3, 2}};
    const std::vector<uint64_t> shown = {20, 10, 3, 3000, 200, 100};
    std::vector<trib_client *> clients;
    for (const auto &it : told) {
        clients.push_back(join_patiently(folder / "s"));
        REQUIRE(clients.back());
        REQUIRE(submit_as_is(clients.back(), write_of(1, trib_now_ns(), it.bytes)));
        trib_test_claim_drops(clients.back(), it.lost, it.lost);
    }
    CHECK(recorder.take_all().size() == 6);
    for (uint32_t room = 1; room <= 8; room++) {
        INFO("room for " << room);
        uint32_t total = 0;
        std::vector<uint64_t> bytes;
        for (const trib_status_producer &row : recorder.producers(room, &total))
            bytes.push_back(row.bytes);
        CHECK(bytes == std::vector<uint64_t>(shown.begin(), shown.begin() + std::min<uint32_t>(room, 6)));
        CHECK(total == 6);
    }
    for (trib_client *client : clients)
        trib_client_close(client);
}
