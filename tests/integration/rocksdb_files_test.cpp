// SPDX-License-Identifier: Apache-2.0
// What the RocksDB adapter reports of each call of a file system, and in which order: on files that RocksDB itself
// would take hours to write.
#include "support/catch.hpp"

#ifdef TRIB_HAS_ROCKSDB

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ostream>
#include <string>
#include <vector>

#include "support/folder.hpp"
#include "support/rocksdb_files.hpp"

using namespace rocksdb_files;
using trib_test::Folder;

namespace {

constexpr uint64_t kBlock = 4096, kEnd = TRIB_LENGTH_TO_END;

struct Report {
    uint8_t kind, cause;
    uint64_t offset, length;
    bool operator==(const Report &other) const {
        return kind == other.kind && cause == other.cause && offset == other.offset && length == other.length;
    }
};

std::ostream &operator<<(std::ostream &out, const Report &report) {
    return out << int(report.kind) << "/" << int(report.cause) << " " << report.offset << "+" << report.length;
}

using Reports = std::vector<Report>;

Report wrote(uint64_t offset, uint64_t length) {
    return {TRIB_EVENT_WRITE, 0, offset, length};
}

Report died(uint64_t offset, uint8_t cause) {
    return {TRIB_EVENT_DEATH, cause, offset, kEnd};
}

Report synced(uint8_t cause, uint64_t offset = 0, uint64_t length = kEnd) {
    return {TRIB_EVENT_SYNC, cause, offset, length};
}

Reports taken() {
    Reports reports;
    for (const trib_event &event : take())
        reports.push_back({event.kind, event.cause, event.offset_bytes, event.length_bytes});
    return reports;
}

void fill(const std::string &path, uint64_t bytes) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0);
    REQUIRE(write(fd, std::string(bytes, 'x').data(), bytes) == ssize_t(bytes));
    close(fd);
}

} // namespace

TEST_CASE("small appends are one report per block; what is left goes with a sync or the close, which is told once") {
    Folder folder;
    File *file = create(folder / "000001.log");
    REQUIRE(file);
    for (int i = 0; i < 9; i++)
        REQUIRE(append(file, 1000));
    CHECK(taken() == Reports{wrote(0, 5000), wrote(5000, 4000)});
    for (int i = 0; i < 2; i++)
        REQUIRE(append(file, 10));
    REQUIRE(sync(file));
    CHECK(taken() == Reports{wrote(9000, 20), synced(TRIB_CAUSE_FSYNC)});
    REQUIRE(append(file, 30));
    REQUIRE(append(file, 0));
    CHECK(taken().empty());
    REQUIRE(close(file));
    destroy(file);
    CHECK(taken() == Reports{wrote(9020, 30), synced(TRIB_CAUSE_CLOSE)});
    file = create(folder / "000002.log");
    REQUIRE(append(file, 5));
    taken();
    destroy(file); // not closed before
    CHECK(taken() == Reports{wrote(0, 5), synced(TRIB_CAUSE_CLOSE)});
}

TEST_CASE("writers are told apart within a block") {
    Folder folder;
    File *file = create(folder / "000001.log"); // of a WAL each write may be another call path's
    for (int i = 0; i < 2; i++)
        REQUIRE(append(file, 100));
    REQUIRE(append(file, 100));
    REQUIRE(close(file));
    const std::vector<trib_event> events = take();
    destroy(file);
    REQUIRE(events.size() == 3);
    CHECK(events[0].length_bytes == 200);
    CHECK(events[1].length_bytes == 100);
    CHECK(events[0].who.signature != events[1].who.signature);
}

TEST_CASE("a positioned append is where it says, and the next one behind it") {
    Folder folder;
    File *file = create(folder / "000001.sst");
    REQUIRE(append_at(file, 0, kBlock));
    REQUIRE(append_at(file, 4 * kBlock, kBlock));
    REQUIRE(append_at(file, 2 * kBlock, kBlock));
    CHECK(taken() == Reports{wrote(0, kBlock), wrote(4 * kBlock, kBlock), wrote(2 * kBlock, kBlock)});
    destroy(file);
    take();
}

TEST_CASE("truncation: the tail first, then what dies; growing, or staying as long, kills nothing") {
    Folder folder;
    File *file = create(folder / "000001.log");
    REQUIRE(append(file, kBlock + 100));
    REQUIRE(append(file, 100));
    taken();
    REQUIRE(truncate(file, kBlock + 200));
    REQUIRE(truncate(file, 3 * kBlock));
    CHECK(taken().empty());
    REQUIRE(truncate(file, 50));
    CHECK(taken() == Reports{wrote(kBlock + 100, 100), died(50, TRIB_CAUSE_TRUNCATE)});
    destroy(file);
    take();
    const std::string path = folder / "by-name";
    fill(path, 1000);
    REQUIRE(truncate_path(path, 1000));
    REQUIRE(truncate_path(path, 2000));
    CHECK(taken().empty());
    REQUIRE(truncate_path(path, 1500));
    CHECK(taken() == Reports{died(1500, TRIB_CAUSE_TRUNCATE)});
}

TEST_CASE("a file that is opened again: emptied, appended to, or used for another") {
    Folder folder;
    const std::string path = folder / "000001.log", next = folder / "000002.log";
    fill(path, 1000);
    File *file = create(path);
    CHECK(taken() == Reports{died(0, TRIB_CAUSE_TRUNCATE)});
    destroy(file);
    fill(path, 1000);
    take();
    file = reopen(path);
    REQUIRE(append(file, 10));
    REQUIRE(close(file));
    CHECK(taken() == Reports{wrote(1000, 10), synced(TRIB_CAUSE_CLOSE)});
    destroy(file);
    file = reuse(next, path);
    REQUIRE(file);
    REQUIRE(append(file, kBlock));
    CHECK(taken() == Reports{died(0, TRIB_CAUSE_REUSE), wrote(0, kBlock)});
    destroy(file);
    take();
    file = create(folder / "empty.log"); // nothing was there
    CHECK(taken().empty());
    destroy(file);
    file = create(folder / "empty.log"); // nothing was in it
    take();
    destroy(file);
    take();
}

TEST_CASE("a file dies with its last name") {
    Folder folder;
    const std::string path = folder / "000001.sst", other = folder / "checkpoint.sst", third = folder / "000003.sst";
    fill(path, 1000);
    REQUIRE(link(path.c_str(), other.c_str()) == 0);
    REQUIRE(remove(path));
    CHECK(taken().empty());
    REQUIRE(remove(other));
    CHECK(taken() == Reports{died(0, TRIB_CAUSE_UNLINK)});
    fill(path, 1000);
    REQUIRE(link(path.c_str(), other.c_str()) == 0);
    REQUIRE(rename(path, other)); // two names of one file: both stay
    CHECK(taken().empty());
    unlink(other.c_str());
    fill(third, 1000);
    REQUIRE(rename(third, path));
    CHECK(taken() == Reports{died(0, TRIB_CAUSE_RENAME_OVER)});
    REQUIRE(rename(path, third));
    CHECK(taken().empty());
}

TEST_CASE("a hint labels a file from its first write on, not in its middle") {
    Folder folder;
    File *file = create(folder / "000001.sst");
    hint(file, TRIB_HINT_MEDIUM);
    REQUIRE(append(file, kBlock));
    hint(file, TRIB_HINT_EXTREME);
    REQUIRE(append(file, kBlock));
    const std::vector<trib_event> events = take();
    destroy(file);
    take();
    REQUIRE(events.size() == 2);
    CHECK(events[0].who.write_hint == TRIB_HINT_MEDIUM);
    CHECK(events[1].who.write_hint == TRIB_HINT_MEDIUM);
}

TEST_CASE("a range sync tells its range, and of nothing nothing") {
    Folder folder;
    File *file = create(folder / "000001.sst");
    REQUIRE(append(file, 100));
    REQUIRE(range_sync(file, 0, 0));
    CHECK(taken().empty());
    REQUIRE(range_sync(file, 0, 50));
    CHECK(taken() == Reports{wrote(0, 100), synced(TRIB_CAUSE_RANGE_SYNC, 0, 50)});
    destroy(file);
    take();
}

#endif
