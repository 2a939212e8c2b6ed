// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tributary/policy.h>
#include <unistd.h>
#include <unordered_set>

#include "common/json.h"
#include "common/progress.h"
#include "common/table.h"
#include "compare/pool.h"
#include "compare/run_json.h"
#include "inspect/inspect.h"

namespace cli {

namespace {

constexpr size_t NOTES_SHOWN = 20;
constexpr const char *LIFE_ONLY = "policy=" TRIB_POLICY_BASELINE ",drive=none"; // follow lifetimes, write nothing

struct Gap {
    uint64_t after_events, events, bytes;
};

// What the items say by themselves; lifetimes come from a run.
struct Contents {
    std::map<std::string, uint64_t> events; // by kind
    uint64_t names = 0, clock_first = 0, clock_last = 0, wall_first = 0, wall_last = 0, size_bytes = 0;
    std::vector<std::string> notes;
    std::string stop_reason;
    uint64_t files_missing = 0;
    std::vector<Gap> gaps;
    std::map<uint8_t, std::unordered_set<uint64_t>> files_of_kind;
    std::map<uint64_t, std::unordered_set<uint64_t>> files_of_signature;
    Survey survey;
};

void count_event(Contents &contents, const trib_event &event) {
    if (contents.survey.events++ == 0) {
        contents.clock_first = event.clock_bytes;
        contents.wall_first = event.wall_ns;
    }
    contents.events[event_kind_name(event.kind)]++;
    contents.clock_last = event.clock_bytes + (event.kind == TRIB_EVENT_WRITE ? event.length_bytes : 0);
    contents.wall_last = std::max(contents.wall_last, event.wall_ns);
    if (event.kind != TRIB_EVENT_WRITE)
        return;
    contents.survey.host_bytes += event.length_bytes;
    contents.files_of_kind[event.who.file_kind].insert(event.file);
    contents.files_of_signature[event.who.signature].insert(event.file);
}

Contents read_contents(const InspectOptions &options) {
    Contents contents;
    LiveBlocks live;
    TraceFile trace(options.file, options.truncated_ok);
    Progress progress("reading");
    while (trace.next()) {
        const trib_trace_item &item = trace.item();
        contents.survey.dictionary.learn(item);
        if (item.kind == TRIB_TRACE_NAME)
            contents.names++;
        if (item.kind == TRIB_TRACE_NOTE)
            contents.notes.emplace_back(item.text);
        if (item.kind == TRIB_TRACE_GAP) {
            contents.gaps.push_back({contents.survey.events, item.gap_events, item.gap_bytes});
            contents.survey.dropped_events += item.gap_events;
            contents.survey.dropped_bytes += item.gap_bytes;
        }
        if (item.kind != TRIB_TRACE_EVENT)
            continue;
        count_event(contents, item.event);
        live.apply(item.event);
        if (contents.survey.events % 4096 == 0)
            progress.show(trace.position_bytes(), trace.size_bytes());
    }
    contents.size_bytes = trace.size_bytes();
    contents.survey.files = live.files();
    contents.survey.peak_live_bytes = live.peak_bytes();
    contents.survey.truncated = trace.was_truncated();
    contents.stop_reason = trace.stop_reason();
    contents.files_missing = trace.files_missing();
    return contents;
}

RunResult follow_lifetimes(const InspectOptions &options, const Contents &contents) {
    RunPlan plan;
    plan.source.path = options.file;
    plan.source.format = "trib";
    plan.source.truncated_ok = options.truncated_ok;
    plan.options = std::string(LIFE_ONLY) + ",salt=kind"; // one writer may write files of several kinds
    plan.host_bytes = contents.survey.host_bytes;
    return run_one(plan);
}

std::map<uint8_t, Tally> by_file_kind(const RunResult &run) {
    std::map<uint8_t, Tally> kinds;
    for (const SignatureTally &row : run.signatures) {
        Tally &tally = kinds[row.who.file_kind];
        tally.written_bytes += row.written_bytes;
        tally.died_bytes += row.died_bytes;
        tally.live_bytes += row.live_bytes;
        tally.lifetimes.merge(row.lifetimes);
    }
    return kinds;
}

size_t files_of(const Contents &contents, uint64_t signature) {
    auto found = contents.files_of_signature.find(signature);
    return found == contents.files_of_signature.end() ? 0 : found->second.size();
}

std::vector<std::string> tally_cells(const Tally &tally) {
    std::vector<std::string> cells = {size_text(static_cast<double>(tally.written_bytes)),
                                      size_text(static_cast<double>(tally.live_bytes))};
    for (double fraction : {0.25, 0.5, 0.75})
        cells.push_back(tally.lifetimes.weight() ? size_text(tally.lifetimes.quantile(fraction)) : "-");
    return cells;
}

const std::vector<Column> TALLY_COLUMNS = {{"files"}, {"written"}, {"live"}, {"life p25"}, {"p50"}, {"p75"}};

Table tally_table(std::vector<Column> columns) {
    columns.insert(columns.end(), TALLY_COLUMNS.begin(), TALLY_COLUMNS.end());
    return Table(columns);
}

void add_tally_row(Table &table, std::vector<std::string> cells, size_t files, const Tally &tally) {
    cells.push_back(grouped(files));
    for (std::string &cell : tally_cells(tally))
        cells.push_back(std::move(cell));
    table.add(std::move(cells));
}

void print_head(const InspectOptions &options, const Contents &contents) {
    const Survey &survey = contents.survey;
    fmt::print("trace    {}: format {}, {}\n", options.file, TRIB_TRACE_VERSION,
               size_text(static_cast<double>(contents.size_bytes)));
    std::string kinds;
    for (const auto &[kind, count] : contents.events)
        kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", grouped(count), kind);
    fmt::print("events   {} ({})\n", grouped(survey.events), kinds);
    fmt::print("names    {} files, {} modules, {} signatures with frames\n", grouped(contents.names),
               survey.dictionary.modules(), grouped(survey.dictionary.signatures()));
    double seconds = static_cast<double>(contents.wall_last - std::min(contents.wall_first, contents.wall_last)) / 1e9;
    fmt::print("span     clock {} to {}, {:.1f} s\n", size_text(static_cast<double>(contents.clock_first)),
               size_text(static_cast<double>(contents.clock_last)), seconds);
    fmt::print("written  {} to {} files; {} live at peak\n", size_text(static_cast<double>(survey.host_bytes)),
               grouped(survey.files), size_text(static_cast<double>(survey.peak_live_bytes)));
    fmt::print("gaps     {}{}\n", contents.gaps.size(),
               contents.gaps.empty()
                   ? std::string()
                   : fmt::format(": {} events ({}) dropped by the recorder", grouped(survey.dropped_events),
                                 size_text(static_cast<double>(survey.dropped_bytes))));
    for (size_t i = 0; i < contents.notes.size() && i < NOTES_SHOWN; i++)
        fmt::print("{}", wrapped("note     ", contents.notes[i]));
    if (!contents.stop_reason.empty())
        fmt::print("{}", wrapped("stopped  ", contents.stop_reason));
    if (survey.truncated)
        fmt::print("cut      the file ends inside a block; shown up to there\n");
}

void print_signatures(const Contents &contents, const RunResult &run) {
    Table table = tally_table({{"signature", Align::left}, {"kind", Align::left}});
    std::string frames;
    std::set<uint64_t> described;
    for (const SignatureTally &row : run.signatures) {
        uint64_t signature = row.who.signature;
        add_tally_row(table, {fmt::format("{:016x}", signature), file_kind_name(row.who.file_kind)},
                      files_of(contents, signature), row);
        if (!described.insert(signature).second)
            continue;
        frames += fmt::format("\n{:016x}\n", signature);
        for (const std::string &frame : contents.survey.dictionary.frames(signature))
            frames += fmt::format("    {}\n", frame);
    }
    fmt::print("\n{}", table.text(colours_wanted(STDOUT_FILENO)));
    if (contents.survey.dictionary.signatures())
        fmt::print("\ncall paths, innermost frame first\n{}", frames);
}

void print_text(const InspectOptions &options, const Contents &contents, const RunResult &run) {
    print_head(options, contents);
    Table table = tally_table({{"file kind", Align::left}});
    for (const auto &[kind, tally] : by_file_kind(run)) {
        auto files = contents.files_of_kind.find(kind);
        add_tally_row(table, {file_kind_name(kind)}, files == contents.files_of_kind.end() ? 0 : files->second.size(),
                      tally);
    }
    fmt::print("\n{}", table.text(colours_wanted(STDOUT_FILENO)));
    print_signatures(contents, run);
}

Json json_tally(const Tally &tally, size_t files) {
    return {{"files", files},
            {"written_bytes", tally.written_bytes},
            {"died_bytes", tally.died_bytes},
            {"live_bytes", tally.live_bytes},
            {"lifetime", json_of(tally.lifetimes)}};
}

Json json_contents(const InspectOptions &options, const Contents &contents, const RunResult &run) {
    Json json = {{"version", COMPARE_JSON_VERSION}, {"command", "inspect"}, {"kind", "trace"}};
    json["trace"] = json_trace(options.file, contents.survey);
    json["trace"]["format"] = TRIB_TRACE_VERSION;
    json["trace"]["size_bytes"] = contents.size_bytes;
    json["events"] = contents.events;
    json["names"] = contents.names;
    json["modules"] = contents.survey.dictionary.modules();
    json["clock_bytes"] = {contents.clock_first, contents.clock_last};
    json["wall_ns"] = {contents.wall_first, contents.wall_last};
    json["notes"] = contents.notes;
    if (!contents.stop_reason.empty())
        json["trace"]["stopped"] = contents.stop_reason;
    if (contents.files_missing)
        json["trace"]["files_missing"] = contents.files_missing;
    json["gaps"] = Json::array();
    for (const Gap &gap : contents.gaps)
        json["gaps"].push_back(
            {{"after_events", gap.after_events}, {"dropped_events", gap.events}, {"dropped_bytes", gap.bytes}});
    json["file_kinds"] = Json::array();
    for (const auto &[kind, tally] : by_file_kind(run)) {
        auto files = contents.files_of_kind.find(kind);
        Json row = {{"file_kind", file_kind_name(kind)}};
        row.update(json_tally(tally, files == contents.files_of_kind.end() ? 0 : files->second.size()));
        json["file_kinds"].push_back(std::move(row));
    }
    json["signatures"] = Json::array();
    for (const SignatureTally &tally : run.signatures) {
        Json row = {{"signature", fmt::format("{:#018x}", tally.who.signature)}, {"who", json_of(tally.who)}};
        row.update(json_tally(tally, files_of(contents, tally.who.signature)));
        row["frames"] = contents.survey.dictionary.frames(tally.who.signature);
        json["signatures"].push_back(std::move(row));
    }
    return json;
}

} // namespace

void inspect_trace(const InspectOptions &options) {
    if (options.events) {
        dump_items(options);
        return;
    }
    Contents contents = read_contents(options);
    RunResult run = follow_lifetimes(options, contents);
    if (options.json)
        write_json(json_contents(options, contents, run), "");
    else
        print_text(options, contents, run);
}

} // namespace cli
