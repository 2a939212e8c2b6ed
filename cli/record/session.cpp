// SPDX-License-Identifier: Apache-2.0
#include "record/session.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tributary/client.h>
#include <tributary/pipeline.h>

#include "common/failure.h"
#include "common/json.h"
#include "common/option_text.h"
#include "common/output_file.h"
#include "common/table.h"
#include "record/address.h"
#include "record/child.h"
#include "record/lost.h"
#include "record/preload_library.h"

namespace cli {

namespace {

constexpr int SESSION_JSON_VERSION = 1;
constexpr long POLL_MS = 10;
constexpr std::chrono::milliseconds GRACE{100};
constexpr std::chrono::seconds PATIENCE{2}; // before a word on what it waits for

std::string pipeline_options(const SessionOptions &options, const std::string &path) {
    OptionText text;
    text.merge(options.policy, "policy");
    text.merge(options.drive, "drive");
    if (!options.gc.empty())
        text.set("gc", options.gc);
    if (!options.trace.empty())
        text.set("trace", options.trace);
    if (options.users)
        text.set("allow", "*");
    for (const std::string &more : options.set)
        text.merge(more);
    text.set("session", path);
    if (text.get("trace") == "-")
        throw Failure(EXIT_USAGE, "standard output belongs to the command: the trace needs a file");
    if (options.json && is_same_file(*options.json, text.get("trace")))
        throw Failure(EXIT_USAGE, "--json and the trace name one file: '" + *options.json + "'");
    return text.text();
}

class Recorder {
  public:
    explicit Recorder(const std::string &options) {
        trib_error error = {};
        int rc = trib_pipeline_open(&pipeline_, options.c_str(), true, &error);
        if (rc)
            throw core_failure(rc, error.text);
    }
    ~Recorder() {
        trib_pipeline_close(pipeline_);
    }
    Recorder(const Recorder &) = delete;
    Recorder &operator=(const Recorder &) = delete;

    trib_status status() const {
        trib_status status = {};
        trib_pipeline_status(pipeline_, &status);
        return status;
    }
    void drain() {
        trib_pipeline_drain(pipeline_);
    }
    int close() {
        trib_pipeline *pipeline = pipeline_;
        pipeline_ = nullptr;
        return trib_pipeline_close(pipeline);
    }

  private:
    trib_pipeline *pipeline_ = nullptr;
};

// Processes that the command left behind go on being recorded until they end. One that the command forked may join a
// moment after it: a grace for those.
bool wait_for_others(const Recorder &recorder, const Child &child) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now();
    bool is_said = false;
    for (auto idle_since = end; Clock::now() - idle_since < GRACE;) {
        const auto now = Clock::now(); // before the question, which may take a while
        const uint64_t live = recorder.status().processes_live;
        if (live > 0)
            idle_since = now;
        if (live > 0 && !is_said && now - end > PATIENCE) {
            is_said = true;
            fmt::print(stderr,
                       "trib: the command has ended, {} of its processes have not; "
                       "recording goes on until they end or a signal comes\n",
                       live);
        }
        if (child.asked_to_end(POLL_MS))
            return false;
    }
    return true;
}

std::vector<std::string> environment(const std::string &library, const std::string &path) {
    const char *present = std::getenv("LD_PRELOAD"); // NOLINT(concurrency-mt-unsafe): nobody sets it
    std::string preload = library + (present && *present ? std::string(":") + present : "");
    std::vector<std::string> variables = {"LD_PRELOAD=" + preload, "TRIBUTARY_SESSION=" + path};
    if (unsigned filters = trib_client_filters()) // a container's: they let this process do what joining takes
        variables.push_back("TRIBUTARY_FILTERS=" + std::to_string(filters));
    return variables;
}

struct Result {
    int exit_code = 0, closed = 0;
    bool has_ended = true; // all its processes
    trib_status status = {};
    uint64_t starts_uncovered = 0;
    std::string uncovered; // the first such programs
};

// The command, which trib starts, and what its processes said of those that they started.
void add_uncovered(Result &result, const std::string &command) {
    const std::string others = result.status.uncovered;
    result.starts_uncovered = result.status.starts_uncovered + (command.empty() ? 0 : 1);
    result.uncovered = command + (command.empty() || others.empty() ? "" : ", ") + others;
}

void print_summary(const SessionOptions &options, const Result &result, bool has_drive) {
    const trib_status &status = result.status;
    std::string lost;
    if (status.events_dropped)
        lost = fmt::format(", {} lost ({}: {})", grouped(status.events_dropped),
                           size_text(static_cast<double>(status.bytes_dropped)), lost_causes(status));
    std::string trace;
    if (!options.trace.empty())
        trace = fmt::format("; {}, {}", options.trace, size_text(static_cast<double>(status.trace_bytes)));
    fmt::print(stderr, "trib: {}, {}{}, {} written{}\n", counted(status.processes, "process"),
               counted(status.events, "event"), lost, size_text(static_cast<double>(status.written_bytes)), trace);
    if (status.trace_stopped[0])
        fmt::print(stderr, "trib: the trace stopped: {}\n", status.trace_stopped);
    if (has_drive)
        fmt::print(stderr, "trib: {} on {}: WAF {}, {}, placement {} ({})\n", status.policy, status.drive,
                   status.waf > 0 ? fixed(status.waf, 3) : "unknown", counted(status.streams_used, "stream"),
                   trib_placement_name(status.placement), status.evidence);
    if (has_drive && status.drive_errors)
        fmt::print(stderr, "trib: of what came after the first {} the drive refused {}: {}\n",
                   size_text(static_cast<double>(status.drive_refused_from_bytes)),
                   counted(status.drive_errors, "write"), drive_advice(status.drive));
    if (!result.has_ended)
        fmt::print(stderr, "trib: {} still ran when recording ended\n", counted(status.processes_live, "process"));
    if (result.starts_uncovered)
        fmt::print(
            stderr, "trib: not covered, {}: {}; what they write is not in the record{}\n",
            counted(result.starts_uncovered, "start"), result.uncovered,
            result.uncovered.find("(another user)") == std::string::npos ? "" : "; --users records other users', too");
    if (status.joins_refused)
        fmt::print(stderr, "trib: processes tried to join {} in vain; what they wrote meanwhile is not in the record\n",
                   status.joins_refused == 1 ? "once" : grouped(status.joins_refused) + " times");
    else if (status.processes == 0 && !result.starts_uncovered)
        fmt::print(stderr, "trib: no process took part: none wrote a regular file, or none that did could join "
                           "(docs/operations/troubleshooting.md)\n");
    if (result.closed)
        fmt::print(stderr, "trib: the record is not complete: {}\n", std::strerror(-result.closed));
}

Json json_of(const SessionOptions &options, const Result &result, bool has_drive) {
    const trib_status &status = result.status;
    Json json = {{"version", SESSION_JSON_VERSION},
                 {"command", has_drive ? "run" : "record"},
                 {"argv", options.command},
                 {"exit_code", result.exit_code},
                 {"processes", status.processes},
                 {"processes_left", status.processes_live},
                 {"events", status.events},
                 {"events_lost", status.events_dropped},
                 {"bytes_lost", status.bytes_dropped},
                 {"lost_full", status.lost_full},
                 {"lost_killed", status.lost_killed},
                 {"lost_alone", status.lost_alone},
                 {"joins_refused", status.joins_refused},
                 {"written_bytes", status.written_bytes},
                 {"policy", status.policy},
                 {"signatures", status.attributes},
                 {"complete", result.closed == 0 && result.has_ended}};
    if (!options.trace.empty())
        json["trace"] = {{"path", options.trace},
                         {"bytes", status.trace_bytes},
                         {"errors", status.trace_errors},
                         {"stopped", status.trace_stopped}};
    if (result.starts_uncovered)
        json["not_covered"] = {{"starts", result.starts_uncovered}, {"programs", result.uncovered}};
    if (has_drive)
        json["drive"] = {{"name", status.drive},
                         {"waf", status.waf},
                         {"host_pages", status.host_pages},
                         {"gc_pages", status.gc_pages},
                         {"erases", status.erases},
                         {"streams_used", status.streams_used},
                         {"errors", status.drive_errors},
                         {"refused_from_bytes", status.drive_refused_from_bytes},
                         {"placement", trib_placement_name(status.placement)},
                         {"evidence", status.evidence}};
    return json;
}

// The command has ended: its status counts more than our failure.
void write_summary(const SessionOptions &options, const Json &json) {
    try {
        if (options.json)
            write_json(json, *options.json);
    } catch (const Failure &failure) {
        fmt::print(stderr, "trib: {}\n", failure.what());
    }
}

void start(Child &child, const SessionOptions &options, const std::vector<std::string> &environment) {
    int rc = child.start(options.command, environment);
    if (rc)
        throw Failure(static_cast<ExitCode>(rc == ENOENT ? CHILD_NOT_FOUND : CHILD_NOT_EXECUTABLE),
                      options.command[0] + ": " + std::strerror(rc));
}

int run_session(const SessionOptions &options, bool has_drive) {
    if (options.json && (options.json->empty() || *options.json == "-"))
        throw Failure(EXIT_USAGE, "standard output belongs to the command: --json needs a file");
    const std::string library = find_preload(options.preload);
    const std::string path = options.path.empty() ? fresh_address() : options.path;
    Result result;
    const std::string uncovered = not_covered(find_command(options.command[0]));
    Child child;
    Recorder recorder(pipeline_options(options, path));
    start(child, options, environment(library, path));
    result.exit_code = child.wait();
    result.has_ended = options.no_wait ? recorder.status().processes_live == 0 : wait_for_others(recorder, child);
    recorder.drain();
    result.status = recorder.status();
    add_uncovered(result, uncovered);
    result.closed = recorder.close();
    struct stat trace = {};
    if (!options.trace.empty() && stat(options.trace.c_str(), &trace) == 0)
        result.status.trace_bytes = static_cast<uint64_t>(trace.st_size); // closing wrote the rest
    print_summary(options, result, has_drive);
    write_summary(options, json_of(options, result, has_drive));
    return result.exit_code;
}

} // namespace

int record(const SessionOptions &options) {
    return run_session(options, false);
}

int run_under(const SessionOptions &options) {
    return run_session(options, true);
}

} // namespace cli
