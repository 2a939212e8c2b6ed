// SPDX-License-Identifier: Apache-2.0
#include "lab/reproduce.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <unistd.h>

#include "common/failure.h"
#include "common/json.h"
#include "common/table.h"
#include "compare/future.h"
#include "compare/pool.h"
#include "source/experiment.h"
#include "source/experiment_files.h"
#include "source/survey.h"
#include "workload/workload.h"

namespace cli {

const char *const REPORTED = "reported";

namespace {

constexpr double MIB = 1 << 20;
constexpr double FULL = 0.9, COLD = 0.3; // of the capacity; of the live data

std::vector<Reproduction> all_reproductions() {
    std::vector<Reproduction> all;
    for (auto make : {reproductions_of_pcstream, reproductions_on_recordings, reproductions_of_ftls,
                      reproductions_of_block_policies, negative_controls})
        for (Reproduction &each : make())
            all.push_back(std::move(each));
    return all;
}

std::vector<Reproduction> chosen(const std::string &name) {
    std::vector<Reproduction> all = all_reproductions(), found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found),
                 [&](const Reproduction &each) { return name == "all" || each.name == name; });
    if (found.empty())
        throw Failure(EXIT_USAGE, fmt::format("no experiment '{}'; valid are all {}", name, reproduction_names()));
    return found;
}

// A recorded trace, on the drive that its experiment sizes to it.
RunPlan recorded_plan(const Trial &trial) {
    RunPlan plan;
    plan.source.path = experiment_folder() + "/" + trial.workload;
    plan.source.import_options = trial.work;
    Experiment experiment = load_experiment(plan.source.path);
    Survey survey = survey_source(plan.source);
    OptionText options, drive = experiment.drive;
    drive.set("latency", "off");
    options.merge(drive_options(experiment.regime, drive, survey).text());
    options.merge(trial.pipeline);
    plan.options = options.text();
    plan.host_bytes = survey.host_bytes;
    plan.peak_live_bytes = survey.peak_live_bytes;
    return plan;
}

RunPlan plan_of(const Trial &trial) {
    if (is_experiment(trial.workload))
        return recorded_plan(trial);
    RunPlan plan;
    plan.source.format = "workload";
    plan.source.path = trial.workload;
    plan.source.import_options = trial.work;
    plan.options = trial.pipeline;
    trib_workload *workload = nullptr;
    trib_error error = {};
    int rc = trib_workload_open(&workload, trial.workload.c_str(), trial.work.c_str(), &error);
    if (rc)
        throw core_failure(rc, "trial " + trial.name + ": " + error.text);
    trib_workload_description description = {};
    trib_workload_describe(workload, &description);
    trib_workload_close(workload);
    plan.host_bytes = description.host_bytes;
    plan.peak_live_bytes = description.size_bytes;
    return plan;
}

// Trials that several figures share run once.
struct Bench {
    std::vector<RunPlan> plans;
    std::vector<RunResult> results;
    std::map<std::string, size_t> index; // by work and pipeline

    static std::string key(const Trial &trial) {
        return trial.workload + "?" + trial.work + "?" + trial.pipeline;
    }
    void add(const Trial &trial) {
        if (index.emplace(key(trial), plans.size()).second)
            plans.push_back(plan_of(trial));
    }
    void run(unsigned jobs);
};

void Bench::run(unsigned jobs) {
    std::vector<RunPlan *> pointers;
    for (RunPlan &plan : plans)
        pointers.push_back(&plan);
    add_future_where_needed(pointers, jobs);
    results = run_all(plans, jobs);
}

std::vector<Finding> judged(const Reproduction &each, const Bench &bench) {
    TrialResults results;
    for (const Trial &trial : each.trials)
        results.put(trial.name, &bench.results[bench.index.at(Bench::key(trial))]);
    return each.judge(results);
}

std::string value_text(double value) {
    double size = std::fabs(value);
    return value == NO_VALUE ? "-" : fixed(value, size >= 100 ? 0 : size >= 10 ? 1 : 3);
}

std::string findings_text(const Reproduction &each, const std::vector<Finding> &findings, bool colours) {
    std::string text = fmt::format("\n{}: {}, {}\n", each.name, each.paper, each.figure);
    text += wrapped("  ", each.setting);
    Table table({{"case", Align::left}, {"ours"}, {"paper"}, {"shape", Align::left, true}, {""}});
    for (const Finding &found : findings)
        table.add({found.figure_case, value_text(found.ours), value_text(found.paper), found.shape,
                   found.shape == REPORTED ? ""
                   : found.holds           ? "holds"
                                           : "DOES NOT"});
    text += table.text(colours);
    for (const Finding &found : findings)
        if (!found.note.empty())
            text += wrapped("  " + found.figure_case + ": ", found.note);
    return text;
}

void append_json(Json &json, const Reproduction &each, const std::vector<Finding> &findings) {
    auto value = [](double number) { return number == NO_VALUE ? Json(nullptr) : Json(number); };
    for (const Finding &found : findings)
        json.push_back({{"paper", each.paper},
                        {"figure", each.figure},
                        {"case", found.figure_case},
                        {"ours", value(found.ours)},
                        {"paper_value", value(found.paper)},
                        {"shape", found.shape},
                        {"holds", found.holds},
                        {"note", found.note.empty() ? each.setting : each.setting + "; " + found.note},
                        {"experiment", each.name}});
}

} // namespace

std::string reproduction_names() {
    std::string names;
    for (const Reproduction &each : all_reproductions())
        names += (names.empty() ? "" : " ") + each.name;
    return names;
}

static std::string sized(unsigned capacity_mib, double cold_percent, const std::string &more) {
    return fmt::format("drive=emulated,capacity={}M,cold={:.3f},latency=off,{}", capacity_mib, cold_percent, more);
}

std::string drive_for(unsigned size_mib, const std::string &more) {
    double live = size_mib / (1 - COLD);
    return sized(static_cast<unsigned>(live / FULL), 100 * FULL * COLD, more);
}

std::string full_drive_for(unsigned size_mib, const std::string &more) {
    return sized(static_cast<unsigned>(size_mib / FULL), 0, more);
}

std::string work_of(unsigned size_mib, double times, const std::string &more) {
    auto host = static_cast<uint64_t>(size_mib * MIB * (1 + times));
    return fmt::format("size={}M,host={}{}{}", size_mib, host, more.empty() ? "" : ",", more);
}

bool within(double value, double low, double high) {
    return value >= low && value <= high;
}

Finding finding(const std::string &figure_case, double ours, double paper, const std::string &shape, bool holds,
                const std::string &note) {
    return {figure_case, ours, paper, shape, holds, note};
}

void reproduce(const ReproduceOptions &options) {
    if (options.names) {
        fmt::print("all\n");
        for (const Reproduction &each : all_reproductions())
            fmt::print("{}\n", each.name);
        return;
    }
    std::vector<Reproduction> experiments = chosen(options.name);
    Bench bench;
    for (const Reproduction &each : experiments)
        for (const Trial &trial : each.trials)
            bench.add(trial);
    bench.run(options.jobs);
    bool prints = !options.json || (!options.json->empty() && *options.json != "-");
    Json json = Json::array();
    size_t held = 0, all = 0;
    for (const Reproduction &each : experiments) {
        std::vector<Finding> findings = judged(each, bench);
        append_json(json, each, findings);
        for (const Finding &found : findings) {
            all += found.shape != REPORTED;
            held += found.shape != REPORTED && found.holds;
        }
        if (prints)
            fmt::print("{}", findings_text(each, findings, colours_wanted(STDOUT_FILENO)));
    }
    if (prints)
        fmt::print("\n{} of {} shapes hold; docs/reproduction.md explains the others\n", held, all);
    if (options.json)
        write_json(json, *options.json);
}

} // namespace cli
