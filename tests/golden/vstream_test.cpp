// SPDX-License-Identifier: Apache-2.0
// vStream-FTL against TCE'21 sections V.B to V.D, on numbers small enough to check by hand. Times
// in pages. Capacity 100 MiB, so that the default period of an eighth is 12.5 MiB; superpage=1
// gives every page its own time and asks for one death of history.
#include "support/policy.hpp"

#include <algorithm>
#include <vector>

using namespace trib_test;

namespace {

constexpr uint64_t MIB = 1 << 20;
using Streams = std::vector<uint16_t>;

// Writes of named virtual streams; the clock runs on by itself.
class Host {
  public:
    explicit Host(const Policy &policy) : policy_(policy) {
    }
    uint16_t write(uint16_t name, uint64_t lba, uint32_t pages = 1) {
        trib_placement write{};
        write.vstream = name;
        clock_ += pages;
        return policy_.place_block(lba, clock_ - pages, pages, write);
    }
    // Others write meanwhile: data without a name.
    void idle(uint64_t pages) {
        clock_ += pages;
    }
    // A page that dies by overwrite at this age; its successor stays.
    void live(uint16_t name, uint64_t lba, uint64_t age) {
        write(name, lba);
        idle(age - 1);
        write(name, lba);
    }
    // Stream i lives `ages[i]`, in its own part of the address range.
    void live_all(const std::vector<uint64_t> &ages) {
        for (size_t i = 0; i < ages.size(); i++)
            live(uint16_t(i), 100 * i, ages[i]);
    }
    Streams where(size_t names) { // of a new page of each
        Streams result;
        probe_++;
        for (size_t i = 0; i < names; i++)
            result.push_back(write(uint16_t(i), 100 * i + 50 + probe_));
        return result;
    }
    uint16_t copy(uint64_t lba) const {
        trib_relocation page{};
        page.lba = lba;
        return policy_.policy->relocate(policy_.self, &page);
    }

  private:
    const Policy &policy_;
    uint64_t clock_ = 0, probe_ = 0;
};

} // namespace

TEST_CASE("the default stream until there is history, then one stream each") {
    State state;
    Policy vstream("vstream", state, 8, "superpage=1");
    Host host(vstream);
    REQUIRE(host.write(2, 7) == 0);
    host.live_all({500, 20, 100});
    REQUIRE(host.where(3) == Streams{0, 0, 0});
    vstream.tick(12 * MIB); // no period is over
    REQUIRE(host.where(3) == Streams{0, 0, 0});
    vstream.tick(13 * MIB);
    REQUIRE(host.where(3) == Streams{3, 1, 2}); // by lifetime
    REQUIRE(host.write(9, 900) == 0);           // a newcomer
}

TEST_CASE("K is the paper's three, or as many as the drive has") {
    for (uint32_t streams : {0u, 1u, 2u, 8u}) {
        State state;
        Policy vstream("vstream", state, streams, "superpage=1");
        Host host(vstream);
        host.live_all({10, 20, 30, 40, 50, 60});
        vstream.tick(13 * MIB);
        Streams found = host.where(6);
        REQUIRE(*std::max_element(found.begin(), found.end()) == std::min(streams, 3u));
    }
}

TEST_CASE("each period makes one step: means of the mapped, then to the nearest mean") {
    State state;
    Policy vstream("vstream", state, 2, "superpage=1,decay=1");
    Host host(vstream);
    host.live_all({1, 10, 20, 30, 40, 100});
    // First map: halves {1, 10, 20} and {30, 40, 100}, means 10.3 and 56.7. 30 is nearer to 10.3.
    vstream.tick(13 * MIB);
    REQUIRE(host.where(6) == Streams{1, 1, 1, 1, 2, 2});
    REQUIRE(vstream.reclusterings() == 1);
    // Means 15.25 and 70: 40 is 24.75 from the first and 30 from the second.
    vstream.tick(26 * MIB);
    REQUIRE(host.where(6) == Streams{1, 1, 1, 1, 1, 2});
    // Means 20.2 and 100.
    vstream.tick(39 * MIB);
    REQUIRE(host.where(6) == Streams{1, 1, 1, 1, 1, 2});
    REQUIRE(vstream.reclusterings() == 2);
}

TEST_CASE("a mean counts streams, not their pages") {
    State state;
    Policy vstream("vstream", state, 2, "superpage=1,decay=1");
    Host host(vstream);
    for (int i = 0; i < 50; i++)
        host.live(0, 0, 1); // weighted by deaths, the first mean would be 1.7
    host.live_all({1, 10, 20, 30, 40, 100});
    vstream.tick(13 * MIB);
    REQUIRE(host.where(6) == Streams{1, 1, 1, 1, 2, 2});
}

TEST_CASE("a lifetime is the mean age of the dead; sums are halved every period, or kept") {
    for (const char *decay : {"", ",decay=1"}) {
        CAPTURE(decay);
        State state;
        Policy vstream("vstream", state, 2, std::string("superpage=1") + decay);
        Host host(vstream);
        host.live_all({100, 200, 310});
        // {100, 200} and {310}: nothing moves.
        vstream.tick(13 * MIB);
        REQUIRE(host.where(3) == Streams{1, 1, 2});
        host.live(0, 30, 400);
        // Kept: 500 / 2 = 250, means 225 and 310: stays. Halved: (50 + 400) / 1.5 = 300, means 250
        // and 310: moves.
        vstream.tick(26 * MIB);
        REQUIRE(host.where(3) == (*decay ? Streams{1, 1, 2} : Streams{2, 1, 2}));
    }
}

TEST_CASE("a trim is a death as an overwrite is") {
    State state;
    Policy vstream("vstream", state, 2, "superpage=1");
    Host host(vstream);
    host.write(0, 0);
    host.idle(50);
    host.live(1, 100, 3); // its first write tells the time: 52
    vstream.policy->blocks.discarded(vstream.self, 0, 1, 0);
    vstream.policy->blocks.discarded(vstream.self, 0, 1, 0); // dead already
    vstream.tick(13 * MIB);
    REQUIRE(host.where(2) == Streams{2, 1});
}

TEST_CASE("the pages of a superpage share the time when it was filled") {
    for (bool shared : {true, false}) {
        State state;
        Policy vstream("vstream", state, 2, shared ? "superpage=4" : "superpage=1");
        Host host(vstream);
        for (uint16_t name : {1, 2}) { // live about 100 and 400
            host.write(name, 100u * name, 4);
            host.idle(name == 1 ? 96 : 396);
            host.write(name, 100u * name, 4);
        }
        // The first page comes 1,000 before the other three, and all die about 100 after those:
        // about 100 each, or (1100 + 3 * 101) / 4 = 351.
        host.write(0, 0);
        host.idle(999);
        host.write(0, 1, 3);
        host.idle(97);
        host.write(0, 0, 4);
        vstream.tick(13 * MIB);
        CAPTURE(shared);
        Streams found = host.where(3);
        REQUIRE(found[1] == 1);
        REQUIRE(found[2] == 2);
        REQUIRE(found[0] == (shared ? 1 : 2));
    }
}

TEST_CASE("a page that was written again while its superpage waited keeps the time of its last writing") {
    State state;
    Policy vstream("vstream", state, 2, "superpage=2");
    Host host(vstream);
    for (uint16_t name : {0, 1}) { // live 100 and 400
        host.write(name, 100u * name, 2);
        host.idle(name == 0 ? 98 : 398);
        host.write(name, 100u * name, 2);
    }
    vstream.tick(13 * MIB);
    host.write(0, 1000);    // waits for a second page of S1
    host.write(3, 1000, 2); // another stream's now, and programmed
    host.idle(300);
    host.write(0, 1010); // fills S1's superpage, of which page 1000 is no part any more
    host.idle(48);
    host.write(3, 1000, 2); // both were 350 old
    vstream.tick(26 * MIB);
    // S1's mean is 50 (its page of age 1 counts whole), S2's 400.
    REQUIRE(host.write(3, 2000) == 2);
}

TEST_CASE("a copy goes where its virtual stream is mapped now") {
    State state;
    Policy vstream("vstream", state, 3, "superpage=1");
    Host host(vstream);
    host.live_all({10, 20, 30});
    REQUIRE(host.copy(200) == 0);
    REQUIRE(host.copy(5000) == 0); // never written
    vstream.tick(13 * MIB);
    REQUIRE(host.copy(0) == 1);
    REQUIRE(host.copy(100) == 2);
    REQUIRE(host.copy(200) == 3); // written to S0, when nothing was known
}

TEST_CASE("copies that fill a superpage share the mean of their times, or get a new one") {
    for (bool now : {false, true}) {
        CAPTURE(now);
        State state;
        Policy vstream("vstream", state, 2, now ? "superpage=2,gc_time=now" : "superpage=2");
        Host host(vstream);
        host.write(0, 0, 2); // at 2
        host.idle(98);
        host.write(0, 2, 2); // at 102
        host.idle(98);
        host.write(3, 300, 2); // at 202
        host.copy(0);
        host.copy(2); // together: 52, or 202
        host.copy(1); // alone: still 2
        host.idle(98);
        host.write(0, 0);              // at 301: dies at 249, or 99
        host.write(0, 2);              // at 302: 250, or 100
        for (uint16_t name : {1, 2}) { // 100 and 249
            host.write(name, 100u * name, 2);
            host.idle(name == 1 ? 98 : 247);
            host.write(name, 100u * name, 2);
        }
        vstream.tick(13 * MIB);
        REQUIRE(host.where(3) == (now ? Streams{1, 1, 2} : Streams{2, 1, 2}));
    }
}

TEST_CASE("a physical stream that lost its members is given to the farthest after two periods") {
    State state;
    Policy vstream("vstream", state, 3, "superpage=1,decay=1");
    Host host(vstream);
    host.live_all({50, 50}); // two streams for three: S3 stays empty
    vstream.tick(13 * MIB);
    REQUIRE(host.where(2) == Streams{1, 1}); // equal lifetimes: one place, the lower number
    host.live(2, 200, 60);
    host.live(3, 300, 1000);
    vstream.tick(26 * MIB); // one centre, all four near it; two streams empty for the first time
    REQUIRE(host.where(4) == Streams{1, 1, 1, 1});
    vstream.tick(39 * MIB); // S2 was empty before: to the 1000
    REQUIRE(host.where(4) == Streams{1, 1, 1, 2});
}

TEST_CASE("a physical stream that was empty for one period only stays where it was") {
    State state;
    Policy vstream("vstream", state, 2, "superpage=1,decay=1");
    Host host(vstream);
    host.live_all({50, 50, 50}); // first map: two in S1, one in S2
    vstream.tick(13 * MIB);
    REQUIRE(host.where(3) == Streams{1, 1, 1}); // both means are 50: the lower number
    host.live(2, 270, 200);                     // mean of 50 and 200: 125
    vstream.tick(26 * MIB); // S1's mean is 75; S2, empty once, is still at 50 and not at the farthest, 125
    REQUIRE(host.where(3) == Streams{2, 2, 1});
}

TEST_CASE("who names the virtual stream is an option; unnamed data go to the default stream") {
    auto name = [](const char *text, trib_context who, uint16_t vstream) {
        State state;
        Policy policy("vstream", state, 2, std::string("superpage=1") + text);
        REQUIRE(policy.code == 0);
        trib_placement write{};
        write.who = who;
        write.vstream = vstream;
        for (uint64_t clock : {0, 10})
            policy.place_block(0, clock, 1, write);
        policy.tick(13 * MIB);
        return policy.place_block(1, 20, 1, write);
    };
    const trib_context nobody = context(0), sst = context(7, TRIB_FILE_SST);
    const trib_context hinted = context(7, TRIB_FILE_UNKNOWN, TRIB_HINT_LONG);
    const uint16_t none = TRIB_STREAM_UNDECIDED;
    CHECK(name("", nobody, none) == 0);
    CHECK(name("", nobody, 5) == 1);
    CHECK(name("", sst, none) == 1);
    CHECK(name("", hinted, none) == 1);
    CHECK(name(",source=host", sst, none) == 0);
    CHECK(name(",source=host", sst, 5) == 1);
    CHECK(name(",source=hint", sst, 5) == 0);
    CHECK(name(",source=hint", hinted, none) == 1);
    CHECK(name(",source=kind", sst, none) == 1);
    CHECK(name(",source=kind", hinted, none) == 0);
    CHECK(name(",source=tenant", nobody, none) == 1);
    CHECK(name(",source=signature", nobody, none) == 0);
    CHECK(name(",source=signature", sst, none) == 1);
    CHECK(name(",source=host,default=2", sst, none) == 2);
}

TEST_CASE("without a drive there is nothing to follow") {
    State state;
    Policy vstream("vstream", state, 8, "", 0);
    REQUIRE(vstream.code == -EINVAL);
    REQUIRE(vstream.sentence.find("drive") != std::string::npos);
}
