// SPDX-License-Identifier: Apache-2.0
// The calls of the emulated drive: ranges, counters, streams, refusals, the dump.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/flash_drive.hpp"

using flash::config;

static void require_sound(const flash::Drive &d) {
    trib_error error{};
    int rc = trib_flash_check(d.get(), &error);
    INFO(error.text);
    REQUIRE(rc == 0);
}

static std::string refusal(const trib_flash_config &c) {
    trib_flash *f = reinterpret_cast<trib_flash *>(1);
    trib_error error{};
    REQUIRE(trib_flash_open(&f, &c, &error) == -EINVAL);
    REQUIRE(f == reinterpret_cast<trib_flash *>(1)); // outputs only on success
    return error.text;
}

static bool contains(const std::string &text, const std::string &what) {
    if (text.find(what) == std::string::npos)
        WARN("\"" << what << "\" is not in: " << text);
    return text.find(what) != std::string::npos;
}

TEST_CASE("a new drive is empty and free") {
    auto d = flash::open(config(1000, 0.07, 10));
    auto s = flash::stats(d);
    CHECK(s.physical_pages == 1070);
    CHECK(s.free_superblocks == 107);
    CHECK(s.mapped_pages == 0);
    CHECK(trib_flash_lookup(d.get(), 0) == UINT32_MAX);
    CHECK(trib_flash_lookup(d.get(), 1000) == UINT32_MAX);
    require_sound(d);
}

TEST_CASE("over-provisioning is rounded up to whole superblocks") {
    CHECK(flash::stats(flash::open(config(1000, 0.0701, 10))).physical_pages == 1080);
    CHECK(flash::stats(flash::open(config(1001, 0.10, 10))).physical_pages == 1110);
}

TEST_CASE("writes map pages, overwrites move them") {
    auto d = flash::open(config(1000, 0.07, 10));
    REQUIRE(trib_flash_write(d.get(), 5, 3, 0) == 0);
    uint32_t before = trib_flash_lookup(d.get(), 6);
    REQUIRE(before != UINT32_MAX);
    REQUIRE(trib_flash_write(d.get(), 6, 1, 0) == 0);
    CHECK(trib_flash_lookup(d.get(), 6) != before);
    CHECK(flash::stats(d).mapped_pages == 3);
    CHECK(flash::stats(d).host_pages == 4);
    require_sound(d);
}

TEST_CASE("bad ranges are refused and change nothing") {
    auto d = flash::open(config(1000, 0.07, 10));
    CHECK(trib_flash_write(d.get(), 0, 0, 0) == -EINVAL);
    CHECK(trib_flash_write(d.get(), 1000, 1, 0) == -EINVAL);
    CHECK(trib_flash_write(d.get(), 999, 2, 0) == -EINVAL);
    CHECK(trib_flash_write(d.get(), UINT64_MAX, 2, 0) == -EINVAL);
    CHECK(trib_flash_discard(d.get(), 0, 0) == -EINVAL);
    CHECK(trib_flash_discard(d.get(), 1, UINT64_MAX) == -EINVAL);
    CHECK(trib_flash_read(d.get(), 1000, 1) == -EINVAL);
    const uint32_t lbas[] = {1, 2, 1000};
    CHECK(trib_flash_write_batch(d.get(), lbas, 3, 0) == -EINVAL);
    auto s = flash::stats(d);
    CHECK(s.host_pages + s.read_pages + s.discarded_pages + s.mapped_pages == 0);
}

TEST_CASE("discard unmaps and counts only what was mapped") {
    auto d = flash::open(config(1000, 0.07, 10));
    REQUIRE(trib_flash_write(d.get(), 0, 20, 0) == 0);
    REQUIRE(trib_flash_discard(d.get(), 10, 100) == 0);
    CHECK(flash::stats(d).discarded_pages == 10);
    CHECK(flash::stats(d).mapped_pages == 10);
    CHECK(trib_flash_lookup(d.get(), 10) == UINT32_MAX);
    require_sound(d);
}

TEST_CASE("a discarded drive writes for free again") {
    auto d = flash::open(config(1000, 0.07, 10));
    for (int round = 0; round < 20; round++) {
        for (uint64_t lba = 0; lba < 1000; lba++)
            REQUIRE(trib_flash_write(d.get(), (lba * 7) % 1000, 1, 0) == 0);
        REQUIRE(trib_flash_discard(d.get(), 0, 1000) == 0);
    }
    CHECK(flash::stats(d).gc_pages == 0);
    CHECK(flash::stats(d).mapped_pages == 0);
    require_sound(d);
}

TEST_CASE("streams keep to their own superblocks") {
    auto c = config(1000, 0.30, 10);
    c.streams = 3;
    auto d = flash::open(c);
    for (uint16_t stream = 0; stream <= 3; stream++)
        REQUIRE(trib_flash_write(d.get(), 100u * stream, 5, stream) == 0);
    CHECK(flash::stats(d).open_superblocks == 4);
    CHECK(flash::stats(d).streams_used == 4);
    for (uint16_t stream = 0; stream <= 3; stream++) {
        trib_flash_stream_stats s{};
        REQUIRE(trib_flash_stream_statistics(d.get(), stream, false, &s) == 0);
        CHECK(s.host_pages == 5);
        CHECK(s.superblocks == 1);
        CHECK(s.valid_pages == 5);
    }
    trib_flash_stream_stats s{};
    CHECK(trib_flash_stream_statistics(d.get(), 4, false, &s) == -EINVAL);
    CHECK(trib_flash_stream_statistics(d.get(), 0, true, &s) == -EINVAL);
}

TEST_CASE("streams in use are those written to since the counters were reset") {
    auto c = config(1000, 0.30, 10);
    c.streams = 3;
    auto d = flash::open(c);
    for (uint16_t stream = 0; stream <= 3; stream++)
        flash::write(d, 100u * stream, 5, stream);
    CHECK(flash::stats(d).streams_used == 4);
    trib_flash_reset_counters(d.get());
    CHECK(flash::stats(d).streams_used == 0);
    flash::write(d, 200, 1, 2);
    CHECK(flash::stats(d).streams_used == 1);
}

TEST_CASE("a stream the drive does not have becomes S0 and is counted") {
    auto c = config(1000, 0.30, 10);
    c.streams = 2;
    auto d = flash::open(c);
    REQUIRE(trib_flash_write(d.get(), 0, 4, 3) == 0);
    CHECK(flash::stats(d).remapped_writes == 4);
    trib_flash_stream_stats s{};
    REQUIRE(trib_flash_stream_statistics(d.get(), 0, false, &s) == 0);
    CHECK(s.host_pages == 4);
}

TEST_CASE("impossible geometries are refused with a sentence") {
    CHECK(contains(refusal(config(1000, 0.01, 10)), "101 superblocks of 10 pages are too few"));
    CHECK(contains(refusal(config(1000, 0.01, 10)), ">= 3.000 %"));
    CHECK(
        contains(refusal(config(1000, 0.01, 10)), "smaller superblocks (superblock=) or more over-provisioning (op=)"));
    CHECK(flash::stats(flash::open(config(1000, 0.03, 10))).free_superblocks == 103);
    auto c = config(1000, 0.07, 10);
    c.gc_free_low = 7;
    CHECK(contains(refusal(c), "at least 8 more"));
    c.gc_free_low = 6;
    CHECK_NOTHROW(flash::open(c));
    CHECK(contains(refusal(config(1000, 0, 10)), "over-provisioning"));
    CHECK(contains(refusal(config(1000, 0.07, 1)), "2..16777216 pages"));
    CHECK(contains(refusal(config(0, 0.07, 10)), "exports"));
    CHECK(contains(refusal(config(1ull << 33, 0.07, 1024)), "exports"));
    CHECK(contains(refusal(config(4200000000u, 0.07, 1024)), "physical pages"));
    c = config(1000, 0.07, 10);
    c.gc = TRIB_GC_CLASS;
    CHECK(contains(refusal(c), "internal streams"));
    c.internal_streams = 4;
    CHECK(contains(refusal(c), "relocates"));
    c = config(1000, 0.07, 10);
    c.streams = 255;
    CHECK(contains(refusal(c), "at most 254"));
    c = config(1000, 0.07, 10);
    c.victim = TRIB_VICTIM_D_CHOICES;
    c.victim_choices = 0;
    CHECK(contains(refusal(c), "1..64 choices"));
    c = config(1000, 0.07, 10);
    c.latency.channels = 4;
    CHECK(contains(refusal(c), "dies"));
}

TEST_CASE("a batch is the same as single writes") {
    auto c = config(5000, 0.10, 32);
    c.streams = 2;
    auto one = flash::open(c), many = flash::open(c);
    flash::Random random(3);
    std::vector<uint32_t> lbas(10000);
    for (int round = 0; round < 10; round++) {
        uint16_t stream = uint16_t(round % 3);
        for (auto &lba : lbas) {
            lba = random.below(5000);
            REQUIRE(trib_flash_write(one.get(), lba, 1, stream) == 0);
        }
        REQUIRE(trib_flash_write_batch(many.get(), lbas.data(), uint32_t(lbas.size()), stream) == 0);
    }
    for (uint64_t lba = 0; lba < 5000; lba++)
        REQUIRE(trib_flash_lookup(one.get(), lba) == trib_flash_lookup(many.get(), lba));
    CHECK(flash::stats(one).gc_pages == flash::stats(many).gc_pages);
    CHECK(flash::stats(one).gc_pages > 0);
}

TEST_CASE("preconditioning fills the drive and resets counters but not wear") {
    auto d = flash::open(config(10000, 0.07, 50));
    REQUIRE(trib_flash_precondition(d.get(), 2, true) == 0);
    auto s = flash::stats(d);
    CHECK(s.mapped_pages == 10000);
    CHECK(s.host_pages == 0);
    CHECK(s.erases == 0);
    CHECK(s.erase_count_mean > 0);
    CHECK(trib_flash_precondition(d.get(), -1, true) == -EINVAL);
    require_sound(d);
}

TEST_CASE("free superblocks rotate, so wear is level under uniform writes") {
    auto d = flash::open(config(20000, 0.20, 50));
    REQUIRE(trib_flash_precondition(d.get(), 40, false) == 0);
    auto s = flash::stats(d);
    CHECK(s.erase_count_mean > 50);
    CHECK(s.erase_count_min > 0.6 * s.erase_count_mean);
    CHECK(s.erase_count_max < 1.4 * s.erase_count_mean);
}

TEST_CASE("memory is what the tables take, less than 9 bytes per physical page") {
    auto s = flash::stats(flash::open(config(1 << 20, 0.07, 1024)));
    CHECK(double(s.memory_bytes) / double(s.physical_pages) < 9);
}

static size_t count(const std::string &text, const std::string &what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        n++;
    return n;
}

TEST_CASE("the dump names every superblock once") {
    auto c = config(1000, 0.30, 10);
    c.streams = 1;
    c.gc = TRIB_GC_TWIN;
    auto d = flash::open(c);
    REQUIRE(trib_flash_write(d.get(), 0, 25, 1) == 0);
    auto text = flash::dump(d);
    CHECK(count(text, "\"state\":\"free\"") == 127);
    CHECK(count(text, "\"state\":\"open\",\"stream\":1,\"internal\":false,\"valid\":5") == 1);
    CHECK(count(text, "\"state\":\"closed\",\"stream\":1,\"internal\":false,\"valid\":10") == 2);
    CHECK(contains(text, R"("gc":"twin","victim":"greedy")"));
    CHECK(count(text, "{") == count(text, "}"));
}

TEST_CASE("a dump that cannot be written says so") {
    auto d = flash::open(config(100000, 0.30, 10));
    FILE *full = fopen("/dev/full", "w");
    REQUIRE(full);
    CHECK(trib_flash_dump(d.get(), full) == -EIO);
    fclose(full);
}

namespace {

struct FirstReclaimed {
    int stream = -1;
    uint64_t opened_age = 0, closed_age = 0;
};

void note_first(void *arg, uint16_t stream, bool, uint64_t opened_age, uint64_t closed_age) {
    auto *first = static_cast<FirstReclaimed *>(arg);
    if (first->stream < 0)
        *first = {stream, opened_age, closed_age};
}

} // namespace

TEST_CASE("cost-benefit counts a superblock's age from when it was closed") {
    FirstReclaimed first;
    auto c = config(64, 0.30, 4);
    c.streams = 2;
    c.victim = TRIB_VICTIM_COST_BENEFIT;
    c.reclaimed = note_first;
    c.gc_arg = &first;
    auto d = flash::open(c);
    flash::write(d, 0, 1, 1); // stream 1 opens first
    flash::write(d, 4, 4, 2); // stream 2 fills a superblock
    flash::write(d, 8, 56, 0);
    flash::write(d, 1, 3, 1); // ... and only now stream 1 does
    for (uint64_t lba : {0, 4, 1, 5, 2, 6})
        flash::write(d, lba, 1, 0); // one valid page in either
    for (uint64_t i = 0; first.stream < 0 && i < 200; i++)
        flash::write(d, 8 + i * 4 % 56, 1, 0);
    REQUIRE(first.stream == 2);
    REQUIRE(first.opened_age > first.closed_age);
}

TEST_CASE("chance that finds nothing gives way to greed after sixteen full superblocks") {
    auto c = config(1000 * 16, 0.01, 16);
    c.victim = TRIB_VICTIM_D_CHOICES;
    c.victim_choices = 1;
    auto d = flash::open(c);
    for (uint64_t lba = 0; lba < c.logical_pages; lba++)
        flash::write(d, lba, 1, 0);
    for (uint64_t i = 0; i < 8000; i++) // only these sixteen pages' superblocks ever hold anything dead
        flash::write(d, i % 16, 1, 0);
    auto s = flash::stats(d);
    CHECK(s.gc_pages > 0);
    CHECK(s.gc_pages <= 17 * (s.host_pages - c.logical_pages));
    require_sound(d);
}

TEST_CASE("pages copied together count as pages copied one by one") {
    auto c = config(64 * 256, 0.02, 64); // too few spare superblocks for all streams and their twins
    c.streams = 8;
    c.gc = TRIB_GC_TWIN;
    uint64_t misplaced[2];
    for (const bool one_by_one : {false, true}) {
        c.latency = {};
        if (one_by_one) { // the latency model moves page by page
            c.latency.channels = c.latency.dies_per_channel = c.latency.pages_per_program = c.latency.queue_depth = 1;
            c.latency.read_us = c.latency.program_us = c.latency.erase_us = c.latency.channel_mb_per_s = 1;
        }
        auto d = flash::open(c);
        flash::Random random(2);
        for (uint64_t i = 0; i < 2 * c.logical_pages; i++)
            flash::write(d, i < c.logical_pages ? i : random.below(c.logical_pages), 1, uint16_t(random.below(9)));
        misplaced[one_by_one] = flash::stats(d).misplaced_pages;
    }
    CHECK(misplaced[0] > 100);
    CHECK(double(misplaced[0]) ==
          Approx(double(misplaced[1])).epsilon(0.1)); // which of the open ones they share may differ
}
