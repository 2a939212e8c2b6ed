// SPDX-License-Identifier: Apache-2.0
// What grouping signatures into streams costs, by how many there are. One thread.
#pragma once

#include <cstdint>
#include <vector>

namespace cli {

struct ClusterCost {
    const char *method;
    uint32_t signatures, clusters;
    double milliseconds; // median of a few runs
};

constexpr uint32_t CLUSTER_COUNTS[] = {10, 100, 1000, 10000, 100000};

// Lifetimes spread over six decades, as call paths have them, into 8 clusters, by every method.
std::vector<ClusterCost> cluster_costs();

} // namespace cli
