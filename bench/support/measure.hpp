// SPDX-License-Identifier: Apache-2.0
// What every micro-benchmark needs: a cycle clock with its own cost removed, percentiles, one JSON line per figure.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <tributary/event.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace trib_bench {

inline double Seconds() {
    using clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

inline uint64_t Cycles() {
#if defined(__x86_64__)
    unsigned aux;
    return __rdtscp(&aux);
#else
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

inline double CyclesPerNanosecond() {
    static const double rate = [] {
        const double t0 = Seconds();
        const uint64_t c0 = Cycles();
        while (Seconds() - t0 < 0.02) {
        }
        return (Cycles() - c0) / ((Seconds() - t0) * 1e9);
    }();
    return rate;
}

inline double Percentile(std::vector<double> values, double p) {
    std::sort(values.begin(), values.end());
    const size_t index = static_cast<size_t>(p * (values.size() - 1) + 0.5);
    return values[index];
}

// Median cost of reading the clock twice, in cycles.
inline double ClockOverhead() {
    static const double overhead = [] {
        std::vector<double> samples(10000);
        for (double &sample : samples) {
            const uint64_t a = Cycles();
            sample = static_cast<double>(Cycles() - a);
        }
        return Percentile(samples, 0.5);
    }();
    return overhead;
}

// Nanoseconds per call over `batches` batches of `size` calls, clock overhead removed. Between batches `pause` may run.
template <class Call, class Pause>
std::vector<double> NanosecondsPerCall(unsigned batches, unsigned size, Call call, Pause pause) {
    std::vector<double> samples(batches);
    const double rate = CyclesPerNanosecond(), overhead = ClockOverhead();
    for (double &sample : samples) {
        const uint64_t a = Cycles();
        for (unsigned i = 0; i < size; i++)
            call();
        const double cycles = static_cast<double>(Cycles() - a) - overhead;
        sample = std::max(cycles, 0.0) / rate / size;
        pause();
    }
    return samples;
}

// A write as db_bench's log makes it: one value and its key.
inline trib_event SampleWrite() {
    trib_event event = {};
    event.kind = TRIB_EVENT_WRITE;
    event.file = 1;
    event.length_bytes = 1100;
    event.who.signature = 1;
    event.stream = TRIB_STREAM_UNDECIDED;
    return event;
}

inline void Print(const std::string &name, double value, const char *unit, uint64_t samples,
                  const std::string &note = "") {
    std::printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"samples\": %llu, \"note\": \"%s\"}\n",
                name.c_str(), value, unit, static_cast<unsigned long long>(samples), note.c_str());
    std::fflush(stdout);
}

} // namespace trib_bench
