// SPDX-License-Identifier: Apache-2.0
#include "lab/cluster_cost.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "cluster/cluster.h"

namespace cli {

namespace {

constexpr uint32_t CLUSTERS = 8;
constexpr double DECADES = 6, ENOUGH_SECONDS = 0.03;
constexpr size_t RUNS_MOST = 21;

using Method = uint32_t (*)(const trib_cluster_input *, void *, uint32_t *, double *);

double median_milliseconds(Method method, const std::vector<double> &values) {
    using Clock = std::chrono::steady_clock;
    auto count = static_cast<uint32_t>(values.size());
    std::vector<char> workspace(trib_cluster_workspace_bytes(count, CLUSTERS));
    std::vector<uint32_t> labels(count);
    double centroids[CLUSTERS];
    trib_cluster_input input = {values.data(), nullptr, count, CLUSTERS};
    std::vector<double> samples;
    double spent = 0;
    while (samples.size() < RUNS_MOST && (samples.empty() || spent < ENOUGH_SECONDS)) {
        Clock::time_point begin = Clock::now();
        method(&input, workspace.data(), labels.data(), centroids);
        double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        samples.push_back(seconds * 1000);
        spent += seconds;
    }
    std::nth_element(samples.begin(), samples.begin() + static_cast<long>(samples.size() / 2), samples.end());
    return samples[samples.size() / 2];
}

} // namespace

std::vector<ClusterCost> cluster_costs() {
    const struct {
        const char *name;
        Method method;
    } methods[] = {
        {"exact", trib_cluster_exact}, {"lloyd", trib_cluster_lloyd}, {"agglomerate", trib_cluster_agglomerate}};
    std::vector<ClusterCost> costs;
    for (const auto &method : methods)
        for (uint32_t count : CLUSTER_COUNTS) {
            std::mt19937_64 random(count);
            std::vector<double> values(count);
            for (double &value : values)
                value = 4096 * std::pow(10, DECADES * static_cast<double>(random() >> 11) * 0x1p-53);
            costs.push_back({method.name, count, CLUSTERS, median_milliseconds(method.method, values)});
        }
    return costs;
}

} // namespace cli
