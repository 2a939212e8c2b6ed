// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

#include "progress.h"

namespace cli {

namespace {

class Pool {
  public:
    explicit Pool(const std::vector<RunPlan> &plans)
        : plans_(plans), results_(plans.size()), failures_(plans.size()) {
    }
    std::vector<RunResult> run(unsigned jobs);

  private:
    void work();

    const std::vector<RunPlan> &plans_;
    std::vector<RunResult> results_; // each slot belongs to the thread that took its plan
    std::vector<std::exception_ptr> failures_;
    std::atomic<size_t> next_{0}, finished_{0};
    RunMeter meter_;
};

void Pool::work() {
    for (size_t i; (i = next_.fetch_add(1)) < plans_.size();) {
        try {
            if (!meter_.stop)
                results_[i] = run_trace(plans_[i], meter_);
        } catch (...) {
            failures_[i] = std::current_exception();
            meter_.stop = true;
        }
        finished_++;
    }
}

std::vector<RunResult> Pool::run(unsigned jobs) {
    uint64_t total = std::accumulate(
        plans_.begin(), plans_.end(), uint64_t{0},
        [](uint64_t sum, const RunPlan &plan) { return sum + plan.host_bytes; });
    Progress progress("replaying");
    std::vector<std::thread> threads;
    try {
        while (threads.size() < jobs)
            threads.emplace_back([this] { work(); });
    } catch (const std::system_error &) {
        if (threads.empty()) // no thread to be had: do it here
            work();
    }
    while (finished_ < plans_.size()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        progress.show(meter_.done_bytes, total);
    }
    for (std::thread &thread : threads)
        thread.join();
    for (const std::exception_ptr &failure : failures_)
        if (failure)
            std::rethrow_exception(failure);
    return std::move(results_);
}

} // namespace

std::vector<RunResult> run_all(const std::vector<RunPlan> &plans, unsigned jobs) {
    unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    unsigned wanted = jobs ? jobs : cores;
    return Pool(plans).run(std::min(wanted, static_cast<unsigned>(plans.size())));
}

RunResult run_one(const RunPlan &plan) {
    return std::move(run_all({plan}, 1).front());
}

} // namespace cli
