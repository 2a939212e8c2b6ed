// SPDX-License-Identifier: Apache-2.0
#include "compare/future.h"

#include <map>
#include <tributary/pipeline.h>
#include <tributary/policy.h>

#include "common/failure.h"
#include "common/option_text.h"
#include "compare/pool.h"
#include "compare/requirements.h"
#include "source/source.h"
#include "wrap/trial.h"

namespace cli {

namespace {

// Which key says how many blocks there are and which of them a file gets.
const char *const ADDRESS_KEYS[] = {"drive", "preset",     "capacity", "op",  "superblock",
                                    "cold",  "allocation", "window",   "runs"};

class Ledger {
  public:
    explicit Ledger(uint64_t blocks) : newest_(blocks, NEVER) {
    }
    void observe(trib_trial *trial) {
        trib_observer observer = {};
        observer.arg = this;
        observer.block_wrote = [](void *arg, uint64_t lba, uint64_t blocks, uint16_t) {
            static_cast<Ledger *>(arg)->wrote(lba, blocks);
        };
        observer.block_discarded = [](void *arg, uint64_t lba, uint64_t blocks) {
            static_cast<Ledger *>(arg)->discarded(lba, blocks);
        };
        trib_trial_observe(trial, &observer);
    }
    std::vector<uint32_t> take();

  private:
    static constexpr uint32_t NEVER = UINT32_MAX;
    void wrote(uint64_t lba, uint64_t blocks) {
        for (uint64_t i = 0; i < blocks; i++) {
            end(newest_.at(lba + i));
            newest_[lba + i] = static_cast<uint32_t>(deaths_.size());
            deaths_.push_back(NEVER);
        }
        too_long_ = too_long_ || deaths_.size() >= NEVER;
    }
    void discarded(uint64_t lba, uint64_t blocks) {
        for (uint64_t i = 0; i < blocks; i++) {
            end(newest_.at(lba + i));
            newest_[lba + i] = NEVER;
        }
    }
    void end(uint32_t written) {
        if (written != NEVER)
            deaths_[written] = static_cast<uint32_t>(deaths_.size());
    }

    std::vector<uint32_t> newest_; // by logical block: which write holds it
    std::vector<uint32_t> deaths_;
    bool too_long_ = false;
};

std::vector<uint32_t> Ledger::take() {
    if (too_long_)
        throw Failure(EXIT_RUNTIME, "the future of this work does not fit: it writes more than 16 "
                                    "TiB; give a shorter one");
    deaths_.shrink_to_fit();
    return std::move(deaths_);
}

// Up to the first event that is refused: the run itself says in its words why.
void feed(trib_trial *trial, const RunPlan &plan, RunMeter &meter) {
    std::unique_ptr<EventSource> source = open_source(plan.source);
    while (source->next() && !meter.stop.load(std::memory_order_relaxed)) {
        const trib_trace_item &item = source->item();
        if (item.kind != TRIB_TRACE_EVENT)
            continue;
        if (trib_trial_process(trial, &item.event))
            return;
        if (item.event.kind == TRIB_EVENT_WRITE)
            meter.done_bytes += item.event.length_bytes;
    }
}

// Whether the policy that `options` name is one of those that need it.
bool needs_future(const std::string &options) {
    OptionText text;
    text.merge(options);
    return needs_of(text) & TRIB_NEEDS_FUTURE;
}

// Runs with equal texts share a future.
std::string address_options(const std::string &options) {
    OptionText all, kept;
    all.merge(options);
    for (const char *key : ADDRESS_KEYS)
        if (all.has(key))
            kept.set(key, all.get(key));
    return kept.text();
}

} // namespace

Deaths future(const RunPlan &plan, RunMeter &meter) {
    OptionText options;
    options.set("policy", TRIB_POLICY_BASELINE);
    options.merge(address_options(plan.options));
    trib_trial *opened = nullptr;
    trib_error error = {};
    int rc = trib_trial_open(&opened, options.text().c_str(), &error);
    if (rc)
        throw core_failure(rc, error.text);
    std::unique_ptr<trib_trial, int (*)(trib_trial *)> trial(opened, trib_trial_close);
    trib_drive_report drive = {};
    if (trib_pipeline_drive(trib_trial_pipeline(opened), &drive))
        throw Failure(EXIT_USAGE, "a policy that needs the future needs a drive, too: --drive "
                                  "emulated");
    Ledger ledger(drive.capacity_bytes / TRIB_BLOCK_BYTES);
    ledger.observe(opened);
    feed(opened, plan, meter);
    return std::make_shared<const std::vector<uint32_t>>(ledger.take());
}

void add_future_where_needed(const std::vector<RunPlan *> &plans, unsigned jobs) {
    std::map<std::string, std::vector<RunPlan *>> groups;
    for (RunPlan *plan : plans)
        if (needs_future(plan->options))
            groups[plan->source.path + "?" + plan->source.import_options + "?" + address_options(plan->options)]
                .push_back(plan);
    std::vector<std::vector<RunPlan *>> work;
    uint64_t total = 0;
    for (auto &group : groups) {
        total += group.second.front()->host_bytes;
        work.push_back(std::move(group.second));
    }
    run_each(work.size(), jobs, "future", total, [&](size_t i, RunMeter &meter) {
        Deaths deaths = future(*work[i].front(), meter);
        for (RunPlan *plan : work[i])
            plan->deaths = deaths;
    });
}

} // namespace cli
