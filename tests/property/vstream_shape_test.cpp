// SPDX-License-Identifier: Apache-2.0
// vStream-FTL's synthetic benchmark (TCE'21 section VI.B) at 1/256 of its size: 64 partitions, 48
// hot of 2 units, 8 warm of 4, 8 cold of 16, on a drive of 256 units; one write of 128 KiB per
// partition in turn, sequential inside, wrapping at the end. One virtual stream per partition.
#include "support/trial.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include <tributary/event.h>

using namespace trib_test;

namespace {

constexpr uint64_t MIB = 1 << 20, UNIT = 4 * MIB, CAPACITY = 256 * UNIT, WRITE = 128 << 10;
constexpr int PARTITIONS = 64;

uint64_t size_of(int partition) {
    return partition < 48 ? 2 * UNIT : partition < 56 ? 4 * UNIT : 16 * UNIT;
}

class Benchmark {
  public:
    explicit Benchmark(const std::string &policy)
        : pipeline_("drive=emulated,capacity=1G,op=7,superblock=3M,device_streams=3,streams=3," + policy) {
        INFO(pipeline_.error());
        REQUIRE(pipeline_.rc() == 0);
        uint64_t start = 0;
        for (int p = 0; p < PARTITIONS; p++) {
            start_.push_back(start);
            size_.push_back(size_of(p));
            next_.push_back(0);
            start += size_of(p);
        }
        trib_observer observer{};
        observer.arg = this;
        observer.block_wrote = wrote;
        pipeline_.observe(observer);
        for (uint64_t at = 0; at < CAPACITY / 10 * 9 / WRITE * WRITE; at += WRITE) // warm-up
            write(TRIB_STREAM_UNDECIDED, at);
        clock_ = 0;
    }
    // Rounds over all partitions until `capacities` more were written.
    void run(double capacities) {
        for (uint64_t end = clock_ + uint64_t(capacities * double(CAPACITY)); clock_ < end;)
            for (int p = 0; p < PARTITIONS; p++) {
                partition_ = p;
                write(uint16_t(p), start_[size_t(p)] + next_[size_t(p)]);
                next_[size_t(p)] = (next_[size_t(p)] + WRITE) % size_[size_t(p)];
            }
    }
    // From now on a partition uses the first `bytes` of its range only.
    void shrink(int partition, uint64_t bytes) {
        size_[size_t(partition)] = bytes;
        next_[size_t(partition)] = 0;
    }
    // Two partitions change places, and so sizes.
    void swap(int a, int b) {
        std::swap(start_[size_t(a)], start_[size_t(b)]);
        std::swap(size_[size_t(a)], size_[size_t(b)]);
        next_[size_t(a)] = next_[size_t(b)] = 0;
    }
    uint64_t copies() const {
        return pipeline_.status().gc_pages;
    }
    // Copies per page written over the next `capacities`.
    double cost(double capacities) {
        const uint64_t before = copies();
        run(capacities);
        return double(copies() - before) / (capacities * double(CAPACITY) / 4096);
    }
    // Streams that partitions [first, last] went to when they were last written.
    std::set<uint16_t> streams(int first, int last) const {
        std::set<uint16_t> found;
        for (int p = first; p <= last; p++)
            found.insert(stream_.at(p));
        return found;
    }
    // Live pages in superblocks of S0 and of its internal stream.
    uint64_t valid_pages_of_default() const {
        char *text = nullptr;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        REQUIRE(trib_pipeline_dump_drive(pipeline_.get(), out) == 0);
        fclose(out);
        uint64_t sum = 0;
        std::istringstream lines{std::string(text, length)};
        free(text);
        for (std::string line; std::getline(lines, line);) {
            const size_t valid = line.find("\"valid\":");
            if (valid != std::string::npos && line.find("\"stream\":0,") != std::string::npos)
                sum += std::stoull(line.substr(valid + 8));
        }
        return sum;
    }

  private:
    void write(uint16_t name, uint64_t at) {
        trib_event event{};
        event.kind = TRIB_EVENT_WRITE;
        event.clock_bytes = clock_;
        event.offset_bytes = at;
        event.length_bytes = WRITE;
        event.stream = name;
        event.who.level = TRIB_LEVEL_UNKNOWN;
        event.who.io_activity = TRIB_ACTIVITY_UNKNOWN;
        clock_ += WRITE;
        if (pipeline_.process(event))
            throw std::runtime_error("a write in range failed");
    }
    static void wrote(void *arg, uint64_t, uint64_t, uint16_t stream) {
        auto *self = static_cast<Benchmark *>(arg);
        self->stream_[self->partition_] = stream;
    }

    Trial pipeline_;
    std::vector<uint64_t> start_, size_, next_;
    std::map<int, uint16_t> stream_;
    uint64_t clock_ = 0;
    int partition_ = -1;
};

} // namespace

TEST_CASE("the map becomes the three classes, and collection has nothing left to copy") {
    for (const char *gc : {"gc=shared", "gc=pstream"}) {
        CAPTURE(gc);
        Benchmark vstream(std::string("policy=vstream,") + gc);
        vstream.run(8); // cold data live four capacities
        const auto hot = vstream.streams(0, 47), warm = vstream.streams(48, 55), cold = vstream.streams(56, 63);
        REQUIRE(hot.size() == 1);
        REQUIRE(warm.size() == 1);
        REQUIRE(cold.size() == 1);
        REQUIRE(std::set<uint16_t>{*hot.begin(), *warm.begin(), *cold.begin()} == std::set<uint16_t>{1, 2, 3});
        const double cost = vstream.cost(4);
        for (const char *other : {"policy=none,gc=same", "policy=none,gc=shared", "policy=autostream-sfr,gc=same",
                                  "policy=autostream-sfr,gc=shared"}) {
            Benchmark legacy(other);
            legacy.run(8);
            const double other_cost = legacy.cost(4);
            CAPTURE(other, cost, other_cost);
            CHECK(other_cost > 0.5);
            CHECK(cost < 0.1 * other_cost);
        }
    }
}

TEST_CASE("while it learns, collecting by the map copies no more than collecting together") {
    Benchmark ngc("policy=vstream,gc=shared"), sgc("policy=vstream,gc=pstream");
    CHECK(sgc.cost(8) < ngc.cost(8));
}

// Copies per page over the four capacities after some hot and cold partitions changed places.
static double recovery(const char *options, double when, int pairs) {
    Benchmark vstream(options);
    vstream.run(when);
    for (int i = 0; i < pairs; i++)
        vstream.swap(i, 60 + i);
    const double cost = vstream.cost(4);
    vstream.run(4);
    REQUIRE(vstream.streams(0, pairs - 1) == vstream.streams(56, 59));
    REQUIRE(vstream.streams(60, 60 + pairs - 1) == vstream.streams(40, 47));
    REQUIRE(vstream.cost(1) < 0.01); // and then there is peace again
    return cost;
}

TEST_CASE("after partitions changed size, collecting by the map recovers faster") {
    double ngc[5] = {}, sgc[5] = {};
    for (int pairs : {1, 4})
        for (double when : {9., 11., 13.}) {
            ngc[pairs] += recovery("policy=vstream,gc=shared", when, pairs);
            sgc[pairs] += recovery("policy=vstream,gc=pstream", when, pairs);
        }
    CAPTURE(ngc[1], sgc[1], ngc[4], sgc[4]);
    CHECK(sgc[1] < ngc[1]); // two partitions of 64: little to recover from
    CHECK(sgc[4] < 0.7 * ngc[4]);
}

TEST_CASE("sums that are never halved do not follow the change") {
    double cost[2];
    for (int printed : {0, 1}) {
        Benchmark vstream(printed ? "policy=vstream,gc=pstream,decay=1" : "policy=vstream,gc=pstream");
        vstream.run(14);
        vstream.shrink(60, 2 * UNIT); // two cold ones turn hot
        vstream.shrink(61, 2 * UNIT);
        vstream.run(3);
        cost[printed] = vstream.cost(3);
    }
    CAPTURE(cost[0], cost[1]);
    CHECK(cost[0] < 0.05);
    CHECK(cost[1] > 0.2);
}

TEST_CASE("what went to the default stream drains from it") {
    Benchmark vstream("policy=vstream,gc=pstream");
    vstream.run(1);
    const uint64_t early = vstream.valid_pages_of_default();
    vstream.run(9);
    CAPTURE(early, vstream.valid_pages_of_default());
    CHECK(early > CAPACITY / 4096 / 2);
    CHECK(vstream.valid_pages_of_default() < early / 100);
}
