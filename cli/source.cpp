// SPDX-License-Identifier: Apache-2.0
#include "source.h"

#include <fmt/format.h>
#include <utility>

#include "experiment.h"
#include "failure.h"
#include "import/import.h"
#include "import_source.h"
#include "trace_file.h"
#include "workload/workload.h"

namespace cli {

namespace {

class TraceSource : public EventSource {
  public:
    explicit TraceSource(const SourceSpec &spec) : trace_(spec.path, spec.truncated_ok) {
    }
    bool next() override {
        return trace_.next();
    }
    const trib_trace_item &item() const override {
        return trace_.item();
    }
    uint64_t position_bytes() const override {
        return trace_.position_bytes();
    }
    uint64_t size_bytes() const override {
        return trace_.size_bytes();
    }
    bool was_truncated() const override {
        return trace_.was_truncated();
    }

  private:
    TraceFile trace_;
};

class WorkloadSource : public EventSource {
  public:
    // who: that gave the options, for people.
    WorkloadSource(const std::string &who, const std::string &name, const std::string &options) {
        trib_error error = {};
        int rc = trib_workload_open(&workload_, name.c_str(), options.c_str(), &error);
        if (rc)
            throw core_failure(rc, who + ": " + error.text);
        trib_workload_describe(workload_, &description_);
        item_.kind = TRIB_TRACE_EVENT;
    }
    ~WorkloadSource() override {
        trib_workload_close(workload_);
    }
    WorkloadSource(const WorkloadSource &) = delete;
    WorkloadSource &operator=(const WorkloadSource &) = delete;

    bool next() override {
        int rc = trib_workload_next(workload_, &item_.event);
        if (rc < 0)
            throw core_failure(rc, "the workload ran out of memory");
        return rc > 0;
    }
    const trib_trace_item &item() const override {
        return item_;
    }
    uint64_t position_bytes() const override {
        return trib_workload_position(workload_);
    }
    uint64_t size_bytes() const override {
        return description_.host_bytes;
    }

  private:
    trib_workload *workload_ = nullptr;
    trib_workload_description description_ = {};
    trib_trace_item item_ = {};
};

// What no reader knows is left to the reader of our traces, whose sentences say what is wrong.
std::string recognised_format(const std::string &path) {
    std::string format = path == "-" ? "" : guessed_format(path);
    return format.empty() ? "trib" : format;
}

} // namespace

std::string source_formats() {
    return "auto|trib|experiment|workload|" + import_formats();
}

std::unique_ptr<EventSource> open_source(const SourceSpec &given) {
    SourceSpec spec = given;
    if (spec.format == "experiment" || (spec.format == "auto" && is_experiment(spec.path))) {
        Experiment experiment = load_experiment(spec.path);
        if (!experiment.workload.empty())
            return std::make_unique<WorkloadSource>("experiment '" + experiment.path + "'",
                                                    experiment.workload,
                                                    experiment.workload_options);
        spec.path = experiment.trace;
        spec.format = experiment.format;
        spec.import_options = experiment.import_options;
    }
    if (spec.format == "workload")
        return std::make_unique<WorkloadSource>("workload " + spec.path, spec.path,
                                                spec.import_options);
    if (spec.format == "auto")
        spec.format = recognised_format(spec.path);
    if (spec.format == "trib")
        return std::make_unique<TraceSource>(spec);
    if (!trib_import_find(spec.format.c_str(), nullptr))
        throw Failure(EXIT_USAGE, fmt::format("unknown format '{}'; valid are {}", spec.format,
                                              source_formats()));
    return open_import(spec);
}

} // namespace cli
