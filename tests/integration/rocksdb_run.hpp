// SPDX-License-Identifier: Apache-2.0
// Runs unmodified RocksDB programs with the shim preloaded, and reads what they recorded.
#pragma once
#include "support/catch.hpp"
#include "support/process.hpp"
#include "support/skip.hpp"
#include "support/trace_end.hpp"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <tributary/pipeline.h>

#include "trace/trace.h"

namespace rocksdb_run {

namespace fs = std::filesystem;
using Json = nlohmann::json;

using trib_test::Environment;
using trib_test::Folder;
using trib_test::has;
using trib_test::Outcome;
using trib_test::quoted;
using trib_test::read_file;
using trib_test::run;

inline const Environment preloaded = {{"LD_PRELOAD", TRIB_BINARY_DIR "/rocksdb-env/libtributary-rocksdb.so"}};

// Everything a trace holds; events in order.
struct Recording {
    std::vector<trib_event> events;
    uint64_t gap_events = 0;
};

inline Recording read_trace(const std::string &path) {
    Recording recording;
    trib_trace_reader *reader = nullptr;
    trib_trace_read_options options = {};
    trib_error error = {};
    trib_test::wait_for_end_of(path);
    const int opened = trib_trace_reader_open(&reader, path.c_str(), &options, &error);
    INFO(error.text);
    REQUIRE(opened == 0);
    auto item = std::make_unique<trib_trace_item>();
    int rc;
    while ((rc = trib_trace_next(reader, item.get(), &error)) == 1) {
        if (item->kind == TRIB_TRACE_EVENT)
            recording.events.push_back(item->event);
        if (item->kind == TRIB_TRACE_GAP)
            recording.gap_events += item->gap_events;
    }
    INFO(error.text);
    REQUIRE(rc == 0);
    trib_trace_reader_close(reader);
    return recording;
}

// What is on disk: identity -> size, empty files left out.
inline std::map<uint64_t, uint64_t> files_in(const std::string &directory) {
    std::map<uint64_t, uint64_t> files;
    for (const auto &entry : fs::directory_iterator(directory)) {
        struct stat st;
        REQUIRE(stat(entry.path().c_str(), &st) == 0);
        if (S_ISREG(st.st_mode) && st.st_size > 0)
            files[trib_file_identity(st.st_dev, st.st_ino)] = static_cast<uint64_t>(st.st_size);
    }
    return files;
}

// What the events say should be on disk.
inline std::map<uint64_t, uint64_t> files_after(const std::vector<trib_event> &events) {
    std::map<uint64_t, uint64_t> files;
    for (const trib_event &event : events) {
        if (event.kind == TRIB_EVENT_WRITE) {
            uint64_t &size = files[event.file];
            size = std::max(size, event.offset_bytes + event.length_bytes);
        } else if (event.kind == TRIB_EVENT_DEATH && event.offset_bytes == 0) {
            files.erase(event.file);
        } else if (event.kind == TRIB_EVENT_DEATH && files.count(event.file)) {
            uint64_t &size = files[event.file];
            size = std::min(size, event.offset_bytes);
        }
    }
    return files;
}

// RocksDB's own account of a run: the EVENT_LOG_v1 objects of its LOG.
inline std::vector<Json> log_events(const std::string &database) {
    std::vector<Json> events;
    std::istringstream log(read_file(database + "/LOG"));
    for (std::string line; std::getline(log, line);) {
        const size_t mark = line.find("EVENT_LOG_v1 ");
        if (mark != std::string::npos)
            events.push_back(Json::parse(line.substr(mark + sizeof "EVENT_LOG_v1 " - 1)));
    }
    return events;
}

} // namespace rocksdb_run
