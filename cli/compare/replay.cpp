// SPDX-License-Identifier: Apache-2.0
#include "compare/replay.h"

#include <fmt/format.h>
#include <unistd.h>

#include "common/failure.h"
#include "common/json.h"
#include "common/option_text.h"
#include "common/table.h"
#include "compare/future.h"
#include "compare/pool.h"
#include "compare/regime_found.h"
#include "compare/requirements.h"
#include "compare/run_json.h"
#include "source/experiment.h"
#include "source/regime.h"
#include "source/survey.h"

namespace cli {

namespace {

// An experiment brings its drive, sized to the work; what the user says of the drive wins.
OptionText drive_text(const ReplayOptions &options, const Survey &survey) {
    OptionText text;
    if (!is_experiment(options.source.path)) {
        text.merge(options.drive, "drive");
        return text;
    }
    Experiment experiment = load_experiment(options.source.path);
    OptionText user;
    user.merge(options.drive, "drive");
    text = experiment.drive;
    text.merge(user.text());
    return drive_options(regime_without(experiment.regime, user), text, survey);
}

std::string pipeline_options(const ReplayOptions &options, const Survey &survey) {
    OptionText text;
    text.merge(options.policy, "policy");
    text.merge(drive_text(options, survey).text());
    if (!options.gc.empty())
        text.set("gc", options.gc);
    for (const std::string &more : options.set)
        text.merge(more);
    default_to_latency(text);
    return text.text();
}

void print_drive(const RunResult &run) {
    const trib_drive_report &drive = run.drive;
    auto capacity = static_cast<double>(drive.capacity_bytes);
    double live_peak = static_cast<double>(drive.live_pages_peak * TRIB_BLOCK_BYTES);
    fmt::print("{}", wrapped("drive     ",
                             fmt::format("{}: {} exported, {:.1f} % over-provisioned, {} superblocks of {}, gc={}, "
                                         "victim={}, {} streams besides S0, {:.1f} % live at peak",
                                         drive.name, size_text(capacity), drive.over_provisioning_percent,
                                         grouped(drive.reclaim_units),
                                         size_text(static_cast<double>(drive.reclaim_unit_bytes)), drive.gc,
                                         drive.victim, drive.streams, 100 * live_peak / capacity)));
    fmt::print("WAF       {} over the whole run, {} in steady state (second half)\n",
               run.waf > 0 ? fixed(run.waf, 3) : "unknown", run.waf_steady > 0 ? fixed(run.waf_steady, 3) : "unknown");
    fmt::print("pages     {} from the host, {} copied by gc, {} erases\n", grouped(drive.host_pages),
               grouped(drive.gc_pages), grouped(drive.erases));
    if (run.iops > 0)
        fmt::print("speed     {} simulated IOPS (4 KiB host writes, {:.1f} s of virtual time)\n",
                   grouped(static_cast<uint64_t>(run.iops)), drive.virtual_seconds);
    fmt::print("streams   {} used, at most {} superblocks open at once\n", run.streams.size(), drive.open_units_peak);
}

void print_streams(const RunResult &run) {
    Table table({{"stream"}, {"written"}, {"died"}, {"live"}, {"life p25"}, {"p50"}, {"p75"}, {"superblocks"}});
    for (const StreamTally &stream : run.streams) {
        auto life = [&](double fraction) {
            return stream.lifetimes.weight() ? size_text(stream.lifetimes.quantile(fraction)) : std::string("-");
        };
        auto units = run.drive.reclaim_unit_bytes ? stream.written_bytes / run.drive.reclaim_unit_bytes : 0;
        table.add({"S" + std::to_string(stream.stream), size_text(static_cast<double>(stream.written_bytes)),
                   size_text(static_cast<double>(stream.died_bytes)), size_text(static_cast<double>(stream.live_bytes)),
                   life(0.25), life(0.5), life(0.75), grouped(units)});
    }
    fmt::print("\n{}", table.text(colours_wanted(STDOUT_FILENO)));
    fmt::print("{}", wrapped("", "Lifetimes are host bytes written between a write and its death, "
                                 "weighted by bytes; what "
                                 "is still live is not in them. Superblocks: host writes of the "
                                 "stream in reclaim units."));
}

void print_summary(const ReplayOptions &options, const Survey &survey, const RunResult &run) {
    fmt::print("{}",
               wrapped("trace     ",
                       fmt::format("{}: {} events, {} written to {} files", options.source.path, grouped(run.events),
                                   size_text(static_cast<double>(survey.host_bytes)), grouped(survey.files))));
    fmt::print("policy    {}: {} signatures, {} re-clusterings\n", run.status.policy, run.status.attributes,
               run.status.reclusterings);
    if (run.has_drive)
        print_drive(run);
    else
        fmt::print("drive     none: streams are decided, nothing is written\n");
    print_streams(run);
    if (!survey.source_note.empty())
        fmt::print("note: {}\n", survey.source_note);
    if (run.truncated)
        fmt::print("note: the trace is cut; replayed up to the cut\n");
    if (survey.dropped_events)
        fmt::print("note: the recorder dropped {} events ({})\n", grouped(survey.dropped_events),
                   size_text(static_cast<double>(survey.dropped_bytes)));
    if (run.status.runs_dropped)
        fmt::print("note: {} live extents did not fit; their deaths went unseen (option runs)\n",
                   grouped(run.status.runs_dropped));
    if (run.status.drive_errors)
        fmt::print("note: the drive refused {} writes\n", grouped(run.status.drive_errors));
}

Json json_replay(const ReplayOptions &options, const Survey &survey, const RunPlan &plan, const RunResult &run) {
    const trib_drive_report &drive = run.drive;
    Json json = {{"version", COMPARE_JSON_VERSION}, {"command", "replay"}};
    if (run.has_drive) {
        json["drive"] = json_drive(drive);
        json["drive"]["gc"] = drive.gc;
    }
    json["trace"] = json_trace(options.source.path, survey);
    json["policy"] = run.status.policy;
    json["options"] = plan.options;
    add_run(json, run, survey.dictionary);
    return json;
}

} // namespace

void replay(const ReplayOptions &options) {
    RunPlan plan;
    plan.source = options.source;
    plan.dump = options.dump;
    Survey survey = survey_source(options.source);
    plan.options = pipeline_options(options, survey);
    plan.host_bytes = survey.host_bytes;
    plan.peak_live_bytes = survey.peak_live_bytes;
    OptionText text;
    text.merge(plan.options);
    std::string lack = missing(text, survey);
    if (!lack.empty())
        throw Failure(EXIT_USAGE, text.get("policy") + " " + lack);
    add_future_where_needed({&plan}, 1);
    RunResult run = run_one(plan);
    if (options.json)
        write_json(json_replay(options, survey, plan, run), *options.json);
    if (!options.json || (!options.json->empty() && *options.json != "-"))
        print_summary(options, survey, run);
}

} // namespace cli
