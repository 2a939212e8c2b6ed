// SPDX-License-Identifier: Apache-2.0
#include "source/source.h"

#include <cstddef>
#include <fmt/format.h>
#include <utility>

#include "common/failure.h"
#include "common/option_text.h"
#include "import/import.h"
#include "source/experiment.h"
#include "source/import_source.h"
#include "source/trace_file.h"
#include "workload/workload.h"

namespace cli {

namespace {

enum TenantOf { TENANT_AS_RECORDED, TENANT_PROCESS };
enum LevelOf { LEVEL_AS_RECORDED, LEVEL_HINT };

struct TraceReading {
    int tenant, level;
};

TraceReading reading_of(const SourceSpec &spec) {
    TraceReading reading = {};
    trib_options *given = nullptr;
    trib_error error = {};
    int rc = trib_options_open(&given, spec.import_options.c_str(), &error);
    if (rc == 0)
        rc = trib_options_take(given, trace_reading_options, &reading, &error);
    if (rc == 0)
        rc = trib_options_finish(given, &error);
    trib_options_close(given);
    if (rc)
        throw core_failure(rc, "trace '" + spec.path + "': " + error.text);
    return reading;
}

// What RocksDB says with its hints of table files: L0 and L1, L2, deeper
// (ColumnFamilyData::CalculateSSTWriteHint, without dynamic level sizes).
int8_t level_of_hint(uint8_t hint) {
    return hint < TRIB_HINT_MEDIUM ? TRIB_LEVEL_UNKNOWN : static_cast<int8_t>(1 + hint - TRIB_HINT_MEDIUM);
}

class TraceSource : public EventSource {
  public:
    explicit TraceSource(const SourceSpec &spec) : reading_(reading_of(spec)), trace_(spec.path, spec.truncated_ok) {
    }
    bool next() override {
        if (!trace_.next())
            return false;
        if (reads_on() && trace_.item().kind == TRIB_TRACE_EVENT) {
            item_ = trace_.item();
            read_on(item_.event);
        }
        return true;
    }
    const trib_trace_item &item() const override {
        return reads_on() && trace_.item().kind == TRIB_TRACE_EVENT ? item_ : trace_.item();
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
    static constexpr unsigned THREAD_BITS = 12; // of trib_event.thread, of a session's trace

    bool reads_on() const {
        return reading_.tenant != TENANT_AS_RECORDED || reading_.level != LEVEL_AS_RECORDED;
    }
    void read_on(trib_event &event) const {
        if (reading_.tenant == TENANT_PROCESS)
            event.who.tenant = static_cast<uint16_t>(event.thread >> THREAD_BITS);
        if (reading_.level == LEVEL_HINT && event.who.file_kind == TRIB_FILE_SST)
            event.who.level = level_of_hint(event.who.write_hint);
    }

    TraceReading reading_;
    TraceFile trace_;
    trib_trace_item item_ = {};
};

// Two of our traces at once: the one that is less far by its bytes goes on. What the second says of
// its program besides events is left out; its files, tenants and threads get numbers of their own.
class PairSource : public EventSource {
  public:
    PairSource(const SourceSpec &first, const SourceSpec &second) : sides_{Side(first), Side(second)} {
    }
    bool next() override {
        do {
            side_ = sides_[0].is_behind(sides_[1]) ? 0 : 1;
            if (sides_[side_].has_ended)
                return false;
            sides_[side_].has_ended = !sides_[side_].source.next();
        } while (sides_[side_].has_ended || is_left_out(sides_[side_].source.item()));
        item_ = sides_[side_].source.item();
        if (item_.kind == TRIB_TRACE_EVENT)
            join(item_.event);
        return true;
    }
    const trib_trace_item &item() const override {
        return item_;
    }
    uint64_t position_bytes() const override {
        return sides_[0].source.position_bytes() + sides_[1].source.position_bytes();
    }
    uint64_t size_bytes() const override {
        return sides_[0].source.size_bytes() + sides_[1].source.size_bytes();
    }
    bool was_truncated() const override {
        return sides_[0].source.was_truncated() || sides_[1].source.was_truncated();
    }

  private:
    struct Side {
        explicit Side(const SourceSpec &spec) : source(spec) {
        }
        double share() const {
            return static_cast<double>(source.position_bytes()) / static_cast<double>(source.size_bytes());
        }
        bool is_behind(const Side &other) const {
            return !has_ended && (other.has_ended || share() <= other.share());
        }
        TraceSource source;
        bool has_ended = false;
    };
    bool is_left_out(const trib_trace_item &item) const {
        return side_ == 1 && item.kind != TRIB_TRACE_EVENT;
    }
    void join(trib_event &event) {
        if (side_ == 1) {
            event.file = event.file ? ~event.file : 0;
            event.who.tenant |= 0x8000;
            event.thread |= 0x80000000;
        }
        event.clock_bytes = clock_bytes_;
        if (event.kind == TRIB_EVENT_WRITE)
            clock_bytes_ += event.length_bytes;
    }

    Side sides_[2];
    unsigned side_ = 0;
    uint64_t clock_bytes_ = 0;
    trib_trace_item item_ = {};
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
    const char *what() const override {
        return "workload";
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

const trib_option_spec trace_reading_options[] = {
    {"tenant", "recorded", "recorded|process",
     "who is a tenant, for salt=tenant: as recorded (in a session the program), or each process "
     "of a session",
     0, 0, offsetof(TraceReading, tenant), TRIB_OPTION_ENUM},
    {"level", "recorded", "recorded|hint",
     "of table files: as recorded, or as RocksDB's write hints say (MEDIUM 1, LONG 2, "
     "EXTREME 3)",
     0, 0, offsetof(TraceReading, level), TRIB_OPTION_ENUM},
    {}};

std::string source_formats() {
    return "auto|trib|experiment|workload|" + import_formats();
}

std::unique_ptr<EventSource> open_source(const SourceSpec &given) {
    SourceSpec spec = given;
    if (spec.format == "experiment" || (spec.format == "auto" && is_experiment(spec.path))) {
        Experiment experiment = load_experiment(spec.path);
        if (!experiment.workload.empty())
            return std::make_unique<WorkloadSource>("experiment '" + experiment.path + "'", experiment.workload,
                                                    experiment.workload_options);
        spec.path = experiment.trace;
        spec.format = experiment.format;
        OptionText options;
        options.merge(experiment.import_options);
        options.merge(given.import_options);
        spec.import_options = options.text();
        if (!experiment.beside.empty()) {
            SourceSpec beside = spec;
            beside.path = experiment.beside;
            return std::make_unique<PairSource>(spec, beside);
        }
    }
    if (spec.format == "workload")
        return std::make_unique<WorkloadSource>("workload " + spec.path, spec.path, spec.import_options);
    if (spec.format == "auto")
        spec.format = recognised_format(spec.path);
    if (spec.format == "trib")
        return std::make_unique<TraceSource>(spec);
    if (!trib_import_find(spec.format.c_str(), nullptr))
        throw Failure(EXIT_USAGE, fmt::format("unknown format '{}'; valid are {}", spec.format, source_formats()));
    return open_import(spec);
}

} // namespace cli
