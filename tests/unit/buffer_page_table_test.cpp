// SPDX-License-Identifier: Apache-2.0
// What is remembered of a dirty page: its front end's path and how often it was changed.
#include "support/catch.hpp"

#include <cstring>
#include <thread>
#include <vector>

#include "innodb/page_table.h"

namespace {

struct Table {
    trib_page_table table{};
    explicit Table(size_t frames) {
        REQUIRE(trib_page_table_open(&table, frames, false) == 0);
    }
    ~Table() {
        trib_page_table_close(&table);
    }
    void note(uint32_t file, uint32_t page, uint64_t signature, unsigned times = 1) {
        for (unsigned i = 0; i < times; i++)
            trib_page_table_note(&table, trib_page_key(file, page), signature);
    }
    bool take(uint32_t file, uint32_t page, trib_page_note *out) {
        return trib_page_table_take(&table, trib_page_key(file, page), out);
    }
};

} // namespace

TEST_CASE("a note is taken once, by the page that it was made for") {
    Table t(1000);
    trib_page_note note{};
    t.note(7, 9, 0xabc);
    t.note(0, 0, 0xdef); // a key of zero would mean a free way
    CHECK_FALSE(t.take(9, 7, &note));
    REQUIRE(t.take(7, 9, &note));
    CHECK(note.signature == 0xabc);
    CHECK(note.modifications == 1);
    CHECK_FALSE(t.take(7, 9, &note));
    REQUIRE(t.take(0, 0, &note));
    CHECK(note.signature == 0xdef);
}

TEST_CASE("the majority of the modifications names the page") {
    Table t(1000);
    trib_page_note note{};
    t.note(1, 1, 100, 5);
    t.note(1, 1, 200, 2); // a purge at the end does not
    REQUIRE(t.take(1, 1, &note));
    CHECK(note.signature == 100);
    CHECK(note.modifications == 7);
    t.note(1, 1, 100, 2);
    t.note(1, 1, 200, 4);
    REQUIRE(t.take(1, 1, &note));
    CHECK(note.signature == 200);
}

TEST_CASE("modifications saturate") {
    Table t(10);
    trib_page_note note{};
    t.note(1, 1, 5, 70000);
    REQUIRE(t.take(1, 1, &note));
    CHECK(note.modifications == 65535);
    CHECK(note.signature == 5);
}

TEST_CASE("a table of n frames holds three quarters of n dirty pages, all but a few in a thousand") {
    constexpr uint32_t kFrames = 40000, kDirty = kFrames * 3 / 4;
    Table t(kFrames);
    for (uint32_t page = 0; page < kDirty; page++)
        t.note(11, page, page + 1);
    uint32_t kept = 0;
    trib_page_note note{};
    for (uint32_t page = 0; page < kDirty; page++)
        if (t.take(11, page, &note)) {
            CHECK(note.signature == page + 1);
            kept++;
        }
    CHECK(kept + atomic_load(&t.table.evicted) == kDirty); // every loss is counted
    CHECK(kept >= kDirty * 99 / 100);
}

TEST_CASE("a full table goes on, and counts what it gives up") {
    Table t(1); // one set
    for (uint32_t page = 0; page < 100; page++)
        t.note(1, page, 1);
    CHECK(atomic_load(&t.table.evicted) == 100 - TRIB_PAGE_WAYS * t.table.count);
    trib_page_note note{};
    for (uint32_t page = 100 - TRIB_PAGE_WAYS; page < 100; page++) // those that came first went
        CHECK(t.take(1, page, &note));
}

TEST_CASE("what is put is taken again") {
    Table t(10);
    trib_page_note note{42, 9}, got{};
    trib_page_table_put(&t.table, trib_page_key(3, 4), &note);
    t.note(3, 4, 42);
    REQUIRE(t.take(3, 4, &got));
    CHECK(got.signature == 42);
    CHECK(got.modifications == 10);
}

TEST_CASE("forgetting: a range, a long range, a file") {
    Table t(100);
    trib_page_note note{};
    auto fill = [&] {
        for (uint32_t page = 0; page < 20; page++) {
            t.note(5, page, 1);
            t.note(6, page, 1);
        }
    };
    fill();
    trib_page_table_forget(&t.table, 5, 3, 2);
    CHECK_FALSE(t.take(5, 3, &note));
    CHECK_FALSE(t.take(5, 4, &note));
    CHECK(t.take(5, 2, &note));
    CHECK(t.take(5, 5, &note));
    CHECK(t.take(6, 3, &note));
    fill();
    trib_page_table_forget(&t.table, 5, 10, UINT32_MAX); // longer than the table
    CHECK_FALSE(t.take(5, 10, &note));
    CHECK(t.take(5, 9, &note));
    CHECK(t.take(6, 10, &note));
    fill();
    trib_page_table_forget(&t.table, 5, 0, 0);
    for (uint32_t page = 0; page < 20; page++)
        CHECK_FALSE(t.take(5, page, &note));
    CHECK(t.take(6, 19, &note));

    Table small(20); // fewer sets than pages in the range
    for (uint32_t page = 0; page < 13; page++)
        small.note(5, page, 1);
    REQUIRE(small.table.count < 10);
    trib_page_table_forget(&small.table, 5, 2, 10);
    CHECK(small.take(5, 1, &note));
    CHECK_FALSE(small.take(5, 2, &note));
    CHECK_FALSE(small.take(5, 11, &note));
    CHECK(small.take(5, 12, &note));
}

TEST_CASE("clearing forgets all, and who was killed holding a lock") {
    Table t(1); // one set
    trib_page_note note{};
    t.note(1, 1, 7);
    atomic_store(&t.table.sets[0].lock, 1u);
    t.note(1, 2, 7);
    CHECK(atomic_load(&t.table.contended) == 1);
    trib_page_table_clear(&t.table);
    CHECK_FALSE(t.take(1, 1, &note));
    t.note(1, 2, 7);
    CHECK(t.take(1, 2, &note));
    CHECK(atomic_load(&t.table.contended) == 1);
}

TEST_CASE("opening refuses nonsense") {
    trib_page_table table{};
    CHECK(trib_page_table_open(&table, 0, false) == -EINVAL);
    CHECK(trib_page_table_open(&table, SIZE_MAX, false) == -EINVAL);
}

TEST_CASE("threads note and take: nothing is made up, nothing is counted twice") {
    constexpr unsigned kThreads = 4, kNotes = 20000, kPages = 64;
    Table t(kPages * 4);
    std::vector<std::thread> threads;
    std::vector<uint64_t> taken(kThreads);
    std::atomic<bool> nonsense{false};
    for (unsigned n = 0; n < kThreads; n++)
        threads.emplace_back([&, n] {
            trib_page_note note{};
            for (unsigned i = 0; i < kNotes; i++) {
                uint32_t page = (i * 7 + n) % kPages;
                t.note(1, page, 1000 + page);
                if (i % 3 == 0 && t.take(1, page, &note)) {
                    if (note.signature != 1000 + page)
                        nonsense = true;
                    taken[n] += note.modifications;
                }
            }
        });
    for (auto &thread : threads)
        thread.join();
    uint64_t total = 0;
    trib_page_note note{};
    for (uint32_t page = 0; page < kPages; page++)
        if (t.take(1, page, &note))
            total += note.modifications;
    for (uint64_t part : taken)
        total += part;
    CHECK_FALSE(nonsense);
    // A lock that was waited for too long costs its note or its take, and says so.
    CHECK(total <= kThreads * kNotes);
    if (atomic_load(&t.table.contended) == 0)
        CHECK(total == kThreads * kNotes);
}
