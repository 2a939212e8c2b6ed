// SPDX-License-Identifier: Apache-2.0
// Random operation sequences on every combination of destination and victim selection: the
// invariants hold after every step on small drives, a reference map agrees, and no geometry that
// opens ever wedges.
#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/flash_drive.hpp"

static const trib_gc_destination DESTINATIONS[] = {TRIB_GC_SAME,  TRIB_GC_SHARED,   TRIB_GC_TWIN,      TRIB_GC_PSTREAM,
                                                   TRIB_GC_CLASS, TRIB_GC_PRESERVE, TRIB_GC_SUBSTREAM, TRIB_GC_CHAIN};
static const trib_victim VICTIMS[] = {TRIB_VICTIM_GREEDY, TRIB_VICTIM_COST_BENEFIT, TRIB_VICTIM_FIFO,
                                      TRIB_VICTIM_D_CHOICES, TRIB_VICTIM_SPARE_QUOTA};

// What the drive asks must be true: remembers who wrote every page, checks the question, answers
// anything.
struct Relocator {
    std::vector<uint16_t> streams;
    flash::Random random{77};
    uint64_t wrong = 0, asked = 0, out_of_range = 0;
    uint16_t answers = 4;

    static uint16_t relocate(void *arg, uint64_t lba, uint16_t stream, uint16_t victim_class, bool internal) {
        auto *self = static_cast<Relocator *>(arg);
        self->asked++;
        self->wrong += self->streams.at(lba) != stream;
        self->wrong += internal && victim_class >= 4;
        const auto answer = uint16_t(self->random.below(self->answers));
        self->out_of_range += answer >= 4;
        return answer;
    }
};

static void require_sound(const flash::Drive &d) {
    trib_error error{};
    int rc = trib_flash_check(d.get(), &error);
    INFO(error.text);
    REQUIRE(rc == 0);
}

static trib_flash_config combination(trib_gc_destination gc, trib_victim victim, Relocator *relocator) {
    auto c = flash::config(600, 0.15, 8);
    c.streams = 3;
    c.gc = gc;
    c.victim = victim;
    c.internal_streams = 4;
    c.substream_pages = 1;
    c.relocate = Relocator::relocate;
    c.gc_arg = relocator;
    return c;
}

TEST_CASE("invariants hold after every step of any sequence") {
    for (auto gc : DESTINATIONS)
        for (auto victim : VICTIMS) {
            Relocator relocator;
            auto c = combination(gc, victim, &relocator);
            relocator.streams.resize(c.logical_pages);
            auto d = flash::open(c);
            std::vector<bool> mapped(c.logical_pages);
            flash::Random random(uint64_t(gc) * 8 + victim);
            CAPTURE(gc, victim);
            for (int step = 0; step < 3000; step++) {
                uint32_t lba = random.below(c.logical_pages);
                uint32_t pages = std::min<uint32_t>(1 + random.below(20), uint32_t(c.logical_pages) - lba);
                uint16_t stream = uint16_t(random.below(4));
                bool discards = random.below(step % 1000 < 500 ? 20 : 3) == 0;
                if (!discards) // before the call: collection may move the very pages being written
                    REQUIRE(trib_flash_write(d.get(), lba, 0, stream) == -EINVAL);
                for (uint32_t i = 0; i < pages; i++) {
                    REQUIRE((discards ? trib_flash_discard(d.get(), lba + i, 1)
                                      : trib_flash_write(d.get(), lba + i, 1, stream)) == 0);
                    mapped[lba + i] = !discards;
                    relocator.streams[lba + i] = stream;
                }
                require_sound(d);
            }
            for (uint64_t lba = 0; lba < c.logical_pages; lba++)
                REQUIRE((trib_flash_lookup(d.get(), lba) != UINT32_MAX) == mapped[lba]);
            CHECK(relocator.wrong == 0);
            bool asks = gc == TRIB_GC_PSTREAM || gc == TRIB_GC_CLASS;
            CHECK((relocator.asked > 0) == asks);
            CHECK(flash::stats(d).gc_pages > 0);
        }
}

TEST_CASE("a full drive never wedges at the smallest geometry that opens") {
    for (auto gc : DESTINATIONS)
        for (auto victim : VICTIMS)
            for (uint32_t superblock_pages : {2u, 7u, 64u}) {
                Relocator relocator;
                auto c = combination(gc, victim, &relocator);
                c.superblock_pages = superblock_pages;
                c.logical_pages = 20ull * superblock_pages;
                c.over_provisioning = 3.0 / 20; // D + 3 superblocks: one may be open at a time
                relocator.streams.resize(c.logical_pages);
                auto d = flash::open(c);
                flash::Random random(1);
                CAPTURE(gc, victim, superblock_pages);
                for (uint64_t lba = 0; lba < c.logical_pages; lba++)
                    REQUIRE(trib_flash_write(d.get(), lba, 1, 0) == 0);
                for (int i = 0; i < 5000; i++) {
                    uint32_t lba = random.below(c.logical_pages);
                    uint16_t stream = uint16_t(random.below(4));
                    REQUIRE(trib_flash_write(d.get(), lba, 1, stream) == 0);
                    relocator.streams[lba] = stream;
                }
                CHECK(flash::stats(d).mapped_pages == c.logical_pages);
                CHECK(flash::stats(d).open_superblocks_peak == 1);
                require_sound(d);
            }
}

TEST_CASE("nor between 1 and 50 percent of over-provisioning, with more streams than spare superblocks") {
    for (double over_provisioning : {0.01, 0.02, 0.05, 0.10, 0.25, 0.50})
        for (auto gc :
             {TRIB_GC_SAME, TRIB_GC_SHARED, TRIB_GC_TWIN, TRIB_GC_PRESERVE, TRIB_GC_SUBSTREAM, TRIB_GC_CHAIN}) {
            auto c = flash::config(300 * 16, over_provisioning, 16);
            c.streams = 16;
            c.gc = gc;
            auto d = flash::open(c);
            flash::Random random(1);
            CAPTURE(over_provisioning, gc);
            for (uint64_t lba = 0; lba < c.logical_pages; lba++)
                REQUIRE(trib_flash_write(d.get(), lba, 1, uint16_t(lba % 17)) == 0);
            for (int i = 0; i < 10000; i++)
                REQUIRE(trib_flash_write(d.get(), random.below(c.logical_pages), 1, uint16_t(random.below(17))) == 0);
            auto s = flash::stats(d);
            // Host pages share exactly when not every stream and destination may have its own.
            const bool paired = gc == TRIB_GC_TWIN || gc == TRIB_GC_PRESERVE;
            const int wanted = paired ? 34 : gc == TRIB_GC_SHARED ? 18 : 17;
            CHECK((s.shared_pages > 0) == (wanted > 300 * over_provisioning - 2));
            require_sound(d);
        }
}

TEST_CASE("open superblocks of idle streams are closed when space is short") {
    auto c = flash::config(8000, 0.10, 40);
    c.streams = 6;
    auto d = flash::open(c);
    REQUIRE(trib_flash_precondition(d.get(), 0, false) == 0);
    for (uint16_t stream = 1; stream <= 6; stream++)
        REQUIRE(trib_flash_write(d.get(), stream, 1, stream) == 0);
    REQUIRE(flash::stats(d).open_superblocks == 6);  // S0 has just filled its own
    REQUIRE(trib_flash_discard(d.get(), 1, 6) == 0); // else collection would open them again for the survivors
    flash::Random random(2);
    for (int i = 0; i < 8000; i++)
        REQUIRE(trib_flash_write(d.get(), 1000 + random.below(7000), 1, 0) == 0);
    auto s = flash::stats(d);
    CHECK(s.early_closes == 6);
    CHECK(s.padded_pages == 6 * 39);
    CHECK(s.open_superblocks == 1);
    require_sound(d);
}

TEST_CASE("streams that are written in turn stay open") {
    auto c = flash::config(8000, 0.10, 40);
    c.streams = 6;
    auto d = flash::open(c);
    flash::Random random(2);
    for (int i = 0; i < 80000; i++)
        REQUIRE(trib_flash_write(d.get(), random.below(8000), 1, uint16_t(i % 7)) == 0);
    CHECK(flash::stats(d).early_closes == 0);
    CHECK(flash::stats(d).open_superblocks >= 6);
}

TEST_CASE("streams in use stay open however much is copied in between") {
    auto c = flash::config(64 * 1024, 0.01, 64); // 11 spare superblocks for 9 streams and 9 twins
    c.streams = 8;
    c.gc = TRIB_GC_TWIN;
    auto d = flash::open(c);
    flash::Random random(2);
    for (uint64_t i = 0; i < 2 * c.logical_pages; i++)
        REQUIRE(trib_flash_write(d.get(), i < c.logical_pages ? i : random.below(c.logical_pages), 1,
                                 uint16_t(random.below(9))) == 0);
    auto s = flash::stats(d);
    CHECK(flash::waf(d) > 10);
    CHECK(s.early_closes == 0);
    CHECK(s.misplaced_pages > 0); // 9 superblocks may be open: the twins share
    CHECK(s.misplaced_pages < s.gc_pages / 2);
    require_sound(d);
}

TEST_CASE("an answer out of range is internal stream 0 and counted") {
    Relocator relocator;
    relocator.answers = 1000; // four of a thousand are in range
    auto c = combination(TRIB_GC_CLASS, TRIB_VICTIM_GREEDY, &relocator);
    relocator.streams.resize(c.logical_pages);
    auto d = flash::open(c);
    REQUIRE(trib_flash_precondition(d.get(), 3, false) == 0);
    auto s = flash::stats(d);
    CHECK(relocator.asked == s.gc_pages);
    CHECK(relocator.out_of_range > s.gc_pages / 2);
    CHECK(s.remapped_writes == relocator.out_of_range);
    uint64_t elsewhere = 0;
    for (uint16_t stream = 1; stream < 4; stream++) {
        trib_flash_stream_stats of{};
        REQUIRE(trib_flash_stream_statistics(d.get(), stream, true, &of) == 0);
        elsewhere += of.gc_pages_in;
    }
    CHECK(elsewhere <= relocator.asked - relocator.out_of_range);
    require_sound(d);
}
