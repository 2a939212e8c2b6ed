// SPDX-License-Identifier: Apache-2.0
// Random events through a volume and through a naive page table beside it. After every event: each
// mapped page has one block, no block has two owners, the drive saw exactly the pages that the
// rules of volume.h name, in file order, in as few commands as possible; -ENOSPC came exactly when
// no block was free.
#include "support/catch.hpp"
#include "support/events.hpp"

#include "volume/volume.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>

namespace {

constexpr uint64_t PAGE = TRIB_BLOCK_BYTES;

struct Command {
    bool is_write;
    uint64_t lba, blocks, signature;
    uint64_t cause; // tells events of one writer apart
};

// What should happen: pages by number, no allocator.
struct ModelFile {
    std::set<uint64_t> pages; // on the drive
    std::optional<uint64_t> tail;
    uint64_t tail_signature = 0, size = 0;
};

struct Expected {
    uint64_t page, signature;
};

class Model {
  public:
    explicit Model(uint64_t blocks) : free_(blocks) {
    }

    // Pages that must reach the drive, in order; stops where blocks run out.
    int write(const trib_event &event, std::vector<Expected> &out) {
        ModelFile &file = files[event.file];
        // Byte by byte, by what the last of them does to its page: whose last byte it is goes out, any other stays.
        const uint64_t last = event.offset_bytes + event.length_bytes - 1;
        std::vector<uint64_t> full;
        std::optional<uint64_t> left;
        for (uint64_t page = event.offset_bytes / PAGE; page * PAGE <= last; page++)
            if (last >= page * PAGE + PAGE - 1)
                full.push_back(page);
            else
                left = page;
        const bool completes_tail = file.tail && std::find(full.begin(), full.end(), *file.tail) != full.end();
        if (file.tail && left && !completes_tail && *left != *file.tail) // only one page of a file waits
            if (int error = flush(event.file, out))
                return error;
        for (uint64_t page : full)
            if (int error = put(event.file, page, event.who.signature, out))
                return error;
        if (completes_tail)
            file.tail.reset();
        if (left) {
            file.tail = left;
            file.tail_signature = event.who.signature;
        }
        file.size = std::max(file.size, last + 1);
        return 0;
    }

    int flush(uint64_t id, std::vector<Expected> &out) {
        ModelFile &file = files[id];
        if (!file.tail)
            return 0;
        if (int error = put(id, *file.tail, file.tail_signature, out))
            return error;
        file.tail.reset();
        return 0;
    }

    // Pages that must be discarded.
    std::vector<uint64_t> kill(const trib_event &event) {
        std::vector<uint64_t> gone;
        ModelFile &file = files[event.file];
        if (event.cause == TRIB_CAUSE_REUSE || event.cause == TRIB_CAUSE_OVERWRITE)
            return gone;
        const uint64_t begin = event.offset_bytes;
        const bool to_end = event.length_bytes == TRIB_LENGTH_TO_END || begin + event.length_bytes >= file.size;
        auto dies = [&](uint64_t page) {
            return page * PAGE >= begin && (to_end || (page + 1) * PAGE <= begin + event.length_bytes);
        };
        for (uint64_t page : file.pages)
            if (dies(page))
                gone.push_back(page);
        for (uint64_t page : gone)
            file.pages.erase(page);
        if (file.tail && dies(*file.tail))
            file.tail.reset();
        if (to_end)
            file.size = std::min(file.size, begin);
        free_ += gone.size();
        return gone;
    }

    uint64_t free_blocks() const {
        return free_;
    }
    std::map<uint64_t, ModelFile> files;

  private:
    int put(uint64_t id, uint64_t page, uint64_t signature, std::vector<Expected> &out) {
        if (!files[id].pages.count(page)) {
            if (!free_)
                return -ENOSPC;
            free_--;
            files[id].pages.insert(page);
        }
        out.push_back({page, signature});
        return 0;
    }
    uint64_t free_;
};

class Rig {
  public:
    Rig(uint64_t blocks, uint32_t window, trib_volume_allocation how) : model(blocks), owners_(blocks) {
        const trib_volume_config config{blocks, how, window};
        const trib_volume_sink sink{this, on_write, on_discard, nullptr};
        REQUIRE(trib_volume_open(&volume, &config, &sink, nullptr) == 0);
    }
    ~Rig() {
        trib_volume_close(volume);
    }

    void step(const trib_event &event) {
        commands_.clear();
        if (event.kind == TRIB_EVENT_DEATH)
            check_kill(event);
        else
            check_write_or_sync(event);
        check_commands_are_maximal();
    }

    // Whole-table comparison; O(pages).
    void check_tables() {
        uint64_t mapped = 0;
        std::set<uint64_t> blocks;
        for (const auto &[id, file] : model.files)
            for (uint64_t page : file.pages) {
                const uint64_t lba = trib_volume_lookup(volume, id, page * PAGE);
                REQUIRE(lba < owners_.size());
                REQUIRE(blocks.insert(lba).second);
                mapped++;
            }
        trib_volume_stats stats;
        trib_volume_statistics(volume, &stats);
        REQUIRE(stats.blocks_used == mapped);
        REQUIRE(owners_.size() - mapped == model.free_blocks());
        REQUIRE(stats.extents <= mapped);
    }

    trib_volume *volume = nullptr;
    Model model;
    uint64_t refused = 0;

  private:
    void check_write_or_sync(const trib_event &event) {
        std::vector<Expected> expected;
        int error, want;
        if (event.kind == TRIB_EVENT_WRITE) {
            want = model.write(event, expected);
            error = trib_volume_write(volume, &event);
        } else {
            want = model.files.count(event.file) ? model.flush(event.file, expected) : 0;
            error = trib_volume_sync(volume, &event);
        }
        REQUIRE(error == want);
        refused += error == -ENOSPC;
        size_t next = 0;
        for (const Command &command : commands_) {
            REQUIRE(command.is_write);
            for (uint64_t lba = command.lba; lba < command.lba + command.blocks; lba++, next++) {
                REQUIRE(next < expected.size());
                REQUIRE(command.signature == expected[next].signature);
                REQUIRE(trib_volume_lookup(volume, event.file, expected[next].page * PAGE) == lba);
            }
        }
        REQUIRE(next == expected.size());
    }

    void check_kill(const trib_event &event) {
        std::multiset<uint64_t> want, got;
        std::map<uint64_t, uint64_t> before;
        if (model.files.count(event.file)) {
            for (uint64_t page : model.files[event.file].pages)
                before[page] = trib_volume_lookup(volume, event.file, page * PAGE);
            for (uint64_t page : model.kill(event))
                want.insert(before[page]);
        }
        REQUIRE(trib_volume_kill(volume, &event) == 0);
        for (const Command &command : commands_) {
            REQUIRE_FALSE(command.is_write);
            for (uint64_t lba = command.lba; lba < command.lba + command.blocks; lba++)
                got.insert(lba);
        }
        REQUIRE(got == want);
    }

    void check_commands_are_maximal() {
        for (size_t i = 1; i < commands_.size(); i++) {
            const Command &a = commands_[i - 1], &b = commands_[i];
            REQUIRE((a.lba + a.blocks != b.lba || a.cause != b.cause));
        }
    }

    static int on_write(void *arg, const trib_event *cause, uint64_t lba, uint32_t blocks) {
        auto *self = static_cast<Rig *>(arg);
        REQUIRE(blocks > 0);
        REQUIRE(lba + blocks <= self->owners_.size());
        self->commands_.push_back({true, lba, blocks, cause->who.signature, cause->who.signature + cause->clock_bytes});
        return 0;
    }
    static int on_discard(void *arg, uint64_t lba, uint64_t blocks) {
        auto *self = static_cast<Rig *>(arg);
        REQUIRE(blocks > 0);
        REQUIRE(lba + blocks <= self->owners_.size());
        self->commands_.push_back({false, lba, blocks, 0, 0});
        return 0;
    }

    std::vector<Command> commands_;
    std::vector<char> owners_;
};

trib_event random_event(trib_test::Random &random, uint64_t files, uint64_t file_pages) {
    trib_event event{};
    event.file = 1 + random.below(files);
    event.offset_bytes = random.below(file_pages * PAGE);
    event.length_bytes = random.between(1, random.chance(50) ? 600 : 6 * PAGE);
    if (random.chance(40))
        event.offset_bytes -= event.offset_bytes % PAGE;
    if (random.chance(40))
        event.length_bytes += PAGE - (event.offset_bytes + event.length_bytes) % PAGE;
    event.who.signature = random.next();
    event.kind = TRIB_EVENT_WRITE;
    const uint64_t dice = random.below(100);
    if (dice < 10) {
        event.kind = TRIB_EVENT_SYNC;
        event.length_bytes = TRIB_LENGTH_TO_END;
        event.offset_bytes = 0;
        event.cause = random.chance(50) ? TRIB_CAUSE_FSYNC : TRIB_CAUSE_CLOSE;
    } else if (dice < 35) {
        event.kind = TRIB_EVENT_DEATH;
        event.cause = uint8_t(random.between(TRIB_CAUSE_NONE, TRIB_CAUSE_REUSE));
        if (random.chance(30))
            event.length_bytes = TRIB_LENGTH_TO_END;
        if (random.chance(15))
            event.offset_bytes = 0;
    }
    return event;
}

} // namespace

TEST_CASE("a volume does what a page table says, full or not") {
    const uint64_t blocks = GENERATE(16, 65, 300, 4000);
    const uint32_t window = GENERATE(0, 7, 64);
    const auto how = GENERATE(TRIB_ALLOCATE_NEXT_FIT, TRIB_ALLOCATE_FIRST_FIT);
    CAPTURE(blocks, window, how);
    Rig rig(blocks, window, how);
    trib_test::Random random(blocks * 1000 + window * 2 + how);
    for (int step = 0; step < 4000; step++) {
        rig.step(random_event(random, 12, 40));
        if (step % 64 == 0)
            rig.check_tables();
    }
    rig.check_tables();
    REQUIRE((rig.refused > 0) == (blocks <= 300)); // the small ones did fill up
    for (uint64_t file = 1; file <= 12; file++) {
        trib_event event{};
        event.kind = TRIB_EVENT_DEATH;
        event.file = file;
        event.length_bytes = TRIB_LENGTH_TO_END;
        event.cause = TRIB_CAUSE_UNLINK;
        rig.step(event);
    }
    trib_volume_stats stats;
    trib_volume_statistics(rig.volume, &stats);
    REQUIRE(stats.blocks_used == 0);
    REQUIRE(stats.files == 0);
    REQUIRE(stats.extents == 0);
    REQUIRE(rig.model.free_blocks() == blocks);
}

TEST_CASE("a volume serves an engine's life and is empty after it") {
    const uint32_t window = GENERATE(0, 128);
    Rig rig(1 << 17, window, TRIB_ALLOCATE_NEXT_FIT);
    trib_test::FileEvents events(42);
    for (int i = 0; i < 3000; i++)
        rig.step(events.next());
    rig.check_tables();
    for (const trib_event &event : events.finish())
        rig.step(event);
    trib_volume_stats stats;
    trib_volume_statistics(rig.volume, &stats);
    REQUIRE(stats.blocks_used == 0);
    REQUIRE(stats.files == 0);
}

TEST_CASE("the same events give the same blocks") {
    std::vector<uint64_t> first;
    for (int run = 0; run < 2; run++) {
        Rig rig(3000, 32, TRIB_ALLOCATE_NEXT_FIT);
        trib_test::Random random(5);
        std::vector<uint64_t> blocks;
        for (int step = 0; step < 500; step++)
            rig.step(random_event(random, 6, 60));
        for (uint64_t file = 1; file <= 6; file++)
            for (uint64_t page = 0; page < 70; page++)
                blocks.push_back(trib_volume_lookup(rig.volume, file, page * PAGE));
        if (run)
            REQUIRE(blocks == first);
        first = blocks;
    }
}
