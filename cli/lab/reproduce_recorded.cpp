// SPDX-License-Identifier: Apache-2.0
// FAST'19 on traces of real programs, recorded by bench/loads/record and bench/record: db_bench,
// SQLite under TPC-C, GCC building a kernel, and two of them at once.
#include "lab/reproduce_fast19.h"

#include <algorithm>
#include <fmt/format.h>

namespace cli {

namespace {

struct Recording {
    const char *name, *experiment, *manual; // manual: its table
    bool is_complex;                        // more call paths than streams, says the paper
    double cut_least;                       // of AutoStream's WAF-1, percent
};

const Recording RECORDINGS[] = {{"RocksDB", "db-update.ini", "level", false, 0},
                                {"SQLite", "sqlite-tpcc.ini", "sqlite", false, 0},
                                {"GCC", "gcc-kernel.ini", "gcc", true, 0},
                                {"Mixed 1", "mixed1.ini", "mixed1", true, 60},
                                {"Mixed 2", "mixed2.ini", "mixed2", true, 60}};

const char *const SETTING =
    "recorded live: db_bench (RocksDB), TPC-C (SQLite), a Linux kernel built again and again "
    "(GCC), RocksDB beside GCC (Mixed 1), SQLite beside GCC (Mixed 2); each on the drive of its "
    "experiment, sized to it, 90 % full";

std::string pipeline_of(const Scheme &scheme, const Recording &recording, const char *gc) {
    std::string text = scheme.pipeline;
    if (text == "policy=manual")
        text += std::string(",map=") + recording.manual;
    return text + ",gc=" + gc;
}

// ---- Fig. 9 and 10: IOPS and WAF ----

const Scheme RIVALS[] = {{"Baseline", "policy=none"},
                         {"SFR", "policy=autostream-sfr"},
                         {"MQ", "policy=autostream-mq"},
                         {"PCStream", "policy=pcstream"},
                         {"Manual", "policy=manual"}};

struct Judged {
    double waf_cut, over_baseline, over_auto; // shares; cut: of AutoStream's WAF
};

// AutoStream is the better of its two variants.
Judged judge_rivals(const TrialResults &results, const Recording &recording, std::vector<Finding> &found) {
    const std::string name = recording.name;
    auto waf = [&](const char *scheme) { return results.waf(name + " " + scheme); };
    auto iops = [&](const char *scheme) { return results.at(name + " " + scheme).iops; };
    for (const Scheme &scheme : RIVALS)
        found.push_back(finding(name + " " + scheme.name + ", WAF", waf(scheme.name), NO_VALUE, REPORTED, true));
    double automatic = std::min(waf("SFR"), waf("MQ"));
    double cut = 100 * (1 - (waf("PCStream") - 1) / (automatic - 1));
    found.push_back(finding(name + ", AutoStream's WAF-1 cut in %", cut, NO_VALUE,
                            fmt::format(">= {}", recording.cut_least), cut >= recording.cut_least));
    double against = waf("PCStream") / waf("Manual");
    found.push_back(finding(name + ", PCStream/Manual, WAF", against, NO_VALUE,
                            recording.is_complex ? "below 1" : "at most 1.05",
                            recording.is_complex ? against < 1 : against <= 1.05));
    return {1 - waf("PCStream") / automatic, iops("PCStream") / iops("Baseline") - 1,
            iops("PCStream") / std::max(iops("SFR"), iops("MQ")) - 1};
}

std::vector<Finding> judge_all_rivals(const TrialResults &results) {
    std::vector<Finding> found;
    double cut = 0, over_baseline = 0, over_auto = 0, most_complex = -1, most_simple = -1;
    const double count = std::size(RECORDINGS);
    for (const Recording &recording : RECORDINGS) {
        Judged judged = judge_rivals(results, recording, found);
        cut += 100 * judged.waf_cut / count;
        over_baseline += 100 * judged.over_baseline / count;
        over_auto += 100 * judged.over_auto / count;
        double &most = recording.is_complex ? most_complex : most_simple;
        most = std::max(most, 100 * judged.over_auto);
    }
    found.push_back(finding("WAF against AutoStream, mean cut in %", cut, 49, "above 0", cut > 0));
    found.push_back(finding("IOPS against Baseline, mean gain in %", over_baseline, 45, "above 0", over_baseline > 0));
    found.push_back(finding("IOPS against AutoStream, mean gain in %", over_auto, 28, "above 0", over_auto > 0));
    found.push_back(finding("IOPS against AutoStream, most of the complex loads, %", most_complex, 56,
                            "above that of the others", most_complex > most_simple));
    return found;
}

Reproduction recorded_rivals() {
    Reproduction each = {"fast19-recorded", FAST19, "Fig. 9 and 10 (IOPS, WAF) on real programs",
                         SETTING,           {},     judge_all_rivals};
    for (const Recording &recording : RECORDINGS)
        for (const Scheme &scheme : RIVALS) {
            bool internal = scheme.name == std::string("PCStream");
            each.trials.push_back({std::string(recording.name) + " " + scheme.name, recording.experiment, "",
                                   pipeline_of(scheme, recording, internal ? "twin" : "same") + ",latency=on"});
        }
    return each;
}

// ---- Fig. 12 ----

Reproduction recorded_internal() {
    Reproduction each = {"fast19-recorded-fig12",
                         FAST19,
                         "Fig. 12 (internal streams on four schemes) on real programs",
                         SETTING,
                         {},
                         [](const TrialResults &results) {
                             std::vector<std::string> names;
                             for (const Recording &recording : RECORDINGS)
                                 names.push_back(recording.name);
                             return judge_internal_streams(names, results);
                         }};
    for (const Recording &recording : RECORDINGS)
        for (const Scheme &scheme : FAST19_SCHEMES)
            for (const char *gc : {"same", "twin"})
                each.trials.push_back({std::string(recording.name) + " " + scheme.name + (gc[0] == 't' ? "+int" : ""),
                                       recording.experiment, "", pipeline_of(scheme, recording, gc) + ",latency=on"});
    return each;
}

// ---- Fig. 13: table size ----

// Rows of a table of 4 KB and of 360 KB: 12 bytes each.
const char *const SMALL_TABLE = ",attributes=341", *const LARGE_TABLE = ",attributes=30720";

std::vector<Finding> judge_table(const TrialResults &results) {
    std::vector<Finding> found = judge_table_size({"GCC, no table", "GCC, 4 KB", "GCC, 360 KB"}, results);
    double steady = unknown_percent(results.at("SQLite, 4 KB")) - unknown_percent(results.at("SQLite, 360 KB"));
    found.push_back(finding("SQLite, S0, 4 KB over 360 KB, points", steady, 0, "below 1", steady < 1));
    return found;
}

Reproduction recorded_table() {
    const std::string policy = "policy=pcstream,gc=twin";
    const char *const gcc = "gcc-kernel.ini", *const sqlite = "sqlite-tpcc.ini";
    return {"fast19-recorded-fig13",
            FAST19,
            "Fig. 13 (table size) on real programs",
            "the recorded kernel builds; no table: a call path is forgotten when its process ends",
            {{"GCC, no table", gcc, "tenant=process", policy + ",salt=tenant" + LARGE_TABLE},
             {"GCC, 4 KB", gcc, "", policy + SMALL_TABLE},
             {"GCC, 360 KB", gcc, "", policy + LARGE_TABLE},
             {"SQLite, 4 KB", sqlite, "", policy + SMALL_TABLE},
             {"SQLite, 360 KB", sqlite, "", policy + LARGE_TABLE}},
            judge_table};
}

} // namespace

std::vector<Reproduction> reproductions_on_recordings() {
    return {recorded_rivals(), recorded_internal(), recorded_table()};
}

} // namespace cli
