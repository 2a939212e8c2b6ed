// SPDX-License-Identifier: Apache-2.0
#include "lab/matrix.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <tributary/policy.h>
#include <unistd.h>

#include "common/failure.h"
#include "common/table.h"
#include "compare/future.h"
#include "compare/pool.h"
#include "compare/regime_found.h"
#include "compare/requirements.h"
#include "lab/optimum.h"
#include "source/experiment_files.h"
#include "source/regime.h"
#include "workload/workload.h"

namespace cli {

namespace {

constexpr double QUICK_CAPACITIES = 2;

struct MatrixRun {
    RunPlan plan;
    size_t cell = 0; // of the matrix
};

// Puts a matrix together and runs it.
class Maker {
  public:
    explicit Maker(const MatrixOptions &options) : options_(options) {
    }
    Matrix make();

  private:
    void add_rows();
    void add_workload(const std::string &path);
    void add_cells(size_t workload, size_t row, const std::string &victim);
    void add_cell(MatrixCell cell, const OptionText &text);
    void run();
    void keep(const MatrixRun &run, const RunResult &result);

    const MatrixOptions &options_;
    Matrix matrix_;
    std::vector<MatrixRun> runs_;
};

// "all" among the rows asked for stands for these.
std::vector<std::string> all_rows() {
    std::vector<std::string> texts;
    for (const trib_policy *const *policy = trib_policies(); *policy; policy++)
        texts.push_back((*policy)->name);
    for (std::string &text : variant_rows(TRIB_VARIANT_MATRIX))
        texts.push_back(std::move(text));
    return texts;
}

// Of a choice that the best run makes, what there is to choose from; otherwise the options as they are.
std::vector<OptionText> choices_of(const OptionText &options) {
    std::vector<OptionText> choices;
    const trib_policy *policy = trib_policy_find(options.get("policy").c_str(), nullptr);
    for (const trib_policy_variant *v = policy ? policy->variants : nullptr; v && v->options; v++) {
        std::string key(v->options, std::strcspn(v->options, "="));
        if (!(v->use & TRIB_VARIANT_BEST_OF) || options.has(key))
            continue;
        choices.push_back(options);
        choices.back().merge(v->options);
    }
    return choices.empty() ? std::vector<OptionText>{options} : choices;
}

void Maker::add_rows() {
    std::vector<std::string> texts, all = all_rows();
    for (const std::string &text : options_.policies)
        if (text == "all")
            texts.insert(texts.end(), all.begin(), all.end());
        else
            texts.push_back(text);
    if (texts.empty())
        texts = all;
    for (const std::string &text : texts)
        matrix_.rows.push_back(parse_row(text));
    // The bound last, as in a person's table.
    std::stable_partition(matrix_.rows.begin(), matrix_.rows.end(), [](const RowSpec &row) { return !is_bound(row); });
}

// Fewer capacities of steady work, as options of the experiment's own generator.
void shorten(MatrixWorkload &workload) {
    OptionText text;
    text.merge(workload.experiment.workload_options);
    trib_workload *opened = nullptr;
    trib_error error = {};
    int rc = trib_workload_open(&opened, workload.experiment.workload.c_str(), text.text().c_str(), &error);
    if (rc)
        throw core_failure(rc, error.text);
    trib_workload_description description = {};
    trib_workload_describe(opened, &description);
    trib_workload_close(opened);
    double capacity = static_cast<double>(description.size_bytes) / (workload.experiment.regime.fill() / 100);
    auto host = static_cast<uint64_t>(QUICK_CAPACITIES * capacity) + description.fill_bytes;
    text.set("host", std::to_string(std::min(description.host_bytes, host)));
    workload.experiment.workload_options = text.text();
}

void Maker::add_workload(const std::string &path) {
    MatrixWorkload workload;
    workload.experiment = load_experiment(path);
    workload.source.path = path;
    if (!workload.experiment.workload.empty()) {
        if (options_.quick)
            shorten(workload);
        workload.source.format = "workload";
        workload.source.path = workload.experiment.workload;
        workload.source.import_options = workload.experiment.workload_options;
    }
    workload.survey = survey_source(workload.source);
    if (workload.survey.host_bytes == 0)
        throw Failure(EXIT_RUNTIME, "the workload '" + path + "' writes nothing");
    OptionText drive = workload.experiment.drive;
    if (!drive.has("latency"))
        drive.set("latency", "off"); // costs time, and no figure of a matrix needs it
    workload.drive = drive_options(workload.experiment.regime, drive, workload.survey);
    matrix_.workloads.push_back(std::move(workload));
}

void Maker::add_cell(MatrixCell cell, const OptionText &text) {
    const MatrixWorkload &workload = matrix_.workloads[cell.workload];
    cell.missing = missing(text, workload.survey);
    cell.options = text.text();
    matrix_.cells.push_back(cell);
    if (!cell.missing.empty())
        return;
    MatrixRun run;
    run.plan.source = workload.source;
    run.plan.host_bytes = workload.survey.host_bytes;
    run.plan.peak_live_bytes = workload.survey.peak_live_bytes;
    run.cell = matrix_.cells.size() - 1;
    for (const OptionText &given : choices_of(text)) {
        run.plan.options = given.text();
        runs_.push_back(run);
    }
}

void Maker::add_cells(size_t workload, size_t row, const std::string &victim) {
    const RowSpec &spec = matrix_.rows[row];
    auto add = [&](const std::string &gc, bool own) {
        OptionText text = spec.options;
        text.merge(matrix_.workloads[workload].drive.text());
        text.set("gc", gc);
        text.set("victim", victim);
        for (const std::string &more : options_.set)
            text.merge(more);
        MatrixCell cell;
        cell.workload = workload;
        cell.row = row;
        cell.gc = gc;
        cell.victim = victim;
        cell.own_gc = own;
        add_cell(std::move(cell), text);
    };
    const trib_policy &policy = *trib_policy_find(spec.policy.c_str(), nullptr);
    std::string own = !spec.internal.empty() ? spec.internal : policy.gc ? policy.gc : "";
    bool only_own = !spec.internal.empty(); // asked for with internal=
    for (const std::string &gc : options_.gcs)
        if (!only_own)
            add(gc, false);
    if (!own.empty() && std::find(options_.gcs.begin(), options_.gcs.end(), own) == options_.gcs.end())
        add(own, true);
}

// Of a run; of several choices the best stays.
void Maker::keep(const MatrixRun &run, const RunResult &result) {
    MatrixCell &cell = matrix_.cells[run.cell];
    if (cell.waf > 0 && cell.waf_steady <= result.waf_steady)
        return;
    cell.options = run.plan.options;
    cell.waf = result.waf;
    cell.waf_steady = result.waf_steady;
    cell.place_ns = result.cost.place_ns;
    cell.died_ns = result.cost.died_ns;
    cell.state_bytes = result.cost.state_bytes;
    cell.signatures = result.status.attributes;
    cell.reclusterings = result.status.reclusterings;
    cell.capacity_bytes = result.drive.capacity_bytes;
    cell.host_pages = result.drive.host_pages;
    cell.gc_pages = result.drive.gc_pages;
    cell.metadata_pages = result.drive.metadata_pages;
    cell.erases = result.drive.erases;
    cell.streams_used = static_cast<uint32_t>(result.streams.size());
    cell.samples.clear();
    for (size_t i = 0; i < result.samples.size(); i++)
        if ((i + 1) % (SAMPLES / SERIES_POINTS) == 0 || i + 1 == result.samples.size())
            cell.samples.push_back(result.samples[i]);
}

void Maker::run() {
    uint64_t total = std::accumulate(runs_.begin(), runs_.end(), uint64_t{0},
                                     [](uint64_t sum, const MatrixRun &run) { return sum + run.plan.host_bytes; });
    // Kept in the order of the runs, whichever ends first, so that ties do not depend on threads.
    std::vector<RunResult> results(runs_.size());
    std::vector<std::string> failures(runs_.size());
    run_each(runs_.size(), options_.jobs, "replaying", total, [&](size_t i, RunMeter &meter) {
        try {
            RunResult result = run_trace(runs_[i].plan, meter);
            result.signatures.clear(); // heavy, times hundreds of runs
            for (StreamTally &stream : result.streams)
                stream.lifetimes = Histogram();
            results[i] = std::move(result);
        } catch (const Failure &failure) {
            failures[i] = failure.what(); // the others are still worth their time
        }
    });
    for (size_t i = 0; i < runs_.size(); i++) {
        MatrixCell &cell = matrix_.cells[runs_[i].cell];
        if (failures[i].empty()) {
            keep(runs_[i], results[i]);
            double cold = static_cast<double>(results[i].prefilled_bytes);
            MatrixWorkload &workload = matrix_.workloads[cell.workload];
            workload.optimum_waf = optimum_waf(workload.experiment, results[i].drive, cold);
            continue;
        }
        if (cell.missing.empty())
            cell.missing = failures[i];
        matrix_.failures.push_back(fmt::format("{} on {} (gc={}, victim={}): {}", matrix_.rows[cell.row].label,
                                               matrix_.workloads[cell.workload].experiment.name, cell.gc, cell.victim,
                                               failures[i]));
    }
}

Matrix Maker::make() {
    matrix_.gcs = options_.gcs;
    matrix_.victims = options_.victims;
    if (options_.quick && matrix_.victims.size() > 1)
        matrix_.victims.resize(1);
    add_rows();
    for (const std::string &path : experiment_files(options_.workloads))
        add_workload(path);
    for (size_t workload = 0; workload < matrix_.workloads.size(); workload++)
        for (const std::string &victim : matrix_.victims)
            for (size_t row = 0; row < matrix_.rows.size(); row++)
                add_cells(workload, row, victim);
    std::vector<RunPlan *> plans;
    for (MatrixRun &run : runs_)
        plans.push_back(&run.plan);
    add_future_where_needed(plans, options_.jobs);
    run();
    return std::move(matrix_);
}

} // namespace

bool is_bound(const RowSpec &row) {
    return trib_policy_find(row.policy.c_str(), nullptr)->needs & TRIB_NEEDS_FUTURE;
}

const MatrixCell *find_cell(const Matrix &matrix, size_t workload, size_t row, const std::string &gc,
                            const std::string &victim) {
    for (const MatrixCell &cell : matrix.cells)
        if (cell.workload == workload && cell.row == row && cell.victim == victim &&
            (gc == "own" ? cell.own_gc : !cell.own_gc && cell.gc == gc))
            return &cell;
    return nullptr;
}

Matrix run_matrix(const MatrixOptions &options) {
    return Maker(options).make();
}

void matrix(const MatrixOptions &options) {
    Matrix found = run_matrix(options);
    if (options.json)
        write_json(matrix_json(found), *options.json);
    if (!options.json || (!options.json->empty() && *options.json != "-"))
        fmt::print("{}", matrix_text(found, colours_wanted(STDOUT_FILENO)));
    if (!found.failures.empty())
        throw Failure(EXIT_RUNTIME,
                      fmt::format("{} runs failed; the first: {}", found.failures.size(), found.failures.front()));
}

} // namespace cli
