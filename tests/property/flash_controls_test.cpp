// SPDX-License-Identifier: Apache-2.0
// Negative controls and determinism: what must not matter does not.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/flash_drive.hpp"

static constexpr uint64_t PAGES = 32 * 1024;

struct Run {
    trib_flash_stats stats;
    std::string dump;
};

// Three groups of pages with different death rates, each in the stream that `labels` gives it.
static Run grouped(trib_flash_config c, const std::vector<uint16_t> &labels, double fill = 1.0, uint64_t seed = 4) {
    auto d = flash::open(c);
    uint32_t pages = uint32_t(fill * double(c.logical_pages));
    flash::Random random(seed);
    for (uint32_t lba = 0; lba < pages; lba++)
        flash::write(d, lba, 1, labels[lba % labels.size()]);
    for (uint64_t i = 0; i < 6 * c.logical_pages; i++) {
        uint32_t lba = uint32_t(pages * std::pow(random.unit(), 3)); // skewed to low addresses
        lba = std::min(lba, pages - 1);
        size_t group = lba < pages / 20 ? 0 : lba < pages / 3 ? 1 : 2;
        flash::write(d, lba, 1, labels[group]);
    }
    return {flash::stats(d), flash::dump(d)};
}

static uint16_t first_internal(void *, uint64_t, uint16_t, uint16_t, bool) {
    return 0;
}

static trib_flash_config control(trib_gc_destination gc, trib_victim victim) {
    auto c = flash::config(PAGES, 0.10, 64);
    c.streams = 4;
    c.gc = gc;
    c.victim = victim;
    c.internal_streams = 2;
    c.substream_pages = 24; // of 64, as 384 of a superblock of 1,024
    c.relocate = first_internal;
    return c;
}

TEST_CASE("permuted stream labels change nothing at all") {
    for (auto gc : {TRIB_GC_SAME, TRIB_GC_SHARED, TRIB_GC_TWIN, TRIB_GC_CLASS, TRIB_GC_PRESERVE})
        for (auto victim : {TRIB_VICTIM_GREEDY, TRIB_VICTIM_COST_BENEFIT, TRIB_VICTIM_FIFO, TRIB_VICTIM_D_CHOICES,
                            TRIB_VICTIM_SPARE_QUOTA}) {
            auto c = control(gc, victim);
            auto a = grouped(c, {1, 2, 3}), b = grouped(c, {3, 0, 4}), d = grouped(c, {2, 1, 0});
            CAPTURE(gc, victim);
            CHECK(a.stats.gc_pages == b.stats.gc_pages);
            CHECK(a.stats.gc_pages == d.stats.gc_pages);
            CHECK(a.stats.erases == b.stats.erases);
            CHECK(a.stats.erase_count_max == b.stats.erase_count_max);
            CHECK(a.stats.gc_pages > 0);
        }
}

TEST_CASE("nor when superblocks are so scarce that streams share") {
    auto c = control(TRIB_GC_TWIN, TRIB_VICTIM_GREEDY);
    c.over_provisioning = 5.0 * 64 / PAGES;
    auto a = grouped(c, {1, 2, 3}), b = grouped(c, {4, 1, 0});
    CHECK(a.stats.shared_pages > 0);
    CHECK(a.stats.shared_pages == b.stats.shared_pages);
    CHECK(a.stats.gc_pages == b.stats.gc_pages);
}

// Files of a few superblocks, each rewritten whole in random order: what a log-structured engine
// does to a drive.
static double files_waf(const trib_flash_config &c, const std::vector<uint16_t> &labels, double fill) {
    const uint32_t file_pages = 256;
    auto d = flash::open(c);
    uint32_t files = uint32_t(fill * double(c.logical_pages)) / file_pages;
    flash::Random random(3);
    for (uint32_t file = 0; file < files; file++)
        flash::write(d, file * file_pages, file_pages, labels[file % labels.size()]);
    for (uint32_t i = 0; i < 20 * files; i++) {
        uint32_t file = random.below(files);
        REQUIRE(trib_flash_discard(d.get(), file * file_pages, file_pages) == 0);
        flash::write(d, file * file_pages, file_pages, labels[file % labels.size()]);
    }
    return flash::waf(d);
}

TEST_CASE("at half utilisation every assignment of streams costs the same: nothing") {
    for (auto gc : {TRIB_GC_SAME, TRIB_GC_SHARED, TRIB_GC_TWIN, TRIB_GC_SUBSTREAM, TRIB_GC_CHAIN})
        for (auto labels : {std::vector<uint16_t>{0, 0, 0}, {1, 2, 3}, {1, 1, 2}}) {
            CAPTURE(gc, labels);
            CHECK(files_waf(control(gc, TRIB_VICTIM_GREEDY), labels, 0.5) < 1.01);
        }
}

TEST_CASE("data that die alike gain nothing from streams by address") {
    auto uniform = [](const std::vector<uint16_t> &labels) {
        auto c = flash::config(4 * PAGES, 0.15, 64);
        c.streams = 4;
        auto d = flash::open(c);
        flash::Random random(8);
        for (uint64_t i = 0; i < 12 * c.logical_pages; i++) {
            uint32_t lba = i < c.logical_pages ? uint32_t(i) : random.below(c.logical_pages);
            flash::write(d, lba, 1, labels[lba * labels.size() / c.logical_pages]);
        }
        return flash::waf(d);
    };
    double one = uniform({0});
    CHECK(uniform({1, 2, 3, 4}) == Approx(one).epsilon(0.02));
    CHECK(uniform({2, 0}) == Approx(one).epsilon(0.02));
}

TEST_CASE("random labels gain nothing over one stream") {
    auto c = control(TRIB_GC_SAME, TRIB_VICTIM_GREEDY);
    auto run = [&](bool labelled) {
        auto d = flash::open(c);
        REQUIRE(trib_flash_precondition(d.get(), 3, true) == 0);
        flash::Random random(8), label(9);
        for (uint64_t i = 0; i < 6 * PAGES; i++)
            flash::write(d, random.below(PAGES), 1, uint16_t(labelled ? label.below(5) : 0));
        return flash::waf(d);
    };
    CHECK(run(true) > 0.98 * run(false));
}

TEST_CASE("the same seed gives the same drive, bit for bit; another seed another") {
    for (auto victim : {TRIB_VICTIM_GREEDY, TRIB_VICTIM_D_CHOICES}) {
        auto c = control(TRIB_GC_TWIN, victim);
        CHECK(grouped(c, {1, 2, 3}).dump == grouped(c, {1, 2, 3}).dump);
    }
    auto c = control(TRIB_GC_TWIN, TRIB_VICTIM_D_CHOICES);
    auto a = grouped(c, {1, 2, 3});
    c.seed++;
    CHECK(a.stats.gc_pages != grouped(c, {1, 2, 3}).stats.gc_pages);
}

TEST_CASE("with one stream a twin is a shared destination") {
    auto c = control(TRIB_GC_TWIN, TRIB_VICTIM_GREEDY);
    auto twin = grouped(c, {0, 0, 0});
    c.gc = TRIB_GC_SHARED;
    auto shared = grouped(c, {0, 0, 0});
    c.gc = TRIB_GC_PRESERVE;
    auto preserved = grouped(c, {0, 0, 0});
    CHECK(twin.stats.gc_pages == shared.stats.gc_pages);
    CHECK(twin.stats.gc_pages == preserved.stats.gc_pages);
}

TEST_CASE("preconditioning ends in steady state: the next windows agree") {
    for (double over_provisioning : {0.07, 0.28}) {
        auto c = flash::config(4 * PAGES, over_provisioning, 64);
        auto d = flash::open(c);
        REQUIRE(trib_flash_precondition(d.get(), 4, true) == 0);
        REQUIRE(flash::stats(d).mapped_pages == c.logical_pages);
        flash::Random random(6);
        std::vector<double> windows;
        uint64_t copied = 0;
        for (int window = 0; window < 6; window++) {
            for (uint64_t i = 0; i < c.logical_pages; i++)
                flash::write(d, random.below(c.logical_pages), 1, 0);
            windows.push_back(1 + double(flash::stats(d).gc_pages - copied) / double(c.logical_pages));
            copied = flash::stats(d).gc_pages;
        }
        CAPTURE(over_provisioning, windows);
        CHECK(*std::max_element(windows.begin(), windows.end()) <
              1.01 * *std::min_element(windows.begin(), windows.end()));
    }
}
