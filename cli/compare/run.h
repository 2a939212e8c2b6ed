// SPDX-License-Identifier: Apache-2.0
// One source of events through one pipeline, and everything that tables, JSON and reports need of
// it. A run owns its source and its pipeline, so runs are independent of each other and may go side
// by side on several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tributary/pipeline.h>

#include "compare/histogram.h"
#include "source/source.h"
#include "wrap/trial.h"

namespace cli {

struct RunPlan {
    SourceSpec source;
    std::string options; // of the pipeline and the trial
    // As the survey found. Host bytes place the samples; the peak says how large a full drive
    // should have been.
    uint64_t host_bytes = 0, peak_live_bytes = 0;
    // When each block written dies (future.h), for policies that need the future; shared by runs
    // of the same work on the same address space.
    std::shared_ptr<const std::vector<uint32_t>> deaths = {};
    std::string dump = {}; // file for the drive's state at the end; "" = none
};

// What went into one stream, or came from one key of the attribute table. Bytes.
struct Tally {
    uint64_t written_bytes = 0, died_bytes = 0,
             live_bytes = 0; // live: at the end, lifetimes right-censored
    Histogram lifetimes;     // of the bytes that died
};

struct StreamTally : Tally {
    uint16_t stream = 0;
};

struct SignatureTally : Tally {
    uint64_t key = 0;
    trib_context who = {};
    uint16_t stream = 0; // of the last write
};

// One point of the curves over time.
struct Sample {
    uint64_t host_bytes = 0, host_pages = 0,
             flash_pages = 0;           // so far; flash: host, copied and metadata pages
    std::vector<uint64_t> stream_bytes; // since the sample before
    uint64_t map_cache_bytes = 0;       // that the policy leaves to the drive's mapping cache
};

struct RunResult {
    trib_status status = {};
    bool has_drive = false;
    trib_cost_report cost = {};
    trib_drive_report drive = {};   // counters without what opening the drive (prefill) already did
    double waf = 0, waf_steady = 0; // whole run, second half of the host writes; 0 = unknown
    double iops = 0;                // host pages per second of the drive's virtual time; 0 = unknown
    double wall_seconds = 0;
    uint64_t events = 0;
    bool truncated = false;
    uint64_t prefilled_bytes = 0;           // live before the first event: cold files
    std::vector<Sample> samples;            // SAMPLES of them on a trace that is long enough
    std::vector<StreamTally> streams;       // those that were written, by number
    std::vector<SignatureTally> signatures; // most bytes first
};

constexpr unsigned SAMPLES = 200; // even: the middle one begins the steady half

// Shared by the threads of a comparison.
struct RunMeter {
    std::atomic<uint64_t> done_bytes{0}; // written by the host, over all runs
    std::atomic<bool> stop{false};       // a run failed: the others end early
};

// Throws Failure: usage for options that the core refuses, EXIT_DRIVE_SMALL when the drive is full.
RunResult run_trace(const RunPlan &plan, RunMeter &meter);

} // namespace cli
