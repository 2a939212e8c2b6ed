// SPDX-License-Identifier: Apache-2.0
// A trace being read, and what it says about its program: modules and the frames of signatures. One
// owner each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/input.h"
#include "trace/trace.h"

namespace cli {

class TraceFile {
  public:
    // Throws Failure: not there, not a trace, of a future version.
    TraceFile(const std::string &path, bool truncated_ok);
    ~TraceFile();
    TraceFile(const TraceFile &) = delete;
    TraceFile &operator=(const TraceFile &) = delete;

    // False at the end. Throws Failure at corrupt or cut data, with offset and reason.
    bool next();
    const trib_trace_item &item() const {
        return item_;
    }
    uint64_t position_bytes() const;
    uint64_t size_bytes() const;
    bool was_truncated() const;
    std::string stop_reason() const; // once it has been read; empty: recording did not stop by itself
    uint64_t files_missing() const;  // of its recording, before what is read

  private:
    PlainPath plain_;                         // of a compressed trace
    bool truncated_ok_, is_recorded_ = false; // is_recorded_: when it was opened
    trib_trace_reader *reader_ = nullptr;
    trib_trace_item item_ = {};
};

class Dictionary {
  public:
    void learn(const trib_trace_item &item); // MODULE and SIGNATURE items; others are ignored
    size_t modules() const {
        return modules_.size();
    }
    size_t signatures() const {
        return signatures_.size();
    }
    // "module!symbol+0x1c", innermost first, C++ names demangled; empty when the trace does not
    // know the signature.
    std::vector<std::string> frames(uint64_t signature) const;

  private:
    std::string symbolised(const trib_frame &frame) const;

    std::unordered_map<uint32_t, trib_module> modules_;
    std::unordered_map<uint64_t, std::vector<trib_frame>> signatures_;
    mutable std::map<std::pair<uint32_t, uint64_t>, std::string> symbols_; // reading symbol tables is slow
};

} // namespace cli
