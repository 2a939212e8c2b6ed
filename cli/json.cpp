// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>

#include <tributary/page.h>

#include "failure.h"

namespace cli {

namespace {
// A report shows the heavy writers; thousands of one-off paths would only make the file large.
constexpr size_t SIGNATURE_ROWS_MAX = 256;

template <size_t N> const char *name_at(const char *const (&names)[N], unsigned index, const char *otherwise) {
    return index < N && names[index] ? names[index] : otherwise;
}

Json positive_or_null(double value) {
    return value > 0 && std::isfinite(value) ? Json(value) : Json(nullptr);
}

// Paths and symbols come from a file; text that is not UTF-8 must not break the document.
std::string dumped(const Json &json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}
} // namespace

const char *file_kind_name(uint8_t kind) {
    static const char *const names[] = {"unknown",      "wal",        "sst",      "blob",     "manifest",
                                        "options",      "log",        "current",  "temp",     "other",
                                        "cold",         "sst-index",  "sst-meta", "database", "journal",
                                        "intermediate", "build-note", "object",   "linked"};
    static_assert(std::size(names) == TRIB_FILE_KIND_COUNT, "a name for each kind");
    return name_at(names, kind, "unknown");
}

const char *write_hint_name(uint8_t hint) {
    static const char *const names[] = {"not-set", "none", "short", "medium", "long", "extreme"};
    return name_at(names, hint, "not-set");
}

const char *event_kind_name(uint8_t kind) {
    static const char *const names[] = {nullptr, "write", "death", nullptr, "sync", "read"};
    return name_at(names, kind, "unknown");
}

const char *cause_name(uint8_t cause) {
    static const char *const deaths[] = {"none", "overwrite", "trim", "unlink", "truncate", "rename-over", "reuse"};
    static const char *const syncs[] = {"fsync", "range-sync", "close"};
    return cause < TRIB_CAUSE_FSYNC ? name_at(deaths, cause, "none") : name_at(syncs, cause - TRIB_CAUSE_FSYNC, "none");
}

Json json_of(const Histogram &lifetimes) {
    if (lifetimes.weight() == 0)
        return nullptr;
    return {{"p10", lifetimes.quantile(0.10)}, {"p25", lifetimes.quantile(0.25)}, {"p50", lifetimes.quantile(0.50)},
            {"p75", lifetimes.quantile(0.75)}, {"p90", lifetimes.quantile(0.90)}, {"mean", lifetimes.mean()}};
}

Json json_of(const trib_context &who) {
    Json json = {{"file_kind", file_kind_name(who.file_kind)}, {"write_hint", write_hint_name(who.write_hint)}};
    json["io_activity"] = who.io_activity == TRIB_ACTIVITY_UNKNOWN ? Json(nullptr) : Json(who.io_activity);
    if (trib_page_is(&who)) {
        json["page_class"] = trib_page_class_name(trib_page_class_of(&who));
        json["page_modifications_log2"] = trib_page_logarithm_of(&who);
    }
    json["level"] = who.level == TRIB_LEVEL_UNKNOWN ? Json(nullptr) : Json(who.level);
    json["column_family"] = who.column_family ? Json(fmt::format("{:#06x}", who.column_family)) : Json(nullptr);
    json["tenant"] = who.tenant;
    return json;
}

Json json_trace(const std::string &path, const Survey &survey) {
    return {{"file", path},
            {"events", survey.events},
            {"host_bytes", survey.host_bytes},
            {"peak_live_bytes", survey.peak_live_bytes},
            {"files", survey.files},
            {"dropped_events", survey.dropped_events},
            {"dropped_bytes", survey.dropped_bytes},
            {"truncated", survey.truncated}};
}

static Json json_series(const std::vector<Sample> &samples) {
    Json series = Json::array();
    Sample before;
    for (const Sample &sample : samples) {
        auto waf = [&](const Sample &from) -> Json {
            uint64_t host = sample.host_pages - from.host_pages;
            uint64_t flash = sample.flash_pages - from.flash_pages;
            return host ? Json(static_cast<double>(flash) / static_cast<double>(host)) : Json(nullptr);
        };
        series.push_back({{"host_bytes", sample.host_bytes},
                          {"waf", waf(Sample())},
                          {"waf_window", waf(before)},
                          {"stream_bytes", sample.stream_bytes}});
        before = sample;
    }
    return series;
}

static void add_tally(Json &json, const Tally &tally) {
    json["written_bytes"] = tally.written_bytes;
    json["died_bytes"] = tally.died_bytes;
    json["live_bytes"] = tally.live_bytes;
    json["lifetime"] = json_of(tally.lifetimes);
}

static Json json_signature(const SignatureTally &row, const Dictionary &dictionary) {
    Json json;
    json["key"] = fmt::format("{:#018x}", row.key);
    json["signature"] = fmt::format("{:#018x}", row.who.signature);
    json["who"] = json_of(row.who);
    json["frames"] = dictionary.frames(row.who.signature);
    add_tally(json, row);
    json["stream"] = row.stream;
    return json;
}

void add_run(Json &row, const RunResult &run, const Dictionary &dictionary) {
    row["waf"] = positive_or_null(run.waf);
    row["waf_steady"] = positive_or_null(run.waf_steady);
    row["host_pages"] = run.drive.host_pages;
    row["gc_pages"] = run.drive.gc_pages;
    row["metadata_pages"] = run.drive.metadata_pages;
    row["erases"] = run.drive.erases;
    row["iops_sim"] = positive_or_null(run.iops);
    row["streams_used"] = run.streams.size();
    row["open_units_peak"] = run.drive.open_units_peak;
    row["reclusterings"] = run.status.reclusterings;
    row["virtual_seconds"] = run.drive.virtual_seconds;
    row["drive_errors"] = run.status.drive_errors;
    row["runs_dropped"] = run.status.runs_dropped;
    row["attributes_evicted"] = run.status.attributes_evicted;
    row["series"] = json_series(run.samples);
    Json &streams = row["streams"] = Json::array();
    for (const StreamTally &stream : run.streams) {
        Json json = {{"stream", stream.stream}};
        add_tally(json, stream);
        streams.push_back(std::move(json));
    }
    Json &signatures = row["signatures"] = Json::array();
    size_t shown = std::min(run.signatures.size(), SIGNATURE_ROWS_MAX);
    for (size_t i = 0; i < shown; i++)
        signatures.push_back(json_signature(run.signatures[i], dictionary));
    row["signatures_omitted"] = run.signatures.size() - shown;
}

static Failure write_failure(const std::string &path, const std::string &file) {
    int error = errno;
    if (file != path)
        std::remove(file.c_str());
    return Failure(EXIT_RUNTIME, "cannot write '" + path + "': " + core_failure(-error, "").what());
}

void write_json(const Json &json, const std::string &path) {
    write_text(dumped(json), path);
}

void write_text(const std::string &text, const std::string &path) {
    if (path.empty() || path == "-") {
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            throw Failure(EXIT_RUNTIME, std::string("cannot write to standard output: ") + std::strerror(errno));
        return;
    }
    // A pipe or device cannot be replaced, only written.
    bool replaces = !std::filesystem::exists(path) || std::filesystem::is_regular_file(path);
    std::string part = replaces ? path + ".part" : path;
    FILE *out = std::fopen(part.c_str(), "w");
    if (!out)
        throw write_failure(path, part);
    bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
    bool closed = std::fclose(out) == 0;
    if (!written || !closed || (replaces && std::rename(part.c_str(), path.c_str()) != 0))
        throw write_failure(path, part);
}

} // namespace cli
