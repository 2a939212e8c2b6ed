// SPDX-License-Identifier: Apache-2.0
// docs/formats/matrix-json.md
#include "lab/matrix.h"

#include <fmt/format.h>
#include <tributary/policy.h>

#include "lab/cluster_cost.h"

namespace cli {

namespace {

constexpr int MATRIX_JSON_VERSION = 1;

Json positive_or_null(double value) {
    return value > 0 ? Json(value) : Json(nullptr);
}

Json json_workload(const MatrixWorkload &workload) {
    Json json = {{"name", workload.experiment.name}, {"summary", workload.experiment.summary}};
    json["options"] = workload.source.import_options;
    json["drive"] = workload.drive.text();
    json["host_bytes"] = workload.survey.host_bytes;
    json["peak_live_bytes"] = workload.survey.peak_live_bytes;
    json["optimum_waf"] = positive_or_null(workload.optimum_waf);
    return json;
}

Json json_series(const std::vector<Sample> &samples) {
    Json series = Json::array();
    Sample before;
    for (const Sample &sample : samples) {
        uint64_t host = sample.host_pages - before.host_pages;
        uint64_t flash = sample.flash_pages - before.flash_pages;
        Json waf = host ? Json(static_cast<double>(flash) / static_cast<double>(host)) : Json(nullptr);
        series.push_back({{"host_bytes", sample.host_bytes}, {"waf_window", waf}});
        before = sample;
    }
    return series;
}

Json json_cell(const Matrix &matrix, const MatrixCell &cell) {
    const RowSpec &row = matrix.rows[cell.row];
    Json json = {{"workload", matrix.workloads[cell.workload].experiment.name},
                 {"policy", row.policy},
                 {"gc", cell.gc},
                 {"victim", cell.victim},
                 {"waf", positive_or_null(cell.waf)},
                 {"waf_steady", positive_or_null(cell.waf_steady)},
                 {"gc_pages", cell.gc_pages},
                 {"metadata_pages", cell.metadata_pages},
                 {"place_ns", cell.place_ns},
                 {"state_bytes", cell.state_bytes},
                 {"streams_used", cell.streams_used}};
    json["label"] = row.label;
    json["options"] = cell.options;
    json["own_gc"] = cell.own_gc;
    json["bound"] = is_bound(row);
    json["by_address"] = (trib_policy_find(row.policy.c_str(), nullptr)->needs & TRIB_NEEDS_LBA) != 0;
    json["missing"] = cell.missing.empty() ? Json(nullptr) : Json(cell.missing);
    json["host_pages"] = cell.host_pages;
    json["erases"] = cell.erases;
    json["died_ns"] = cell.died_ns;
    json["signatures"] = cell.signatures;
    json["reclusterings"] = cell.reclusterings;
    json["capacity_bytes"] = cell.capacity_bytes;
    json["series"] = json_series(cell.samples);
    return json;
}

} // namespace

Json matrix_json(const Matrix &matrix) {
    Json json = {{"version", MATRIX_JSON_VERSION}, {"command", "lab matrix"}};
    json["workloads"] = Json::array();
    for (const MatrixWorkload &workload : matrix.workloads)
        json["workloads"].push_back(json_workload(workload));
    json["rows"] = Json::array();
    for (const MatrixCell &cell : matrix.cells)
        json["rows"].push_back(json_cell(matrix, cell));
    json["clustering"] = Json::array();
    for (const ClusterCost &cost : cluster_costs())
        json["clustering"].push_back({{"method", cost.method},
                                      {"signatures", cost.signatures},
                                      {"clusters", cost.clusters},
                                      {"milliseconds", cost.milliseconds}});
    json["failures"] = matrix.failures;
    return json;
}

} // namespace cli
