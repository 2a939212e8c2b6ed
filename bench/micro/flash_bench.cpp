// SPDX-License-Identifier: Apache-2.0
// How fast the emulated drive is on one core, what it takes in memory, and how far it is from
// theory.
//
// Rates: single-page user writes per second of CPU time of the one thread (equal to wall time on an
// idle machine, and steadier on a busy one), greedy collection, gc=same, 8 streams besides S0, full
// drive in steady state (preconditioned), median of several windows. Drawing the random address is
// part of the measured time. Suffixes: _batch the batched call, _streams writes spread over all 9
// streams, _zipf exponent 1.0 over scattered addresses, _seq sequential overwrites, _latency with
// the latency model on.
#include <ctime>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "drive/presets.h"
#include "lab/theory.h"
#include "support/flash_drive.hpp"

namespace {

constexpr uint64_t kPagesPerGib = 1 << 18;
constexpr uint16_t kStreams = 8;
constexpr int kWindows = 5;
constexpr uint32_t kBatch = 256;

enum class Load { uniform, batch, streams, zipf, sequential };

struct Point {
    const char *name;
    uint64_t gib;
    double over_provisioning_percent;
    uint32_t superblock_pages;
    Load load;
    bool latency;
    double precondition_rounds;
    uint64_t window_writes;
};

double cpu_seconds() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

void report(const std::string &name, double value, const char *unit, int samples, const std::string &note) {
    printf("{\"name\":\"%s\",\"value\":%.6g,\"unit\":\"%s\",\"samples\":%d,\"note\":\"%s\"}\n", name.c_str(), value,
           unit, samples, note.c_str());
    fflush(stdout);
}

std::string text(const char *format, ...) __attribute__((format(printf, 1, 2)));
std::string text(const char *format, ...) {
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return line;
}

// Zipf with exponent 1.0 by the continuous approximation (rank = n^u), ranks scattered by an odd
// multiplier.
uint32_t zipf(flash::Random &random, uint64_t pages) {
    uint64_t rank = uint64_t(std::exp(random.unit() * std::log(double(pages)))) - 1;
    return uint32_t(rank * 2654435761u % pages);
}

void write_window(const flash::Drive &d, Load load, uint64_t writes, uint64_t pages, flash::Random &random) {
    static uint64_t next;
    uint32_t lbas[kBatch];
    switch (load) {
    case Load::uniform:
        while (writes-- > 0)
            trib_flash_write(d.get(), random.below(pages), 1, 0);
        break;
    case Load::batch:
        for (; writes >= kBatch; writes -= kBatch) {
            for (auto &lba : lbas)
                lba = random.below(pages);
            trib_flash_write_batch(d.get(), lbas, kBatch, 0);
        }
        break;
    case Load::streams:
        while (writes-- > 0) {
            uint32_t lba = random.below(pages);
            trib_flash_write(d.get(), lba, 1, uint16_t(lba % (kStreams + 1)));
        }
        break;
    case Load::zipf:
        while (writes-- > 0)
            trib_flash_write(d.get(), zipf(random, pages), 1, 0);
        break;
    case Load::sequential:
        while (writes-- > 0)
            trib_flash_write(d.get(), next++ % pages, 1, 0);
        break;
    }
}

const trib_flash_latency &nand(const char *preset) {
    return std::find_if(std::begin(trib_presets), std::end(trib_presets),
                        [&](const trib_preset &p) { return !std::strcmp(p.name, preset); })
        ->latency;
}

flash::Drive steady_drive(const Point &p) {
    auto c = flash::config(p.gib * kPagesPerGib, p.over_provisioning_percent / 100, p.superblock_pages);
    c.streams = kStreams;
    if (p.latency)
        c.latency = nand("pm963");
    auto d = flash::open(c);
    trib_flash_precondition(d.get(), p.precondition_rounds, true);
    return d;
}

void measure_rate(const Point &p) {
    auto d = steady_drive(p);
    uint64_t pages = p.gib * kPagesPerGib;
    flash::Random random(1);
    std::vector<double> rates;
    // The workload's own steady state, where it is not that of preconditioning.
    if (p.load == Load::zipf || p.load == Load::sequential || p.load == Load::streams)
        write_window(d, p.load, 2 * pages, pages, random);
    auto before = flash::stats(d);
    for (int i = 0; i < kWindows; i++) {
        double start = cpu_seconds();
        write_window(d, p.load, p.window_writes, pages, random);
        rates.push_back(double(p.window_writes) / (cpu_seconds() - start));
    }
    auto after = flash::stats(d);
    double waf = 1 + double(after.gc_pages - before.gc_pages) / double(after.host_pages - before.host_pages);
    std::sort(rates.begin(), rates.end());
    report(p.name, rates[kWindows / 2], "1/s", kWindows,
           text("WAF %.3f, %u-page superblocks, %.2f bytes per page, best window %.3g", waf, p.superblock_pages,
                double(after.memory_bytes) / double(after.physical_pages), rates.back()));
}

void measure_memory() {
    auto plain = flash::config(64 * kPagesPerGib, 0.0737, 4096);
    plain.streams = kStreams;
    auto s = flash::stats(flash::open(plain));
    report("flash_bytes_per_page", double(s.memory_bytes) / double(s.physical_pages), "bytes", 1,
           "64 GiB, per physical page; +1 with gc=pstream or class");
}

double steady_waf(const flash::Drive &d, uint64_t pages, double rounds) {
    flash::Random random(11);
    write_window(d, Load::batch, uint64_t(rounds * double(pages)), pages, random);
    return flash::waf(d);
}

void measure_theory() {
    const uint64_t pages = 4 * kPagesPerGib;
    double worst = 0;
    std::string where;
    int points = 0;
    for (auto victim : {TRIB_VICTIM_GREEDY, TRIB_VICTIM_FIFO})
        for (uint32_t superblock_pages : {128u, 512u})
            for (double over_provisioning : {0.07, 0.15, 0.28, 0.50}) {
                auto c = flash::config(pages, over_provisioning, superblock_pages);
                c.victim = victim;
                auto d = flash::open(c);
                trib_flash_precondition(d.get(), 4, true);
                double waf = steady_waf(d, pages, 4);
                double alpha = double(flash::stats(d).physical_pages - superblock_pages) / double(pages);
                bool greedy = victim == TRIB_VICTIM_GREEDY;
                double expected = greedy ? theory::greedy(alpha, superblock_pages) : theory::fifo(alpha);
                double error = std::fabs(waf / expected - 1);
                points++;
                if (error >= worst) {
                    worst = error;
                    where = text("worst: %s, %.0f %% over-provisioning, %u-page superblocks, WAF "
                                 "%.4f, theory %.4f",
                                 greedy ? "greedy" : "fifo", over_provisioning * 100, superblock_pages, waf, expected);
                }
            }
    report("flash_theory_error_max", worst, "ratio", points, where);
}

double separation_error(trib_victim victim, double hot, double over_provisioning) {
    const uint64_t pages = 2 * kPagesPerGib;
    const uint32_t superblock_pages = 128;
    auto c = flash::config(pages, over_provisioning, superblock_pages);
    c.streams = 2;
    c.victim = victim;
    auto d = flash::open(c);
    uint64_t hot_pages = uint64_t(double(pages) * (1 - hot));
    trib_flash_write(d.get(), 0, uint32_t(hot_pages), 1);
    trib_flash_write(d.get(), hot_pages, uint32_t(pages - hot_pages), 2);
    flash::Random random(5);
    auto run = [&](uint64_t writes) {
        while (writes-- > 0) {
            if (random.unit() < hot)
                trib_flash_write(d.get(), random.below(hot_pages), 1, 1);
            else
                trib_flash_write(d.get(), hot_pages + random.below(pages - hot_pages), 1, 2);
        }
    };
    run(8 * pages);
    auto before = flash::stats(d);
    run(6 * pages);
    auto after = flash::stats(d);
    double waf = 1 + double(after.gc_pages - before.gc_pages) / double(after.host_pages - before.host_pages);
    double alpha = (double(after.physical_pages) - 1.5 * superblock_pages) / double(pages);
    return waf / theory::separated_greedy(alpha, {hot, 1 - hot}, {1 - hot, hot}, superblock_pages) - 1;
}

void measure_separation(const char *name, trib_victim victim) {
    double worst = 0;
    for (double hot : {0.8, 0.9})
        for (double over_provisioning : {0.07, 0.28})
            worst = std::max(worst, std::fabs(separation_error(victim, hot, over_provisioning)));
    report(name, worst, "ratio", 4,
           "80/20 and 90/10 in two streams, 7 and 28 %; against the optimum for greedy groups");
}

const Point kPoints[] = {
    {"flash_writes_per_s_4g_op7", 4, 7.37, 1024, Load::uniform, false, 3, 4000000},
    {"flash_writes_per_s_4g_op7_batch", 4, 7.37, 1024, Load::batch, false, 3, 4000000},
    {"flash_writes_per_s_4g_op7_streams", 4, 7.37, 512, Load::streams, false, 1, 4000000},
    {"flash_writes_per_s_4g_op7_zipf", 4, 7.37, 1024, Load::zipf, false, 1, 4000000},
    {"flash_writes_per_s_4g_op7_seq", 4, 7.37, 1024, Load::sequential, false, 0, 8000000},
    {"flash_writes_per_s_4g_op7_latency", 4, 7.37, 1024, Load::uniform, true, 2, 1000000},
    {"flash_writes_per_s_4g_op28", 4, 28, 1024, Load::uniform, false, 2, 8000000},
    {"flash_writes_per_s_4g_op28_batch", 4, 28, 1024, Load::batch, false, 2, 8000000},
    {"flash_writes_per_s_64g_op28", 64, 28, 4096, Load::uniform, false, 1.5, 6000000},
    {"flash_writes_per_s_64g_op28_batch", 64, 28, 4096, Load::batch, false, 1.5, 6000000},
    {"flash_writes_per_s_480g_op7", 480, 7, 16384, Load::uniform, false, 1.2, 2000000},
};

} // namespace

// Arguments: names, or beginnings of names, of the figures wanted; none = all.
int main(int argc, char **argv) {
    auto wanted = [&](const char *name) {
        bool any = argc == 1;
        for (int i = 1; i < argc; i++)
            any = any || strncmp(name, argv[i], strlen(argv[i])) == 0;
        return any;
    };
    for (const Point &p : kPoints)
        if (wanted(p.name))
            measure_rate(p);
    if (wanted("flash_bytes_per_page"))
        measure_memory();
    if (wanted("flash_theory_error_max"))
        measure_theory();
    if (wanted("flash_separation_error"))
        measure_separation("flash_separation_error", TRIB_VICTIM_COST_BENEFIT);
    if (wanted("flash_separation_error_quota"))
        measure_separation("flash_separation_error_quota", TRIB_VICTIM_SPARE_QUOTA);
    return 0;
}
