// SPDX-License-Identifier: Apache-2.0
// The flash model against closed forms (cli/lab/theory.h) and against known published values of
// them.
#include <cmath>
#include <vector>

#include "lab/theory.h"
#include "support/catch.hpp"
#include "support/flash_drive.hpp"

static constexpr uint64_t LOGICAL_PAGES = 128 * 1024;
static constexpr double ERROR_MAX = 0.005, SEPARATION_ERROR_MAX = 0.03;

TEST_CASE("the theory itself: values derived independently") {
    CHECK(theory::lambert_w0(0) == Approx(0).margin(1e-12));
    CHECK(theory::lambert_w0(std::exp(1.0)) == Approx(1));
    CHECK(theory::lambert_w0(-1 / std::exp(1.0)) == Approx(-1).epsilon(1e-6));
    for (double w : {-0.9, -0.5, -0.01, 0.3, 2.0, 10.0})
        CHECK(theory::lambert_w0(w * std::exp(w)) == Approx(w).epsilon(1e-9));
    CHECK(theory::fifo(1.07) == Approx(7.817).epsilon(1e-4));
    CHECK(theory::fifo(1.28) == Approx(2.481).epsilon(3e-4));
    CHECK(theory::greedy(1.07, 64) == Approx(6.999).epsilon(5e-4));
    CHECK(theory::greedy(1.50, 1024) == Approx(1.714).epsilon(5e-4));
    CHECK(theory::mixed(1.07, {{1, 1}}) == Approx(theory::fifo(1.07)));
    CHECK(theory::mixed(1.07, {{0.8, 0.2}, {0.2, 0.8}}) == Approx(8.18).epsilon(1e-3));
    CHECK(theory::separated(1.07, {{0.8, 0.2}, {0.2, 0.8}}) == Approx(5.25).epsilon(1e-3));
    CHECK(theory::separated(1.28, {{0.9, 0.1}, {0.1, 0.9}}) == Approx(1.41).epsilon(2e-3));
    // With large superblocks greedy is FIFO; with equal groups separation gains nothing.
    CHECK(theory::separated_greedy(1.07, {0.8, 0.2}, {0.2, 0.8}, 1e6) ==
          Approx(theory::separated(1.07, {{0.8, 0.2}, {0.2, 0.8}})).epsilon(1e-3));
    CHECK(theory::separated_greedy(1.28, {0.5, 0.5}, {0.5, 0.5}, 64) == Approx(theory::greedy(1.28, 64)));
}

// Held back: the one free superblock that only collection may use. Nothing else is, because when a
// victim is chosen the stream's superblock has just been filled.
static double alpha_effective(const trib_flash_stats &s, uint32_t superblock_pages) {
    return double(s.physical_pages - superblock_pages) / double(LOGICAL_PAGES);
}

static void uniform(const flash::Drive &d, double rounds) {
    flash::Random random(11);
    for (uint64_t n = uint64_t(rounds * double(LOGICAL_PAGES)); n > 0; n--)
        flash::write(d, random.below(LOGICAL_PAGES), 1, 0);
}

static void check_uniform(trib_victim victim, uint32_t superblock_pages, double over_provisioning) {
    auto c = flash::config(LOGICAL_PAGES, over_provisioning, superblock_pages);
    c.victim = victim;
    auto d = flash::open(c);
    REQUIRE(trib_flash_precondition(d.get(), 5, true) == 0);
    uniform(d, 8);
    double alpha = alpha_effective(flash::stats(d), superblock_pages);
    double expected = victim == TRIB_VICTIM_GREEDY ? theory::greedy(alpha, superblock_pages) : theory::fifo(alpha);
    CAPTURE(victim, superblock_pages, over_provisioning, alpha);
    CHECK(flash::waf(d) == Approx(expected).epsilon(ERROR_MAX));
}

TEST_CASE("greedy, uniform random writes: WAF within 0.5 % of theory") {
    for (uint32_t superblock_pages : {64u, 128u, 256u})
        for (double over_provisioning : {0.07, 0.10, 0.20, 0.28, 0.50})
            check_uniform(TRIB_VICTIM_GREEDY, superblock_pages, over_provisioning);
}

TEST_CASE("FIFO, uniform random writes: WAF within 0.5 % of theory") {
    for (uint32_t superblock_pages : {32u, 128u})
        for (double over_provisioning : {0.07, 0.10, 0.15, 0.28, 0.50})
            check_uniform(TRIB_VICTIM_FIFO, superblock_pages, over_provisioning);
}

TEST_CASE("one random choice meets the drive's mean utilisation, more choices approach greedy") {
    // A victim drawn at random is 1 / alpha valid on average: WAF = 1 / (1 - 1 / alpha).
    auto run = [](uint32_t choices) {
        auto c = flash::config(LOGICAL_PAGES, 0.28, 64);
        c.victim = TRIB_VICTIM_D_CHOICES;
        c.victim_choices = choices;
        auto d = flash::open(c);
        REQUIRE(trib_flash_precondition(d.get(), 5, true) == 0);
        uniform(d, 5);
        return std::pair<double, double>(flash::waf(d), alpha_effective(flash::stats(d), 64));
    };
    auto [one, alpha] = run(1);
    CHECK(one == Approx(alpha / (alpha - 1)).epsilon(0.01));
    double two = run(2).first, eight = run(8).first, many = run(64).first;
    CHECK(two < one);
    CHECK(eight < two);
    CHECK(many == Approx(theory::greedy(alpha, 64)).epsilon(0.02));
}

static double hot_cold(trib_victim victim, double hot_traffic, double over_provisioning, double *alpha, bool mix) {
    const uint32_t superblock_pages = 64;
    auto c = flash::config(LOGICAL_PAGES, over_provisioning, superblock_pages);
    c.streams = 2;
    c.victim = victim;
    auto d = flash::open(c);
    uint64_t hot = uint64_t(double(LOGICAL_PAGES) * (1 - hot_traffic));
    flash::Random random(9);
    auto rounds = [&](uint64_t n) {
        for (uint64_t i = 0; i < n * LOGICAL_PAGES; i++) {
            bool is_hot = random.unit() < hot_traffic;
            uint32_t lba = uint32_t(is_hot ? random.below(hot) : hot + random.below(LOGICAL_PAGES - hot));
            flash::write(d, lba, 1, mix ? 0 : is_hot ? 1 : 2);
        }
    };
    flash::write(d, 0, uint32_t(hot), mix ? 0 : 1);
    flash::write(d, hot, uint32_t(LOGICAL_PAGES - hot), mix ? 0 : 2);
    rounds(8);
    auto before = flash::stats(d);
    rounds(8);
    auto after = flash::stats(d);
    // Held back: the reserve and, on average, half of the second stream's open superblock.
    *alpha = (double(after.physical_pages) - (mix ? 1.0 : 1.5) * superblock_pages) / double(LOGICAL_PAGES);
    return 1 + double(after.gc_pages - before.gc_pages) / double(after.host_pages - before.host_pages);
}

TEST_CASE("clairvoyant hot and cold streams reach the separation optimum") {
    for (double hot : {0.8, 0.9})
        for (double over_provisioning : {0.07, 0.28}) {
            double alpha;
            CAPTURE(hot, over_provisioning);
            double cost_benefit = hot_cold(TRIB_VICTIM_COST_BENEFIT, hot, over_provisioning, &alpha, false);
            double optimum = theory::separated_greedy(alpha, {hot, 1 - hot}, {1 - hot, hot}, 64);
            CHECK(cost_benefit == Approx(optimum).epsilon(SEPARATION_ERROR_MAX));
            double quota = hot_cold(TRIB_VICTIM_SPARE_QUOTA, hot, over_provisioning, &alpha, false);
            CHECK(quota == Approx(optimum).epsilon(0.015));
        }
}

TEST_CASE("greedy collection wastes the separation") {
    double alpha;
    double greedy = hot_cold(TRIB_VICTIM_GREEDY, 0.8, 0.28, &alpha, false);
    CHECK(greedy > 1.2 * theory::separated_greedy(alpha, {0.8, 0.2}, {0.2, 0.8}, 64));
    CHECK(greedy == Approx(theory::greedy(alpha, 64)).epsilon(0.03)); // as if all traffic were uniform
}

TEST_CASE("hot and cold in one FIFO stream: WAF within 0.5 % of theory") {
    double alpha;
    double waf = hot_cold(TRIB_VICTIM_FIFO, 0.8, 0.15, &alpha, true);
    CHECK(waf == Approx(theory::mixed(alpha, {{0.8, 0.2}, {0.2, 0.8}})).epsilon(ERROR_MAX));
}
