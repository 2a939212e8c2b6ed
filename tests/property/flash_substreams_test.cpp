// SPDX-License-Identifier: Apache-2.0
// HotStorage'18's substreams: who gets a number for its survivors, when, and which.
#include <cmath>
#include <stdexcept>
#include <vector>

#include "support/catch.hpp"
#include "support/flash_drive.hpp"

namespace {

constexpr uint32_t UNIT = 64; // pages of a superblock

trib_flash_config drive(trib_gc_destination gc, uint32_t streams = 6) {
    auto c = flash::config(16 * 1024, 0.15, UNIT);
    c.streams = streams;
    c.gc = gc;
    c.substream_pages = 24; // 384 of 1,024
    return c;
}

trib_flash_stream_stats stream(const flash::Drive &d, uint16_t which) {
    trib_flash_stream_stats s{};
    if (trib_flash_stream_statistics(d.get(), which, false, &s))
        throw std::runtime_error("no such stream");
    return s;
}

// Streams that only collection wrote to.
std::vector<uint16_t> substreams(const flash::Drive &d, uint16_t streams) {
    std::vector<uint16_t> found;
    for (uint16_t i = 0; i <= streams; i++)
        if (stream(d, i).gc_pages_in > 0 && stream(d, i).host_pages == 0)
            found.push_back(i);
    return found;
}

void require_sound(const flash::Drive &d) {
    trib_error error{};
    const int rc = trib_flash_check(d.get(), &error);
    INFO(error.text);
    REQUIRE(rc == 0);
}

// Uniform overwrites of a full drive; page i belongs to streams[i % size].
void churn(const flash::Drive &d, const std::vector<uint16_t> &streams, uint64_t writes, uint64_t seed = 5) {
    const uint32_t pages = 16 * 1024;
    flash::Random random(seed);
    for (uint64_t i = 0; i < writes; i++) {
        const uint32_t lba = random.below(pages);
        flash::write(d, lba, 1, streams[lba % streams.size()]);
    }
}

void fill(const flash::Drive &d, const std::vector<uint16_t> &streams) {
    for (uint32_t lba = 0; lba < 16 * 1024; lba++)
        flash::write(d, lba, 1, streams[lba % streams.size()]);
}

} // namespace

TEST_CASE("substream: streams get numbers from the top; S0 and substreams get none") {
    auto d = flash::open(drive(TRIB_GC_SUBSTREAM));
    fill(d, {0, 1, 2});
    churn(d, {0, 1, 2}, 100000);
    REQUIRE(substreams(d, 6) == std::vector<uint16_t>{5, 6}); // of S1 and S2
    REQUIRE(stream(d, 0).gc_pages_in > 0);                    // its survivors stayed
    REQUIRE(stream(d, 1).gc_pages_in == 0);
    REQUIRE(stream(d, 2).gc_pages_in == 0);
    REQUIRE(stream(d, 5).gc_pages_out > 0); // collected themselves, and nobody else took them
    require_sound(d);
}

TEST_CASE("substream: not before a victim has more valid pages than the threshold") {
    auto c = drive(TRIB_GC_SUBSTREAM);
    c.over_provisioning = 0.5; // victims are then half empty at most
    for (uint32_t threshold : {8u, 63u}) {
        c.substream_pages = threshold;
        auto d = flash::open(c);
        fill(d, {1});
        churn(d, {1}, 60000);
        CAPTURE(threshold);
        REQUIRE(substreams(d, 6).size() == (threshold == 8 ? 1 : 0));
        REQUIRE((stream(d, 1).gc_pages_in > 0) == (threshold == 63)); // they stay
        require_sound(d);
    }
}

TEST_CASE("substream: the threshold is exceeded, not met") {
    // Superblocks of 8 pages, one stream, written in order; then each superblock in turn loses
    // its first pages until the drive is short of space: the victim has exactly 8 - dead pages.
    for (uint32_t threshold : {3u, 4u}) {
        auto c = flash::config(80, 0.3, 8); // 10 full superblocks, 3 spare
        c.streams = 4;
        c.gc = TRIB_GC_SUBSTREAM;
        c.substream_pages = threshold;
        auto d = flash::open(c);
        for (uint32_t lba = 0; lba < 80; lba++)
            flash::write(d, lba, 1, 1);
        for (uint32_t half = 0; half < 80 && flash::stats(d).gc_pages == 0; half += 8)
            flash::write(d, half, 4, 1); // four of eight die
        CAPTURE(threshold);
        const auto s = flash::stats(d);
        REQUIRE(s.gc_pages > 0);
        REQUIRE(s.gc_pages == 4 * s.erases);
        REQUIRE(stream(d, 4).gc_pages_in == (threshold == 3 ? s.gc_pages : 0));
        require_sound(d);
    }
}

TEST_CASE("substream: where numbers run out survivors stay, as without substreams") {
    const std::vector<uint16_t> all{0, 1, 2, 3};
    auto same = flash::open(drive(TRIB_GC_SAME, 3)), full = flash::open(drive(TRIB_GC_SUBSTREAM, 3));
    for (auto d : {&same, &full}) {
        fill(*d, all);
        churn(*d, all, 60000);
    }
    REQUIRE(substreams(full, 3).empty());
    REQUIRE(flash::stats(full).gc_pages == flash::stats(same).gc_pages);
    REQUIRE(flash::stats(full).erases == flash::stats(same).erases);

    auto one_left = flash::open(drive(TRIB_GC_SUBSTREAM, 4)); // first come
    fill(one_left, all);
    churn(one_left, all, 60000);
    REQUIRE(substreams(one_left, 4) == std::vector<uint16_t>{4});
    int stayed = 0;
    for (uint16_t i = 1; i <= 3; i++)
        stayed += stream(one_left, i).gc_pages_in > 0;
    REQUIRE(stayed == 2);
}

TEST_CASE("substream: a number that is taken is not the host's any more: S0, counted") {
    auto d = flash::open(drive(TRIB_GC_SUBSTREAM));
    fill(d, {1});
    churn(d, {1}, 60000);
    REQUIRE(substreams(d, 6) == std::vector<uint16_t>{6});
    const auto before = flash::stats(d);
    const uint64_t s0 = stream(d, 0).host_pages;
    flash::write(d, 100, 5, 6);
    REQUIRE(flash::stats(d).remapped_writes == before.remapped_writes + 5);
    REQUIRE(stream(d, 0).host_pages == s0 + 5);
    REQUIRE(stream(d, 6).host_pages == 0);
    flash::write(d, 100, 5, 5); // this one is free
    REQUIRE(stream(d, 5).host_pages == 5);
    require_sound(d);
}

TEST_CASE("substream: which nonzero numbers the host uses does not matter") {
    const std::vector<uint16_t> low{1, 2, 3}, others{2, 3, 1};
    auto a = flash::open(drive(TRIB_GC_SUBSTREAM)), b = flash::open(drive(TRIB_GC_SUBSTREAM));
    fill(a, low);
    churn(a, low, 60000);
    fill(b, others);
    churn(b, others, 60000);
    REQUIRE(flash::stats(a).gc_pages == flash::stats(b).gc_pages);
    REQUIRE(substreams(a, 6).size() == 3);
}

TEST_CASE("chain: each generation of survivors has the next number, the last one keeps them") {
    auto d = flash::open(drive(TRIB_GC_CHAIN, 3));
    fill(d, {0});
    churn(d, {0}, 200000);
    REQUIRE(substreams(d, 3) == std::vector<uint16_t>{1, 2, 3}); // S0 -> S3 -> S2 -> S1
    REQUIRE(stream(d, 0).gc_pages_in == 0);
    REQUIRE(stream(d, 3).gc_pages_in == stream(d, 0).gc_pages_out);
    REQUIRE(stream(d, 2).gc_pages_in == stream(d, 3).gc_pages_out);
    REQUIRE(stream(d, 1).gc_pages_in == stream(d, 2).gc_pages_out + stream(d, 1).gc_pages_out);
    REQUIRE(flash::stats(d).misplaced_pages == 0);
    require_sound(d);
}

TEST_CASE("skewed writes: a chain and substreams copy less than survivors that rejoin new data") {
    auto skewed = [](trib_gc_destination gc, uint16_t which) {
        auto c = drive(gc);
        auto d = flash::open(c);
        flash::Random random(9);
        for (uint32_t lba = 0; lba < c.logical_pages; lba++)
            flash::write(d, lba, 1, which);
        for (uint64_t i = 0; i < 12 * c.logical_pages; i++)
            flash::write(d, uint32_t(double(c.logical_pages) * std::pow(random.unit(), 4)), 1, which);
        return flash::waf(d);
    };
    const double same = skewed(TRIB_GC_SAME, 0), chain = skewed(TRIB_GC_CHAIN, 0);
    const double substream = skewed(TRIB_GC_SUBSTREAM, 1), none = skewed(TRIB_GC_SUBSTREAM, 0);
    CAPTURE(same, chain, substream);
    CHECK(chain < 0.9 * same);
    CHECK(substream < 0.9 * same);
    CHECK(none == Approx(same)); // S0 never gets one
}

TEST_CASE("a threshold that no victim can exceed is refused") {
    auto c = drive(TRIB_GC_SUBSTREAM);
    c.substream_pages = UNIT;
    trib_flash *f = nullptr;
    trib_error error{};
    REQUIRE(trib_flash_open(&f, &c, &error) == -22);
    REQUIRE(std::string(error.text).find("64 pages never has more than substream_pages=64") != std::string::npos);
}
