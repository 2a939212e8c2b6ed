// SPDX-License-Identifier: Apache-2.0
#include "compare/run.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <tributary/policy.h>

#include "common/failure.h"
#include "common/option_text.h"
#include "common/table.h"
#include "compare/drive_dump.h"
#include "compare/ledger.h"
#include "compare/requirements.h"

namespace cli {

namespace {

constexpr uint32_t STREAM_MAX = 63; // of option `streams`

struct TrialClose {
    void operator()(trib_trial *trial) const {
        trib_trial_close(trial);
    }
};
using Trial = std::unique_ptr<trib_trial, TrialClose>;

uint64_t flash_pages(const trib_drive_report &drive) {
    return drive.host_pages + drive.gc_pages + drive.metadata_pages;
}

// A drive of just the live data would thrash: five percent on top, in whole 16 MiB.
uint64_t rounded_up(double needed_bytes) {
    constexpr double UNIT = 16 * 1024 * 1024;
    return static_cast<uint64_t>(std::ceil(needed_bytes * 1.05 / UNIT) * UNIT);
}

double ratio(uint64_t flash, uint64_t host) {
    return host ? static_cast<double>(flash) / static_cast<double>(host) : 0;
}

bool decides_by_block(const std::string &options) {
    OptionText text;
    text.merge(options);
    return needs_of(text) & TRIB_NEEDS_LBA;
}

class Run {
  public:
    Run(const RunPlan &plan, RunMeter &meter) : plan_(plan), meter_(meter), source_(open_source(plan.source)) {
        trib_trial *trial = nullptr;
        trib_error error = {};
        int rc = trib_trial_open(&trial, plan.options.c_str(), &error);
        if (rc)
            throw core_failure(rc, error.text);
        trial_.reset(trial);
        if (plan.deaths)
            trib_trial_future(trial, plan.deaths->data(), plan.deaths->size());
        result_.has_drive = trib_pipeline_drive(pipeline(), &opened_) == 0;
        ledger_ =
            std::make_unique<Ledger>(trial, result_.has_drive ? opened_.streams : STREAM_MAX,
                                     decides_by_block(plan.options) ? opened_.capacity_bytes / TRIB_BLOCK_BYTES : 0);
        next_sample_bytes_ = (plan.host_bytes + SAMPLES - 1) / SAMPLES;
        if (!plan.dump.empty())
            check_dump(plan.dump, result_.has_drive);
    }

    RunResult finish();

  private:
    trib_pipeline *pipeline() const {
        return trib_trial_pipeline(trial_.get());
    }
    void feed();
    void process(const trib_event &event);
    void sample();
    void close();
    [[noreturn]] void refuse(int rc, const trib_event &event);

    const RunPlan &plan_;
    RunMeter &meter_;
    std::unique_ptr<EventSource> source_;
    Trial trial_;
    std::unique_ptr<Ledger> ledger_;
    trib_drive_report opened_ = {}; // counters after prefill, before the first event
    RunResult result_;
    uint64_t host_bytes_ = 0, next_sample_bytes_ = 0, metered_bytes_ = 0;
};

void Run::refuse(int rc, const trib_event &event) {
    if (rc != -ENOSPC)
        throw Failure(EXIT_RUNTIME,
                      fmt::format("event {} ({} bytes at {} of file {:#x}) was refused: {}", result_.events,
                                  event.length_bytes, event.offset_bytes, event.file, core_failure(rc, "").what()));
    trib_drive_report drive = {};
    trib_pipeline_drive(pipeline(), &drive);
    auto capacity = static_cast<double>(drive.capacity_bytes);
    double cold = static_cast<double>(opened_.live_pages * TRIB_BLOCK_BYTES) / std::max(capacity, 1.0);
    double needed = static_cast<double>(plan_.peak_live_bytes) / std::max(1 - cold, 0.01);
    throw Failure(EXIT_DRIVE_SMALL,
                  fmt::format("the drive is too small: event {} (a write of {} bytes) found no room on {}; the files "
                              "of this trace take {} at their peak and cold data {:.1f} % of the drive: choose "
                              "capacity={} or more",
                              result_.events, event.length_bytes, size_text(capacity),
                              size_text(static_cast<double>(plan_.peak_live_bytes)), cold * 100,
                              size_option(rounded_up(needed))));
}

void Run::process(const trib_event &event) {
    result_.events++;
    if (int rc = trib_trial_process(trial_.get(), &event))
        refuse(rc, event);
    if (event.kind != TRIB_EVENT_WRITE)
        return;
    host_bytes_ += event.length_bytes;
    // Sample k ends at the first write that reaches k / SAMPLES of the host bytes.
    if (host_bytes_ < next_sample_bytes_)
        return;
    sample();
    double step = static_cast<double>(plan_.host_bytes) / SAMPLES;
    double passed = std::floor(static_cast<double>(host_bytes_) / step);
    next_sample_bytes_ = static_cast<uint64_t>(std::ceil((passed + 1) * step));
}

void Run::sample() {
    trib_drive_report drive = {};
    if (result_.has_drive)
        trib_pipeline_drive(pipeline(), &drive);
    Sample sample;
    sample.host_bytes = host_bytes_;
    sample.host_pages = drive.host_pages - opened_.host_pages;
    sample.flash_pages = flash_pages(drive) - flash_pages(opened_);
    sample.stream_bytes = ledger_->take_window();
    sample.map_cache_bytes = drive.map_cache_bytes;
    result_.samples.push_back(std::move(sample));
}

void Run::feed() {
    while (source_->next() && !meter_.stop.load(std::memory_order_relaxed)) {
        if (source_->item().kind != TRIB_TRACE_EVENT)
            continue;
        process(source_->item().event);
        if (result_.events % 4096 != 0)
            continue;
        meter_.done_bytes += host_bytes_ - metered_bytes_;
        metered_bytes_ = host_bytes_;
    }
    meter_.done_bytes += host_bytes_ - metered_bytes_;
    if (result_.samples.empty() || result_.samples.back().host_bytes != host_bytes_)
        sample();
}

void Run::close() {
    if (!plan_.dump.empty())
        dump_drive(pipeline(), plan_.dump);
    trib_pipeline_status(pipeline(), &result_.status);
    trib_trial_cost(trial_.get(), &result_.cost);
    ledger_->finish(pipeline(), result_);
    int rc = trib_trial_close(trial_.release());
    if (rc)
        throw Failure(EXIT_RUNTIME, std::string("closing the pipeline failed: ") + core_failure(rc, "").what());
}

RunResult Run::finish() {
    auto begin = std::chrono::steady_clock::now();
    feed();
    result_.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    result_.truncated = source_->was_truncated();
    result_.prefilled_bytes = opened_.live_pages * TRIB_BLOCK_BYTES;
    if (result_.has_drive) {
        trib_pipeline_drive(pipeline(), &result_.drive);
        trib_drive_report &drive = result_.drive;
        drive.host_pages -= opened_.host_pages;
        drive.gc_pages -= opened_.gc_pages;
        drive.metadata_pages -= opened_.metadata_pages;
        drive.metadata_read_pages -= opened_.metadata_read_pages;
        drive.map_lookups -= opened_.map_lookups;
        drive.map_misses -= opened_.map_misses;
        drive.erases -= opened_.erases;
        drive.discarded_pages -= opened_.discarded_pages;
        drive.virtual_seconds -= opened_.virtual_seconds;
        const Sample &last = result_.samples.back();
        result_.waf = ratio(last.flash_pages, last.host_pages);
        auto half = std::find_if(result_.samples.begin(), result_.samples.end(),
                                 [&](const Sample &s) { return 2 * s.host_bytes >= last.host_bytes; });
        result_.waf_steady = ratio(last.flash_pages - half->flash_pages, last.host_pages - half->host_pages);
        if (drive.virtual_seconds > 0)
            result_.iops = static_cast<double>(drive.host_pages) / drive.virtual_seconds;
    }
    close();
    return std::move(result_);
}

} // namespace

RunResult run_trace(const RunPlan &plan, RunMeter &meter) {
    Run run(plan, meter);
    return run.finish();
}

} // namespace cli
