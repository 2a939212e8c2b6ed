// SPDX-License-Identifier: Apache-2.0
// PCStream: HotStorage'18 (figure spreadsheets of the first author's repository) and FAST'19.
#include "lab/reproduce_fast19.h"

#include <algorithm>
#include <fmt/format.h>

namespace cli {

namespace {

const char *const HOTSTORAGE = "Kim et al., PCStream, HotStorage'18";

// The PM963 at 1/256: 1.75 GiB in superblocks of 2 MiB, and RocksDB's files of 64 MiB at the same
// scale. Of 90 % in use, 30 % never change.
constexpr unsigned SIZE_MIB = 1126;
constexpr double TIMES = 6;
const char *const LSM = "memtable=256K,target=256K,base=4M,multiplier=5";
const char *const FAST_DRIVE = "preset=pm963,superblock=2M,streams=8,device_streams=8";

struct Work {
    std::string name, workload, options, manual; // manual: the table for it
};

std::string lsm_with(const std::string &more) {
    return work_of(SIZE_MIB, TIMES, LSM + more);
}

Work lsm_work(const std::string &name) {
    return {name, "lsm", lsm_with(""), "level"};
}

// ---- HotStorage'18, the table ----

const Scheme HOTSTORAGE_SCHEMES[] = {
    {"Baseline", "policy=none,gc=same"},         {"AutoStream", ""}, // the better of the next two
    {"PCStream*", "policy=pcstream,gc=same"},    {"PCStream", "policy=pcstream,gc=twin"},
    {"Manual", "policy=manual,map=hs8,gc=same"},
};

const double HOTSTORAGE_TABLE[3][5] = {
    {2.16, 1.94, 1.60, 1.35, 1.34}, {1.70, 1.59, 1.40, 1.31, 1.31}, {2.06, 1.86, 1.30, 1.14, 1.09}};

struct Recorded {
    const char *name, *experiment;
};

const Recorded HOTSTORAGE_WORKS[] = {{"UR", "db-update.ini"}, {"AR", "db-append.ini"}, {"FR", "db-fill.ini"}};

void add_ratio(std::vector<Finding> &found, const std::string &name, double ours, double paper, double low,
               double high) {
    found.push_back(finding(name, ours, paper, fmt::format("{:.2f} to {:.2f}", low, high), within(ours, low, high)));
}

const Scheme AUTOSTREAMS[] = {{"SFR", "policy=autostream-sfr,gc=same"}, {"MQ", "policy=autostream-mq,gc=same"}};

void judge_recorded(const TrialResults &results, const std::string &name, const double *paper,
                    std::vector<Finding> &found) {
    auto waf = [&](const std::string &scheme) {
        return scheme == "AutoStream" ? std::min(results.waf(name + " SFR"), results.waf(name + " MQ"))
                                      : results.waf(name + " " + scheme);
    };
    double before = 0;
    for (size_t i = 0; i < std::size(HOTSTORAGE_SCHEMES); i++) {
        const char *scheme = HOTSTORAGE_SCHEMES[i].name;
        found.push_back(finding(name + " " + scheme, waf(scheme), paper[i], i ? "<= the one above (5 %)" : "above 1.05",
                                i ? waf(scheme) <= 1.05 * before : waf(scheme) > 1.05));
        before = waf(scheme);
    }
    add_ratio(found, name + " AutoStream/Baseline", waf("AutoStream") / waf("Baseline"), paper[1] / paper[0], 0.90,
              1.06);
    add_ratio(found, name + " PCStream/AutoStream", waf("PCStream") / waf("AutoStream"), paper[3] / paper[1], 0.61,
              0.82);
    add_ratio(found, name + " PCStream*/PCStream", waf("PCStream*") / waf("PCStream"), paper[2] / paper[3], 1.06, 1.20);
    add_ratio(found, name + " PCStream/Baseline, WAF-1", (waf("PCStream") - 1) / (waf("Baseline") - 1),
              (paper[3] - 1) / (paper[0] - 1), 0.13, 0.44);
}

std::vector<Finding> judge_hotstorage(const TrialResults &results) {
    std::vector<Finding> found;
    size_t row = 0;
    for (const Recorded &work : HOTSTORAGE_WORKS)
        judge_recorded(results, work.name, HOTSTORAGE_TABLE[row++], found);
    return found;
}

Reproduction hotstorage_table() {
    Reproduction each = {"hotstorage18",
                         HOTSTORAGE,
                         "table of WAF (UR, AR, FR)",
                         "small db_bench runs recorded live (bench/experiments/db-*.ini), each on a "
                         "drive sized to it, 7 % over-provisioned, superblock of four tables; the "
                         "paper's ran on 12 GiB",
                         {},
                         judge_hotstorage};
    for (const Recorded &work : HOTSTORAGE_WORKS) {
        auto add = [&](const Scheme &scheme) {
            each.trials.push_back({std::string(work.name) + " " + scheme.name, work.experiment, "",
                                   std::string(scheme.pipeline) + ",streams=7"});
        };
        for (const Scheme &scheme : HOTSTORAGE_SCHEMES)
            if (*scheme.pipeline)
                add(scheme);
        for (const Scheme &scheme : AUTOSTREAMS)
            add(scheme);
    }
    return each;
}

// ---- HotStorage'18: internal streams on four schemes, UR ----

const Scheme INTERNAL_SCHEMES[] = {{"Baseline", "policy=none"},
                                   {"AutoStream", "policy=autostream-mq"},
                                   {"PCStream", "policy=pcstream"},
                                   {"Manual", "policy=manual,map=hs8"}};
const double HOTSTORAGE_CUTS[] = {24, 19, 17, 14};

std::vector<Finding> judge_recorded_internal(const TrialResults &results) {
    std::vector<Finding> found;
    double before = 100;
    for (size_t i = 0; i < std::size(INTERNAL_SCHEMES); i++) {
        std::string name = INTERNAL_SCHEMES[i].name;
        double cut = 100 * (1 - results.waf(name + "+int") / results.waf(name));
        found.push_back(finding("UR " + name + ", cut in %", cut, HOTSTORAGE_CUTS[i], i ? "> 3, <= above + 1" : "> 3",
                                cut > 3 && cut <= before + 1));
        before = cut;
    }
    double limit = std::min(results.waf("PCStream"), results.waf("Manual"));
    for (const char *name : {"Baseline", "AutoStream"})
        found.push_back(finding(std::string("UR ") + name + "+int, WAF", results.waf(name + std::string("+int")),
                                NO_VALUE, "> PCStream*, Manual", results.waf(name + std::string("+int")) > limit));
    return found;
}

Reproduction hotstorage_internal() {
    Reproduction each = {"hotstorage18-internal",
                         HOTSTORAGE,
                         "internal streams on four schemes (UR, two runs each, means)",
                         "the recorded db_bench run of UR; internal streams as in FAST'19 (twins)",
                         {},
                         judge_recorded_internal};
    for (const Scheme &scheme : INTERNAL_SCHEMES)
        for (const char *gc : {"same", "twin"})
            each.trials.push_back({std::string(scheme.name) + (gc[0] == 't' ? "+int" : ""), "db-update.ini", "",
                                   std::string(scheme.pipeline) + ",gc=" + gc + ",streams=7"});
    return each;
}

// ---- FAST'19 Fig. 2: number of streams ----

constexpr unsigned STREAMS_MOST = 8;

std::vector<Finding> judge_streams(const TrialResults &results) {
    std::vector<Finding> found;
    double least = 1e9;
    for (unsigned m = 1; m <= STREAMS_MOST; m++)
        least = std::min(least, results.waf(std::to_string(m)));
    unsigned knee = 0;
    for (unsigned m = STREAMS_MOST; m >= 1 && results.waf(std::to_string(m)) <= 1.03 * least; m--)
        knee = m;
    for (unsigned m = 1; m <= STREAMS_MOST; m++) {
        double waf = results.waf(std::to_string(m));
        bool flat = m >= 6;
        found.push_back(finding(fmt::format("WAF, {} streams", m), waf, NO_VALUE,
                                flat ? "least, within 3 %" : "above the least",
                                flat ? waf <= 1.03 * least : waf > least));
    }
    found.push_back(finding("streams where it flattens", knee, 6, "4 to 7", within(knee, 4, 7),
                            "the paper plots IOPS, whose slope is that of 1/WAF"));
    return found;
}

Reproduction fast_streams() {
    Reproduction each = {"fast19-fig2",
                         FAST19,
                         "Fig. 2 (number of streams)",
                         "RocksDB: native LSM generator, table by level; drive preset pm963 at 1/256",
                         {},
                         judge_streams};
    for (unsigned m = 1; m <= STREAMS_MOST; m++)
        each.trials.push_back({std::to_string(m), "lsm", lsm_with(""),
                               fmt::format("policy=manual,gc=same,{}",
                                           drive_for(SIZE_MIB, fmt::format("preset=pm963,superblock=2M,streams={},"
                                                                           "device_streams={}",
                                                                           m, m)))});
    return each;
}

// ---- the five workloads ----

std::vector<Work> fast_works() {
    return {lsm_work("RocksDB"),
            {"Cassandra", "tenants", work_of(SIZE_MIB, TIMES, "tenants=8,mix=universal"), "cassandra"},
            {"SQLite", "wal-pages", work_of(SIZE_MIB / 2, TIMES), "sqlite"},
            {"GCC", "builds", work_of(SIZE_MIB, TIMES), "gcc"},
            {"Mixed 1", "tenants", work_of(SIZE_MIB, TIMES, "tenants=2,mix=lsm+builds"), "mixed1"}};
}

std::string fast_drive() {
    return drive_for(SIZE_MIB, FAST_DRIVE);
}

const char *const FAST_SETTING =
    "generators: LSM (RocksDB), eight universal LSMs (Cassandra), WAL plus pages (SQLite), builds "
    "(GCC), LSM and builds (Mixed 1); drive preset pm963 at 1/256";

// ---- Fig. 11: lifetimes per stream ----

struct Quartiles {
    std::vector<double> medians, spreads; // by stream, S1 on; those with deaths
};

Quartiles quartiles_of(const RunResult &run) {
    Quartiles out;
    for (const StreamTally &stream : run.streams)
        if (stream.stream && stream.lifetimes.weight()) {
            out.medians.push_back(stream.lifetimes.quantile(0.5));
            out.spreads.push_back(stream.lifetimes.quantile(0.75) / std::max(1.0, stream.lifetimes.quantile(0.25)));
        }
    return out;
}

double widest_ratio(const Quartiles &quartiles) {
    if (quartiles.medians.empty())
        return 1;
    auto ends = std::minmax_element(quartiles.medians.begin(), quartiles.medians.end());
    return *ends.second / std::max(1.0, *ends.first);
}

std::vector<Finding> judge_lifetimes(const TrialResults &results) {
    Quartiles pcstream = quartiles_of(results.at("PCStream"));
    Quartiles autostream = quartiles_of(results.at("AutoStream"));
    std::vector<Finding> found;
    double before = 0;
    for (size_t i = 0; i < pcstream.medians.size(); i++) {
        double median = pcstream.medians[i] / (1 << 20);
        found.push_back(finding(fmt::format("PCStream S{} median, MiB", i + 1), median, NO_VALUE,
                                i ? "ascending" : "has deaths", median >= before));
        before = median;
    }
    found.push_back(finding("PCStream longest/shortest median", widest_ratio(pcstream), 26, ">= 20",
                            widest_ratio(pcstream) >= 20, "paper: medians of the main streams of HotStorage'18, UR"));
    found.push_back(finding("AutoStream longest/shortest median", widest_ratio(autostream), 1.3, "< 4",
                            widest_ratio(autostream) < 4));
    return found;
}

Reproduction fast_lifetimes() {
    Work work = fast_works().back();
    std::string drive = fast_drive();
    return {"fast19-fig11",
            FAST19,
            "Fig. 11 (lifetimes per stream)",
            "LSM and builds together; lifetimes in host bytes, of data that died",
            {{"PCStream", work.workload, work.options, "policy=pcstream,gc=twin," + drive},
             {"AutoStream", work.workload, work.options, "policy=autostream-mq,gc=same," + drive}},
            judge_lifetimes};
}

// ---- Fig. 12: internal streams ----

std::vector<Finding> judge_internal(const TrialResults &results) {
    std::vector<std::string> names;
    for (const Work &work : fast_works())
        names.push_back(work.name);
    return judge_internal_streams(names, results);
}

Reproduction fast_internal() {
    Reproduction each = {"fast19-fig12", FAST19, "Fig. 12 (internal streams on four schemes)",
                         FAST_SETTING,   {},     judge_internal};
    for (const Work &work : fast_works())
        for (const Scheme &scheme : FAST19_SCHEMES)
            for (const char *gc : {"same", "twin"}) {
                bool manual = scheme.pipeline == std::string("policy=manual");
                each.trials.push_back({work.name + " " + scheme.name + (gc[0] == 't' ? "+int" : ""), work.workload,
                                       work.options,
                                       std::string(scheme.pipeline) + (manual ? ",map=" + work.manual : "") +
                                           ",gc=" + gc + "," + fast_drive()});
            }
    return each;
}

// ---- Fig. 13: table size; re-clusterings ----

Reproduction fast_table() {
    const std::string work = work_of(SIZE_MIB, TIMES, "variants=256");
    const std::string drive = drive_for(SIZE_MIB, FAST_DRIVE);
    return {"fast19-fig13",
            FAST19,
            "Fig. 13 (table size, short-lived processes)",
            "builds with 256 call paths for assembly; no table: signatures salted by process; small: "
            "128 rows, half of the paths (the paper's 4 KB for its > 341 paths); full: 8192 rows",
            {{"no table", "builds", work, "policy=pcstream,gc=twin,salt=tenant," + drive},
             {"small table", "builds", work, "policy=pcstream,gc=twin,attributes=128," + drive},
             {"full table", "builds", work, "policy=pcstream,gc=twin," + drive}},
            [](const TrialResults &results) {
                return judge_table_size({"no table", "small table", "full table"}, results);
            }};
}

Reproduction fast_reclusterings() {
    Work work = fast_works().back();
    return {"fast19-reclustering",
            FAST19,
            "section 6: re-clusterings per run",
            "LSM and builds together (Mixed 1)",
            {{"PCStream", work.workload, work.options, "policy=pcstream,gc=twin," + fast_drive()}},
            [](const TrialResults &results) -> std::vector<Finding> {
                double count = results.at("PCStream").status.reclusterings;
                return {finding("re-clusterings", count, 7, "1 to 100", within(count, 1, 100))};
            }};
}

} // namespace

std::vector<Reproduction> reproductions_of_pcstream() {
    return {hotstorage_table(), hotstorage_internal(), fast_streams(),      fast_lifetimes(),
            fast_internal(),    fast_table(),          fast_reclusterings()};
}

} // namespace cli
