// SPDX-License-Identifier: Apache-2.0
// Where events come from: one of our traces, an experiment file's workload, or a public block
// trace. A source reads once, front to back; open it again to start over. One owner each; two
// sources of one spec give the same items.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/options.h"
#include "trace/trace.h"

namespace cli {

struct SourceSpec {
    std::string path;            // trace, experiment (.ini), public trace, or a workload's name
    std::string format = "auto"; // source_formats()
    std::string import_options;  // of the trace's reader, or of a workload: key=value,...
    bool truncated_ok = false;
};

class EventSource {
  public:
    virtual ~EventSource() = default;

    // False at the end. Throws Failure: corrupt or cut data, too many malformed lines.
    virtual bool next() = 0;
    // Valid until the next call. Kinds besides EVENT come from our traces only.
    virtual const trib_trace_item &item() const = 0;
    // For progress, in whatever unit the source has; size 0 = unknown.
    virtual uint64_t position_bytes() const = 0;
    virtual uint64_t size_bytes() const = 0;
    virtual bool was_truncated() const {
        return false;
    }
    virtual const char *what() const {
        return "trace";
    }
    // One sentence per thing that a person should know once all is read (skipped lines).
    virtual std::string note() const {
        return "";
    }
};

// Throws Failure: not there, unknown format, neither a trace nor an experiment.
std::unique_ptr<EventSource> open_source(const SourceSpec &spec);

// Of the reader of our own traces, as import_options.
extern const trib_option_spec trace_reading_options[];

// "auto|trib|experiment|msr|...", for help texts.
std::string source_formats();

} // namespace cli
