// SPDX-License-Identifier: Apache-2.0
// A state file is looked at through a private copy: opening one repairs and locks it, and
// inspecting must change nothing that a running engine shares.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <tributary/pipeline.h>
#include <tributary/policy.h>

#include "common/failure.h"
#include "common/json.h"
#include "common/table.h"
#include "inspect/inspect.h"

namespace cli {

namespace {

class PrivateCopy {
  public:
    explicit PrivateCopy(const std::string &of) {
        std::error_code error;
        std::filesystem::path folder = std::filesystem::temp_directory_path(error);
        path_ = (error ? std::filesystem::path(".") : folder) / "trib-state-XXXXXX";
        int fd = mkstemp(path_.data());
        if (fd < 0)
            throw Failure(EXIT_RUNTIME, "cannot make a copy at '" + path_ + "': set TMPDIR to a writable folder");
        ::close(fd);
        std::filesystem::copy_file(of, path_, std::filesystem::copy_options::overwrite_existing, error);
        if (error) {
            ::unlink(path_.c_str());
            throw Failure(EXIT_RUNTIME, "cannot copy '" + of + "' to '" + path_ + "': " + error.message());
        }
    }
    ~PrivateCopy() {
        ::unlink(path_.c_str());
    }
    PrivateCopy(const PrivateCopy &) = delete;
    PrivateCopy &operator=(const PrivateCopy &) = delete;
    const std::string &path() const {
        return path_;
    }

  private:
    std::string path_;
};

struct State {
    trib_status status = {};
    std::vector<trib_attribute_report> rows; // most bytes first
};

State read_state(const std::string &path) {
    PrivateCopy copy(path);
    trib_pipeline *opened = nullptr;
    trib_error error = {};
    int rc = trib_pipeline_open(&opened, ("policy=" TRIB_POLICY_BASELINE ",drive=none,state=" + copy.path()).c_str(),
                                false, &error);
    if (rc) // -EINVAL, too, is the file's fault: these options are ours
        throw Failure(EXIT_RUNTIME, "'" + path + "': " + core_failure(rc, error.text).what());
    std::unique_ptr<trib_pipeline, int (*)(trib_pipeline *)> pipeline(opened, trib_pipeline_close);
    State state;
    trib_pipeline_status(opened, &state.status);
    trib_pipeline_visit_attributes(
        opened,
        [](void *arg, const trib_attribute_report *row) {
            static_cast<std::vector<trib_attribute_report> *>(arg)->push_back(*row);
        },
        &state.rows);
    std::sort(state.rows.begin(), state.rows.end(), [](const auto &a, const auto &b) {
        return a.written_bytes != b.written_bytes ? a.written_bytes > b.written_bytes : a.key < b.key;
    });
    return state;
}

void print_state(const std::string &path, const State &state) {
    fmt::print("state    {}\n", path);
    fmt::print("clock    {} written so far\n", size_text(static_cast<double>(state.status.clock_bytes)));
    fmt::print("live     {} in {} extents\n", size_text(static_cast<double>(state.status.live_bytes)),
               grouped(state.status.live_runs));
    fmt::print("table    {} rows, {} evicted\n\n", grouped(state.status.attributes),
               grouped(state.status.attributes_evicted));
    Table table({{"key", Align::left, true},
                 {"kind", Align::left},
                 {"hint", Align::left},
                 {"written"},
                 {"live"},
                 {"lifetime"},
                 {"+-"},
                 {"died"},
                 {"str"}});
    for (const trib_attribute_report &row : state.rows)
        table.add({fmt::format("{:016x}", row.key), file_kind_name(row.who.file_kind),
                   write_hint_name(row.who.write_hint), size_text(static_cast<double>(row.written_bytes)),
                   size_text(static_cast<double>(row.live_bytes)),
                   row.samples ? size_text(row.lifetime_mean_bytes) : "-",
                   row.samples ? size_text(row.lifetime_deviation_bytes) : "-", si(static_cast<double>(row.samples)),
                   "S" + std::to_string(row.stream)});
    fmt::print("{}", table.text(colours_wanted(STDOUT_FILENO)));
    fmt::print("{}", wrapped("", "lifetime: mean of those that died, in host bytes, and its "
                                 "deviation; died: how many."));
}

Json json_state(const std::string &path, const State &state) {
    Json json = {{"version", COMPARE_JSON_VERSION},
                 {"command", "inspect"},
                 {"kind", "state"},
                 {"file", path},
                 {"clock_bytes", state.status.clock_bytes},
                 {"live_bytes", state.status.live_bytes},
                 {"live_runs", state.status.live_runs},
                 {"attributes", state.status.attributes},
                 {"attributes_evicted", state.status.attributes_evicted}};
    Json &rows = json["rows"] = Json::array();
    for (const trib_attribute_report &row : state.rows) {
        Json out = {{"key", fmt::format("{:#018x}", row.key)},
                    {"signature", fmt::format("{:#018x}", row.who.signature)},
                    {"who", json_of(row.who)},
                    {"written_bytes", row.written_bytes},
                    {"died_bytes", row.died_bytes},
                    {"live_bytes", row.live_bytes}};
        out["lifetime_mean_bytes"] = row.samples ? Json(row.lifetime_mean_bytes) : Json(nullptr);
        out["lifetime_deviation_bytes"] = row.samples ? Json(row.lifetime_deviation_bytes) : Json(nullptr);
        out["samples"] = row.samples;
        out["stream"] = row.stream;
        rows.push_back(std::move(out));
    }
    return json;
}

} // namespace

void inspect_state(const InspectOptions &options) {
    if (options.events)
        throw Failure(EXIT_USAGE, "a state file has no events; leave out --events");
    State state = read_state(options.file);
    if (options.json)
        write_json(json_state(options.file, state), "");
    else
        print_state(options.file, state);
}

} // namespace cli
