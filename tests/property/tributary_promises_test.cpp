// SPDX-License-Identifier: Apache-2.0
// What `tributary` promises of any run: it is not worse than no placement, and separates where that pays.
#include "support/pipeline.hpp"

#include <random>
#include <vector>

using namespace trib_test;

namespace {

constexpr uint32_t PAGES = 16384; // 64 MiB

struct Load {
    double hot_share, hot_traffic; // of the pages, of the writes
    bool signatures;               // one for hot, one for cold; else one for all
    double shift_at = 2;           // of the run: hot and cold change places
};

// WAF in each of `points` equal parts of the run, after a sequential fill.
std::vector<double> waf_over_time(const std::string &policy, const std::string &drive, const Load &load,
                                  unsigned points, unsigned capacities = 6) {
    Pipeline pipeline("policy=" + policy + "," + drive);
    REQUIRE(pipeline.rc() == 0);
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> unit(0, 1);
    const auto hot = uint32_t(load.hot_share * PAGES);
    std::vector<double> waf;
    trib_drive_report before{}, now{};
    auto write = [&](uint64_t page, bool is_hot) {
        trib_event event{};
        event.kind = TRIB_EVENT_WRITE;
        event.offset_bytes = page * TRIB_BLOCK_BYTES;
        event.length_bytes = TRIB_BLOCK_BYTES;
        event.stream = TRIB_STREAM_UNDECIDED;
        event.who.signature = load.signatures && is_hot ? 1 : 2;
        REQUIRE(trib_pipeline_process(pipeline.get(), &event) == 0);
    };
    for (uint32_t page = 0; page < PAGES; page++)
        write(page, page < hot);
    const uint32_t part = capacities * PAGES / points;
    for (unsigned point = 0; point < points; point++) {
        trib_pipeline_drive(pipeline.get(), &before);
        for (uint32_t i = 0; i < part; i++) {
            const bool shifted = point >= load.shift_at * points;
            const bool is_hot = unit(random) < load.hot_traffic;
            const auto page = uint32_t(unit(random) * (is_hot ? hot : PAGES - hot)) + (is_hot ? 0 : hot);
            write(shifted ? (page + PAGES / 2) % PAGES : page, is_hot);
        }
        trib_pipeline_drive(pipeline.get(), &now);
        waf.push_back(1 + double(now.gc_pages - before.gc_pages) / double(now.host_pages - before.host_pages));
    }
    return waf;
}

std::string drive(const char *gc, const char *victim) {
    return std::string("drive=emulated,capacity=64M,op=15,superblock=256K,streams=8,gc=") + gc + ",victim=" + victim;
}

} // namespace

TEST_CASE("tributary: one lifetime for all data costs nothing at any point of a run") {
    const char *gc = GENERATE("same", "shared");
    const char *victim = GENERATE("greedy", "cost-benefit");
    CAPTURE(gc, victim);
    const Load uniform{0.5, 0.5, false};
    const auto none = waf_over_time("none", drive(gc, victim), uniform, 10);
    const auto ours = waf_over_time("tributary", drive(gc, victim), uniform, 10);
    double none_sum = 0, ours_sum = 0;
    for (size_t i = 0; i < none.size(); i++) {
        none_sum += none[i];
        ours_sum += ours[i];
        CAPTURE(i, none[i], ours[i]);
        REQUIRE(ours[i] < none[i] * 1.03);   // a point is 0.6 capacities: noise is 1 %
        REQUIRE(ours_sum < none_sum * 1.02); // so far
    }
}

TEST_CASE("tributary: call paths of different lifetimes are separated") {
    const char *gc = GENERATE("same", "shared");
    CAPTURE(gc);
    const Load hot{0.1, 0.9, true};
    const std::string on = drive(gc, "cost-benefit");
    const double none = waf_over_time("none", on, hot, 2)[1], ours = waf_over_time("tributary", on, hot, 2)[1];
    CAPTURE(none, ours);
    // Survivors in a place of their own separate old from new already.
    REQUIRE(ours - 1 < (gc == std::string("same") ? 0.8 : 0.95) * (none - 1));
}

TEST_CASE("tributary: without call paths the past of the blocks tells hot from cold") {
    const Load hot{0.1, 0.9, false};
    const std::string on = drive("same", "cost-benefit");
    const double none = waf_over_time("none", on, hot, 2)[1], ours = waf_over_time("tributary", on, hot, 2)[1];
    CAPTURE(none, ours);
    REQUIRE(ours - 1 < 0.8 * (none - 1));
    const double blind = waf_over_time("tributary,refine=salts", on, hot, 2)[1];
    REQUIRE(blind > ours * 1.1); // so it is the past that tells
}

TEST_CASE("tributary: a shift of the hot data is learned within a capacity") {
    const Load shift{0.1, 0.9, false, 0.5};
    const auto waf = waf_over_time("tributary", drive("same", "cost-benefit"), shift, 24, 12); // half a capacity each
    const double steady = (waf[20] + waf[21] + waf[22] + waf[23]) / 4;
    CAPTURE(waf[11], waf[12], waf[13], waf[14], waf[15], steady);
    REQUIRE(waf[14] < steady * 1.05);
    REQUIRE(waf[15] < steady * 1.05);
}
