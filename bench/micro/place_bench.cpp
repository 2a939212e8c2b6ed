// SPDX-License-Identifier: Apache-2.0
// What a decision costs: looking a signature up and placing a write (RocksDB has some 30
// signatures, a compile farm thousands), learning from a death, and dealing streams anew. Keys are
// drawn uniformly, which is the worst for the caches; an engine's writes are skewed.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <tributary/policy.h>

#include "base/options.h"
#include "state/state.h"
#include "support/measure.hpp"

namespace {

using namespace trib_bench;

volatile uint64_t sink;

uint64_t Random() {
    static uint64_t state = 1;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

[[noreturn]] void Fail(const trib_error &error) {
    std::fprintf(stderr, "place_bench: %s\n", error.text);
    std::exit(1);
}

// A table of `rows` signatures under pcstream, each with a lifetime between 1 MiB and 1 TiB and a
// stream.
class Table {
  public:
    Table(uint32_t rows, const char *text) : keys_(rows), refs_(rows) {
        trib_error error{};
        trib_options *options = nullptr;
        const trib_state_config config{nullptr, rows, 16};
        if (trib_state_open(&state_, &config, &error) || trib_options_open(&options, text, &error))
            Fail(error);
        trib_policy_env env{};
        env.state = state_;
        env.streams = 8;
        env.capacity_bytes = 1ull << 30;
        policy_ = trib_policy_find("pcstream", &error);
        if (!policy_ || policy_->open(&self_, &env, options, &error))
            Fail(error);
        trib_options_close(options);
        trib_context who{};
        for (uint32_t i = 0; i < rows; i++) {
            who.signature = keys_[i] = Random();
            refs_[i] = trib_state_intern(state_, keys_[i], &who);
        }
        ChangeLifetimes();
        Tick();
    }
    ~Table() {
        policy_->close(self_);
        trib_state_close(state_);
    }

    void Place() {
        trib_placement write{};
        write.attribute = trib_state_find(state_, keys_[Next()]);
        sink = policy_->place(self_, &write);
    }
    void Died() {
        trib_death death{};
        death.attribute = refs_[Next()];
        death.age_bytes = Random() >> 24;
        policy_->died(self_, &death);
    }
    void ChangeLifetimes() {
        trib_death death{};
        for (const trib_attribute_ref ref : refs_) {
            death.attribute = ref;
            death.age_bytes = 1ull << (20 + Random() % 20);
            death.age_bytes += Random() % death.age_bytes;
            for (int i = 0; i < 16; i++)
                policy_->died(self_, &death);
        }
    }
    void Tick() {
        policy_->tick(self_, clock_ += 1ull << 30);
    }
    uint32_t Reclusterings() const {
        return policy_->reclusterings(self_);
    }

  private:
    // The random choice is made before the clock starts: 4,096 of them, over and over.
    size_t Next() {
        if (choices_.empty())
            for (int i = 0; i < 4096; i++)
                choices_.push_back(Random() % keys_.size());
        return choices_[next_++ % choices_.size()];
    }

    std::vector<uint64_t> keys_;
    std::vector<trib_attribute_ref> refs_;
    std::vector<size_t> choices_;
    size_t next_ = 0;
    trib_state *state_ = nullptr;
    const trib_policy *policy_ = nullptr;
    void *self_ = nullptr;
    uint64_t clock_ = 0;
};

void PrintBoth(const std::string &name, const std::string &suffix, const std::vector<double> &samples,
               const char *note) {
    Print(name + "_p50" + suffix, Percentile(samples, 0.5), "ns", samples.size() * 32, note);
    Print(name + "_p99" + suffix, Percentile(samples, 0.99), "ns", samples.size() * 32, note);
}

template <class Call> std::vector<double> Measure(Call call) {
    NanosecondsPerCall(2000, 32, call, [] {}); // warms caches and predictors
    return NanosecondsPerCall(20000, 32, call, [] {});
}

void PlaceFigures(uint32_t rows, const std::string &suffix, const char *note) {
    Table table(rows, "");
    PrintBoth("place_ns", suffix, Measure([&] { table.Place(); }), note);
}

void ReclusterFigure(uint32_t rows, unsigned rounds) {
    Table table(rows, "average=1,interval=0,changed=0");
    std::vector<double> samples(rounds);
    for (double &sample : samples) {
        table.ChangeLifetimes();
        const double start = Seconds();
        table.Tick();
        sample = (Seconds() - start) * 1e6;
    }
    if (table.Reclusterings() < rounds / 2) { // lifetimes are drawn anew: few rounds move nobody
        std::fprintf(stderr, "place_bench: nothing was clustered\n");
        std::exit(1);
    }
    Print("recluster_us_" + std::to_string(rows), Percentile(samples, 0.5), "us", rounds,
          "pcstream, exact, 8 streams: look at every row, cluster, write streams; median");
}

} // namespace

int main() {
    PlaceFigures(64, "", "look-up by key + pcstream place, 64 rows, batches of 32");
    PlaceFigures(8192, "_8192", "look-up by key + pcstream place, 8192 rows, batches of 32");
    Table table(64, "interval=100");
    PrintBoth("policy_died_ns", "", Measure([&] { table.Died(); }), "pcstream, one death, 64 rows");
    ReclusterFigure(10, 400);
    ReclusterFigure(100, 200);
    ReclusterFigure(1000, 50);
    ReclusterFigure(10000, 10);
    return 0;
}
