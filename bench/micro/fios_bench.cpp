// SPDX-License-Identifier: Apache-2.0
// What FIOS costs on a drive of 32 GiB, a million chunks: noting a page, looking a chunk up, and
// training, in all and in the step that a write may have to wait for. Times are of this core.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "rivals/fios/fios_core.h"
#include "support/measure.hpp"

namespace {

using trib_bench::Print;

constexpr uint32_t kChunks = 1 << 20, kChunkBlocks = 8;
constexpr uint64_t kBlocks = uint64_t{kChunks} * kChunkBlocks;

double cpu_ns() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

void check(int rc, const char *what) {
    if (rc) {
        std::fprintf(stderr, "fios_bench: %s failed\n", what);
        std::exit(1);
    }
}

// One capacity of single pages, denser at low addresses, a third of them sequential.
void note(trib_fios_trace &trace) {
    std::mt19937_64 random(1);
    std::vector<uint32_t> lbas(kBlocks);
    for (uint64_t i = 0; i < kBlocks; i++) {
        const uint64_t low = (random() % kBlocks) * (random() % kBlocks) / kBlocks;
        lbas[i] = uint32_t(i % 3 == 1 ? (lbas[i - 1] + 1) % kBlocks : low);
    }
    trib_placement page{};
    const double begin = cpu_ns();
    for (uint64_t i = 0; i < kBlocks; i++) {
        page.lba = lbas[i];
        page.block_clock = i;
        page.clock_bytes = page.offset_bytes = i * TRIB_BLOCK_BYTES;
        trib_fios_trace_write(&trace, &page);
    }
    Print("fios_note", (cpu_ns() - begin) / double(kBlocks), "ns/page", kBlocks, "random pages");
}

void train(trib_fios_training *training) {
    std::vector<double> steps_us;
    double total_ns = 0;
    for (bool done = false; !done;) {
        const double begin = cpu_ns();
        done = trib_fios_training_step(training, TRIB_FIOS_STEP_CHUNKS);
        const double took_ns = cpu_ns() - begin;
        steps_us.push_back(took_ns / 1e3);
        total_ns += took_ns;
    }
    Print("fios_step_median", trib_bench::Percentile(steps_us, 0.5), "us", steps_us.size());
    Print("fios_step_max", trib_bench::Percentile(steps_us, 1), "us", steps_us.size());
    Print("fios_train", total_ns / kChunks, "ns/chunk", kChunks, "decimal, four features, K=16");
}

void find(trib_fios_dictionary &dictionary, uint32_t run, const char *name) {
    constexpr uint64_t kCalls = 10000000;
    std::mt19937_64 random(2);
    std::vector<uint32_t> chunks(1 << 16);
    for (uint32_t &chunk : chunks)
        chunk = uint32_t(random() % kChunks);
    for (uint32_t chunk = 0; chunk < kChunks; chunk++)
        trib_fios_base_set(&dictionary, chunk, uint8_t(chunk / run % 16));
    trib_fios_dictionary_reduce(&dictionary, 0, kChunks);
    unsigned sum = 0;
    const double begin = cpu_ns();
    for (uint64_t i = 0; i < kCalls; i++)
        sum += trib_fios_dictionary_find(&dictionary, chunks[i % chunks.size()]);
    Print(name, (cpu_ns() - begin) / double(kCalls), "ns", kCalls,
          dictionary.simplified ? "binary search of ranges" : "half a byte of the base");
    if (sum == 0)
        std::exit(1);
}

} // namespace

int main() {
    trib_fios_trace trace;
    trib_fios_dictionary now, next;
    trib_fios_training *training = nullptr;
    trib_fios_rules rules{};
    rules.matrix = TRIB_FIOS_DECIMAL;
    rules.features = 15;
    rules.streams = 16;
    for (double &weight : rules.weights)
        weight = 1;
    check(trib_fios_trace_open(&trace, uint32_t(kBlocks), kChunkBlocks), "trace");
    check(trib_fios_dictionary_open(&now, kChunks), "dictionary");
    check(trib_fios_dictionary_open(&next, kChunks), "dictionary");
    check(trib_fios_training_open(&training, &rules), "training");
    trib_fios_trace_begin(&trace, 0, kBlocks, 0);
    note(trace);
    trib_fios_training_begin(training, &trace, &now, &next);
    train(training);
    find(now, 64, "fios_find_ranges");
    find(now, 1, "fios_find_base");
    trib_fios_training_close(training);
    trib_fios_dictionary_close(&next);
    trib_fios_dictionary_close(&now);
    trib_fios_trace_close(&trace);
}
