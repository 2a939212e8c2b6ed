// SPDX-License-Identifier: Apache-2.0
// One-dimensional clustering: optimality against brute force, rules of cluster.h over every method,
// inputs that break naive code.
#include "support/catch.hpp"
#include "support/events.hpp"

#include "cluster/cluster.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

namespace {

using Method = uint32_t (*)(const trib_cluster_input *, void *, uint32_t *, double *);

struct Named {
    const char *name;
    Method call;
};
const Named METHODS[] = {
    {"exact", trib_cluster_exact}, {"lloyd", trib_cluster_lloyd}, {"agglomerate", trib_cluster_agglomerate}};

struct Result {
    uint32_t used;
    std::vector<uint32_t> labels;
    std::vector<double> centroids;
};

// The workspace is exactly as long as promised, so that a sanitizer sees a byte too many.
Result run(Method method, const std::vector<double> &values, uint32_t k, const std::vector<double> &weights = {}) {
    const trib_cluster_input input{values.data(), weights.empty() ? nullptr : weights.data(), uint32_t(values.size()),
                                   k};
    Result result{0, std::vector<uint32_t>(values.size(), UINT32_MAX), std::vector<double>(k, -1)};
    void *workspace = malloc(trib_cluster_workspace_bytes(input.count, k));
    result.used = method(&input, workspace, result.labels.data(), result.centroids.data());
    free(workspace);
    return result;
}

long double cost_of(const std::vector<double> &values, const std::vector<uint32_t> &labels, uint32_t k,
                    const std::vector<double> &weights = {}) {
    long double cost = 0;
    for (uint32_t c = 0; c < k; c++) {
        long double sum = 0, weight = 0;
        for (size_t i = 0; i < values.size(); i++)
            if (labels[i] == c) {
                const long double w = weights.empty() ? 1 : weights[i];
                sum += w * values[i];
                weight += w;
            }
        for (size_t i = 0; i < values.size(); i++)
            if (labels[i] == c) {
                const long double d = values[i] - sum / weight;
                cost += (weights.empty() ? 1 : weights[i]) * d * d;
            }
    }
    return cost;
}

// Every way to cut the sorted values into at most k intervals.
long double brute_force(const std::vector<double> &values, uint32_t k, const std::vector<double> &weights = {}) {
    std::vector<size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
    long double best = std::numeric_limits<long double>::infinity();
    for (uint32_t cuts = 0; cuts < 1u << (values.size() - 1); cuts++) {
        if (__builtin_popcount(cuts) >= int(k))
            continue;
        std::vector<uint32_t> labels(values.size());
        for (size_t i = 0, label = 0; i < order.size(); i++) {
            labels[order[i]] = uint32_t(label);
            label += cuts >> i & 1;
        }
        best = std::min(best, cost_of(values, labels, k, weights));
    }
    return best;
}

void check_rules(const Result &r, const std::vector<double> &values, uint32_t k,
                 const std::vector<double> &weights = {}) {
    const size_t distinct = std::set<double>(values.begin(), values.end()).size();
    REQUIRE(r.used == std::min<size_t>(k, distinct));
    std::vector<double> low(r.used, INFINITY), high(r.used, -INFINITY), sum(r.used), weight(r.used);
    for (size_t i = 0; i < values.size(); i++) {
        const uint32_t c = r.labels[i];
        REQUIRE(c < r.used);
        low[c] = std::min(low[c], values[i]);
        high[c] = std::max(high[c], values[i]);
    }
    for (size_t i = 0; i < values.size(); i++) {
        const uint32_t c = r.labels[i];
        const double w = weights.empty() ? 1 : weights[i];
        sum[c] += w * (values[i] - low[c]);
        weight[c] += w;
    }
    for (uint32_t c = 0; c < r.used; c++) {
        REQUIRE(low[c] <= high[c]); // none is empty
        REQUIRE(r.centroids[c] >= low[c]);
        REQUIRE(r.centroids[c] <= high[c]);
        REQUIRE(r.centroids[c] == Approx(low[c] + sum[c] / weight[c]).epsilon(1e-9).margin(1e-9));
        if (c)
            REQUIRE(high[c - 1] < low[c]); // intervals, in order
    }
}

} // namespace

TEST_CASE("exact clustering is optimal") {
    trib_test::Random random(1);
    for (int round = 0; round < 400; round++) {
        const size_t n = 1 + random.below(11);
        const uint32_t k = 1 + uint32_t(random.below(6));
        const bool weighted = random.chance(50);
        const uint64_t spread = random.chance(30) ? 6 : 1000000; // many equal values, or few
        std::vector<double> values, weights;
        for (size_t i = 0; i < n; i++) {
            values.push_back(double(random.below(spread)) * (random.chance(20) ? 1000 : 1));
            if (weighted)
                weights.push_back(double(1 + random.below(50)));
        }
        const Result r = run(trib_cluster_exact, values, k, weights);
        check_rules(r, values, k, weights);
        const long double want = brute_force(values, k, weights), got = cost_of(values, r.labels, k, weights);
        REQUIRE(double(got) == Approx(double(want)).epsilon(1e-9).margin(1e-6));
    }
}

TEST_CASE("every method keeps the rules, whatever the order of the values") {
    trib_test::Random random(2);
    for (const auto &method : METHODS) {
        CAPTURE(method.name);
        for (int round = 0; round < 60; round++) {
            const size_t n = 1 + random.below(300);
            const uint32_t k = 1 + uint32_t(random.below(64));
            std::vector<double> values(n), weights(n);
            for (size_t i = 0; i < n; i++) {
                values[i] = std::exp2(double(random.below(4000)) / 100);
                weights[i] = double(1 + random.below(9));
            }
            const Result r = run(method.call, values, k, weights);
            check_rules(r, values, k, weights);
            // Lloyd and agglomeration may be worse than the optimum, never better.
            const Result best = run(trib_cluster_exact, values, k, weights);
            REQUIRE(cost_of(values, r.labels, k, weights) >= cost_of(values, best.labels, k, weights) * (1 - 1e-9L));

            std::vector<double> mirrored(values.rbegin(), values.rend()), back(weights.rbegin(), weights.rend());
            Result m = run(method.call, mirrored, k, back);
            std::reverse(m.labels.begin(), m.labels.end());
            REQUIRE(m.labels == r.labels);
            REQUIRE(run(method.call, values, k, weights).labels == r.labels);
        }
    }
}

TEST_CASE("three far groups are found by every method") {
    const std::vector<double> values{500, 1, 90, 2, 510, 3, 95, 100, 505};
    for (const auto &method : METHODS) {
        CAPTURE(method.name);
        const Result r = run(method.call, values, 3);
        REQUIRE(r.labels == std::vector<uint32_t>{2, 0, 1, 0, 2, 0, 1, 1, 2});
        REQUIRE(r.centroids == std::vector<double>{2, 95, 505});
    }
}

TEST_CASE("the methods differ where they should") {
    // Gaps 2 3 4 5 6. Closest first: 0+2 -> 1; 1+5 (gap 4, a tie with 5+9, smaller first) -> 7/3;
    // 9+14 -> 11.5.
    const std::vector<double> values{0, 2, 5, 9, 14, 20};
    REQUIRE(run(trib_cluster_agglomerate, values, 5).labels == std::vector<uint32_t>{0, 0, 1, 2, 3, 4});
    REQUIRE(run(trib_cluster_agglomerate, values, 4).labels == std::vector<uint32_t>{0, 0, 0, 1, 2, 3});
    REQUIRE(run(trib_cluster_agglomerate, values, 3).labels == std::vector<uint32_t>{0, 0, 0, 1, 1, 2});
    // Squares: {0 2 5}{9 14}{20} costs 12.67 + 12.5, {0 2 5 9}{14}{20} 46, {0 2}{5 9}{14 20} 28, {0
    // 2 5}{9}{14 20} 30.67.
    REQUIRE(run(trib_cluster_exact, values, 3).labels == std::vector<uint32_t>{0, 0, 0, 1, 1, 2});
    // k = 2: {0 2 5 9}{14 20} costs 46 + 18, {0 2 5}{9 14 20} 12.67 + 60.67. Agglomeration:
    // 7/3 11.5 20: gap 8.5 goes first.
    REQUIRE(run(trib_cluster_exact, values, 2).labels == std::vector<uint32_t>{0, 0, 0, 0, 1, 1});
    REQUIRE(run(trib_cluster_agglomerate, values, 2).labels == std::vector<uint32_t>{0, 0, 0, 1, 1, 1});
    // Seeds 2, 14 cut at 8; means 7/3, 14.3 cut at 8.3: Lloyd stays at the local optimum.
    REQUIRE(run(trib_cluster_lloyd, values, 2).labels == std::vector<uint32_t>{0, 0, 0, 1, 1, 1});
}

TEST_CASE("ties are broken as cluster.h says") {
    const std::vector<double> values{2, 0, 1}; // {0}{1 2} and {0 1}{2} cost the same
    REQUIRE(run(trib_cluster_exact, values, 2).labels == std::vector<uint32_t>{1, 0, 1});
    REQUIRE(run(trib_cluster_agglomerate, values, 2).labels == std::vector<uint32_t>{1, 0, 0});
}

TEST_CASE("degenerate inputs") {
    for (const auto &method : METHODS) {
        CAPTURE(method.name);
        for (uint32_t k : {1u, 2u, 8u, 64u}) {
            check_rules(run(method.call, {42}, k), {42}, k);
            check_rules(run(method.call, {0}, k), {0}, k);
            const std::vector<double> equal(1000, 7.25);
            const Result same = run(method.call, equal, k);
            REQUIRE(same.used == 1);
            REQUIRE(same.centroids[0] == 7.25);
            check_rules(run(method.call, {-5, 5, -5, 5}, k), {-5, 5, -5, 5}, k);
        }
    }
}

TEST_CASE("huge magnitudes keep small groups apart") {
    const std::vector<double> values{1e18, 10, 1e18 + 1e15, 12, 5e9, 5e9 + 3, 1e18 + 2e15, 11};
    for (const auto &method : METHODS) {
        CAPTURE(method.name);
        check_rules(run(method.call, values, 4), values, 4);
    }
    const Result r = run(trib_cluster_exact, values, 4);
    // The squares of the large ones outweigh everything: they are cut first.
    REQUIRE(r.labels[0] > r.labels[4]);
    REQUIRE(r.labels[1] == r.labels[3]);
    REQUIRE(r.labels[1] == r.labels[7]);
    // Shifted by 1e18 the values are multiples of 128; the answer is that of the unshifted ones.
    std::vector<double> shifted, plain;
    trib_test::Random random(4);
    for (int i = 0; i < 50; i++) {
        plain.push_back(double(random.below(1000)) * 1024);
        shifted.push_back(1e18 + plain.back());
    }
    REQUIRE(run(trib_cluster_exact, shifted, 5).labels == run(trib_cluster_exact, plain, 5).labels);
}

TEST_CASE("weights are as good as repetitions") {
    const std::vector<double> values{1, 4, 9, 10, 30}, weights{3, 1, 2, 5, 1};
    std::vector<double> repeated;
    for (size_t i = 0; i < values.size(); i++)
        repeated.insert(repeated.end(), size_t(weights[i]), values[i]);
    for (uint32_t k = 1; k <= 5; k++)
        REQUIRE(run(trib_cluster_exact, values, k, weights).centroids ==
                run(trib_cluster_exact, repeated, k).centroids);
}

TEST_CASE("ten thousand values are no trouble") {
    trib_test::Random random(5);
    std::vector<double> values(10000);
    for (auto &value : values)
        value = std::exp2(double(random.below(30000)) / 1000);
    for (const auto &method : METHODS)
        check_rules(run(method.call, values, 64), values, 64);
}

TEST_CASE("Lloyd begins from the middle of each part of the distinct values, which decides where it ends") {
    // Seeds 10 and 100 of 1 2 | 10 | 11 99 100 ...: the middles of the two halves of eight values are the third and the
    // seventh.
    const std::vector<double> values{0, 1, 2, 50, 51, 52, 100, 101};
    // Middles 2 (index 2) and 100 (index 6): cut at 51; means 20.8, 84.3 -> cut 52.6: {0 1 2 50 51 52}{100 101} is
    // stable.
    REQUIRE(run(trib_cluster_lloyd, values, 2).labels == std::vector<uint32_t>{0, 0, 0, 0, 0, 0, 1, 1});
}
