// SPDX-License-Identifier: Apache-2.0
#include "compare/pool.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

#include "common/progress.h"

namespace cli {

namespace {

using Work = std::function<void(size_t, RunMeter &)>;

class Pool {
  public:
    Pool(size_t count, const Work &work) : work_(work), failures_(count) {
    }
    void run(unsigned jobs, const std::string &title, uint64_t total_bytes);

  private:
    void take();

    const Work &work_;
    std::vector<std::exception_ptr> failures_; // each slot belongs to the thread that took it
    std::atomic<size_t> next_{0}, finished_{0};
    RunMeter meter_;
};

void Pool::take() {
    for (size_t i; (i = next_.fetch_add(1)) < failures_.size();) {
        try {
            if (!meter_.stop)
                work_(i, meter_);
        } catch (...) {
            failures_[i] = std::current_exception();
            meter_.stop = true;
        }
        finished_++;
    }
}

void Pool::run(unsigned jobs, const std::string &title, uint64_t total_bytes) {
    Progress progress(title);
    std::vector<std::thread> threads;
    try {
        while (threads.size() < jobs)
            threads.emplace_back([this] { take(); });
    } catch (const std::system_error &) {
        if (threads.empty()) // no thread to be had: do it here
            take();
    }
    while (finished_ < failures_.size()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        progress.show(meter_.done_bytes, total_bytes);
    }
    for (std::thread &thread : threads)
        thread.join();
    for (const std::exception_ptr &failure : failures_)
        if (failure)
            std::rethrow_exception(failure);
}

} // namespace

void run_each(size_t count, unsigned jobs, const std::string &title, uint64_t total_bytes, const Work &work) {
    unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    size_t wanted = std::min<size_t>(jobs ? jobs : cores, count);
    Pool(count, work).run(static_cast<unsigned>(wanted), title, total_bytes);
}

std::vector<RunResult> run_all(const std::vector<RunPlan> &plans, unsigned jobs) {
    uint64_t total = std::accumulate(plans.begin(), plans.end(), uint64_t{0},
                                     [](uint64_t sum, const RunPlan &plan) { return sum + plan.host_bytes; });
    std::vector<RunResult> results(plans.size());
    run_each(plans.size(), jobs, "replaying", total,
             [&](size_t i, RunMeter &meter) { results[i] = run_trace(plans[i], meter); });
    return results;
}

RunResult run_one(const RunPlan &plan) {
    return std::move(run_all({plan}, 1).front());
}

} // namespace cli
