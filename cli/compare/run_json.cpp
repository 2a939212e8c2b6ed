// SPDX-License-Identifier: Apache-2.0
#include "compare/run_json.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace cli {

Json json_of(const Histogram &lifetimes) {
    if (lifetimes.weight() == 0)
        return nullptr;
    return {{"p10", lifetimes.quantile(0.10)}, {"p25", lifetimes.quantile(0.25)}, {"p50", lifetimes.quantile(0.50)},
            {"p75", lifetimes.quantile(0.75)}, {"p90", lifetimes.quantile(0.90)}, {"mean", lifetimes.mean()}};
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

namespace {

// A report shows the heavy writers; thousands of one-off paths would only make the file large.
constexpr size_t SIGNATURE_ROWS_MAX = 256;

Json positive_or_null(double value) {
    return value > 0 && std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json json_series(const std::vector<Sample> &samples) {
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

void add_tally(Json &json, const Tally &tally) {
    json["written_bytes"] = tally.written_bytes;
    json["died_bytes"] = tally.died_bytes;
    json["live_bytes"] = tally.live_bytes;
    json["lifetime"] = json_of(tally.lifetimes);
}

Json json_signature(const SignatureTally &row, const Dictionary &dictionary) {
    Json json;
    json["key"] = fmt::format("{:#018x}", row.key);
    json["signature"] = fmt::format("{:#018x}", row.who.signature);
    json["who"] = json_of(row.who);
    json["frames"] = dictionary.frames(row.who.signature);
    add_tally(json, row);
    json["stream"] = row.stream;
    return json;
}

} // namespace

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

} // namespace cli
