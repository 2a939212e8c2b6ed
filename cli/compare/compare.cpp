// SPDX-License-Identifier: Apache-2.0
#include "compare/compare.h"

#include <algorithm>
#include <fmt/format.h>
#include <tributary/policy.h>
#include <unistd.h>

#include "common/failure.h"
#include "common/table.h"
#include "compare/future.h"
#include "compare/pool.h"
#include "compare/requirements.h"
#include "compare/run_json.h"
#include "source/experiment.h"

namespace cli {

namespace {

// A cell of policies x garbage collection. Internal streams replace the destination of survivors,
// so such a row is one run shown for every gc.
struct Cell {
    size_t row, run;
    std::string gc;
};

struct Plan {
    std::vector<RowSpec> rows;
    std::vector<Cell> cells;   // by gc, then by row
    std::vector<RunPlan> runs; // distinct ones
    std::vector<std::string> left_out;
};

// The drive's option of that name, in its words; here it also decides the columns of the row.
std::string parse_internal(const std::string &value) {
    if (value == "auto" || value == "off" || value.empty())
        return "";
    if (value == "twin" || value == "substream" || value == "chain")
        return value;
    throw Failure(EXIT_USAGE, "internal=" + value + ": valid are auto, off, twin, substream and chain");
}

Plan make_plan(const CompareOptions &options, const std::vector<RowSpec> &rows, const OptionText &drive,
               const Survey &survey) {
    Plan plan;
    for (const RowSpec &row : rows) {
        std::string lack = missing(row.options, survey);
        if (lack.empty())
            plan.rows.push_back(row);
        else if (!options.policies.empty()) // asked for: must run
            throw Failure(EXIT_USAGE, row.label + " " + lack);
        else
            plan.left_out.push_back("left out: " + row.label + " " + lack);
    }
    for (const std::string &gc : options.gcs)
        for (size_t row = 0; row < plan.rows.size(); row++) {
            OptionText text = plan.rows[row].options;
            text.merge(drive.text());
            text.set("gc", plan.rows[row].internal.empty() ? gc : plan.rows[row].internal);
            for (const std::string &more : options.set)
                text.merge(more);
            RunPlan run;
            run.source = options.source;
            run.options = text.text();
            run.host_bytes = survey.host_bytes;
            run.peak_live_bytes = survey.peak_live_bytes;
            auto same = std::find_if(plan.runs.begin(), plan.runs.end(),
                                     [&](const RunPlan &other) { return other.options == run.options; });
            plan.cells.push_back({row, static_cast<size_t>(same - plan.runs.begin()), gc});
            if (same == plan.runs.end())
                plan.runs.push_back(std::move(run));
        }
    return plan;
}

// Steady WAF of the row without placement under the same gc; 0 when there is none.
double waf_of_none(const Plan &plan, const std::vector<RunResult> &results, const std::string &gc) {
    for (const Cell &cell : plan.cells)
        if (cell.gc == gc && plan.rows[cell.row].policy == TRIB_POLICY_BASELINE && plan.rows[cell.row].internal.empty())
            return results[cell.run].waf_steady;
    return 0;
}

// (WAF - 1) / (WAF of none - 1): the share of the avoidable copying that is left. Negative:
// undefined.
double excess_ratio(double waf, double waf_none) {
    constexpr double NOTHING_TO_GAIN = 1.0005;
    return waf > 0 && waf_none >= NOTHING_TO_GAIN ? (waf - 1) / (waf_none - 1) : -1;
}

// Lowest steady WAF of its gc; nobody is when all are equal.
bool is_best(const Plan &plan, const std::vector<RunResult> &results, const Cell &cell) {
    double own = results[cell.run].waf_steady;
    bool lowest = own > 0, beats = false;
    for (const Cell &other : plan.cells) {
        double its = results[other.run].waf_steady;
        lowest = lowest && (other.gc != cell.gc || own <= its);
        beats = beats || (other.gc == cell.gc && own < its);
    }
    return lowest && beats;
}

std::string table_text(const Plan &plan, const std::vector<RunResult> &results) {
    bool colours = colours_wanted(STDOUT_FILENO);
    Table table({{"policy", Align::left, true},
                 {"int", Align::left},
                 {"salt", Align::left},
                 {"gc", Align::left},
                 {"WAF"},
                 {"steady"},
                 {"xnone"},
                 {"gc pg"},
                 {"erases"},
                 {"kIOPS"},
                 {"str"},
                 {"", Align::left}});
    for (size_t i = 0; i < plan.cells.size(); i++) {
        const Cell &cell = plan.cells[i];
        const RowSpec &row = plan.rows[cell.row];
        const RunResult &run = results[cell.run];
        bool best = is_best(plan, results, cell);
        if (i > 0 && plan.cells[i - 1].gc != cell.gc)
            table.rule();
        double excess = excess_ratio(run.waf_steady, waf_of_none(plan, results, cell.gc));
        table.add({row.title, row.internal.empty() ? "" : "yes", row.salt ? "yes" : "", cell.gc, fixed(run.waf, 3),
                   run.waf_steady > 0 ? fixed(run.waf_steady, 3) : "-", excess >= 0 ? fixed(excess, 2) : "-",
                   si(static_cast<double>(run.drive.gc_pages)), si(static_cast<double>(run.drive.erases)),
                   run.iops > 0 ? fixed(run.iops / 1000, 1) : "-", std::to_string(run.streams.size()), best ? "*" : ""},
                  best);
    }
    return table.text(colours);
}

std::vector<std::string> need_notes(const Plan &plan, const Survey &survey) {
    std::vector<std::string> notes;
    auto share = [&](uint64_t bytes) {
        return survey.host_bytes ? 100.0 * static_cast<double>(bytes) / static_cast<double>(survey.host_bytes) : 0;
    };
    const struct {
        uint32_t need;
        uint64_t bytes;
        const char *what;
    } checks[] = {{TRIB_NEEDS_SIGNATURE, survey.signature_bytes, "call paths"},
                  {TRIB_NEEDS_HINT, survey.hint_bytes, "write hints"},
                  {TRIB_NEEDS_LEVEL, survey.level_bytes, "levels"}};
    for (const auto &check : checks) {
        std::string names;
        for (const RowSpec &row : plan.rows)
            if ((needs_of(row.options) & check.need) && names.find(row.policy) == std::string::npos)
                names += (names.empty() ? "" : ", ") + row.policy;
        if (!names.empty() && share(check.bytes) < 50)
            notes.push_back(fmt::format("only {:.0f} % of the bytes carry {}, which {} relies on", share(check.bytes),
                                        check.what, names));
    }
    return notes;
}

std::vector<std::string> all_notes(const Plan &plan, const std::vector<RunResult> &results, const Regime &regime,
                                   const Survey &survey) {
    std::vector<std::string> notes = regime_warnings(regime, waf_of_none(plan, results, plan.cells.front().gc));
    for (std::string &note : need_notes(plan, survey))
        notes.push_back(std::move(note));
    notes.insert(notes.end(), plan.left_out.begin(), plan.left_out.end());
    if (!survey.source_note.empty())
        notes.push_back(survey.source_note);
    if (survey.truncated)
        notes.push_back("the trace is cut; replayed up to the cut");
    if (survey.dropped_events)
        notes.push_back(fmt::format("the recorder dropped {} events ({})", grouped(survey.dropped_events),
                                    size_text(static_cast<double>(survey.dropped_bytes))));
    return notes;
}

void print_text(const CompareOptions &options, const Plan &plan, const std::vector<RunResult> &results,
                const Survey &survey) {
    Regime regime = regime_of(results, survey);
    fmt::print("trace   {}\n        {} events, {} written to {} files, {} live at peak\n", options.source.path,
               grouped(survey.events), size_text(static_cast<double>(survey.host_bytes)), grouped(survey.files),
               size_text(static_cast<double>(survey.peak_live_bytes)));
    fmt::print("{}\n{}", regime_text(regime), table_text(plan, results));
    fmt::print("{}", wrapped("", "* lowest steady WAF of its gc. steady: second half of the host writes. xnone: steady "
                                 "WAF-1 over that of none. int: internal streams take the survivors, whatever gc says; "
                                 "the same run is shown for each. str: streams used."));
    for (const std::string &note : all_notes(plan, results, regime, survey))
        fmt::print("{}", wrapped("note: ", note));
}

Json json_compare(const CompareOptions &options, const Plan &plan, const std::vector<RunResult> &results,
                  const Survey &survey) {
    Regime regime = regime_of(results, survey);
    Json json = {{"version", COMPARE_JSON_VERSION}, {"command", "compare"}};
    json["drive"] = json_regime(regime);
    json["trace"] = json_trace(options.source.path, survey);
    Json &rows = json["rows"] = Json::array();
    for (const Cell &cell : plan.cells) {
        const RowSpec &spec = plan.rows[cell.row];
        const RunResult &run = results[cell.run];
        Json row = {{"label", spec.label},
                    {"policy", spec.policy},
                    {"options", plan.runs[cell.run].options},
                    {"internal", !spec.internal.empty()},
                    {"salt", spec.salt},
                    {"gc", cell.gc}};
        double excess = excess_ratio(run.waf_steady, waf_of_none(plan, results, cell.gc));
        row["excess_ratio"] = excess >= 0 ? Json(excess) : Json(nullptr);
        add_run(row, run, survey.dictionary);
        rows.push_back(std::move(row));
    }
    json["notes"] = all_notes(plan, results, regime, survey);
    return json;
}

// A drive sized to a small trace has too few superblocks of the standard size: says how small it is, and what to do, in
// the flags of this command; the core's advice behind the ';' is in a drive's options.
std::vector<RunResult> run_on_fitting_drive(const Plan &plan, const CompareOptions &options, const Survey &survey) {
    try {
        return run_all(plan.runs, options.jobs);
    } catch (const Failure &failure) {
        const std::string text = failure.what(), why = text.substr(0, text.find(';'));
        if (text.find("superblocks of") == std::string::npos)
            throw;
        const std::string other = "a larger --capacity, smaller superblocks (--superblock) or more over-provisioning "
                                  "(--op)";
        if (options.regime.superblock || options.regime.capacity)
            throw Failure(EXIT_DRIVE_SMALL, "the drive is too small: use " + other + " (" + why + ")");
        throw Failure(EXIT_DRIVE_SMALL,
                      fmt::format("the {} has only {} alive at its peak, {} written, too little for superblocks of "
                                  "this size: record more, or use --superblock 64K, or, where that is not enough, "
                                  "--capacity 128M ({})",
                                  survey.what, size_text(static_cast<double>(survey.peak_live_bytes)),
                                  size_text(static_cast<double>(survey.host_bytes)), why));
    }
}

} // namespace

static std::string label_of_internal(const std::string &internal) {
    if (internal.empty())
        return "";
    return internal == "twin" ? "+internal" : "+" + internal;
}

// The policy and its options, without what has columns of its own.
static std::string title_of(OptionText options) {
    std::string policy = options.get("policy");
    for (const char *shown : {"policy", "salt", "internal"})
        options.erase(shown);
    std::string given = options.text();
    return given.empty() ? policy : policy + "," + given;
}

std::vector<std::string> variant_rows(uint32_t use) {
    std::vector<std::string> texts;
    for (const trib_policy *const *policy = trib_policies(); *policy; policy++)
        for (const trib_policy_variant *v = (*policy)->variants; v && v->options; v++)
            if (v->use & use)
                texts.push_back((v->label ? std::string(v->label) + ":" : "") + (*policy)->name +
                                (*v->options ? "," : "") + v->options);
    return texts;
}

RowSpec parse_row(const std::string &text) {
    RowSpec row;
    size_t colon = text.find(':'), stop = text.find_first_of(",=");
    bool labelled = colon != std::string::npos && (stop == std::string::npos || colon < stop);
    row.options.merge(labelled ? text.substr(colon + 1) : text, "policy");
    row.policy = row.options.get("policy");
    trib_error error = {};
    if (!trib_policy_find(row.policy.c_str(), &error))
        throw Failure(EXIT_USAGE, error.text);
    std::string salt = row.options.get("salt");
    row.salt = !salt.empty() && salt != "none";
    row.internal = parse_internal(row.options.get("internal"));
    row.options.erase("internal");
    row.title = labelled ? text.substr(0, colon) : title_of(row.options);
    row.label = labelled ? row.title : row.title + (row.salt ? "+salt" : "") + label_of_internal(row.internal);
    return row;
}

void compare(const CompareOptions &options) {
    std::vector<std::string> texts = options.policies;
    if (texts.empty())
        texts = variant_rows(TRIB_VARIANT_FIRST_TABLE);
    std::vector<RowSpec> rows;
    std::transform(texts.begin(), texts.end(), std::back_inserter(rows), parse_row);
    Experiment experiment;
    if (is_experiment(options.source.path))
        experiment = load_experiment(options.source.path);
    OptionText user;
    user.merge(options.drive, "drive");
    for (const std::string &more : options.set)
        user.merge(more);
    OptionText drive = experiment.drive;
    drive.merge(user.text());
    RegimeOptions regime = regime_or(options.regime, regime_without(experiment.regime, user));

    Survey survey = survey_source(options.source);
    if (survey.host_bytes == 0)
        throw Failure(EXIT_RUNTIME,
                      "the trace '" + options.source.path + "' has no writes; there is nothing to compare");
    Plan plan = make_plan(options, rows, drive_options(regime, drive, survey), survey);
    std::vector<RunPlan *> pointers;
    for (RunPlan &run : plan.runs)
        pointers.push_back(&run);
    add_future_where_needed(pointers, options.jobs);
    std::vector<RunResult> results = run_on_fitting_drive(plan, options, survey);
    if (!results.front().has_drive)
        throw Failure(EXIT_USAGE, "compare needs a drive that counts; use --drive emulated");
    if (options.json)
        write_json(json_compare(options, plan, results, survey), *options.json);
    if (!options.json || (!options.json->empty() && *options.json != "-"))
        print_text(options, plan, results, survey);
}

} // namespace cli
