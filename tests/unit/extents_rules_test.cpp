// SPDX-License-Identifier: Apache-2.0
// The rules of live extents, each with numbers that can be checked by hand.
#include <errno.h>

#include <cmath>
#include <map>
#include <vector>

#include "lifetime/estimate.h"
#include "lifetime/extents.h"
#include "support/catch.hpp"

namespace {

constexpr uint64_t K = 1024, M = 1024 * K, G = 1024 * M;

class Extents {
  public:
    trib_state *state = nullptr;
    trib_extents *self = nullptr;
    trib_attribute_ref a = 0, b = 0;
    std::vector<trib_death> deaths; // of the last call

    explicit Extents(uint32_t runs = 1024, uint32_t attributes = 8) {
        trib_state_config config = {nullptr, attributes, runs};
        REQUIRE(trib_state_open(&state, &config, nullptr) == 0);
        REQUIRE(trib_extents_open(&self, state) == 0);
        a = intern(1), b = intern(2);
    }
    ~Extents() {
        trib_extents_close(self);
        trib_state_close(state);
    }
    Extents(const Extents &) = delete;

    trib_attribute_ref intern(uint64_t key) {
        trib_context who = {};
        return trib_state_intern(state, key, &who);
    }
    int write(uint64_t clock, trib_attribute_ref who, uint64_t file, uint64_t offset, uint64_t length,
              uint16_t stream = 1) {
        trib_event event = {};
        event.file = file, event.offset_bytes = offset, event.length_bytes = length, event.stream = stream;
        deaths.clear();
        return trib_extents_write(self, &event, who, clock, collect, &deaths);
    }
    int kill(uint64_t clock, uint64_t file, uint64_t offset, uint64_t length, trib_cause cause = TRIB_CAUSE_UNLINK) {
        trib_event event = {};
        event.file = file, event.offset_bytes = offset, event.length_bytes = length, event.cause = cause;
        deaths.clear();
        return trib_extents_kill(self, &event, clock, collect, &deaths);
    }
    std::vector<trib_death> live(uint64_t clock) const {
        std::vector<trib_death> runs;
        trib_extents_visit(self, clock, collect, &runs);
        return runs;
    }
    trib_extents_stats stats() const {
        trib_extents_stats out;
        trib_extents_statistics(self, &out);
        return out;
    }
    const trib_attribute &row(trib_attribute_ref ref) const {
        return *trib_state_attribute(state, ref);
    }

  private:
    static void collect(void *arg, const trib_death *death) {
        static_cast<std::vector<trib_death> *>(arg)->push_back(*death);
    }
};

void require_death(const trib_death &death, trib_attribute_ref who, uint64_t offset, uint64_t length, uint64_t age) {
    REQUIRE(death.attribute == who);
    REQUIRE(death.offset_bytes == offset);
    REQUIRE(death.length_bytes == length);
    REQUIRE(death.age_bytes == age);
}

} // namespace

TEST_CASE("a deleted file dies once, with the age of its data") {
    Extents x;
    REQUIRE(x.write(1 * M, x.a, 7, 0, 64 * K, 5) == 0);
    REQUIRE(x.deaths.empty());
    REQUIRE(x.kill(11 * M, 7, 0, TRIB_LENGTH_TO_END, TRIB_CAUSE_RENAME_OVER) == 0);
    REQUIRE(x.deaths.size() == 1);
    require_death(x.deaths[0], x.a, 0, 64 * K, 10 * M);
    REQUIRE(x.deaths[0].file == 7);
    REQUIRE(x.deaths[0].stream == 5);
    REQUIRE(x.deaths[0].cause == TRIB_CAUSE_RENAME_OVER);
    REQUIRE(x.stats().runs == 0);
    REQUIRE(x.stats().slots == 0);
    REQUIRE(x.kill(11 * M, 7, 0, TRIB_LENGTH_TO_END) == 0);
    REQUIRE(x.deaths.empty()); // nobody dies twice
}

TEST_CASE("an overwrite kills what it covers; the rest keeps birth, writer and stream") {
    Extents x;
    x.write(0, x.a, 7, 0, 100 * K, 1);
    REQUIRE(x.write(2 * M, x.b, 7, 40 * K, 20 * K, 2) == 0);
    REQUIRE(x.deaths.size() == 1);
    require_death(x.deaths[0], x.a, 40 * K, 20 * K, 2 * M);
    REQUIRE(x.deaths[0].cause == TRIB_CAUSE_OVERWRITE);
    REQUIRE(x.stats().runs == 3);
    REQUIRE(x.stats().live_bytes == 100 * K);

    x.kill(5 * M, 7, 0, TRIB_LENGTH_TO_END);
    REQUIRE(x.deaths.size() == 3);
    require_death(x.deaths[0], x.a, 0, 40 * K, 5 * M);
    require_death(x.deaths[1], x.b, 40 * K, 20 * K, 3 * M);
    require_death(x.deaths[2], x.a, 60 * K, 40 * K, 5 * M);
    REQUIRE(x.deaths[1].stream == 2);
    REQUIRE(x.deaths[2].stream == 1);
}

TEST_CASE("one request that covers three extents gives three deaths") {
    Extents x;
    x.write(0 * M, x.a, 0, 0 * K, 8 * K);
    x.write(3 * M, x.b, 0, 8 * K, 8 * K);
    x.write(6 * M, x.a, 0, 16 * K, 8 * K);
    x.write(10 * M, x.b, 0, 4 * K, 16 * K);
    REQUIRE(x.deaths.size() == 3);
    require_death(x.deaths[0], x.a, 4 * K, 4 * K, 10 * M);
    require_death(x.deaths[1], x.b, 8 * K, 8 * K, 7 * M);
    require_death(x.deaths[2], x.a, 16 * K, 4 * K, 4 * M);
    REQUIRE(x.stats().runs == 3);
}

TEST_CASE("truncation keeps the front, a hole in the middle keeps both ends") {
    Extents x;
    x.write(0, x.a, 7, 0, 10 * K);
    x.kill(M, 7, 6 * K, TRIB_LENGTH_TO_END, TRIB_CAUSE_TRUNCATE);
    require_death(x.deaths.at(0), x.a, 6 * K, 4 * K, M);
    REQUIRE(x.stats().runs == 1);
    REQUIRE(x.stats().slots == 1);
    x.kill(2 * M, 7, 2 * K, 1 * K, TRIB_CAUSE_TRIM);
    require_death(x.deaths.at(0), x.a, 2 * K, 1 * K, 2 * M);
    REQUIRE(x.stats().runs == 2);
    REQUIRE(x.stats().slots == 3);
    REQUIRE(x.stats().live_bytes == 5 * K);
    x.kill(2 * M, 7, 0, 1 * K, TRIB_CAUSE_TRIM);
    require_death(x.deaths.at(0), x.a, 0, 1 * K, 2 * M);
    x.kill(3 * M, 7, 0, 100 * K);
    REQUIRE(x.deaths.size() == 2);
    REQUIRE(x.stats().slots == 0);
}

TEST_CASE("holes and other files do not die") {
    Extents x;
    x.write(0, x.a, 7, 100 * K, 10 * K);
    x.write(0, x.a, 8, 0, 10 * K);
    x.kill(M, 7, 0, 100 * K);
    REQUIRE(x.deaths.empty());
    x.kill(M, 9, 0, TRIB_LENGTH_TO_END);
    REQUIRE(x.deaths.empty());
    x.kill(M, 7, TRIB_EXTENTS_OFFSET_MAX, TRIB_LENGTH_TO_END);
    REQUIRE(x.deaths.empty());
    REQUIRE(x.stats().runs == 2);
}

TEST_CASE("file 0 is a file like any other") {
    Extents x;
    x.write(0, x.a, 0, 4 * K, 4 * K);
    x.write(M, x.a, 0, 4 * K, 4 * K);
    require_death(x.deaths.at(0), x.a, 4 * K, 4 * K, M);
    REQUIRE(x.deaths[0].file == 0);
}

TEST_CASE("appends of one writer are one run with the byte-weighted mean birth") {
    Extents x;
    x.write(0 * M, x.a, 7, 0, 64 * K);
    x.write(1 * M, x.a, 7, 64 * K, 64 * K);
    x.write(8 * M, x.a, 7, 128 * K, 128 * K);
    REQUIRE(x.stats().runs == 1);
    REQUIRE(x.stats().slots == 1);
    x.kill(10 * M, 7, 0, TRIB_LENGTH_TO_END);
    REQUIRE(x.deaths.size() == 1);
    // births 0, 1 M, 8 M with weights 1, 1, 2: mean 4.25 M
    require_death(x.deaths[0], x.a, 0, 256 * K, 10 * M - 4 * M - 256 * K);
}

TEST_CASE("another writer, another stream or a gap begins a new run") {
    Extents x;
    x.write(0, x.a, 7, 0, 4 * K, 1);
    x.write(0, x.b, 7, 4 * K, 4 * K, 1);
    REQUIRE(x.stats().runs == 2);
    x.write(0, x.b, 7, 8 * K, 4 * K, 2);
    REQUIRE(x.stats().runs == 3);
    x.write(0, x.b, 7, 16 * K, 4 * K, 2);
    REQUIRE(x.stats().runs == 4);
    x.write(0, x.b, 7, 20 * K, 4 * K, 2);
    REQUIRE(x.stats().runs == 4);
}

TEST_CASE("sequential overwrites grow a run, random ones beside old data do not") {
    Extents x;
    x.write(0, x.a, 0, 0, 64 * K); // an old log
    uint64_t clock = 100 * M;
    for (uint64_t i = 0; i < 8; i++, clock += 4 * K)
        x.write(clock, x.a, 0, i * 4 * K, 4 * K); // goes round
    REQUIRE(x.stats().runs == 2);
    x.write(clock + M, x.a, 0, 32 * K,
            4 * K); // too late: its neighbour's data are older than a megabyte
    REQUIRE(x.stats().runs == 3);
    x.write(clock + M, x.a, 0, 36 * K, 4 * K);
    REQUIRE(x.stats().runs == 3);
}

TEST_CASE("a million small appends keep the mean birth exact to a unit") {
    Extents x(1 << 16);
    uint64_t clock = 5 * G + 13, offset = 0;
    long double sum = 0;
    for (int i = 0; i < 1000000; i++) {
        uint64_t bytes = 33 + i % 61;
        REQUIRE(x.write(clock, x.a, 7, offset, bytes) == 0);
        sum += (long double)clock * bytes;
        offset += bytes;
        clock += bytes + i % 7 * 1000;
    }
    REQUIRE(x.stats().runs == 1);
    double expected = (double)(clock - sum / offset);
    x.kill(clock, 7, 0, TRIB_LENGTH_TO_END);
    REQUIRE(std::fabs((double)x.deaths.at(0).age_bytes - expected) <= 64);
}

TEST_CASE("growing runs that push each other out of the cache stay within 4 KiB") {
    Extents x(1 << 16);
    constexpr int kLogs = 200, kAppends = 5000; // cache: 64 runs
    uint64_t clock = 0;
    std::vector<long double> sum(kLogs);
    for (uint64_t i = 0; i < kAppends; i++) {
        for (uint64_t file = 1; file <= kLogs; file++, clock += 1000) {
            x.write(clock, x.a, file, i * 1000, 1000);
            sum[file - 1] += (long double)clock * 1000;
        }
    }
    REQUIRE(x.stats().runs == kLogs);
    for (const trib_death &run : x.live(clock)) {
        long double expected = clock - sum[run.file - 1] / (kAppends * 1000);
        REQUIRE(std::fabs((double)(run.age_bytes - expected)) <= 4096);
    }
}

TEST_CASE("writes beyond 4 GiB are split, and die whole") {
    Extents x;
    REQUIRE(x.write(0, x.a, 7, 0, 10 * G) == 0);
    REQUIRE(x.stats().runs == 3);
    REQUIRE(x.stats().live_bytes == 10 * G);
    x.write(M, x.a, 7, 10 * G, 4 * K);
    x.kill(M, 7, 0, TRIB_LENGTH_TO_END);
    uint64_t dead = 0;
    for (auto &death : x.deaths)
        dead += death.length_bytes;
    REQUIRE(dead == 10 * G + 4 * K);
    REQUIRE(x.stats().slots == 0);
}

TEST_CASE("ranges that are empty, overflow or leave the address space are refused") {
    Extents x;
    REQUIRE(x.write(0, x.a, 7, 0, 0) == -EINVAL);
    REQUIRE(x.write(0, x.a, 7, 4096, UINT64_MAX) == -EINVAL);
    REQUIRE(x.write(0, x.a, 7, UINT64_MAX, 1) == -EINVAL);
    REQUIRE(x.write(0, x.a, 7, TRIB_EXTENTS_OFFSET_MAX, 1) == -EINVAL);
    REQUIRE(x.write(0, x.a, 7, TRIB_EXTENTS_OFFSET_MAX - 1, 1) == 0);
    REQUIRE(x.kill(0, 7, 0, 0) == -EINVAL);
    REQUIRE(x.kill(0, 7, 2, UINT64_MAX - 1) == -EINVAL);
    REQUIRE(x.kill(0, 7, 0, TRIB_LENGTH_TO_END) == 0);
    REQUIRE(x.deaths.size() == 1);
    REQUIRE(x.row(x.a).written_bytes == 1); // refused writes count nowhere
}

TEST_CASE("accounts of a row follow its data") {
    Extents x;
    x.write(1 * M, x.a, 7, 0, 8 * K);
    x.write(2 * M, x.b, 7, 2 * K, 4 * K);
    REQUIRE(x.row(x.a).written_bytes == 8 * K);
    REQUIRE(x.row(x.a).died_bytes == 4 * K);
    REQUIRE(x.row(x.a).live_bytes == 4 * K);
    REQUIRE(x.row(x.a).live_birth_sum == Approx(4.0 * K * M / 4096));
    REQUIRE(x.row(x.a).last_write_bytes == 1 * M);
    REQUIRE(x.row(x.b).live_bytes == 4 * K);
    REQUIRE(x.row(x.b).last_write_bytes == 2 * M);
    x.kill(3 * M, 7, 0, TRIB_LENGTH_TO_END);
    REQUIRE(x.row(x.a).died_bytes == 8 * K);
    REQUIRE(x.row(x.a).live_bytes == 0);
    REQUIRE(x.row(x.a).live_birth_sum == 0);
}

TEST_CASE("the row no longer counts the data when its death is told") {
    Extents x;
    x.write(0, x.a, 7, 0, 4 * K);
    struct Context {
        Extents *x;
        uint64_t live_bytes;
    } context = {&x, 99};
    trib_event event = {};
    event.file = 7, event.length_bytes = TRIB_LENGTH_TO_END;
    trib_extents_kill(
        x.self, &event, M,
        [](void *arg, const trib_death *) {
            auto *c = static_cast<Context *>(arg);
            c->live_bytes = c->x->row(c->x->a).live_bytes;
        },
        &context);
    REQUIRE(context.live_bytes == 0);
}

TEST_CASE("data of an evicted writer die without an account") {
    Extents x(64, 2);
    x.write(M, x.a, 7, 0, 4 * K);
    x.write(2 * M, x.b, 8, 0, 4 * K);
    trib_attribute_ref c = x.intern(3); // evicts a, written to first
    REQUIRE(trib_state_attribute(x.state, x.a) == nullptr);
    REQUIRE(x.kill(3 * M, 7, 0, TRIB_LENGTH_TO_END) == 0);
    require_death(x.deaths.at(0), x.a, 0, 4 * K, 2 * M);
    REQUIRE(x.row(c).died_bytes == 0);
    REQUIRE(x.row(c).live_bytes == 0);
}

TEST_CASE("streams beyond the stored range are reported as undecided") {
    Extents x;
    for (auto [stream, reported] : std::map<uint16_t, uint16_t>{
             {0, 0}, {254, 254}, {255, UINT16_MAX}, {300, UINT16_MAX}, {TRIB_STREAM_UNDECIDED, UINT16_MAX}}) {
        x.write(0, x.a, 7, 0, 4 * K, stream);
        x.kill(0, 7, 0, TRIB_LENGTH_TO_END);
        REQUIRE(x.deaths.at(0).stream == reported);
    }
}

TEST_CASE("a full arena drops new runs, counts them, and goes on") {
    Extents x(8);
    int failed = 0;
    for (uint64_t i = 0; i < 20; i++) {
        int rc = x.write(i * 4 * K, x.a, 7, i * 8 * K, 4 * K);
        REQUIRE((rc == 0 || rc == -ENOSPC));
        failed += rc != 0;
    }
    REQUIRE(failed == 13); // seven runs and the file
    REQUIRE(x.stats().runs == 7);
    REQUIRE(x.stats().runs_dropped == 13);
    REQUIRE(x.row(x.a).written_bytes == 20 * 4 * K);
    REQUIRE(x.row(x.a).live_bytes == 7 * 4 * K);

    REQUIRE(x.write(M, x.b, 7, 0, 4 * K) == 0); // overwriting needs no slot
    REQUIRE(x.deaths.size() == 1);
    REQUIRE(x.kill(M, 7, 1 * K, 1 * K) == 0); // a hole does: what lies behind it is lost
    REQUIRE(x.deaths.size() == 1);
    REQUIRE(x.stats().runs_dropped == 14);
    REQUIRE(x.row(x.b).live_bytes == 1 * K);
    REQUIRE(x.stats().live_bytes == 1 * K + 6 * 4 * K);
    REQUIRE(x.kill(M, 7, 0, TRIB_LENGTH_TO_END) == 0);
    REQUIRE(x.deaths.size() == 7);
    REQUIRE(x.write(M, x.a, 8, 0, 4 * K) == 0);
}

TEST_CASE("a hole in the only run of a file with a full arena loses what lies behind") {
    Extents x(1);
    x.write(0, x.a, 7, 0, 16 * K);
    REQUIRE(x.kill(M, 7, 4 * K, 4 * K) == 0);
    require_death(x.deaths.at(0), x.a, 4 * K, 4 * K, M);
    REQUIRE(x.row(x.a).live_bytes == 4 * K);
    REQUIRE(x.stats().runs_dropped == 1);
    REQUIRE(x.write(M, x.a, 7, 12 * K, 4 * K) == -ENOSPC);
    REQUIRE(x.stats().runs == 1);
    REQUIRE(x.kill(M, 7, 0, 1 * K) == 0); // what is left does not start at 0
    REQUIRE(x.stats().runs == 0);
    REQUIRE(x.stats().slots == 0);
    REQUIRE(x.row(x.a).live_bytes == 0);
}

TEST_CASE("visiting live data gives their ages and changes nothing") {
    Extents x;
    x.write(0, x.a, 7, 0, 4 * K, 3);
    x.write(1 * M, x.b, 7, 4 * K, 4 * K);
    x.write(2 * M, x.b, 8, 0, 4 * K);
    std::map<std::pair<uint64_t, uint64_t>, trib_death> live;
    for (auto &run : x.live(3 * M))
        live[{run.file, run.offset_bytes}] = run;
    REQUIRE(live.size() == 3);
    require_death(live[{7, 0}], x.a, 0, 4 * K, 3 * M);
    require_death(live[{7, 4 * K}], x.b, 4 * K, 4 * K, 2 * M);
    require_death(live[{8, 0}], x.b, 0, 4 * K, 1 * M);
    REQUIRE(live[{7, 0}].stream == 3);
    REQUIRE(live[{7, 0}].cause == TRIB_CAUSE_NONE);
    REQUIRE(x.stats().runs == 3);
    REQUIRE(x.row(x.a).died_bytes == 0);
}

TEST_CASE("an append-only file costs one slot of 32 bytes") {
    Extents x(1 << 16);
    for (uint64_t file = 1; file <= 1000; file++)
        for (uint64_t offset = 0; offset < 64 * M; offset += M)
            x.write(file * 64 * M + offset, x.a, file, offset, M);
    REQUIRE(x.stats().runs == 1000);
    REQUIRE(x.stats().slots == 1000);
}

TEST_CASE("a clock that goes back gives age 0, not a huge one") {
    Extents x;
    x.write(10 * M, x.a, 7, 0, 4 * K);
    x.write(5 * M, x.a, 7, 4 * K, 4 * K);
    x.kill(1 * M, 7, 0, TRIB_LENGTH_TO_END);
    REQUIRE(x.deaths.at(0).age_bytes == 0);
}

/* ---- estimates ---- */

TEST_CASE("the first sample sets the mean, later ones move it by the weight") {
    trib_attribute row = {};
    REQUIRE(trib_estimate_effective(&row, 100) == 0);
    trib_estimate_sample(&row, 1000, 0.5);
    REQUIRE(row.lifetime_mean == 1000);
    REQUIRE(row.lifetime_variance == 0);
    trib_estimate_sample(&row, 2000, 0.5);
    REQUIRE(row.lifetime_mean == 1500);
    REQUIRE(row.lifetime_variance == 250000); // of {1000, 2000} with weight 1/2 each
    trib_estimate_sample(&row, 1500, 0.5);
    REQUIRE(row.lifetime_mean == 1500);
    REQUIRE(row.lifetime_variance == 125000);
    REQUIRE(row.samples == 3);
    trib_estimate_sample(&row, 5500, 0.25);
    REQUIRE(row.lifetime_mean == 2500);
    trib_estimate_sample(&row, 77, 1);
    REQUIRE(row.lifetime_mean == 77);
    REQUIRE(row.lifetime_variance == 0);
}

TEST_CASE("many samples find mean and deviation of a steady writer") {
    trib_attribute row = {};
    for (int i = 0; i < 4000; i++)
        trib_estimate_sample(&row, i % 2 ? 900 : 1100, 1.0 / 64);
    REQUIRE(row.lifetime_mean == Approx(1000).epsilon(0.01));
    REQUIRE(std::sqrt(row.lifetime_variance) == Approx(100).epsilon(0.02));
}

TEST_CASE("live data older than the mean push the estimate up, younger ones never down") {
    Extents x;
    x.write(0, x.a, 7, 0, 4 * K);
    x.write(2 * M, x.a, 8, 0, 4 * K);
    REQUIRE(trib_estimate_effective(&x.row(x.a), 2 * M) == Approx(1.0 * M)); // ages 2 M and 0, no death yet
    REQUIRE(trib_estimate_effective(&x.row(x.a), 9 * M) == Approx(8.0 * M));
    trib_estimate_sample(trib_state_attribute(x.state, x.a), 3.0 * M, 0.5);
    REQUIRE(trib_estimate_effective(&x.row(x.a), 2 * M) == Approx(3.0 * M));
    REQUIRE(trib_estimate_effective(&x.row(x.a), 9 * M) == Approx(8.0 * M));
    x.kill(9 * M, 7, 0, TRIB_LENGTH_TO_END);
    x.kill(9 * M, 8, 0, TRIB_LENGTH_TO_END);
    REQUIRE(trib_estimate_effective(&x.row(x.a), 100 * M) == Approx(3.0 * M));
}

TEST_CASE("an overwritten run grows up to a mebibyte of writes after its birth, and not a unit longer") {
    for (const uint64_t late : {uint64_t(0), uint64_t(64)}) {
        Extents x;
        x.write(0, x.a, 0, 0, 64 * K);
        const uint64_t born = 100 * M;
        x.write(born, x.a, 0, 0, 4 * K);
        x.write(born + M + late, x.a, 0, 4 * K, 4 * K);
        REQUIRE(x.stats().runs == (late ? 3 : 2));
    }
}

TEST_CASE("the last byte of a file can die alone") {
    Extents x;
    x.write(0, x.a, 7, 0, 8 * K);
    x.kill(M, 7, 8 * K - 1, TRIB_LENGTH_TO_END, TRIB_CAUSE_TRUNCATE);
    REQUIRE(x.deaths.size() == 1);
    require_death(x.deaths[0], x.a, 8 * K - 1, 1, M);
    REQUIRE(x.stats().live_bytes == 8 * K - 1);
    x.kill(M, 7, 8 * K - 1, TRIB_LENGTH_TO_END, TRIB_CAUSE_TRUNCATE);
    REQUIRE(x.deaths.empty());
}

TEST_CASE("appends beyond 4 GiB begin another run, and none is lost") {
    Extents x;
    for (uint64_t at = 0; at < 9 * G; at += G)
        REQUIRE(x.write(at, x.a, 7, at, G) == 0);
    REQUIRE(x.stats().live_bytes == 9 * G);
    REQUIRE(x.stats().runs == 3);
    uint64_t alive = 0;
    for (const trib_death &run : x.live(9 * G))
        alive += run.length_bytes;
    REQUIRE(alive == 9 * G);
}
