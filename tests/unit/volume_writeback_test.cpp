// SPDX-License-Identifier: Apache-2.0
// The rules of volume.h, one by one, on sequences short enough to check by hand.
#include "support/catch.hpp"

#include "volume/volume.h"

#include <cerrno>
#include <ctime>
#include <string>
#include <vector>

namespace {

constexpr uint64_t PAGE = TRIB_BLOCK_BYTES;

struct Io {
    char kind; // w d r
    uint64_t lba, blocks;
    uint64_t signature; // of the labelling write
    bool operator==(const Io &o) const {
        return kind == o.kind && lba == o.lba && blocks == o.blocks && signature == o.signature;
    }
};

std::ostream &operator<<(std::ostream &out, const Io &io) {
    return out << io.kind << " " << io.lba << "+" << io.blocks << " by " << io.signature;
}

class Volume {
  public:
    explicit Volume(uint64_t blocks, uint32_t window = 0, trib_volume_allocation how = TRIB_ALLOCATE_NEXT_FIT) {
        const trib_volume_config config{blocks, how, window};
        const trib_volume_sink sink{this, on_write, on_discard, on_read};
        REQUIRE(trib_volume_open(&volume, &config, &sink, nullptr) == 0);
    }
    ~Volume() {
        trib_volume_close(volume);
    }

    int write(uint64_t file, uint64_t offset, uint64_t length, uint64_t signature = 1) {
        return run(trib_volume_write, TRIB_EVENT_WRITE, file, offset, length, TRIB_CAUSE_NONE, signature);
    }
    int sync(uint64_t file, uint8_t cause = TRIB_CAUSE_FSYNC, uint64_t offset = 0,
             uint64_t length = TRIB_LENGTH_TO_END) {
        return run(trib_volume_sync, TRIB_EVENT_SYNC, file, offset, length, cause, 99);
    }
    int kill(uint64_t file, uint64_t offset, uint64_t length = TRIB_LENGTH_TO_END,
             uint8_t cause = TRIB_CAUSE_TRUNCATE) {
        return run(trib_volume_kill, TRIB_EVENT_DEATH, file, offset, length, cause, 99);
    }
    int read(uint64_t file, uint64_t offset, uint64_t length) {
        return run(trib_volume_read, TRIB_EVENT_READ, file, offset, length, TRIB_CAUSE_NONE, 99);
    }
    uint64_t at(uint64_t file, uint64_t page) {
        return trib_volume_lookup(volume, file, page * PAGE);
    }
    trib_volume_stats stats() {
        trib_volume_stats s;
        trib_volume_statistics(volume, &s);
        return s;
    }
    std::vector<Io> take() {
        return std::exchange(ios, {});
    }

    trib_volume *volume = nullptr;
    std::vector<Io> ios;
    int sink_error = 0;
    std::vector<int> next_errors; // of the next writes, before sink_error

  private:
    int run(int (*call)(trib_volume *, const trib_event *), trib_event_kind kind, uint64_t file, uint64_t offset,
            uint64_t length, uint8_t cause, uint64_t signature) {
        trib_event event{};
        event.kind = kind;
        event.file = file;
        event.offset_bytes = offset;
        event.length_bytes = length;
        event.cause = cause;
        event.who.signature = signature;
        return call(volume, &event);
    }
    static int on_write(void *arg, const trib_event *cause, uint64_t lba, uint32_t blocks) {
        auto *self = static_cast<Volume *>(arg);
        self->ios.push_back({'w', lba, blocks, cause->who.signature});
        if (self->next_errors.empty())
            return self->sink_error;
        const int error = self->next_errors.front();
        self->next_errors.erase(self->next_errors.begin());
        return error;
    }
    static int on_discard(void *arg, uint64_t lba, uint64_t blocks) {
        auto *self = static_cast<Volume *>(arg);
        self->ios.push_back({'d', lba, blocks, 0});
        return self->sink_error;
    }
    static int on_read(void *arg, uint64_t lba, uint32_t blocks) {
        auto *self = static_cast<Volume *>(arg);
        self->ios.push_back({'r', lba, blocks, 0});
        return self->sink_error;
    }
};

using Ios = std::vector<Io>;

} // namespace

TEST_CASE("full pages go out at once, a partial tail waits for a sync") {
    Volume v(100);
    REQUIRE(v.write(7, 0, 2 * PAGE + 10) == 0);
    REQUIRE(v.take() == Ios{{'w', 0, 2, 1}});
    REQUIRE(v.at(7, 2) == TRIB_LBA_UNKNOWN);
    REQUIRE(v.sync(7) == 0);
    REQUIRE(v.take() == Ios{{'w', 2, 1, 1}});
    REQUIRE(v.sync(7) == 0);
    REQUIRE(v.take().empty());
    REQUIRE(v.stats().tail_rewrites == 0);
}

TEST_CASE("a tail that grows after a sync is written again to the same block, by its last writer") {
    Volume v(100);
    v.write(7, 0, 100, 1);
    v.sync(7);
    v.write(7, 100, 100, 2);
    v.sync(7);
    v.write(7, 200, PAGE - 200, 3);
    REQUIRE(v.take() == Ios{{'w', 0, 1, 1}, {'w', 0, 1, 2}, {'w', 0, 1, 3}});
    REQUIRE(v.stats().tail_rewrites == 2);
    v.sync(7);
    REQUIRE(v.take().empty());
    v.write(7, 10, 100, 4); // an update of a page that is full by now
    v.sync(7);
    REQUIRE(v.take() == Ios{{'w', 0, 1, 4}});
    REQUIRE(v.stats().tail_rewrites == 2);
}

TEST_CASE("small appends reach the drive once per page, labelled by who completed it") {
    Volume v(100);
    for (uint64_t i = 0; i < 8; i++)
        v.write(7, i * 1024, 1024, i);
    REQUIRE(v.take() == Ios{{'w', 0, 1, 3}, {'w', 1, 1, 7}});
}

TEST_CASE("another partial page of the file replaces the dirty tail") {
    Volume v(100);
    v.write(7, 0, 10 * PAGE, 1);
    v.take();
    v.write(7, 3 * PAGE + 5, 10, 2);
    REQUIRE(v.take().empty());
    v.write(7, 8 * PAGE + 5, 10, 3);
    REQUIRE(v.take() == Ios{{'w', 3, 1, 2}});
    v.write(9, 5, 10, 4); // of another file: has its own tail
    REQUIRE(v.take().empty());
    v.write(7, 0, PAGE, 5); // a full page elsewhere leaves the tail alone
    REQUIRE(v.take() == Ios{{'w', 0, 1, 5}});
    v.write(7, 7 * PAGE, 2 * PAGE, 6); // a full write over it takes it along
    REQUIRE(v.take() == Ios{{'w', 7, 2, 6}});
    REQUIRE(v.sync(7) == 0);
    REQUIRE(v.take().empty());
}

TEST_CASE("a range sync reaches the tail only if it covers it, a close always does") {
    Volume v(100);
    v.write(7, 0, PAGE + 10);
    v.take();
    v.sync(7, TRIB_CAUSE_RANGE_SYNC, 0, PAGE);
    REQUIRE(v.take().empty());
    v.sync(7, TRIB_CAUSE_RANGE_SYNC, 0, PAGE + 1);
    REQUIRE(v.take() == Ios{{'w', 1, 1, 1}});
    v.write(7, PAGE + 10, 10);
    v.sync(7, TRIB_CAUSE_CLOSE, 0, 1);
    REQUIRE(v.take() == Ios{{'w', 1, 1, 1}});
}

TEST_CASE("overwrites keep their blocks, one write per contiguous range") {
    Volume v(100);
    v.write(1, 0, 4 * PAGE);
    v.write(2, 0, 2 * PAGE);
    v.write(1, 4 * PAGE, 4 * PAGE);
    v.take();
    REQUIRE(v.stats().extents == 3);
    v.write(1, 2 * PAGE, 4 * PAGE, 5);
    REQUIRE(v.take() == Ios{{'w', 2, 2, 5}, {'w', 6, 2, 5}});
    REQUIRE(v.stats().blocks_used == 10);
}

TEST_CASE("sparse writes allocate only what they touch") {
    Volume v(100);
    v.write(1, 50 * PAGE, PAGE);
    v.write(1, 10 * PAGE, PAGE);
    REQUIRE(v.stats().blocks_used == 2);
    REQUIRE(v.at(1, 49) == TRIB_LBA_UNKNOWN);
    v.take();
    v.write(1, 9 * PAGE, 3 * PAGE); // around a mapped page: it keeps its block
    const uint64_t kept = v.at(1, 10);
    REQUIRE(kept == 1);
    REQUIRE(v.stats().blocks_used == 4);
    v.take();
    v.read(1, 0, 100 * PAGE); // holes are skipped
    uint64_t blocks = 0;
    for (const Io &io : v.take())
        blocks += io.blocks;
    REQUIRE(blocks == 4);
}

TEST_CASE("a truncation keeps the page it cuts and discards the rest") {
    Volume v(100);
    v.write(1, 0, 10 * PAGE);
    v.take();
    REQUIRE(v.kill(1, 4 * PAGE + 1) == 0);
    REQUIRE(v.take() == Ios{{'d', 5, 5, 0}});
    REQUIRE(v.at(1, 4) == 4);
    REQUIRE(v.at(1, 5) == TRIB_LBA_UNKNOWN);
    REQUIRE(v.stats().blocks_used == 5);
    REQUIRE(v.kill(1, 0) == 0);
    REQUIRE(v.take() == Ios{{'d', 0, 5, 0}});
    REQUIRE(v.stats().files == 0);
    REQUIRE(v.stats().blocks_used == 0);
    REQUIRE(v.stats().blocks_used_peak == 10);
}

TEST_CASE("a hole punched inside splits an extent and spares partial pages") {
    Volume v(100);
    v.write(1, 0, 10 * PAGE);
    v.take();
    REQUIRE(v.kill(1, 2 * PAGE - 1, 3 * PAGE, TRIB_CAUSE_TRIM) == 0); // whole pages: 2 and 3
    REQUIRE(v.take() == Ios{{'d', 2, 2, 0}});
    REQUIRE(v.at(1, 1) == 1);
    REQUIRE(v.at(1, 4) == 4);
    REQUIRE(v.stats().extents == 2);
}

TEST_CASE("a death up to the last byte takes the partial page along") {
    Volume v(100);
    v.write(1, 0, PAGE + 100);
    v.sync(1);
    v.take();
    REQUIRE(v.kill(1, 0, PAGE + 100, TRIB_CAUSE_UNLINK) == 0);
    REQUIRE(v.take() == Ios{{'d', 0, 2, 0}});
    REQUIRE(v.stats().files == 0);
}

TEST_CASE("a dirty tail that dies never reaches the drive") {
    Volume v(100);
    v.write(1, 0, 100);
    REQUIRE(v.kill(1, 0) == 0);
    REQUIRE(v.sync(1) == 0);
    REQUIRE(v.take().empty());
    REQUIRE(v.stats().files == 0);
}

TEST_CASE("reuse and overwrite deaths discard nothing: the blocks are written again in place") {
    Volume v(100);
    v.write(1, 0, 4 * PAGE);
    v.take();
    REQUIRE(v.kill(1, 0, TRIB_LENGTH_TO_END, TRIB_CAUSE_REUSE) == 0);
    REQUIRE(v.kill(1, 0, PAGE, TRIB_CAUSE_OVERWRITE) == 0);
    REQUIRE(v.take().empty());
    v.write(1, 0, 2 * PAGE, 9);
    REQUIRE(v.take() == Ios{{'w', 0, 2, 9}});
    REQUIRE(v.stats().blocks_used == 4);
}

TEST_CASE("a window keeps growing files contiguous until it is given back") {
    Volume v(100, 8);
    v.write(1, 0, PAGE);
    v.write(2, 0, PAGE);
    REQUIRE(v.at(2, 0) == 8);
    for (uint64_t page = 1; page < 8; page++)
        v.write(1, page * PAGE, PAGE);
    REQUIRE(v.at(1, 7) == 7);
    REQUIRE(v.stats().extents == 2);
    REQUIRE(v.stats().blocks_used == 9);
    v.sync(2, TRIB_CAUSE_CLOSE); // 9..15 are free again
    v.write(1, 8 * PAGE, PAGE);
    REQUIRE(v.at(1, 8) == 16); // behind the last allocation
}

TEST_CASE("windows never cost a block: space runs out exactly when none is free") {
    for (auto how : {TRIB_ALLOCATE_NEXT_FIT, TRIB_ALLOCATE_FIRST_FIT}) {
        Volume v(64, 16, how);
        for (uint64_t file = 1; file <= 4; file++)
            REQUIRE(v.write(file, 0, PAGE) == 0); // four windows: everything is reserved
        for (uint64_t file = 5; file <= 64; file++)
            REQUIRE(v.write(file, 0, PAGE) == 0);
        REQUIRE(v.stats().blocks_used == 64);
        REQUIRE(v.write(70, 0, PAGE) == -ENOSPC);
        REQUIRE(v.stats().files == 64);    // the failed one left nothing behind
        REQUIRE(v.write(1, 0, PAGE) == 0); // in place still works
        REQUIRE(v.kill(33, 0) == 0);
        REQUIRE(v.write(1, PAGE, PAGE) == 0);
        REQUIRE(v.write(1, 2 * PAGE, PAGE) == -ENOSPC);
    }
}

TEST_CASE("a nearly full volume falls back to scattered blocks, and says which part fitted") {
    Volume v(64);
    for (uint64_t file = 1; file <= 64; file++)
        v.write(file, 0, PAGE);
    for (uint64_t file = 2; file <= 64; file += 2)
        v.kill(file, 0);
    v.take();
    REQUIRE(v.write(100, 0, 32 * PAGE) == 0);
    REQUIRE(v.take().size() == 32);
    REQUIRE(v.write(100, 32 * PAGE, PAGE) == -ENOSPC);
    v.kill(1, 0);
    v.take();
    REQUIRE(v.write(101, 0, 3 * PAGE) == -ENOSPC);
    REQUIRE(v.take() == Ios{{'w', 0, 1, 1}}); // one page reached the drive and stays mapped
    REQUIRE(v.at(101, 0) == 0);
}

TEST_CASE("first-fit takes the lowest free block, next-fit goes on") {
    for (auto how : {TRIB_ALLOCATE_NEXT_FIT, TRIB_ALLOCATE_FIRST_FIT}) {
        Volume v(100, 0, how);
        v.write(1, 0, 10 * PAGE);
        v.write(2, 0, 10 * PAGE);
        v.kill(1, 0);
        v.write(3, 0, 5 * PAGE);
        REQUIRE(v.at(3, 0) == (how == TRIB_ALLOCATE_FIRST_FIT ? 0 : 20));
    }
}

TEST_CASE("file 0 is the drive's own address space") {
    Volume v(100, 8);
    REQUIRE(v.write(0, 5 * PAGE, 3 * PAGE) == 0);
    REQUIRE(v.take() == Ios{{'w', 5, 3, 1}});
    REQUIRE(v.at(0, 5) == 5);
    REQUIRE(v.at(0, 4) == TRIB_LBA_UNKNOWN);
    REQUIRE(v.write(0, 1, PAGE) == -EINVAL);
    REQUIRE(v.write(0, 0, PAGE + 1) == -EINVAL);
    REQUIRE(v.write(0, 99 * PAGE, 2 * PAGE) == -ENOSPC);
    REQUIRE(v.kill(0, 99 * PAGE, 2 * PAGE) == -EINVAL);
    REQUIRE(v.read(0, 6 * PAGE, PAGE) == 0);
    REQUIRE(v.read(0, 6 * PAGE, 1) == -EINVAL);
    REQUIRE(v.sync(0) == 0);
    v.take();
    REQUIRE(v.write(9, 0, 10 * PAGE) == 0); // a file steps around it
    for (uint64_t page = 0; page < 10; page++)
        REQUIRE((v.at(9, page) < 5 || v.at(9, page) >= 8));
    v.take();
    REQUIRE(v.write(0, v.at(9, 0) * PAGE, PAGE) == -EINVAL); // and it around the file
    REQUIRE(v.kill(0, 0, TRIB_LENGTH_TO_END) == -EINVAL);
    REQUIRE(v.take().empty());
    v.kill(9, 0);
    v.take();
    REQUIRE(v.kill(0, 0, TRIB_LENGTH_TO_END, TRIB_CAUSE_TRIM) == 0);
    REQUIRE(v.take() == Ios{{'d', 0, 100, 0}});
    REQUIRE(v.stats().blocks_used == 0);
}

TEST_CASE("bad ranges are refused and change nothing") {
    Volume v(100);
    REQUIRE(v.write(1, 0, 0) == -EINVAL);
    REQUIRE(v.write(1, UINT64_MAX - 5, 10) == -EINVAL);
    REQUIRE(v.write(1, 0, TRIB_LENGTH_TO_END) == -ENOSPC); // 2^64 - 1 bytes do not overflow; they do not fit
    REQUIRE(v.kill(1, 5, 0) == -EINVAL);
    REQUIRE(v.kill(1, UINT64_MAX - 5, 10) == -EINVAL);
    REQUIRE(v.sync(1, TRIB_CAUSE_FSYNC, 0, 0) == -EINVAL);
    REQUIRE(v.read(1, 0, 0) == -EINVAL);
    REQUIRE(v.kill(12345, 0) == 0); // unknown files are nobody's business
    REQUIRE(v.sync(12345) == 0);
    REQUIRE(v.read(12345, 0, 10) == 0);
}

TEST_CASE("the sink's error comes back, a failed kill changes no mapping") {
    Volume v(100);
    v.write(1, 0, 4 * PAGE);
    v.sink_error = -EIO;
    REQUIRE(v.write(1, 0, PAGE) == -EIO);
    REQUIRE(v.kill(1, 0) == -EIO);
    REQUIRE(v.read(1, 0, PAGE) == -EIO);
    REQUIRE(v.at(1, 3) == 3);
    v.write(1, 4 * PAGE, 10);
    REQUIRE(v.sync(1) == -EIO);
    v.sink_error = 0;
    v.take();
    REQUIRE(v.sync(1) == 0); // the tail was still dirty
    REQUIRE(v.take() == Ios{{'w', 4, 1, 1}});
}

TEST_CASE("a volume needs blocks") {
    trib_error error{};
    trib_volume *volume = nullptr;
    const trib_volume_sink sink{};
    for (uint64_t blocks : {uint64_t(0), uint64_t(UINT32_MAX) + 1}) {
        const trib_volume_config config{blocks, TRIB_ALLOCATE_NEXT_FIT, 0};
        REQUIRE(trib_volume_open(&volume, &config, &sink, &error) == -EINVAL);
        REQUIRE(std::string(error.text).find("blocks") != std::string::npos);
    }
    trib_volume_close(nullptr);
}

TEST_CASE("a range sync that begins behind the tail leaves it dirty") {
    Volume v(100);
    v.write(7, 8 * PAGE, PAGE); // a file with a hole, whose tail is not at its end
    v.write(7, PAGE, 10);
    v.take();
    v.sync(7, TRIB_CAUSE_RANGE_SYNC, 2 * PAGE, 7 * PAGE);
    REQUIRE(v.take().empty());
    v.sync(7, TRIB_CAUSE_RANGE_SYNC, PAGE, 1);
    REQUIRE(v.take().size() == 1);
}

TEST_CASE("a page counts as written again only if its partly filled self was still there") {
    Volume v(100);
    v.write(1, 0, PAGE + 100);
    v.sync(1);
    v.write(1, PAGE + 100, 100);
    v.sync(1);
    REQUIRE(v.stats().tail_rewrites == 1);
    REQUIRE(v.kill(1, PAGE, PAGE) == 0); // the partial page is gone
    v.write(1, PAGE, 100);
    v.sync(1);
    REQUIRE(v.stats().tail_rewrites == 1);
}

TEST_CASE("a range sync gives no window back") {
    Volume v(100, 8, TRIB_ALLOCATE_FIRST_FIT);
    v.write(1, 0, PAGE);
    v.sync(1, TRIB_CAUSE_RANGE_SYNC, 0, PAGE);
    v.write(2, 0, PAGE);
    v.write(1, PAGE, PAGE);
    REQUIRE(v.at(1, 1) == v.at(1, 0) + 1);
}

TEST_CASE("a partial page that is truncated away is never written") {
    Volume v(100);
    REQUIRE(v.write(7, 0, PAGE + 10) == 0);
    REQUIRE(v.take() == Ios{{'w', 0, 1, 1}});
    REQUIRE(v.kill(7, PAGE) == 0);
    REQUIRE(v.sync(7) == 0);
    REQUIRE(v.take().empty());
}

TEST_CASE("a truncated file ends where it was cut") {
    Volume v(100);
    REQUIRE(v.write(7, 0, 3 * PAGE) == 0);
    REQUIRE(v.kill(7, PAGE) == 0);
    REQUIRE(v.stats().files == 1);
    REQUIRE(v.kill(7, 0, PAGE, TRIB_CAUSE_TRIM) == 0); // all that is left of it
    REQUIRE(v.stats().files == 0);
    REQUIRE(v.stats().blocks_used == 0);
}

TEST_CASE("a read touches the pages that hold its bytes, and no other") {
    Volume v(100);
    REQUIRE(v.write(7, 0, 4 * PAGE) == 0);
    v.take();
    REQUIRE(v.read(7, 0, PAGE) == 0);
    REQUIRE(v.take() == Ios{{'r', 0, 1, 0}});
    REQUIRE(v.read(7, PAGE - 1, 2) == 0);
    REQUIRE(v.take() == Ios{{'r', 0, 2, 0}});
    REQUIRE(v.read(7, 2 * PAGE - 1, PAGE + 1) == 0);
    REQUIRE(v.take() == Ios{{'r', 1, 2, 0}});
}

TEST_CASE("what the drive refuses in the middle of a write is the write's answer") {
    Volume v(100);
    REQUIRE(v.write(7, 0, PAGE) == 0);
    REQUIRE(v.write(8, 0, PAGE) == 0); // between the first and the second block of 7
    REQUIRE(v.write(7, PAGE, PAGE) == 0);
    v.take();
    v.next_errors = {-EIO, 0};
    REQUIRE(v.write(7, 0, 2 * PAGE) == -EIO);
    v.next_errors = {0, -EIO};
    REQUIRE(v.write(7, 0, 2 * PAGE) == -EIO);
    v.take();
    REQUIRE(v.write(7, 0, 2 * PAGE) == 0);
    REQUIRE(v.take() == Ios{{'w', 0, 1, 1}, {'w', 2, 1, 1}});
}

TEST_CASE("a read across a hole of exabytes finds what lies behind it, at once") {
    Volume volume(1000);
    REQUIRE(volume.write(1, 0, PAGE) == 0);
    REQUIRE(volume.write(1, 1ull << 62, PAGE) == 0);
    volume.take();
    const clock_t start = clock();
    for (unsigned i = 0; i < 10000; i++)
        REQUIRE(volume.read(1, 0, INT64_MAX) == 0);
    CHECK(clock() - start < 2 * CLOCKS_PER_SEC);
    const std::vector<Io> ios = volume.take();
    REQUIRE(ios.size() == 20000);
    CHECK(ios[0].kind == 'r');
    CHECK(ios[0].lba == volume.at(1, 0));
    CHECK(ios[1].lba == volume.at(1, (1ull << 62) / PAGE));
    CHECK(ios[1].blocks == 1);
}
