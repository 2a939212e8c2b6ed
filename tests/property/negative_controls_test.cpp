// SPDX-License-Identifier: Apache-2.0
// Negative controls, for every policy of the registry: where nothing can be won nobody wins, and
// what things are called does not matter.
#include "support/events.hpp"
#include "support/flash_drive.hpp"
#include "support/trial.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <tributary/policy.h>

#include "workload/workload.h"

using namespace trib_test;

namespace {

constexpr uint32_t PAGES = 16384; // 64 MiB
constexpr uint16_t STREAMS = 8;

// Without those that know the future: to them no two blocks are alike.
std::vector<std::string> online_policies() {
    std::vector<std::string> names;
    for (auto policy = trib_policies(); *policy; policy++)
        if (!((*policy)->needs & TRIB_NEEDS_FUTURE))
            names.push_back((*policy)->name);
    return names;
}

// What reached the drive, and in which stream.
struct Step {
    uint32_t lba, blocks;
    uint16_t stream;
    bool discard;
};

struct Outcome {
    double waf = 0; // second half of the writes
    std::vector<Step> steps;
    size_t streams_used = 0;
};

// One run of a policy, told event by event.
class Run {
  public:
    Run(const std::string &policy, const std::string &drive)
        : pipeline_("policy=" + policy + ",drive=emulated,latency=off,streams=8," + drive) {
        INFO(policy << ": " << pipeline_.error());
        REQUIRE(pipeline_.rc() == 0);
        trib_observer observer{};
        observer.arg = &steps_;
        observer.block_wrote = [](void *arg, uint64_t lba, uint64_t blocks, uint16_t stream) {
            static_cast<std::vector<Step> *>(arg)->push_back({uint32_t(lba), uint32_t(blocks), stream, false});
        };
        observer.block_discarded = [](void *arg, uint64_t lba, uint64_t blocks) {
            static_cast<std::vector<Step> *>(arg)->push_back({uint32_t(lba), uint32_t(blocks), 0, true});
        };
        pipeline_.observe(observer);
    }
    void tell(const trib_event &event) {
        if (pipeline_.process(event))
            FAIL("the drive refused a write");
    }
    void half() {
        trib_pipeline_drive(pipeline_.get(), &half_);
    }
    Outcome outcome() {
        trib_drive_report end{};
        trib_pipeline_drive(pipeline_.get(), &end);
        Outcome out;
        out.waf = 1 + double(end.gc_pages - half_.gc_pages) / double(end.host_pages - half_.host_pages);
        out.steps = std::move(steps_);
        std::vector<bool> used(size_t{STREAMS} + 1);
        for (const Step &step : out.steps)
            used.at(step.stream) = used.at(step.stream) || !step.discard;
        out.streams_used = size_t(std::count(used.begin(), used.end(), true));
        return out;
    }

  private:
    Trial pipeline_;
    std::vector<Step> steps_;
    trib_drive_report half_{};
};

// Uniform writes in place by writers that differ in everything but how long their data live. The
// superblocks are small, so that nine open ones take little of the over-provisioned space.
Outcome alike(const std::string &policy, const std::string &more) {
    Run run(policy, "capacity=64M,op=15,superblock=64K," + more);
    Random random(11);
    constexpr uint64_t WRITES = 8 * PAGES;
    for (uint64_t i = 0; i < PAGES + WRITES; i++) {
        const uint64_t writer = random.below(5);
        trib_event event{};
        event.kind = TRIB_EVENT_WRITE;
        event.offset_bytes = (i < PAGES ? i : random.below(PAGES)) * TRIB_BLOCK_BYTES;
        event.length_bytes = TRIB_BLOCK_BYTES;
        event.thread = uint32_t(writer);
        event.stream = uint16_t(writer);
        event.who.signature = 0x1000 + writer;
        event.who.file_kind = writer ? TRIB_FILE_SST : TRIB_FILE_WAL;
        event.who.write_hint = uint8_t(TRIB_HINT_NONE + writer);
        event.who.level = int8_t(writer);
        run.tell(event);
        if (i == PAGES + WRITES / 2)
            run.half();
    }
    return run.outcome();
}

// An LSM tree; `rename` changes what its call paths and files are called, and nothing else.
Outcome tree(const std::string &policy, const std::string &drive, bool rename = false) {
    Run run(policy, drive);
    trib_workload *workload = nullptr;
    trib_error error{};
    REQUIRE(trib_workload_open(&workload, "lsm", "size=58M,host=400M,memtable=128K,target=128K,base=1M,multiplier=5",
                               &error) == 0);
    trib_workload_description description{};
    trib_workload_describe(workload, &description);
    trib_event event{};
    for (bool half = false; trib_workload_next(workload, &event) == 1;) {
        if (rename) {
            event.who.signature ^= 0x5A5A5A5A00000000; // keeps the order of none of them
            event.file = (event.file << 20) + 7;
        }
        run.tell(event);
        if (half || trib_workload_position(workload) < description.host_bytes / 2)
            continue;
        half = true;
        run.half();
    }
    trib_workload_close(workload);
    return run.outcome();
}

uint64_t copies_with(const std::vector<Step> &steps, const std::vector<uint16_t> &label, trib_gc_destination gc) {
    auto config = flash::config(PAGES, 0.12, 32);
    config.streams = STREAMS;
    config.gc = gc;
    auto drive = flash::open(config);
    for (const Step &step : steps)
        if (step.discard)
            REQUIRE(trib_flash_discard(drive.get(), step.lba, step.blocks) == 0);
        else
            flash::write(drive, step.lba, step.blocks, label.at(step.stream));
    return flash::stats(drive).gc_pages;
}

const std::string FULL = "capacity=64M,op=12,superblock=128K,gc=same";

} // namespace

TEST_CASE("data of one lifetime: every policy copies as much as none") {
    const std::string policy = GENERATE(from_range(online_policies()));
    for (const std::string gc : {"same", "shared"}) {
        const double none = alike("none", "gc=" + gc).waf;
        const Outcome its = alike(policy, "gc=" + gc);
        CAPTURE(policy, gc, none, its.waf, its.streams_used);
        CHECK(none > 1.5); // else there is nothing to be equal in
        CHECK(its.waf == Approx(none).epsilon(0.03));
    }
}

TEST_CASE("less than half of the drive in use: every policy copies as little as none") {
    const std::string policy = GENERATE(from_range(online_policies()));
    const std::string roomy = "capacity=144M,op=7,superblock=256K,gc=";
    for (const std::string gc : {"same", "shared"}) {
        const double none = tree("none", roomy + gc).waf;
        const Outcome its = tree(policy, roomy + gc);
        CAPTURE(policy, gc, none, its.waf);
        CHECK(none < 1.02);
        CHECK(its.waf == Approx(none).epsilon(0.015));
    }
}

TEST_CASE("streams under other numbers: the same copies, to the page") {
    const std::string policy = GENERATE(from_range(online_policies()));
    const Outcome its = tree(policy, FULL);
    CAPTURE(policy, its.streams_used);
    const std::vector<uint16_t> same = {0, 1, 2, 3, 4, 5, 6, 7, 8}, turned = {8, 7, 6, 5, 4, 3, 2, 1, 0},
                                shuffled = {3, 0, 7, 1, 8, 2, 6, 4, 5};
    for (auto gc : {TRIB_GC_SAME, TRIB_GC_SHARED, TRIB_GC_TWIN, TRIB_GC_PRESERVE}) {
        const uint64_t copies = copies_with(its.steps, same, gc);
        CHECK(copies > 0);
        CHECK(copies_with(its.steps, turned, gc) == copies);
        CHECK(copies_with(its.steps, shuffled, gc) == copies);
    }
}

TEST_CASE("call paths and files under other names: the same decisions, one by one") {
    const std::string policy = GENERATE(from_range(online_policies()));
    const Outcome before = tree(policy, FULL), after = tree(policy, FULL, true);
    CAPTURE(policy, before.waf, after.waf);
    REQUIRE(before.steps.size() == after.steps.size());
    CHECK(before.waf == after.waf);
    CHECK(std::equal(before.steps.begin(), before.steps.end(), after.steps.begin(), [](const Step &a, const Step &b) {
        return a.lba == b.lba && a.blocks == b.blocks && a.stream == b.stream && a.discard == b.discard;
    }));
}
