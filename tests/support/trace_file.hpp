// SPDX-License-Identifier: Apache-2.0
// Scratch files and whole-trace reads for tests of event files.
#pragma once
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "support/folder.hpp"
#include "trace/trace.h"

namespace trib_test {

using ScratchFolder = Folder;

inline std::string read_bytes(const std::string &path) {
    return read_file(path);
}

inline void write_bytes(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// What a trace gives when read to its end.
struct TraceContents {
    int open_result = 0, end_result = 0; // 0, or the -errno that ended it
    bool truncated = false;
    std::string error;
    std::vector<trib_event> events;
    std::vector<trib_trace_item> others; // text pointers are dead; see texts
    std::vector<std::string> texts;      // of NAME and NOTE items, in order
    size_t items() const {
        return events.size() + others.size();
    }
};

inline void collect(trib_trace_reader *reader, TraceContents &contents) {
    trib_error error{};
    trib_trace_item item{};
    while ((contents.end_result = trib_trace_next(reader, &item, &error)) == 1) {
        if (item.kind == TRIB_TRACE_EVENT) {
            contents.events.push_back(item.event);
            continue;
        }
        contents.others.push_back(item);
        if (item.kind == TRIB_TRACE_NAME || item.kind == TRIB_TRACE_NOTE)
            contents.texts.emplace_back(item.text);
    }
    contents.truncated = trib_trace_was_truncated(reader);
    contents.error = error.text;
}

inline TraceContents read_trace(const std::string &path, bool allow_truncated = false) {
    TraceContents contents;
    trib_error error{};
    trib_trace_reader *reader = nullptr;
    trib_trace_read_options options{};
    options.allow_truncated = allow_truncated;
    contents.open_result = trib_trace_reader_open(&reader, path.c_str(), &options, &error);
    contents.error = error.text;
    if (contents.open_result)
        return contents;
    collect(reader, contents);
    trib_trace_reader_close(reader);
    return contents;
}

inline bool same_event(const trib_event &a, const trib_event &b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

} // namespace trib_test
