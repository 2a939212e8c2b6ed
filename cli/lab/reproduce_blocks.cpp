// SPDX-License-Identifier: Apache-2.0
// FIOS and OFIOS (TOS'22), SepBIT (FAST'22), and the negative controls of all.
#include "lab/reproduce.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <tributary/policy.h>

#include "rivals/fios/fios_select.h"

namespace cli {

namespace {

const char *const FIOS = "Bhimani et al., FIOS, TOS'22";
const char *const SEPBIT = "Wang et al., SepBIT, FAST'22";

// ---- FIOS: features, their selection, chunks ----

// Sixteen streams and 11 % of over-provisioning as in the paper's Table 2.
const char *const FIOS_DRIVE = "op=11,superblock=256K,streams=15,device_streams=15,gc=preserve";
constexpr unsigned FIOS_MIB = 512;
constexpr double FIOS_TIMES = 4;

struct Load {
    const char *name, *workload;
    std::string work;
};

std::vector<Load> fios_loads() {
    return {{"zipf", "zipf", work_of(FIOS_MIB, FIOS_TIMES, "extent=1M")},
            {"80/20", "hotcold", work_of(FIOS_MIB, FIOS_TIMES)},
            {"pages", "wal-pages", work_of(FIOS_MIB, FIOS_TIMES)}};
}

std::string fios_pipeline(const std::string &policy) {
    return "policy=" + policy + "," + full_drive_for(FIOS_MIB, FIOS_DRIVE);
}

const char *const FEATURES[] = {"frequency", "sequentiality", "adjacent", "coherency", "frequency+adjacent"};

std::vector<Finding> judge_features(const TrialResults &results, const char *matrix) {
    std::vector<Finding> found;
    for (const Load &load : fios_loads()) {
        const std::string name = load.name;
        auto relative = [&](const std::string &what) {
            return results.waf(name + " " + what) / results.waf(name + " legacy");
        };
        double best = 1e9, worst = 0, best_single = 1e9;
        for (const char *feature : FEATURES) {
            double waf = relative(feature);
            found.push_back(finding(name + " " + feature + ", WAF/legacy", waf, NO_VALUE, REPORTED, true));
            best = std::min(best, waf);
            worst = std::max(worst, waf);
            if (std::string(feature).find('+') == std::string::npos)
                best_single = std::min(best_single, waf);
        }
        found.push_back(finding(name + " auto, WAF/legacy", relative("auto"), NO_VALUE, "<= frequency (1 %)",
                                relative("auto") <= 1.01 * relative("frequency"), fmt::format("matrix={}", matrix)));
        if (matrix == std::string("decimal"))
            found.push_back(finding(name + " auto, decimal/binary", relative("auto") / relative("auto, binary"),
                                    NO_VALUE, "at most 1", relative("auto") <= relative("auto, binary")));
        found.push_back(finding(name + " auto, cost-benefit victims",
                                results.waf(name + " auto, cost-benefit") / results.waf(name + " legacy, cost-benefit"),
                                NO_VALUE, REPORTED, true));
        found.push_back(finding(name + " best, WAF/legacy", best, 0.8, "at most 0.8", best <= 0.8));
        found.push_back(finding(name + " worst/best single", worst / best_single, NO_VALUE, "above 1",
                                worst > 1.001 * best_single, "not every feature helps every workload"));
    }
    return found;
}

Reproduction fios_features(const char *name, const char *figure, const std::string &matrix) {
    Reproduction each = {name,
                         FIOS,
                         figure,
                         "zipf and 80/20 in extents of 1 MiB, and WAL plus pages stand in for the "
                         "block traces; 569 MiB, 11 % over-provisioned, 16 streams; matrix=" +
                             matrix,
                         {},
                         nullptr};
    each.judge = [matrix](const TrialResults &results) { return judge_features(results, matrix.c_str()); };
    for (const Load &load : fios_loads()) {
        auto add = [&](const std::string &what, const std::string &policy) {
            each.trials.push_back({load.name + (" " + what), load.workload, load.work, fios_pipeline(policy)});
        };
        add("legacy", "none");
        add("auto", "fios,matrix=" + matrix);
        add("auto, binary", "fios,matrix=binary");
        add("legacy, cost-benefit", "none,victim=cost-benefit");
        add("auto, cost-benefit", "fios,victim=cost-benefit,matrix=" + matrix);
        for (const char *feature : FEATURES)
            add(feature, "fios,matrix=" + matrix + ",features=" + feature);
    }
    return each;
}

std::vector<Finding> judge_chunks(const TrialResults &results) {
    std::vector<Finding> found;
    double before = 0, at_32 = results.waf("32K");
    for (const char *chunk : {"8K", "32K", "128K", "512K"}) {
        double waf = results.waf(chunk);
        found.push_back(finding(fmt::format("chunk {}, WAF", chunk), waf, NO_VALUE, ">= smaller chunk (2 %)",
                                waf >= 0.98 * before));
        before = waf;
    }
    found.push_back(finding("WAF at 512K / at 32K", before / at_32, NO_VALUE, "above 1 (knee at 32K)", before > at_32));
    return found;
}

Reproduction fios_chunks() {
    Reproduction each = {"fios-fig13", FIOS, "Fig. 13 (chunk size)", "zipf in extents of 32 KiB, frequency alone", {},
                         judge_chunks};
    for (const char *chunk : {"8K", "32K", "128K", "512K"})
        each.trials.push_back({chunk, "zipf", work_of(FIOS_MIB, FIOS_TIMES, "extent=32K"),
                               fios_pipeline(std::string("fios,matrix=decimal,features=frequency,"
                                                         "chunk=") +
                                             chunk)});
    return each;
}

std::vector<Finding> judge_online(const TrialResults &results) {
    double legacy = results.waf("legacy"), fixed = results.waf("fios"), cut = 0;
    std::vector<Finding> found;
    double before = 0;
    for (const char *n : {"20", "60", "100"}) {
        double waf = results.waf(n);
        found.push_back(finding(fmt::format("OFIOS, n={} %, WAF", n), waf, NO_VALUE,
                                before > 0 ? "<= smaller n (2 %)" : REPORTED, before <= 0 || waf <= 1.02 * before));
        before = waf;
        cut = 100 * (waf / legacy - 1);
    }
    found.push_back(finding("OFIOS against legacy, %", cut, -47.1, "falls", cut < 0));
    found.push_back(finding("OFIOS / FIOS once trained", before / fixed, NO_VALUE, "at most 1", before <= fixed));
    return found;
}

Reproduction fios_online() {
    Reproduction each = {"fios-fig16",
                         FIOS,
                         "Fig. 16 (training share of a window)",
                         "80/20 whose hot set moves half-way stands in for six workloads a container",
                         {},
                         judge_online};
    const std::string work = work_of(FIOS_MIB, 8, "shift_at=50");
    auto add = [&](const char *name, const std::string &policy) {
        each.trials.push_back({name, "hotcold", work, fios_pipeline(policy)});
    };
    add("legacy", "none");
    add("fios", "fios,matrix=decimal,features=frequency");
    for (const char *n : {"20", "60", "100"})
        add(n, std::string("ofios,train_window=") + n);
    return each;
}

// Table 3 of the paper, and the features that its text fixes ("" where it does not).
struct Selected {
    const char *name;
    trib_fios_attributes attributes;
    const char *features, *source;
};

const Selected SELECTIONS[] = {
    {"Postmark", {.99, 98.29, 37.61, 26, 43.87}, "FC", ""},
    {"IOzone", {.98, 49.45, 1.21, 197, 28.08}, "S", ""},
    {"FIU-1", {.78, 75, 157.35, 9, 139.4}, "FAC", ""},
    {"FIU-2", {.87, 82, 32.89, 8, 114.72}, "FAC", ""},
    {"FIU-3", {.97, 57, 182.04, 8, 185.09}, "FAC", ""},
    {"hm0", {.92, 66, 4.48, 15, 58.51}, "C", "fixed by the text"},
    {"hm1", {.95, 58, 157.37, 31, 1.57}, "FC", "fixed by the text"},
    {"mds0", {.98, 69, 32.47, 19, 21.04}, "FC", ""},
    {"prn0", {.98, 61, 4.72, 25, 131.33}, "AC", "fixed by the text"},
    {"proj0", {1, 27, 6.27, 29, 412.19}, "A", ""},
    {"UMASS-1", {.21, 64, 1242.93, 8, 575.94}, "F", ""},
    {"UMASS-2", {.02, 76, 1.13, 5, 76.6}, "C", "no row is kept: fallback"},
};

std::vector<Finding> judge_selection(const TrialResults &) {
    const trib_fios_attributes limits = {0.5, 50, 20, 64, 100};
    std::vector<Finding> found;
    for (const Selected &each : SELECTIONS) {
        trib_fios_selection selection = trib_fios_select(trib_fios_high(&each.attributes, &limits));
        char letters[TRIB_FIOS_FEATURES + 1];
        trib_fios_feature_letters(selection.features, letters);
        std::string ours = letters, wanted = each.features;
        auto sorted = [](std::string text) {
            std::sort(text.begin(), text.end());
            return text;
        };
        found.push_back(
            finding(each.name, NO_VALUE, NO_VALUE, ours + " = " + wanted, sorted(ours) == sorted(wanted), each.source));
    }
    return found;
}

Reproduction fios_selection() {
    return {"fios-selection",
            FIOS,
            "Table 3 (attributes to features)",
            "f_map with our thresholds on the paper's attributes; no trace is replayed",
            {},
            judge_selection};
}

// ---- SepBIT ----

constexpr unsigned SEPBIT_MIB = 256;

const struct {
    const char *name, *pipeline;
} SEPBIT_SCHEMES[] = {{"NoSep", "policy=none,gc=shared"},
                      {"SFR", "policy=autostream-sfr,gc=shared"},
                      {"MQ", "policy=autostream-mq,gc=shared"},
                      {"SepBIT", "policy=sepbit,gc=class"}};

std::vector<Finding> judge_sepbit(const TrialResults &results) {
    std::vector<Finding> found;
    for (const char *victim : {"greedy", "cost-benefit"}) {
        auto waf = [&](const char *work, const char *scheme) {
            return results.waf(fmt::format("{} {} {}", work, victim, scheme));
        };
        for (const auto &scheme : SEPBIT_SCHEMES) {
            bool ours = scheme.name == std::string("SepBIT");
            double least = std::min({waf("zipf", "NoSep"), waf("zipf", "SFR"), waf("zipf", "MQ")});
            found.push_back(finding(fmt::format("zipf, {}, {}", victim, scheme.name), waf("zipf", scheme.name),
                                    NO_VALUE, ours ? "below MQ, SFR and NoSep" : REPORTED,
                                    !ours || waf("zipf", "SepBIT") < least));
        }
        for (const auto &scheme : SEPBIT_SCHEMES) {
            double ratio = waf("uniform", scheme.name) / waf("uniform", "NoSep");
            found.push_back(finding(fmt::format("uniform, {}, {} / NoSep", victim, scheme.name), ratio, NO_VALUE,
                                    "within 3 % of 1", within(ratio, 0.97, 1.03)));
        }
    }
    return found;
}

Reproduction sepbit_zipf() {
    Reproduction each = {"sepbit-zipf",
                         SEPBIT,
                         "zipf and uniform writes in place",
                         "256 MiB live on a drive 90 % full, 15 % over-provisioned; the paper "
                         "collects at 15 % of garbage; its percentages were not available",
                         {},
                         judge_sepbit};
    for (const char *work : {"zipf", "uniform"})
        for (const char *victim : {"greedy", "cost-benefit"})
            for (const auto &scheme : SEPBIT_SCHEMES)
                each.trials.push_back({fmt::format("{} {} {}", work, victim, scheme.name), work, work_of(SEPBIT_MIB, 6),
                                       fmt::format("{},victim={},{}", scheme.pipeline, victim,
                                                   full_drive_for(SEPBIT_MIB, "op=15,superblock=128K,streams=8,"
                                                                              "device_streams=8"))});
    return each;
}

// ---- controls: where nothing can be won, nobody wins ----

constexpr unsigned CONTROL_MIB = 384;
const char *const CONTROL_LSM = "memtable=128K,target=128K,base=2M,multiplier=5";

std::vector<std::string> online_policies() {
    std::vector<std::string> names;
    for (const trib_policy *const *policy = trib_policies(); *policy; policy++)
        if (!((*policy)->needs & TRIB_NEEDS_FUTURE))
            names.push_back((*policy)->name);
    return names;
}

std::vector<Finding> judge_half_full(const TrialResults &results) {
    std::vector<Finding> found;
    for (const std::string &policy : online_policies())
        found.push_back(finding(policy + ", WAF", results.waf(policy), NO_VALUE, "within 2 % of none's",
                                std::fabs(results.waf(policy) - results.waf("none")) <= 0.02 * results.waf("none")));
    return found;
}

Reproduction control_half_full() {
    Reproduction each = {"control-half-full",
                         "control G14",
                         "half of the drive in use",
                         "LSM on a drive twice its size: who waits long enough copies nothing",
                         {},
                         judge_half_full};
    for (const std::string &policy : online_policies())
        each.trials.push_back({policy, "lsm", work_of(CONTROL_MIB, 5, CONTROL_LSM),
                               fmt::format("policy={},gc=same,drive=emulated,capacity={}M,op=7,superblock=512K,"
                                           "streams=8,latency=off",
                                           policy, 2 * CONTROL_MIB)});
    return each;
}

// Both tables put the compilers' outputs apart, as S1 to S4 or as S7 to S10.
Reproduction control_labels() {
    const std::string work = work_of(CONTROL_MIB, 5);
    const std::string drive = full_drive_for(CONTROL_MIB, "op=7,superblock=512K,streams=10,device_streams=10,gc=same");
    return {"control-labels",
            "control G15",
            "streams under other names",
            "builds under manual,map=gcc and map=mixed1: the same groups under other numbers",
            {{"S1 to S4", "builds", work, "policy=manual,map=gcc," + drive},
             {"S7 to S10", "builds", work, "policy=manual,map=mixed1," + drive}},
            [](const TrialResults &results) -> std::vector<Finding> {
                double ratio = results.waf("S7 to S10") / results.waf("S1 to S4");
                return {finding("WAF, S7 to S10 / S1 to S4", ratio, NO_VALUE, "1 within 0.1 %",
                                within(ratio, 0.999, 1.001)),
                        finding("WAF, S1 to S4", results.waf("S1 to S4"), NO_VALUE, "copies at all",
                                results.waf("S1 to S4") > 1.01)};
            }};
}

std::vector<Finding> judge_blind(const TrialResults &results) {
    std::vector<Finding> found;
    for (const char *work : {"uniform", "hotcold"}) {
        std::string name = work;
        double ratio = results.waf(name + " blind") / results.waf(name + " none");
        found.push_back(finding(name + ", by address / none", ratio, NO_VALUE, ">= 0.98", ratio >= 0.98));
    }
    return found;
}

Reproduction control_blind() {
    Reproduction each = {"control-blind",
                         "control G16",
                         "streams that know nothing",
                         "equal-partition: addresses in eight equal parts, heat scattered over them",
                         {},
                         judge_blind};
    for (const char *work : {"uniform", "hotcold"})
        for (const char *policy : {"none", "equal-partition"})
            each.trials.push_back({std::string(work) + (policy[0] == 'n' ? " none" : " blind"), work,
                                   work_of(SEPBIT_MIB, 6, work[0] == 'h' ? "extent=4K" : ""),
                                   fmt::format("policy={},gc=shared,{}", policy,
                                               full_drive_for(SEPBIT_MIB, "op=15,superblock=128K,streams=8"))});
    return each;
}

} // namespace

std::vector<Reproduction> reproductions_of_block_policies() {
    return {fios_features("fios-fig10", "Fig. 10 (features, binary)", "binary"),
            fios_features("fios-fig11", "Fig. 11 (features, decimal)", "decimal"),
            fios_chunks(),
            fios_online(),
            fios_selection(),
            sepbit_zipf()};
}

std::vector<Reproduction> negative_controls() {
    return {control_half_full(), control_labels(), control_blind()};
}

} // namespace cli
