// SPDX-License-Identifier: Apache-2.0
// Virtual time: what can be computed by hand must come out, to the rounding of the histogram (3 %)
// for percentiles.
#include <algorithm>

#include "support/catch.hpp"
#include "support/flash_drive.hpp"

static trib_flash_latency tlc() {
    trib_flash_latency l{};
    l.channels = 4;
    l.dies_per_channel = 4;
    l.read_us = 60;
    l.program_us = 700;
    l.erase_us = 3500;
    l.channel_mb_per_s = 1200;
    l.pages_per_program = 3;
    l.queue_depth = 32;
    return l;
}

static trib_flash_config timed(double over_provisioning = 0.10) {
    auto c = flash::config(48 * 1024, over_provisioning, 384);
    c.latency = tlc();
    return c;
}

static double iops(const flash::Drive &d) {
    auto s = flash::stats(d);
    return double(s.host_pages) / s.virtual_seconds;
}

TEST_CASE("without the model no time passes") {
    auto c = timed();
    c.latency.channels = 0;
    auto d = flash::open(c);
    flash::write(d, 0, 100, 0);
    auto s = flash::stats(d);
    CHECK(s.virtual_seconds == 0);
    CHECK(s.write_latency_us_mean == 0);
    CHECK(s.write_latency_us_p99 == 0);
}

TEST_CASE("the model changes time only, not where data go") {
    auto c = timed();
    auto with = flash::open(c);
    c.latency.channels = 0;
    auto without = flash::open(c);
    for (auto *d : {&with, &without})
        REQUIRE(trib_flash_precondition(d->get(), 2, false) == 0);
    for (uint64_t lba = 0; lba < c.logical_pages; lba++)
        REQUIRE(trib_flash_lookup(with.get(), lba) == trib_flash_lookup(without.get(), lba));
    CHECK(flash::stats(with).gc_pages == flash::stats(without).gc_pages);
}

TEST_CASE("filling an empty drive runs at the speed of its dies") {
    auto c = timed();
    auto d = flash::open(c);
    for (uint64_t lba = 0; lba < c.logical_pages; lba++)
        flash::write(d, lba, 1, 0);
    CHECK(iops(d) == Approx(16 * 3 / 700e-6).epsilon(0.01)); // dies * pages per program / program time
}

TEST_CASE("slow channels bound it instead") {
    auto c = timed();
    c.latency.channel_mb_per_s = 40;
    auto d = flash::open(c);
    for (uint64_t lba = 0; lba < c.logical_pages; lba++)
        flash::write(d, lba, 1, 0);
    CHECK(iops(d) == Approx(4 * 40e6 / 4096).epsilon(0.01));
}

// Microseconds that 32000 scattered reads take on a full drive.
static double reads_us(uint32_t queue_depth) {
    auto c = timed();
    c.latency.queue_depth = queue_depth;
    auto d = flash::open(c);
    for (uint64_t lba = 0; lba < c.logical_pages; lba++)
        flash::write(d, lba, 1, 0);
    double filled = flash::stats(d).virtual_seconds;
    for (uint64_t i = 0; i < 32000; i++)
        REQUIRE(trib_flash_read(d.get(), i * 29 % c.logical_pages, 1) == 0);
    CHECK(flash::stats(d).read_pages == 32000);
    return (flash::stats(d).virtual_seconds - filled) * 1e6;
}

TEST_CASE("one read costs a die read and a transfer; queue depth adds dies") {
    double each_us = 60 + 4096 / 1200.0;
    CHECK(reads_us(1) == Approx(32000 * each_us).epsilon(0.001));
    double speedup = reads_us(1) / reads_us(64);
    CHECK(speedup > 8);
    CHECK(speedup < 17.5); // 16 dies, and a transfer overlaps the next read
}

TEST_CASE("a read does not wait for the programs queued on its die") {
    auto c = timed();
    c.latency.queue_depth = 1;
    auto d = flash::open(c);
    flash::write(d, 0, 4800, 0);
    double written = flash::stats(d).virtual_seconds;
    REQUIRE(trib_flash_read(d.get(), 0, 1) == 0);
    CHECK((flash::stats(d).virtual_seconds - written) * 1e6 < 100);
}

TEST_CASE("reading what was never written touches no die") {
    auto c = timed();
    c.latency.queue_depth = 1;
    auto d = flash::open(c);
    REQUIRE(trib_flash_read(d.get(), 0, 1) == 0);
    CHECK(flash::stats(d).virtual_seconds * 1e6 == Approx(4096 / 1200.0));
}

TEST_CASE("garbage collection takes the dies away from the host") {
    double previous = 1e12;
    for (double over_provisioning : {0.50, 0.20, 0.10}) {
        auto d = flash::open(timed(over_provisioning));
        REQUIRE(trib_flash_precondition(d.get(), 4, true) == 0);
        flash::Random random(1);
        for (int i = 0; i < 100000; i++)
            flash::write(d, random.below(48 * 1024), 1, 0);
        // Die time per host page, if every die were always busy: programs of host and copies,
        // reads, erases.
        double waf = flash::waf(d), erases = double(flash::stats(d).erases) / 100000;
        double busy_us = (waf * 700 / 3 + (waf - 1) * 60 + erases * 16 * 3500) / 16;
        CAPTURE(over_provisioning, waf);
        CHECK(iops(d) <= 1e6 / busy_us * 1.005);
        CHECK(iops(d) > 0.98 * 1e6 / busy_us);
        CHECK(iops(d) < previous);
        previous = iops(d);
        auto s = flash::stats(d);
        CHECK(s.write_latency_us_p99 >= s.write_latency_us_mean);
        // Little's law: commands in flight = rate * latency.
        CHECK(iops(d) * s.write_latency_us_mean * 1e-6 == Approx(32).epsilon(0.02));
    }
}

TEST_CASE("a reset starts the clock again") {
    auto d = flash::open(timed());
    REQUIRE(trib_flash_precondition(d.get(), 0, true) == 0);
    auto s = flash::stats(d);
    CHECK(s.virtual_seconds == 0);
    CHECK(s.write_latency_us_p99 == 0);
    // From here it takes what it takes on a drive that has just been made.
    auto fresh = flash::open(timed());
    for (auto *drive : {&d, &fresh})
        for (uint64_t lba = 0; lba < 4 * 384; lba++)
            flash::write(*drive, lba, 1, 0);
    CHECK(flash::stats(fresh).virtual_seconds > 0.01);
    CHECK(flash::stats(d).virtual_seconds == Approx(flash::stats(fresh).virtual_seconds).epsilon(0.1));
    CHECK(flash::stats(d).write_latency_us_mean == Approx(flash::stats(fresh).write_latency_us_mean).epsilon(0.1));
}

TEST_CASE("the 99th percentile is that of one write in a hundred") {
    auto c = timed();
    c.latency.pages_per_program = 32;
    c.latency.queue_depth = 1;
    auto d = flash::open(c);
    for (uint64_t lba = 0; lba < 3200; lba++)
        flash::write(d, lba, 1, 0);
    // 31 of 32 writes go into the buffer, the last sends the wordline to its idle die.
    const double page_us = 4096 / 1200.0;
    auto s = flash::stats(d);
    CHECK(s.write_latency_us_p99 == Approx(32 * page_us).epsilon(0.03));
    CHECK(s.write_latency_us_mean == Approx((31 * page_us + 32 * page_us) / 32).epsilon(0.01));
}

TEST_CASE("a superblock that is no multiple of the wordlines still programs everything") {
    auto c = timed(0.30);
    c.superblock_pages = 97; // 32 wordlines of 3, two per die, and one of 1 on the first die
    auto d = flash::open(c);
    for (uint64_t lba = 0; lba < c.logical_pages; lba++)
        flash::write(d, lba, 1, 0);
    CHECK(flash::stats(d).virtual_seconds == Approx(c.logical_pages / 97.0 * 3 * 700e-6).epsilon(0.01));
    trib_error error{};
    CHECK(trib_flash_check(d.get(), &error) == 0);
}

TEST_CASE("reads are no part of the latency of writes") {
    auto c = timed();
    c.latency.queue_depth = 1;
    auto d = flash::open(c);
    flash::write(d, 0, 1, 0);
    const auto before = flash::stats(d);
    for (int i = 0; i < 1000; i++)
        REQUIRE(trib_flash_read(d.get(), 40000, 1) == 0);
    REQUIRE(trib_flash_read(d.get(), 0, 1) == 0);
    const auto after = flash::stats(d);
    CHECK(after.virtual_seconds > before.virtual_seconds);
    CHECK(after.write_latency_us_mean == before.write_latency_us_mean);
    CHECK(after.write_latency_us_p99 == before.write_latency_us_p99);
}

TEST_CASE("a copy is programmed once it has been read, also on a die that is idle") {
    auto c = flash::config(40, 0.60, 4); // pages of a superblock lie on the two dies in turn
    c.gc = TRIB_GC_SHARED;
    c.latency = {2, 1, 1e6, 10, 0, 1e6, 1, 1}; // a read takes a second, a program nearly nothing
    auto d = flash::open(c);
    double sum_us = 0;
    const auto latency_us = [&](uint64_t lba) {
        flash::write(d, lba, 1, 0);
        const auto s = flash::stats(d);
        const double before_us = sum_us;
        sum_us = s.write_latency_us_mean * double(s.host_pages);
        return sum_us - before_us;
    };
    for (uint64_t lba = 0; lba < 40; lba++)
        CHECK(latency_us(lba) < 100);
    // Of each superblock the second and fourth page: what stays lies on the first die, its second copy on the other.
    for (uint64_t lba = 1; flash::stats(d).gc_pages == 0; lba = (lba + 2) % 40)
        latency_us(lba);
    REQUIRE(flash::stats(d).gc_pages > 0);
    double longest_us = 0;
    for (unsigned written = 0; written < 2; written++) { // the superblock that was just opened
        const double us = latency_us(1);
        if (trib_flash_lookup(d.get(), 1) % 2 == 1)
            longest_us = std::max(longest_us, us);
    }
    CHECK(longest_us > 0.9e6);
}
