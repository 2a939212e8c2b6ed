// SPDX-License-Identifier: Apache-2.0
#include "lab/reproduce_fast19.h"

#include <algorithm>
#include <fmt/format.h>

namespace cli {

const std::vector<Scheme> FAST19_SCHEMES = {{"Baseline", "policy=none"},
                                            {"AutoStream", "policy=autostream-mq"},
                                            {"PCStream", "policy=pcstream"},
                                            {"Manual", "policy=manual"}};

std::vector<Finding> judge_internal_streams(const std::vector<std::string> &works, const TrialResults &results) {
    static const double cuts[] = {25, 22, 17, 12};
    std::vector<Finding> found;
    double cut_before = 1e9, mean_plain[4] = {}, mean_with[4] = {};
    auto count = static_cast<double>(works.size());
    for (size_t i = 0; i < FAST19_SCHEMES.size(); i++) {
        const std::string scheme = FAST19_SCHEMES[i].name;
        double cut = 0;
        for (const std::string &work : works) {
            std::string name = work + " " + scheme;
            double plain = results.waf(name), with = results.waf(name + "+int");
            cut += 100 * (1 - with / plain) / count;
            mean_plain[i] += plain / count;
            mean_with[i] += with / count;
            found.push_back(finding(name + ", WAF", plain, NO_VALUE, REPORTED, true));
            if (plain > 1.2)
                found.push_back(
                    finding(name + ", cut in %", 100 * (1 - with / plain), NO_VALUE, "above 3", with < 0.97 * plain));
        }
        found.push_back(finding(scheme + ", mean cut in %", cut, cuts[i], i ? "<= scheme before" : "the largest",
                                cut <= cut_before));
        cut_before = cut;
    }
    double best_plain = std::min(mean_plain[2], mean_plain[3]);
    for (size_t i = 0; i < 2; i++)
        found.push_back(finding(std::string(FAST19_SCHEMES[i].name) + "+int, mean WAF", mean_with[i], NO_VALUE,
                                "> PCStream*, Manual", mean_with[i] > best_plain));
    return found;
}

double unknown_percent(const RunResult &run) {
    double all = 0, unknown = 0;
    for (const StreamTally &stream : run.streams) {
        all += static_cast<double>(stream.written_bytes);
        if (stream.stream == 0)
            unknown = static_cast<double>(stream.written_bytes);
    }
    return 100 * unknown / std::max(1.0, all);
}

std::vector<Finding> judge_table_size(const TableTrials &trials, const TrialResults &results) {
    auto unknown = [&](const std::string &name) { return unknown_percent(results.at(name)); };
    double none = unknown(trials.none), small = unknown(trials.small), full = unknown(trials.full);
    double waf_none = results.waf(trials.none), waf_full = results.waf(trials.full);
    return {
        finding(trials.none + ", S0 in %", none, 16, "the most", none > small),
        finding(trials.small + ", S0 in %", small, 12, "between", small < none && small > full),
        finding(trials.full + ", S0 in %", full, 9, "the least", full < small),
        finding(trials.none + ", WAF", waf_none, 1.96, "above full table's", waf_none > waf_full),
        finding(trials.full + ", WAF", waf_full, 1.54, "<= small table's (1 %)",
                waf_full <= 1.01 * results.waf(trials.small)),
    };
}

} // namespace cli
