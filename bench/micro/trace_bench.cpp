// SPDX-License-Identifier: Apache-2.0
// How fast events go into an event file and come out again, on one core, page cache included, and
// how many bytes each takes. The mix is a RocksDB under load: log appends of about 1.1 KiB with
// jitter, one 1 MiB append of a flush or compaction for every 256 of them, syncs at the end of each
// file, old files deleted.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "support/measure.hpp"
#include "trace/trace.h"

namespace {

constexpr size_t kEvents = 2000000;
constexpr int kRounds = 7;
constexpr uint64_t kMiB = 1 << 20;

uint64_t random_next() {
    static uint64_t state = 1;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

class DatabaseMix {
  public:
    std::vector<trib_event> make(size_t count) {
        for (size_t i = 0; events_.size() < count; i++) {
            wall_ns_ += 6000 + random_next() % 4000;
            log_.append(*this, 1090 + random_next() % 24, 64 * kMiB);
            if (i % 256 == 0)
                tables_[random_next() % 3].append(*this, kMiB, 64 * kMiB);
        }
        events_.resize(count);
        return std::move(events_);
    }

  private:
    struct Output {
        uint64_t signature;
        uint8_t file_kind;
        uint32_t thread;
        uint64_t file, size;
        std::deque<uint64_t> old;

        void append(DatabaseMix &mix, uint64_t length, uint64_t file_bytes) {
            if (size == 0)
                file = random_next();
            mix.emit(*this, TRIB_EVENT_WRITE, TRIB_CAUSE_NONE, file, length);
            size += length;
            if (size < file_bytes)
                return;
            mix.emit(*this, TRIB_EVENT_SYNC, TRIB_CAUSE_FSYNC, file, TRIB_LENGTH_TO_END);
            mix.emit(*this, TRIB_EVENT_SYNC, TRIB_CAUSE_CLOSE, file, TRIB_LENGTH_TO_END);
            old.push_back(file);
            size = 0;
            if (old.size() > 20) {
                mix.emit(*this, TRIB_EVENT_DEATH, TRIB_CAUSE_UNLINK, old.front(), TRIB_LENGTH_TO_END);
                old.pop_front();
            }
        }
    };

    void emit(const Output &output, uint8_t kind, uint8_t cause, uint64_t file, uint64_t length) {
        trib_event event{};
        event.clock_bytes = clock_;
        event.file = file;
        event.offset_bytes = kind == TRIB_EVENT_WRITE ? output.size : 0;
        event.length_bytes = length;
        event.who.signature = output.signature;
        event.who.file_kind = output.file_kind;
        event.who.io_activity = TRIB_ACTIVITY_UNKNOWN;
        event.who.level = TRIB_LEVEL_UNKNOWN;
        event.wall_ns = wall_ns_;
        event.thread = output.thread;
        event.stream = TRIB_STREAM_UNDECIDED;
        event.kind = kind;
        event.cause = cause;
        if (kind == TRIB_EVENT_WRITE)
            clock_ += length;
        events_.push_back(event);
    }

    std::vector<trib_event> events_;
    Output log_{0xA1, TRIB_FILE_WAL, 1, 0, 0, {}};
    Output tables_[3] = {
        {0xB1, TRIB_FILE_SST, 2, 0, 0, {}}, {0xB2, TRIB_FILE_SST, 3, 0, 0, {}}, {0xB3, TRIB_FILE_SST, 4, 0, 0, {}}};
    uint64_t clock_ = 0, wall_ns_ = 0;
};

void stop_on(bool failed, const char *what) {
    if (failed) {
        fprintf(stderr, "trace_bench: %s failed\n", what);
        exit(1);
    }
}

double write_seconds(const char *path, const std::vector<trib_event> &events) {
    trib_trace_writer *writer = nullptr;
    stop_on(trib_trace_writer_open(&writer, path, nullptr) != 0, "open for writing");
    const double start = trib_bench::Seconds();
    for (const auto &event : events)
        trib_trace_write(writer, &event);
    stop_on(trib_trace_writer_close(writer) != 0, "write");
    return trib_bench::Seconds() - start;
}

double read_seconds(const char *path, const std::vector<trib_event> &events) {
    trib_trace_reader *reader = nullptr;
    static trib_trace_item item;
    stop_on(trib_trace_reader_open(&reader, path, nullptr, nullptr) != 0, "open for reading");
    uint64_t clock = 0;
    size_t count = 0;
    const double start = trib_bench::Seconds();
    int rc;
    while ((rc = trib_trace_next(reader, &item, nullptr)) == 1) {
        clock += item.event.clock_bytes;
        count++;
    }
    const double seconds = trib_bench::Seconds() - start;
    for (const auto &event : events)
        clock -= event.clock_bytes;
    stop_on(rc != 0 || count != events.size() || clock != 0, "read");
    trib_trace_reader_close(reader);
    return seconds;
}

} // namespace

int main() {
    const char *base = getenv("TMPDIR");
    std::string path = std::string(base ? base : "/tmp") + "/trib-trace-bench-XXXXXX";
    const int fd = mkstemp(&path[0]);
    stop_on(fd < 0, "mkstemp");
    close(fd);
    const auto events = DatabaseMix().make(kEvents);
    double write_best = 1e9, read_best = 1e9;
    for (int round = 0; round < kRounds; round++) {
        write_best = std::min(write_best, write_seconds(path.c_str(), events));
        read_best = std::min(read_best, read_seconds(path.c_str(), events));
    }
    struct stat status;
    stop_on(stat(path.c_str(), &status) != 0, "stat");
    unlink(path.c_str());

    const double writes = kEvents / write_best, reads = kEvents / read_best;
    const std::string note = "RocksDB-like mix, one core, page cache, best round";
    trib_bench::Print("trace_events_per_s", std::min(writes, reads), "1/s", kRounds,
                      "slower of write and read; " + note);
    trib_bench::Print("trace_write_events_per_s", writes, "1/s", kRounds, note);
    trib_bench::Print("trace_read_events_per_s", reads, "1/s", kRounds, note);
    trib_bench::Print("trace_bytes_per_event", static_cast<double>(status.st_size) / kEvents, "bytes", 1, note);
    return 0;
}
