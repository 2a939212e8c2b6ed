// SPDX-License-Identifier: Apache-2.0
// Random but plausible event sequences, for every room's tests. Seeded: the same seed gives the
// same events on every machine (no std::*_distribution, whose results differ between libraries).
// Not thread-safe.
//
// FileEvents promises: clock_bytes is the sum of the lengths of all earlier WRITEs; a file is first
// written at offset 0 and has no holes; nothing is written, synced or shortened after its UNLINK or
// RENAME_OVER; ranges never overflow; a file's identity may come back after its death, as inodes
// do; wall_ns never runs backwards.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include <tributary/event.h>

namespace trib_test {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): tiny, good enough for tests, the same everywhere.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {
    }
    uint64_t next() {
        uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }
    uint64_t below(uint64_t bound) {
        return bound ? next() % bound : 0;
    }
    uint64_t between(uint64_t low, uint64_t high) {
        return low + below(high - low + 1);
    }
    bool chance(unsigned percent) {
        return below(100) < percent;
    }

  private:
    uint64_t state_;
};

// One kind of writer: a call path, what its files look like, and how long they live.
struct Writer {
    uint64_t signature;
    uint8_t file_kind, write_hint;
    int8_t level;
    uint64_t append_min, append_max; // bytes per write
    uint64_t file_min, file_max;     // bytes per file
    uint64_t life_min, life_max;     // host bytes between a file's close and its death
    unsigned sync_percent;           // chance of an fsync after a write
    unsigned overwrite_percent;      // chance that a write goes to the middle of the file
};

// RocksDB-like: a log, flushes, two compaction levels, a manifest, and a file that is updated in
// place.
inline std::vector<Writer> database_writers() {
    constexpr uint64_t K = 1024, M = 1024 * K;
    return {
        {0x1A11000000000001, TRIB_FILE_WAL, TRIB_HINT_SHORT, TRIB_LEVEL_UNKNOWN, 60, 2 * K, 256 * K, 1 * M, 0, 1 * M, 5,
         0},
        {0x1A11000000000002, TRIB_FILE_SST, TRIB_HINT_MEDIUM, 0, 4 * K, 256 * K, 512 * K, 1 * M, 1 * M, 4 * M, 0, 0},
        {0x1A11000000000003, TRIB_FILE_SST, TRIB_HINT_LONG, 1, 64 * K, 1 * M, 1 * M, 4 * M, 8 * M, 32 * M, 0, 0},
        {0x1A11000000000004, TRIB_FILE_SST, TRIB_HINT_EXTREME, 2, 64 * K, 1 * M, 2 * M, 8 * M, 64 * M, 256 * M, 0, 0},
        {0x1A11000000000005, TRIB_FILE_MANIFEST, TRIB_HINT_NOT_SET, TRIB_LEVEL_UNKNOWN, 20, 400, 4 * K, 64 * K, 4 * M,
         16 * M, 50, 0},
        {0x1A11000000000006, TRIB_FILE_OTHER, TRIB_HINT_NONE, TRIB_LEVEL_UNKNOWN, 512, 16 * K, 256 * K, 1 * M, 16 * M,
         64 * M, 10, 70},
    };
}

class FileEvents {
  public:
    explicit FileEvents(uint64_t seed, std::vector<Writer> writers = database_writers(), size_t open_files_max = 12)
        : random_(seed), writers_(std::move(writers)), open_files_max_(open_files_max) {
    }

    trib_event next() {
        wall_ns_ += random_.between(200, 20000);
        if (!queued_.empty()) {
            trib_event event = queued_.front();
            queued_.erase(queued_.begin());
            return stamp(event);
        }
        auto due = std::find_if(closed_.begin(), closed_.end(), [&](const File &f) { return f.dies_at <= clock_; });
        if (due != closed_.end()) {
            const File file = *due;
            closed_.erase(due);
            return stamp(death(file));
        }
        if (open_.empty() || (open_.size() < open_files_max_ && random_.chance(10)))
            open_.push_back(create());
        return stamp(write(random_.below(open_.size())));
    }

    std::vector<trib_event> take(size_t count) {
        std::vector<trib_event> events(count);
        for (auto &event : events)
            event = next();
        return events;
    }

    // Unlinks every file that is left, so that nothing is alive afterwards.
    std::vector<trib_event> finish() {
        std::vector<trib_event> events;
        for (const auto &event : queued_)
            events.push_back(stamp(event));
        queued_.clear();
        closed_.insert(closed_.end(), open_.begin(), open_.end());
        open_.clear();
        for (const auto &file : closed_)
            events.push_back(stamp(event_of(file, TRIB_EVENT_DEATH, TRIB_CAUSE_UNLINK)));
        closed_.clear();
        return events;
    }

    uint64_t clock_bytes() const {
        return clock_;
    }

  private:
    struct File {
        uint64_t identity, size, target, dies_at;
        size_t writer;
        uint32_t thread;
    };

    File create() {
        File file{};
        file.writer = random_.below(writers_.size());
        file.target = random_.between(writers_[file.writer].file_min, writers_[file.writer].file_max);
        file.thread = static_cast<uint32_t>(random_.below(4));
        if (!free_identities_.empty() && random_.chance(30)) {
            file.identity = free_identities_.back();
            free_identities_.pop_back();
        } else {
            file.identity = random_.next() | 1;
        }
        return file;
    }

    trib_event event_of(const File &file, trib_event_kind kind, trib_cause cause) {
        const Writer &writer = writers_[file.writer];
        trib_event event{};
        event.file = file.identity;
        event.length_bytes = TRIB_LENGTH_TO_END;
        event.who.signature = writer.signature;
        event.who.file_kind = writer.file_kind;
        event.who.write_hint = writer.write_hint;
        event.who.level = writer.level;
        event.who.io_activity = TRIB_ACTIVITY_UNKNOWN;
        event.thread = file.thread;
        event.stream = TRIB_STREAM_UNDECIDED;
        event.kind = static_cast<uint8_t>(kind);
        event.cause = static_cast<uint8_t>(cause);
        return event;
    }

    trib_event write(size_t index) {
        File &file = open_[index];
        const Writer &writer = writers_[file.writer];
        trib_event event = event_of(file, TRIB_EVENT_WRITE, TRIB_CAUSE_NONE);
        event.length_bytes = random_.between(writer.append_min, writer.append_max);
        event.offset_bytes = file.size;
        if (file.size > event.length_bytes && random_.chance(writer.overwrite_percent))
            event.offset_bytes = random_.below(file.size - event.length_bytes);
        file.size = std::max(file.size, event.offset_bytes + event.length_bytes);
        if (random_.chance(writer.sync_percent))
            queued_.push_back(event_of(file, TRIB_EVENT_SYNC, TRIB_CAUSE_FSYNC));
        if (file.size >= file.target)
            close(index);
        return event;
    }

    void close(size_t index) {
        File file = open_[index];
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
        const Writer &writer = writers_[file.writer];
        file.dies_at = clock_ + random_.between(writer.life_min, writer.life_max);
        queued_.push_back(event_of(file, TRIB_EVENT_SYNC, TRIB_CAUSE_CLOSE));
        closed_.push_back(file);
    }

    // Mostly unlink; some files shrink first, are renamed over, or go on as a new file (RocksDB's
    // log recycling).
    trib_event death(File file) {
        if (file.size > 1 && random_.chance(5)) {
            trib_event event = event_of(file, TRIB_EVENT_DEATH, TRIB_CAUSE_TRUNCATE);
            file.size = random_.between(1, file.size - 1);
            event.offset_bytes = file.size;
            file.dies_at = clock_ + writers_[file.writer].life_max;
            closed_.push_back(file);
            return event;
        }
        if (writers_[file.writer].file_kind == TRIB_FILE_WAL && random_.chance(20)) {
            trib_event event = event_of(file, TRIB_EVENT_DEATH, TRIB_CAUSE_REUSE);
            file.size = 0;
            open_.push_back(file);
            return event;
        }
        free_identities_.push_back(file.identity);
        return event_of(file, TRIB_EVENT_DEATH, random_.chance(5) ? TRIB_CAUSE_RENAME_OVER : TRIB_CAUSE_UNLINK);
    }

    trib_event stamp(trib_event event) {
        event.clock_bytes = clock_;
        event.wall_ns = wall_ns_;
        if (event.kind == TRIB_EVENT_WRITE)
            clock_ += event.length_bytes;
        return event;
    }

    Random random_;
    std::vector<Writer> writers_;
    size_t open_files_max_;
    std::vector<File> open_, closed_;
    std::vector<trib_event> queued_; // what follows from the last write, in order
    std::vector<uint64_t> free_identities_;
    uint64_t clock_ = 0, wall_ns_ = 0;
};

// Raw block events on the drive's own address space (file 0): aligned writes, some runs, some
// trims.
class BlockEvents {
  public:
    BlockEvents(uint64_t seed, uint64_t blocks) : random_(seed), blocks_(blocks) {
    }

    trib_event next() {
        trib_event event{};
        const uint64_t length = random_.chance(70) ? 1 : random_.between(1, std::min<uint64_t>(64, blocks_));
        if (!random_.chance(30) || next_block_ + length > blocks_)
            next_block_ = random_.below(blocks_ - length + 1);
        event.offset_bytes = next_block_ * TRIB_BLOCK_BYTES;
        event.length_bytes = length * TRIB_BLOCK_BYTES;
        next_block_ += length;
        event.clock_bytes = clock_;
        event.wall_ns = wall_ns_ += random_.between(1000, 100000);
        event.stream = TRIB_STREAM_UNDECIDED;
        event.who.level = TRIB_LEVEL_UNKNOWN;
        event.who.io_activity = TRIB_ACTIVITY_UNKNOWN;
        event.kind = TRIB_EVENT_WRITE;
        if (random_.chance(3)) {
            event.kind = TRIB_EVENT_DEATH;
            event.cause = TRIB_CAUSE_TRIM;
        } else {
            clock_ += event.length_bytes;
        }
        return event;
    }

  private:
    Random random_;
    uint64_t blocks_, next_block_ = 0, clock_ = 0, wall_ns_ = 0;
};

// A well-formed kind with every other field drawn from its whole range, extremes often. For round
// trips and for "never crashes" tests; not plausible.
inline trib_event arbitrary_event(Random &random) {
    auto extreme = [&]() -> uint64_t {
        switch (random.below(6)) {
        case 0:
            return 0;
        case 1:
            return UINT64_MAX;
        case 2:
            return 1ull << random.below(64);
        case 3:
            return (1ull << random.below(64)) - 1;
        case 4:
            return random.below(100000) * 4096;
        default:
            return random.next() >> random.below(64);
        }
    };
    trib_event event{};
    event.clock_bytes = extreme();
    event.file = random.chance(70) ? random.below(20) : extreme();
    event.offset_bytes = extreme();
    event.length_bytes = extreme();
    event.who.signature = random.chance(70) ? random.below(20) : extreme();
    event.who.column_family = static_cast<uint16_t>(random.chance(70) ? 0 : extreme());
    event.who.tenant = static_cast<uint16_t>(random.chance(70) ? 0 : extreme());
    event.who.file_kind = static_cast<uint8_t>(random.chance(70) ? 0 : extreme());
    event.who.write_hint = static_cast<uint8_t>(random.chance(70) ? 0 : extreme());
    event.who.io_activity = static_cast<uint8_t>(random.chance(70) ? 0 : extreme());
    event.who.level = static_cast<int8_t>(random.chance(70) ? 0 : extreme());
    event.wall_ns = extreme();
    event.thread = static_cast<uint32_t>(extreme());
    event.stream = static_cast<uint16_t>(extreme());
    static const uint8_t kinds[] = {TRIB_EVENT_WRITE, TRIB_EVENT_DEATH, TRIB_EVENT_SYNC, TRIB_EVENT_READ};
    event.kind = kinds[random.below(4)];
    event.cause = static_cast<uint8_t>(random.chance(70) ? 0 : extreme());
    return event;
}

} // namespace trib_test
