// SPDX-License-Identifier: Apache-2.0
// Recordings for tests: writers within limits, events that fill files, and what a trace says of itself.
#pragma once
#include "support/catch.hpp"

#include <random>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>

#include "support/events.hpp"
#include "support/trace_file.hpp"

namespace trib_test {

constexpr uint64_t kMax = TRIB_TRACE_MAX_BYTES_MIN;

inline trib_trace_limits limits_of(uint64_t max_bytes, uint32_t keep, uint64_t floor_bytes = 0) {
    return {max_bytes, floor_bytes, keep, 0};
}

struct Opened {
    trib_trace_writer *writer = nullptr;
    int rc = 0;
    std::string error;
};

inline Opened try_open(const std::string &path, trib_trace_limits limits = TRIB_TRACE_LIMITS_DEFAULT) {
    Opened out;
    trib_error error{};
    out.rc = trib_trace_writer_open_within(&out.writer, path.c_str(), &limits, &error);
    out.error = error.text;
    return out;
}

inline trib_trace_writer *open_writer(const std::string &path, trib_trace_limits limits = TRIB_TRACE_LIMITS_DEFAULT) {
    Opened opened = try_open(path, limits);
    INFO(opened.error);
    REQUIRE(opened.rc == 0);
    return opened.writer;
}

// A whole trace with one note in it.
inline void write_note_trace(const std::string &path, const char *note, uint32_t keep = 15) {
    trib_trace_writer *writer = open_writer(path, limits_of(1ull << 30, keep));
    REQUIRE(trib_trace_write_note(writer, note) == 0);
    REQUIRE(trib_trace_writer_close(writer) == 0);
}

inline bool mentions(const std::string &text, const std::string &word) {
    return text.find(word) != std::string::npos;
}

inline bool is_there(const std::string &path) {
    struct stat status;
    return lstat(path.c_str(), &status) == 0;
}

inline unsigned mode_of(const std::string &path) {
    struct stat status;
    REQUIRE(stat(path.c_str(), &status) == 0);
    return status.st_mode & 07777;
}

inline std::string stop_reason_of(const std::string &path) {
    trib_trace_reader *reader = nullptr;
    trib_trace_item item;
    REQUIRE(trib_trace_reader_open(&reader, path.c_str(), nullptr, nullptr) == 0);
    while (trib_trace_next(reader, &item, nullptr) == 1)
        ;
    std::string reason = trib_trace_stop_reason(reader);
    trib_trace_reader_close(reader);
    return reason;
}

inline uint64_t files_missing(const std::string &path) {
    trib_trace_reader *reader = nullptr;
    REQUIRE(trib_trace_reader_open(&reader, path.c_str(), nullptr, nullptr) == 0);
    uint64_t missing = trib_trace_files_missing(reader);
    trib_trace_reader_close(reader);
    return missing;
}

// Events that do not compress, so that files fill.
inline trib_event random_event(std::mt19937_64 &random) {
    trib_event event{};
    event.kind = TRIB_EVENT_WRITE;
    event.file = random();
    event.offset_bytes = random();
    event.length_bytes = random() >> 20;
    event.clock_bytes = random();
    event.wall_ns = random();
    event.who.signature = random();
    return event;
}

// Writes until there are `files` files; what was written.
inline std::vector<trib_event> fill_files(trib_trace_writer *writer, const std::string &path, unsigned files) {
    std::mt19937_64 random(11);
    std::vector<trib_event> events;
    while (!is_there(path + "." + std::to_string(files - 1)) && events.size() < 1000000) {
        events.push_back(random_event(random));
        REQUIRE(trib_trace_write(writer, &events.back()) == 0);
    }
    REQUIRE(is_there(path + "." + std::to_string(files - 1)));
    for (int i = 0; i < 100; i++) {
        events.push_back(random_event(random));
        REQUIRE(trib_trace_write(writer, &events.back()) == 0);
    }
    return events;
}

inline bool same_events(const std::vector<trib_event> &read, const std::vector<trib_event> &written, size_t from = 0) {
    if (read.size() != written.size() - from)
        return false;
    for (size_t i = 0; i < read.size(); i++)
        if (!same_event(read[i], written[from + i]))
            return false;
    return true;
}

struct FileSizeLimit {
    rlimit before{};
    explicit FileSizeLimit(rlim_t bytes) {
        REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
        const rlimit limit{bytes, before.rlim_max};
        REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    }
    ~FileSizeLimit() {
        setrlimit(RLIMIT_FSIZE, &before);
    }
};

} // namespace trib_test
