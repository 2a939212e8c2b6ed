// SPDX-License-Identifier: Apache-2.0
// What the write-buffer hook adds to a mini-transaction that dirties pages: the walk of the stack, its look-up, and a
// note per page. Pages come at random from a pool of 128 MiB and one of 4 GiB; the call paths, 16 frames deep, from 64
// front ends. The bar: 200 ns (MySQL under TPC-C has 1.2 pages in such a mini-transaction).
#include <string>

#include "note.h"
#include "support/measure.hpp"

namespace {

using namespace trib_bench;

uint64_t frames, random_state = 1;

uint64_t Random() {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 33;
}

template <unsigned Pages> [[gnu::noinline]] void Commit() {
    uint64_t keys[Pages];
    for (unsigned i = 0; i < Pages; i++)
        keys[i] = trib_page_key(static_cast<uint32_t>(i + 1), static_cast<uint32_t>(Random() % frames));
    trib_note_pages(keys, Pages, __builtin_frame_address(0));
}

// Sixty-four ways down, by the bits of `way` at the last six calls.
template <int Depth> [[gnu::noinline]] void Deep(void (*commit)(), unsigned way) {
    if constexpr (Depth == 0) {
        commit();
    } else if (Depth <= 6 && (way >> Depth & 1)) {
        Deep<Depth - 1>(commit, way);
        __asm__ volatile("" ::: "memory"); // not a tail call, and another return address than below
    } else {
        Deep<Depth - 1>(commit, way);
        __asm__ volatile("nop" ::: "memory");
    }
}

template <unsigned Pages> void Figure(const std::string &name, uint64_t pool_frames) {
    constexpr unsigned kBatch = 64, kBatches = 4000;
    frames = pool_frames / Pages;
    auto call = [] { Deep<14>(Commit<Pages>, static_cast<unsigned>(Random())); };
    for (unsigned i = 0; i < 20000; i++)
        call();
    auto samples = NanosecondsPerCall(kBatches, kBatch, call, [] {});
    auto walk = NanosecondsPerCall(
        kBatches, kBatch, [] { Deep<14>([] {}, static_cast<unsigned>(Random())); }, [] {});
    Print(name + "_p50", Percentile(samples, 0.5) - Percentile(walk, 0.5), "ns", kBatch * kBatches,
          "without the calls down");
}

} // namespace

int main() {
    if (trib_note_open(1u << 18, false))
        return 1;
    Figure<1>("note_1_page_of_128M", 8192);
    Figure<2>("note_2_pages_of_128M", 8192);
    Figure<2>("note_2_pages_of_4G", 1u << 18);
    return 0;
}
