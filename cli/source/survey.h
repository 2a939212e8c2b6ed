// SPDX-License-Identifier: Apache-2.0
// A first pass over a source: how much is written and how much is alive at once, so that the drive
// can be sized to the work. One owner.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "source/source.h"
#include "source/trace_file.h"

namespace cli {

// Live bytes of all files in whole 4-KiB blocks, as a volume allocates them: a write takes every
// block it touches; a death frees blocks that it covers entirely, and the last, partial one if it
// reaches the end of the file. Data that die by overwrite or reuse of their file keep their blocks.
class LiveBlocks {
  public:
    void apply(const trib_event &event);
    uint64_t live_bytes() const {
        return live_blocks_ * TRIB_BLOCK_BYTES;
    }
    uint64_t peak_bytes() const {
        return peak_blocks_ * TRIB_BLOCK_BYTES;
    }
    uint64_t files() const {
        return seen_.size();
    }
    bool dies() const { // something was overwritten, deleted or trimmed
        return dies_;
    }
    uint64_t address_end_bytes() const { // of file 0, the drive's own address space
        return address_end_bytes_;
    }

  private:
    using Extents = std::map<uint64_t, uint64_t>; // first block -> one past the last; never
                                                  // overlapping or touching
    struct File {
        Extents extents;
        uint64_t end_bytes = 0;
    };
    void write(const trib_event &event);
    void kill(const trib_event &event);
    uint64_t add(Extents &extents, uint64_t first, uint64_t end); // how many were not there
    void remove(Extents &extents, uint64_t first, uint64_t end);

    std::unordered_map<uint64_t, File> files_; // those with live blocks
    uint64_t live_blocks_ = 0, peak_blocks_ = 0, address_end_bytes_ = 0;
    bool dies_ = false;
    std::unordered_set<uint64_t> seen_;
};

struct Survey {
    uint64_t events = 0, host_bytes = 0, files = 0, peak_live_bytes = 0, address_end_bytes = 0;
    uint64_t dropped_events = 0, dropped_bytes = 0;
    // Of host_bytes, those whose event says who writes, and those whose stream the host had named
    // already.
    uint64_t signature_bytes = 0, kind_bytes = 0, hint_bytes = 0, level_bytes = 0, named_bytes = 0;
    bool dies = false, truncated = false;
    std::string what = "trace"; // for people: or a workload
    std::string source_note;    // of the source, once read; "" = nothing to say
    Dictionary dictionary;
};

// Throws Failure as the source does.
Survey survey_source(const SourceSpec &source);

} // namespace cli
