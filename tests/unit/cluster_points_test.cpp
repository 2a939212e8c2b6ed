// SPDX-License-Identifier: Apache-2.0
// k-means of weighted points: what points.h promises, by hand and over random inputs.
#include "support/catch.hpp"
#include "support/events.hpp"

#include "cluster/points.h"

#include <algorithm>
#include <set>
#include <vector>

using namespace trib_test;

namespace {

struct Clusters {
    uint32_t used;
    std::vector<uint32_t> labels;
    std::vector<double> centroids;
};

trib_points points_of(const std::vector<double> &values, const std::vector<double> &weights, uint32_t dimensions,
                      uint32_t clusters) {
    return {values.data(), weights.data(), uint32_t(weights.size()), dimensions, clusters};
}

Clusters cluster(const std::vector<double> &values, const std::vector<double> &weights, uint32_t dimensions,
                 uint32_t clusters, uint32_t rounds = 100) {
    const trib_points points = points_of(values, weights, dimensions, clusters);
    Clusters result{0, std::vector<uint32_t>(points.count, UINT32_MAX),
                    std::vector<double>(size_t{clusters} * dimensions, -1)};
    result.used = trib_cluster_points(&points, rounds, result.labels.data(), result.centroids.data());
    result.centroids.resize(size_t{result.used} * dimensions);
    return result;
}

double cost(const std::vector<double> &values, const std::vector<double> &weights, uint32_t dimensions,
            const Clusters &clusters) {
    double sum = 0;
    for (size_t i = 0; i < weights.size(); i++)
        for (uint32_t d = 0; d < dimensions; d++) {
            const double distance =
                values[i * dimensions + d] - clusters.centroids[clusters.labels[i] * dimensions + d];
            sum += weights[i] * distance * distance;
        }
    return sum;
}

using Labels = std::vector<uint32_t>;

} // namespace

TEST_CASE("the four corners of a square, each its own, named by distance from the origin") {
    const auto found = cluster({1, 1, 0, 1, 0, 0, 1, 0}, {1, 1, 1, 1}, 2, 4);
    REQUIRE(found.used == 4);
    // (0 0), then (0 1) before (1 0) by the first coordinate, then (1 1).
    REQUIRE(found.labels == Labels{3, 1, 0, 2});
}

TEST_CASE("fewer distinct points than clusters: no cluster is made up") {
    const auto found = cluster({5, 5, 2, 5, 2}, {1, 1, 1, 1, 1}, 1, 16);
    REQUIRE(found.used == 2);
    REQUIRE(found.labels == Labels{1, 1, 0, 1, 0});
    REQUIRE(found.centroids == std::vector<double>{2, 5});
}

TEST_CASE("a cluster that has lost its last point has no number") {
    const std::vector<double> values = {9, 1}, weights = {1, 1};
    const trib_points points = points_of(values, weights, 1, 3);
    Labels labels = {2, 0};
    std::vector<double> centroids = {1, 5, 9};
    REQUIRE(trib_points_order(&points, 3, labels.data(), centroids.data()) == 2);
    REQUIRE(labels == Labels{1, 0});
    REQUIRE(centroids[0] == 1);
    REQUIRE(centroids[1] == 9);
}

TEST_CASE("centres as far from the origin as each other come in the order of their coordinates") {
    const auto found = cluster({1, 0, 0, 1}, {2, 1}, 2, 2); // the first is the first seed
    REQUIRE(found.labels == Labels{1, 0});
    REQUIRE(found.centroids == std::vector<double>{0, 1, 1, 0});
}

TEST_CASE("weights pull: the same points, another cut") {
    // k = 2. Equal weights: {0 4} costs 8, {4 10} 18. With weights 100 10 1: {0 4} costs
    // 100 * 10 / 110 * 16 = 145, {4 10} 10 * 1 / 11 * 36 = 33.
    REQUIRE(cluster({0, 4, 10}, {1, 1, 1}, 1, 2).labels == Labels{0, 0, 1});
    const auto heavy = cluster({0, 4, 10}, {100, 10, 1}, 1, 2);
    REQUIRE(heavy.labels == Labels{0, 1, 1});
    REQUIRE(heavy.centroids[0] == 0);
    REQUIRE(heavy.centroids[1] == Approx(50.0 / 11));
}

TEST_CASE("seeds: the heaviest point, then where weight times squared distance is greatest") {
    const std::vector<double> values = {0, 3, 4, 10}, weights = {1, 5, 30, 2};
    const trib_points points = points_of(values, weights, 1, 3);
    Labels labels(4);
    std::vector<double> centroids(3);
    REQUIRE(trib_points_seed(&points, labels.data(), centroids.data()) == 3);
    // From 4: 0 costs 16, 3 costs 5, 10 costs 72. Then 0: 16.
    REQUIRE(centroids == std::vector<double>{4, 10, 0});
    REQUIRE(labels == Labels{2, 0, 0, 1});
}

TEST_CASE("a round never raises the cost, and one that changes no label is the last") {
    const uint64_t seed = GENERATE(range(1, 30));
    Random random(seed);
    const uint32_t dimensions = 1 + uint32_t(random.below(4)), k = 1 + uint32_t(random.below(16));
    const size_t count = 1 + random.below(200);
    std::vector<double> values(count * dimensions), weights(count);
    for (double &value : values)
        value = double(random.below(10)) / 9; // duplicates are the rule, as in a feature matrix
    for (double &weight : weights)
        weight = 1 + double(random.below(1000));
    const trib_points points = points_of(values, weights, dimensions, k);

    Clusters clusters{0, Labels(count), std::vector<double>(size_t{k} * dimensions)};
    clusters.used = trib_points_seed(&points, clusters.labels.data(), clusters.centroids.data());
    REQUIRE(clusters.used <= k);
    double before = cost(values, weights, dimensions, clusters);
    for (int round = 0; round < 200; round++) {
        const bool moved = trib_points_round(&points, clusters.used, clusters.labels.data(), clusters.centroids.data());
        const double after = cost(values, weights, dimensions, clusters);
        REQUIRE(after <= before + 1e-9);
        before = after;
        if (!moved)
            break;
        REQUIRE(round < 199);
    }
    const Labels settled = clusters.labels;
    trib_points_round(&points, clusters.used, clusters.labels.data(), clusters.centroids.data());
    REQUIRE(clusters.labels == settled);
    const double unnamed = before;
    clusters.used = trib_points_order(&points, clusters.used, clusters.labels.data(), clusters.centroids.data());
    REQUIRE(cost(values, weights, dimensions, clusters) == Approx(unnamed).margin(1e-9));
    const std::set<uint32_t> names(clusters.labels.begin(), clusters.labels.end());
    REQUIRE(names.size() == clusters.used); // none is empty
    REQUIRE(*names.rbegin() == clusters.used - 1);
    double last = -1;
    for (uint32_t c = 0; c < clusters.used; c++) {
        double norm = 0;
        for (uint32_t d = 0; d < dimensions; d++)
            norm += clusters.centroids[c * dimensions + d] * clusters.centroids[c * dimensions + d];
        REQUIRE(norm >= last - 1e-12);
        last = norm;
    }
    const auto again = cluster(values, weights, dimensions, k, 200);
    REQUIRE(again.labels == clusters.labels); // and the same every time
}
