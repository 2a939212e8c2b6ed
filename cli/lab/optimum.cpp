// SPDX-License-Identifier: Apache-2.0
#include "lab/optimum.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "common/failure.h"
#include "lab/theory.h"
#include "workload/workload.h"

namespace cli {

namespace {

// Ranks of a Zipf law in groups of geometrically growing size: their heat differs by less than 5 %
// within a group, and finer ones change the third digit no more.
constexpr double GROUP_GROWTH = 1.05;

// Of a workload as given, or its default.
double number_of(const Experiment &experiment, const char *key) {
    OptionText given;
    given.merge(experiment.workload_options);
    if (given.has(key))
        return std::strtod(given.get(key).c_str(), nullptr);
    const trib_workload_kind *kind = trib_workload_find(experiment.workload.c_str(), nullptr);
    for (const trib_option_spec *spec = kind ? kind->options : nullptr; spec && spec->key; spec++)
        if (!std::strcmp(spec->key, key))
            return std::strtod(spec->fallback, nullptr);
    return 0;
}

uint64_t size_bytes(const Experiment &experiment) {
    trib_workload *workload = nullptr;
    trib_error error = {};
    int rc = trib_workload_open(&workload, experiment.workload.c_str(), experiment.workload_options.c_str(), &error);
    if (rc)
        throw core_failure(rc, error.text);
    trib_workload_description description = {};
    trib_workload_describe(workload, &description);
    trib_workload_close(workload);
    return description.size_bytes;
}

std::vector<theory::Group> zipf_groups(double pages, double exponent) {
    std::vector<theory::Group> groups;
    double total = 0;
    for (double first = 1; first <= pages;) {
        double end = std::min(pages + 1, std::ceil(first * GROUP_GROWTH + 0.5));
        double traffic = 0;
        for (double rank = first; rank < end; rank++)
            traffic += std::pow(rank, -exponent);
        groups.push_back({traffic, (end - first) / pages});
        total += traffic;
        first = end;
    }
    for (theory::Group &group : groups)
        group.traffic /= total;
    return groups;
}

} // namespace

double optimum_waf(const Experiment &experiment, const trib_drive_report &drive, double cold_bytes) {
    const std::string &name = experiment.workload;
    bool known = name == "uniform" || name == "hotcold" || name == "zipf";
    if (!known || number_of(experiment, "shift_at") > 0)
        return -1;
    auto unit = static_cast<double>(drive.reclaim_unit_bytes);
    double pages = unit / TRIB_BLOCK_BYTES;
    auto live = static_cast<double>(size_bytes(experiment));
    // Held back: the free superblock that only collection may use.
    double alpha = (static_cast<double>(drive.physical_bytes) - cold_bytes - unit) / live;
    if (alpha <= 1)
        return -1;
    if (name == "uniform")
        return theory::greedy(alpha, pages);
    if (name == "zipf")
        return theory::separated(alpha, zipf_groups(live / TRIB_BLOCK_BYTES, number_of(experiment, "exponent")));
    double size = number_of(experiment, "hot_size") / 100;
    double share = number_of(experiment, "hot_share") / 100;
    return theory::separated_greedy(alpha, {share, size}, {1 - share, 1 - size}, pages);
}

} // namespace cli
