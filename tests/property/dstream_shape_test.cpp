// SPDX-License-Identifier: Apache-2.0
// The shapes of DStream's section 4 on its drive at 1/16 of the size: 1 GiB, 28 % over-provisioned,
// up to 16 streams, 256 KiB of memory for mapping cache and stream buffers where the whole table
// takes 1 MiB. The load stands in for the paper's Virt (RocksDB and Filebench at once), which is
// not public: files rewritten from front to back, a small hot random part, a larger warm one, and
// the rest cold. I/Os are flash reads and programs, as the paper counts them.
#include "support/events.hpp"
#include "support/pipeline.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <vector>

using namespace trib_test;

namespace {

constexpr uint64_t MIB = 1 << 20, CAPACITY = 1024 * MIB, PAGE = 4096, PAGES = CAPACITY / PAGE;

struct Ios {
    double gc, metadata, miss_percent;
    double total() const {
        return gc + metadata;
    }
};

class Load {
  public:
    explicit Load(const std::string &options)
        : pipeline_("policy=dstream,drive=emulated,capacity=1G,op=28,superblock=1536K,streams=16,"
                    "device_streams=16,map_cache=64K," +
                    options) {
        INFO(pipeline_.error());
        REQUIRE(pipeline_.rc() == 0);
        for (uint64_t lba = 0; lba < PAGES; lba += 32) // once over all of it, as in section 4.1
            write(lba, 32);
    }
    // I/Os per page written, over `capacities`.
    Ios run(double capacities) {
        const trib_drive_report before = report();
        const uint64_t end = before.host_pages + uint64_t(capacities * PAGES);
        for (uint64_t done = before.host_pages; done < end;)
            done += step();
        const trib_drive_report after = report();
        const double host = double(after.host_pages - before.host_pages);
        Ios ios;
        ios.gc = 2 * double(after.gc_pages - before.gc_pages) / host; // read and programmed
        ios.metadata = double(after.metadata_pages - before.metadata_pages + after.metadata_read_pages -
                              before.metadata_read_pages) /
                       host;
        ios.miss_percent =
            100 * double(after.map_misses - before.map_misses) / double(after.map_lookups - before.map_lookups);
        return ios;
    }
    // Streams in use, from the size that the cache was given.
    int k() const {
        return int((256 - report().map_cache_bytes / 1024) / 12);
    }
    trib_drive_report report() const {
        trib_drive_report r{};
        REQUIRE(trib_pipeline_drive(pipeline_.get(), &r) == 0);
        return r;
    }

  private:
    uint64_t step() {
        const uint64_t what = random_.below(100);
        if (what < 85)
            return write(random_.below(PAGES / 20), 1);
        if (what < 95)
            return write(PAGES / 20 + random_.below(PAGES / 10), 1);
        if (left_ == 0) { // the next file
            left_ = 512;
            at_ = PAGES / 4 + 512 * random_.below(PAGES / 2 / 512);
        }
        const uint64_t at = at_;
        at_ += 32;
        left_ -= 32;
        return write(at, 32);
    }
    uint64_t write(uint64_t lba, uint64_t pages) {
        trib_event event{};
        event.kind = TRIB_EVENT_WRITE;
        event.clock_bytes = clock_;
        event.offset_bytes = lba * PAGE;
        event.length_bytes = pages * PAGE;
        event.stream = TRIB_STREAM_UNDECIDED;
        event.who.level = TRIB_LEVEL_UNKNOWN;
        event.who.io_activity = TRIB_ACTIVITY_UNKNOWN;
        clock_ += pages * PAGE;
        if (trib_pipeline_process(pipeline_.get(), &event))
            throw std::runtime_error("a write in range failed");
        return pages;
    }

    Pipeline pipeline_;
    Random random_{1};
    uint64_t clock_ = 0, at_ = 0, left_ = 0;
};

} // namespace

// Of the second window: in the first, the drive still fills with what the load left behind.
static Ios steady(const std::string &options) {
    Load load(options);
    load.run(1);
    return load.run(1.5);
}

TEST_CASE("more streams: fewer copies, more mapping traffic, and after a few more of both together") {
    const Ios one = steady("k=1"), four = steady("k=4"), eight = steady("k=8"), sixteen = steady("k=16");
    CHECK(sixteen.gc < 0.8 * one.gc);
    CHECK(four.gc < one.gc);
    CHECK(four.metadata < eight.metadata);
    CHECK(eight.metadata < sixteen.metadata);
    CHECK(eight.miss_percent < sixteen.miss_percent);
    CHECK(four.total() < eight.total());
    CHECK(eight.total() < sixteen.total());
}

TEST_CASE("against 16 streams: mapping traffic falls, copies rise, the sum falls") {
    const Ios sixteen = steady("k=16"), dstream = steady("");
    CAPTURE(sixteen.gc, sixteen.metadata, dstream.gc, dstream.metadata);
    CHECK(dstream.metadata < (1 - 0.39) * sixteen.metadata);         // the paper: -39 to -82 %
    CHECK(dstream.miss_percent < (1 - 0.36) * sixteen.miss_percent); // -36 to -82 %
    CHECK(dstream.gc > sixteen.gc);
    CHECK(dstream.gc < 1.4 * sixteen.gc);            // +8 to +31 %
    CHECK(dstream.total() < 0.94 * sixteen.total()); // -6 to -24 %
}

TEST_CASE("with the whole table in memory there is nothing to win: the copies are a loss") {
    const std::string pool = "pool=4M,buffer=192K";
    const Ios sixteen = steady("k=16," + pool), dstream = steady(pool);
    CHECK(sixteen.metadata == 0);
    CHECK(dstream.metadata == 0);
    CHECK(dstream.total() > sixteen.total());
}

TEST_CASE("k falls from 16 within a few timestamps, then hovers; read literally it stays") {
    Load load(""), literal("mode=literal");
    const double timestamp = 384.0 / PAGES; // a superblock
    REQUIRE(load.k() == 16);
    std::vector<int> k, printed;
    for (int i = 0; i < 60; i++) {
        load.run(timestamp);
        literal.run(timestamp);
        k.push_back(load.k());
        printed.push_back(literal.k());
    }
    CAPTURE(k, printed);
    CHECK(*std::max_element(k.begin() + 4, k.end()) <= 8);
    CHECK(*std::min_element(k.begin(), k.end()) >= 1);
    CHECK(std::set<int>(k.begin() + 10, k.end()).size() > 1); // it moves
    CHECK(*std::min_element(printed.begin() + 4, printed.end()) >= 12);
}
