// SPDX-License-Identifier: Apache-2.0
// Runs the built `trib` and makes traces for it.
#pragma once
#include "support/catch.hpp"
#include "support/events.hpp"
#include "support/process.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace trib_test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

inline std::vector<std::string> lines_of(const std::string &text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

inline Outcome trib(const std::vector<std::string> &arguments) {
    std::vector<std::string> command = {TRIB_BINARY_DIR "/cli/trib"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run(command);
}

inline size_t widest_line(const std::string &text) {
    size_t widest = 0;
    for (const std::string &line : lines_of(text))
        widest = std::max(widest, line.size());
    return widest;
}

// One sentence on standard error, and nothing on standard output.
inline void check_refusal(const Outcome &outcome, int code) {
    INFO("stderr: " << outcome.err);
    CHECK(outcome.code == code);
    CHECK(outcome.out.empty());
    CHECK(lines_of(outcome.err).size() == 1);
    CHECK(outcome.err.rfind("trib: ", 0) == 0);
}

class TraceWriter {
  public:
    explicit TraceWriter(const std::string &path) {
        trib_error error{};
        const int rc = trib_trace_writer_open(&writer_, path.c_str(), &error);
        INFO(error.text);
        REQUIRE(rc == 0);
    }
    ~TraceWriter() {
        REQUIRE(trib_trace_writer_close(writer_) == 0);
    }
    TraceWriter(const TraceWriter &) = delete;
    TraceWriter &operator=(const TraceWriter &) = delete;

    void event(const trib_event &event) {
        REQUIRE(trib_trace_write(writer_, &event) == 0);
    }
    trib_trace_writer *get() const {
        return writer_;
    }

  private:
    trib_trace_writer *writer_ = nullptr;
};

// Small files with lifetimes far apart, in the sizes that superblocks of 256 KiB make hard.
inline std::vector<Writer> small_database() {
    constexpr uint64_t K = 1024, M = 1024 * K;
    return {
        {0x51, TRIB_FILE_WAL, TRIB_HINT_SHORT, TRIB_LEVEL_UNKNOWN, 512, 4 * K, 32 * K, 64 * K, 0, 256 * K, 2, 0},
        {0x52, TRIB_FILE_SST, TRIB_HINT_MEDIUM, 0, 16 * K, 32 * K, 32 * K, 64 * K, 512 * K, 2 * M, 0, 0},
        {0x53, TRIB_FILE_SST, TRIB_HINT_LONG, 1, 16 * K, 64 * K, 32 * K, 64 * K, 4 * M, 12 * M, 0, 0},
        {0x53, TRIB_FILE_SST, TRIB_HINT_EXTREME, 2, 16 * K, 64 * K, 32 * K, 64 * K, 32 * M, 64 * M, 0, 0},
        {0x54, TRIB_FILE_MANIFEST, TRIB_HINT_NOT_SET, TRIB_LEVEL_UNKNOWN, 20, 400, 4 * K, 8 * K, 4 * M, 8 * M, 50, 0},
    };
}

// A trace of `host_bytes`; returns its events.
inline std::vector<trib_event> write_trace(const std::string &path, uint64_t host_bytes, uint64_t seed = 7) {
    TraceWriter trace(path);
    FileEvents source(seed, small_database());
    std::vector<trib_event> events;
    REQUIRE(trib_trace_write_note(trace.get(), "made by a test") == 0);
    while (source.clock_bytes() < host_bytes) {
        events.push_back(source.next());
        trace.event(events.back());
    }
    return events;
}

} // namespace trib_test
