// SPDX-License-Identifier: Apache-2.0
// The mapping cache against a model of it: which translation pages are read and programmed, and
// why, is counted here from the operations and from what collection says it moves. The data path
// must not notice the cache.
#include <algorithm>
#include <cerrno>
#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/flash_drive.hpp"

namespace {

constexpr uint64_t TRANSLATION_PAGE = 4096;

void require_sound(const flash::Drive &d) {
    trib_error error{};
    int rc = trib_flash_check(d.get(), &error);
    INFO(error.text);
    REQUIRE(rc == 0);
}

// Least recently used translation pages, as DFTL would have it.
class Model {
  public:
    Model(uint32_t entries, size_t capacity) : entries_(entries), capacity_(capacity) {
    }
    void access(uint64_t lba, bool changes) {
        const uint64_t page = lba / entries_;
        lookups++;
        auto found = std::find(order_.begin(), order_.end(), page);
        if (found != order_.end()) {
            order_.erase(found);
        } else {
            if (order_.size() == capacity_)
                evict();
            misses += on_flash_.count(page);
        }
        order_.push_front(page);
        if (changes)
            dirty_.insert(page);
    }
    void moved(uint64_t lba) {
        const uint64_t page = lba / entries_;
        if (std::find(order_.begin(), order_.end(), page) != order_.end())
            dirty_.insert(page);
        else
            pending_.insert(page);
    }
    void collected() {
        gc_updates += pending_.size();
        pending_.clear();
    }
    void resize(size_t capacity) {
        capacity_ = capacity;
        while (order_.size() > capacity_)
            evict();
    }
    uint64_t lookups = 0, misses = 0, evictions = 0, gc_updates = 0;

  private:
    void evict() {
        const uint64_t page = order_.back();
        order_.pop_back();
        if (dirty_.erase(page)) {
            evictions++;
            on_flash_.insert(page);
        }
    }
    uint32_t entries_;
    size_t capacity_;
    std::list<uint64_t> order_; // the most recent first
    std::set<uint64_t> dirty_, on_flash_, pending_;
};

// gc=class tells each page that moves; reclaimed ends a victim.
uint16_t relocate(void *arg, uint64_t lba, uint16_t, uint16_t, bool) {
    static_cast<Model *>(arg)->moved(lba);
    return 0;
}

void reclaimed(void *arg, uint16_t, bool, uint64_t, uint64_t) {
    static_cast<Model *>(arg)->collected();
}

trib_flash_config small(Model *model, uint32_t entries, size_t cached) {
    auto c = flash::config(4000, 0.10, 40);
    c.streams = 2;
    c.gc = TRIB_GC_CLASS;
    c.internal_streams = 1;
    c.relocate = relocate;
    c.reclaimed = reclaimed;
    c.gc_arg = model;
    c.map_cache_bytes = cached * TRANSLATION_PAGE;
    c.map_entry_bytes = uint32_t(TRANSLATION_PAGE / entries);
    return c;
}

void require_like(const flash::Drive &d, const Model &model) {
    const auto s = flash::stats(d);
    REQUIRE(s.map_lookups == model.lookups);
    REQUIRE(s.map_misses == model.misses);
    REQUIRE(s.map_evictions == model.evictions);
    REQUIRE(s.map_gc_updates == model.gc_updates);
    REQUIRE(s.map_reads == s.map_misses + s.map_gc_updates + s.map_copies);
    REQUIRE(s.map_programs == s.map_evictions + s.map_gc_updates + s.map_copies);
}

} // namespace

TEST_CASE("every read and program of a translation page has the reason that the model counts") {
    for (uint32_t entries : {16u, 64u})
        for (size_t cached : {1u, 5u, 40u}) {
            CAPTURE(entries, cached);
            Model model(entries, cached);
            auto d = flash::open(small(&model, entries, cached));
            std::vector<bool> mapped(4000);
            flash::Random random(entries + cached);
            for (int step = 0; step < 20000; step++) {
                const uint32_t near = random.below(4) ? random.below(400) : random.below(4000);
                const uint32_t what = random.below(20);
                if (what == 0) {
                    model.access(near, false);
                    REQUIRE(trib_flash_read(d.get(), near, 1) == 0);
                } else if (what == 1) {
                    if (mapped[near])
                        model.access(near, true);
                    REQUIRE(trib_flash_discard(d.get(), near, 1) == 0);
                } else {
                    model.access(near, true);
                    REQUIRE(trib_flash_write(d.get(), near, 1, uint16_t(near % 3)) == 0);
                }
                mapped[near] = what == 1 ? false : what == 0 ? mapped[near] : true;
                if (step % 5000 == 2500) { // DStream's cache grows and shrinks
                    const size_t next = 1 + random.below(2 * cached);
                    model.resize(std::min<size_t>(next, (4000 + entries - 1) / entries));
                    trib_flash_resize_map_cache(d.get(), next * TRANSLATION_PAGE);
                }
                if (step % 1000 == 0) {
                    require_sound(d);
                    require_like(d, model);
                }
            }
            require_like(d, model);
            const auto s = flash::stats(d);
            CHECK(s.gc_pages > 0);
            CHECK(s.map_gc_updates > 0);
            CHECK(s.map_misses > 0);
        }
}

TEST_CASE("a discard of a range asks for each translation page that maps something, once") {
    Model model(16, 100);
    auto d = flash::open(small(&model, 16, 100));
    REQUIRE(trib_flash_write(d.get(), 10, 30, 0) == 0); // translation pages 0, 1, 2
    REQUIRE(flash::stats(d).map_lookups == 30);
    REQUIRE(trib_flash_discard(d.get(), 0, 4000) == 0);
    REQUIRE(flash::stats(d).map_lookups == 33);
    REQUIRE(trib_flash_discard(d.get(), 0, 4000) == 0);
    REQUIRE(flash::stats(d).map_lookups == 33);
}

TEST_CASE("the data path does not notice the cache; one that holds the whole table costs nothing") {
    for (auto gc : {TRIB_GC_SAME, TRIB_GC_SHARED, TRIB_GC_TWIN, TRIB_GC_PRESERVE}) {
        std::map<uint64_t, trib_flash_stats> found; // by size
        for (uint64_t pages : {0, 1, 4, 16}) {      // of the 16 that the table has
            auto c = flash::config(16 * 1024, 0.10, 64);
            c.streams = 3;
            c.gc = gc;
            c.map_cache_bytes = pages * TRANSLATION_PAGE;
            auto d = flash::open(c);
            flash::Random random(5);
            for (uint64_t i = 0; i < 6 * c.logical_pages; i++)
                flash::write(d, i < c.logical_pages ? i : random.below(c.logical_pages), 1, uint16_t(i % 4));
            require_sound(d);
            found[pages] = flash::stats(d);
            CHECK(found[pages].gc_pages == found[0].gc_pages);
            CHECK(found[pages].erases == found[0].erases);
        }
        CHECK(found[0].map_lookups == 0);
        CHECK(found[0].gc_pages > 0);
        CHECK(found[16].map_lookups == found[16].host_pages);
        CHECK(found[16].map_reads + found[16].map_programs == 0);
        CHECK(found[4].map_misses > 0);
        CHECK(found[4].map_misses < found[1].map_misses);
        CHECK(found[4].map_programs < found[1].map_programs);
    }
}

TEST_CASE("misses are what theory says: uniform writes hit with the cached share of the table") {
    auto c = flash::config(256 * 64, 0.28, 256);
    c.map_entry_bytes = 64;                    // 256 translation pages
    c.map_cache_bytes = 64 * TRANSLATION_PAGE; // a quarter
    auto d = flash::open(c);
    REQUIRE(trib_flash_precondition(d.get(), 3, true) == 0);
    flash::Random random(6);
    for (uint64_t i = 0; i < 4 * c.logical_pages; i++)
        flash::write(d, random.below(c.logical_pages), 1, 0);
    const auto s = flash::stats(d);
    CHECK(double(s.map_misses) / double(s.map_lookups) == Approx(0.75).epsilon(0.02));
    CHECK(s.map_evictions == s.map_misses); // every page in the cache is dirty
    require_sound(d);
}

TEST_CASE("any destination, victim, size of the table and of the cache keeps the invariants") {
    for (int gc = TRIB_GC_SAME; gc <= TRIB_GC_PRESERVE; gc++)
        for (uint32_t entry_bytes : {8u, 128u, 4096u})
            for (bool timed : {false, true}) {
                CAPTURE(gc, entry_bytes, timed);
                Model ignored(1, 1);
                auto c = small(&ignored, 4096 / entry_bytes, 3);
                c.gc = trib_gc_destination(gc);
                c.logical_pages = 600;
                c.superblock_pages = 8;
                if (timed) {
                    c.latency = {};
                    c.latency.channels = c.latency.dies_per_channel = 2;
                    c.latency.channel_mb_per_s = 400;
                    c.latency.read_us = 50;
                    c.latency.program_us = 500;
                    c.latency.pages_per_program = 4;
                    c.latency.queue_depth = 4;
                }
                auto d = flash::open(c);
                flash::Random random(uint64_t(gc) * 7 + entry_bytes);
                for (int step = 0; step < 4000; step++) {
                    const uint32_t lba = random.below(600);
                    const uint32_t pages = std::min(1 + random.below(20), 600 - lba);
                    if (random.below(10) == 0)
                        REQUIRE(trib_flash_discard(d.get(), lba, pages) == 0);
                    else
                        REQUIRE(trib_flash_write(d.get(), lba, pages, uint16_t(lba % 3)) == 0);
                    if (random.below(50) == 0)
                        trib_flash_resize_map_cache(d.get(), random.below(10) * TRANSLATION_PAGE);
                    if (step % 20 == 0)
                        require_sound(d);
                }
                CHECK(flash::stats(d).map_programs > 0);
                CHECK(flash::stats(d).map_copies < flash::stats(d).map_programs);
            }
}

TEST_CASE("time: misses cost reads, evictions programs") {
    auto seconds = [](uint64_t cached) {
        auto c = flash::config(16 * 1024, 0.28, 256);
        c.map_cache_bytes = cached * TRANSLATION_PAGE;
        c.latency.channels = c.latency.dies_per_channel = 2;
        c.latency.read_us = 80;
        c.latency.program_us = 2000;
        c.latency.channel_mb_per_s = 400;
        c.latency.pages_per_program = 24;
        c.latency.queue_depth = 32;
        auto d = flash::open(c);
        REQUIRE(trib_flash_precondition(d.get(), 1, true) == 0);
        flash::Random random(5);
        for (uint64_t i = 0; i < c.logical_pages; i++)
            flash::write(d, random.below(c.logical_pages), 1, 0);
        return flash::stats(d).virtual_seconds;
    };
    const double whole = seconds(16), half = seconds(8), none = seconds(0);
    CHECK(whole == none);
    CHECK(half > whole);
}

TEST_CASE("an entry larger than a translation page is refused with a sentence") {
    auto c = flash::config(1000, 0.28, 16);
    c.map_cache_bytes = 4096;
    c.map_entry_bytes = 4097;
    trib_flash *f = nullptr;
    trib_error error{};
    REQUIRE(trib_flash_open(&f, &c, &error) == -EINVAL);
    REQUIRE(std::string(error.text).find("4097") != std::string::npos);
}
