// SPDX-License-Identifier: Apache-2.0
// What remembering costs: bytes per live run and per terabyte of append-only data, look-ups of the
// attribute table, appends and overwrites of live extents. Memory is what the kernel says is
// resident of the arena, pages rounded up.
#include <sys/mman.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "lifetime/extents.h"
#include "state/state.h"
#include "support/measure.hpp"

namespace {

using trib_bench::Print;

constexpr uint64_t kMiB = 1 << 20;
constexpr unsigned kRounds = 5;

// Of this core: the figures are work per core, and the machine may be busy.
double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

[[noreturn]] void die(const char *what) {
    std::fprintf(stderr, "state_bench: %s failed\n", what);
    std::exit(1);
}

class Extents {
  public:
    trib_state *state = nullptr;
    trib_extents *self = nullptr;
    trib_attribute_ref writers[4];

    explicit Extents(uint32_t runs) {
        trib_state_config config = {nullptr, 30720, runs};
        if (trib_state_open(&state, &config, nullptr) || trib_extents_open(&self, state))
            die("open");
        trib_context who = {};
        for (uint64_t i = 0; i < 4; i++)
            writers[i] = trib_state_intern(state, 100 + i, &who);
    }
    ~Extents() {
        trib_extents_close(self);
        trib_state_close(state);
    }

    void write(uint64_t file, uint64_t offset, uint64_t length, unsigned writer) {
        trib_event event = {};
        event.file = file, event.offset_bytes = offset, event.length_bytes = length, event.stream = 1;
        uint64_t clock = trib_state_clock_advance(state, length);
        if (trib_extents_write(self, &event, writers[writer % 4], clock, died, this))
            die("write");
    }

    uint64_t resident_bytes() const {
        trib_state_arena arena;
        trib_state_run_arena(state, &arena);
        std::vector<unsigned char> pages((arena.capacity * 32ull + 4095) / 4096);
        if (mincore(arena.slots, arena.capacity * 32ull, pages.data()))
            die("mincore");
        uint64_t resident = 0;
        for (unsigned char page : pages)
            resident += page & 1;
        return resident * 4096;
    }

    uint64_t runs() const {
        trib_extents_stats stats;
        trib_extents_statistics(self, &stats);
        return stats.runs;
    }

    uint64_t deaths = 0;

  private:
    static void died(void *arg, const trib_death *death) {
        static_cast<Extents *>(arg)->deaths += death->age_bytes > 0;
    }
};

// A terabyte of SST files of 64 MiB, each written by one of four paths in appends of 1 MiB, eight
// files at a time.
void append_only() {
    constexpr uint64_t kFiles = (1ull << 40) / (64 * kMiB), kAtOnce = 8;
    Extents extents(16u << 20);
    const double start = cpu_seconds();
    for (uint64_t first = 1; first <= kFiles; first += kAtOnce)
        for (uint64_t offset = 0; offset < 64 * kMiB; offset += kMiB)
            for (uint64_t file = first; file < first + kAtOnce; file++)
                extents.write(file * 0x9E3779B97F4A7C15ull, offset, kMiB, file);
    const double seconds = cpu_seconds() - start;
    const double bytes = extents.resident_bytes(), runs = extents.runs();
    Print("bytes_per_run", bytes / runs, "bytes", (uint64_t)runs, "append-only, one run per 64-MiB file");
    Print("state_bytes_per_tb", bytes, "bytes", kFiles, "1 TiB live in 64-MiB files, 1-MiB appends");
    Print("extents_appends_per_s", kFiles * 64 / seconds, "1/s", kFiles * 64, "the same load, CPU time");
}

// Files that several paths wrote: a HEAD and four runs each.
void mixed_files() {
    constexpr uint64_t kFiles = 100000;
    Extents extents(16u << 20);
    for (uint64_t file = 1; file <= kFiles; file++)
        for (unsigned part = 0; part < 4; part++)
            extents.write(file * 0x9E3779B97F4A7C15ull, part * kMiB, kMiB, part);
    Print("bytes_per_run_4_writers", (double)extents.resident_bytes() / extents.runs(), "bytes", extents.runs(),
          "four runs per file");
}

// A drive without files: uniform random 4-KiB overwrites, every block a run of its own.
void overwrites(const char *name, uint64_t blocks) {
    Extents extents(2u << 20);
    std::mt19937_64 random(1);
    for (uint64_t i = 0; i < blocks; i++) // every second block first, so that none is an append to its neighbour
        extents.write(0, (i * 2 < blocks ? i * 2 : i * 2 - blocks + 1 - blocks % 2) * 4096, 4096, i);
    if (extents.runs() < blocks * 99 / 100)
        die("fragmenting");
    constexpr uint64_t kWrites = 1000000;
    double best = 0;
    for (unsigned round = 0; round < kRounds; round++) {
        std::vector<uint64_t> offsets(kWrites);
        for (uint64_t &offset : offsets)
            offset = random() % blocks * 4096;
        const double start = cpu_seconds();
        for (uint64_t i = 0; i < kWrites; i++)
            extents.write(0, offsets[i], 4096, (unsigned)(offsets[i] >> 14));
        best = std::max(best, kWrites / (cpu_seconds() - start));
    }
    Print(name, best, "1/s", kRounds * kWrites,
          "best of 5 rounds, CPU time; " + std::to_string(extents.runs()) + " runs at the end");
}

// What the first call after a restart or a kill costs: trees, sums and free slots anew.
void rebuild() {
    constexpr uint64_t kBlocks = 1u << 20;
    Extents extents(2u << 20);
    for (uint64_t i = 0; i < kBlocks; i++)
        extents.write(0, (i * 0x9E3779B1u & (kBlocks - 1)) * 4096, 4096, i);
    double best = 1e9;
    for (unsigned round = 0; round < kRounds; round++) {
        trib_state_arena arena;
        trib_state_run_arena(extents.state, &arena);
        arena.words[TRIB_ARENA_CHANGING] = 1;
        const double start = cpu_seconds();
        const uint64_t runs = extents.runs();
        best = std::min(best, (cpu_seconds() - start) / (double)runs);
    }
    Print("extents_rebuild_ns_per_run", best * 1e9, "ns", kRounds,
          "best of 5 rounds, CPU time, " + std::to_string(extents.runs()) + " runs in one file");
}

void look_ups() {
    for (uint32_t rows : {25u, 30720u}) {
        trib_state *state = nullptr;
        trib_state_config config = {nullptr, 30720, 16};
        if (trib_state_open(&state, &config, nullptr))
            die("open");
        std::mt19937_64 random(2);
        std::vector<uint64_t> keys(rows), sequence(4096);
        trib_context who = {};
        for (uint64_t &key : keys)
            trib_state_intern(state, key = random(), &who);
        for (uint64_t &key : sequence)
            key = keys[random() % rows];
        uint64_t sink = 0;
        size_t next = 0;
        auto samples = trib_bench::NanosecondsPerCall(
            4000, 64,
            [&] {
                trib_attribute_ref ref = trib_state_find(state, sequence[next++ % sequence.size()]);
                sink += trib_state_attribute(state, ref)->stream + ref;
            },
            [] {});
        Print(rows == 25 ? "state_find_ns" : "state_find_ns_full", trib_bench::Percentile(samples, 0.5), "ns",
              4000 * 64, "median; find and row, " + std::to_string(rows) + " rows, sum " + std::to_string(sink % 10));
        trib_state_close(state);
    }
}

// Every intern of a full table evicts; between two, as many rows were written to as fit.
void evictions() {
    for (uint32_t rows : {341u, 1u << 20}) {
        trib_state *state = nullptr;
        trib_state_config config = {nullptr, rows, 16};
        if (trib_state_open(&state, &config, nullptr))
            die("open");
        std::mt19937_64 random(3);
        trib_context who = {};
        uint64_t key = 1;
        for (; key <= rows; key++)
            trib_state_intern(state, key, &who);
        constexpr unsigned kEvictions = 200000;
        const double start = cpu_seconds();
        for (unsigned i = 0; i < kEvictions; i++) {
            trib_attribute *row = trib_state_attribute(state, trib_state_find(state, key - 1 - random() % (rows / 2)));
            if (row)
                row->last_write_bytes = trib_state_clock_advance(state, 4096);
            trib_state_intern(state, key++, &who);
        }
        Print(rows == 341 ? "state_evict_ns_341" : "state_evict_ns_1m", (cpu_seconds() - start) * 1e9 / kEvictions,
              "ns", kEvictions, "one touch and one evicting intern, CPU time");
        trib_state_close(state);
    }
}

} // namespace

int main() {
    append_only();
    mixed_files();
    overwrites("extents_overwrites_per_s_1m", 1u << 20);
    overwrites("extents_overwrites_per_s_64k", 1u << 16);
    rebuild();
    look_ups();
    evictions();
}
