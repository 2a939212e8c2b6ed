// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <memory>
#include <regex>

#include "common/failure.h"
#include "common/flags.h"
#include "common/output_file.h"
#include "compare/compare.h"
#include "compare/replay.h"

namespace cli {

namespace {

// "auto, trib, ...": a line can be broken between them.
std::string format_names() {
    return std::regex_replace(source_formats(), std::regex("\\|"), ", ");
}

// A trace behind an option that may be repeated is no further value of it.
CLI::Option *once_each(CLI::Option *option) {
    return option->allow_extra_args(false);
}

CLI::Option *add_source(CLI::App *command, SourceSpec &source) {
    CLI::Option *trace = command->add_option("--trace,trace", source.path,
                                             "What to replay: a trace, an experiment (.ini) or a public block trace");
    command->add_option("--format", source.format, "Of the trace: " + format_names())->capture_default_str();
    command->add_option("--import", source.import_options, "How to read a public trace: key=value[,key=value...]");
    command->add_flag("--truncated-ok", source.truncated_ok, "Replay a cut trace up to the cut");
    return trace;
}

void add_replay(CLI::App &app) {
    auto kept = std::make_shared<ReplayOptions>();
    ReplayOptions &options = *kept;
    CLI::App *command = app.add_subcommand("replay", "Replay a trace under one policy");
    add_source(command, options.source)->required();
    command->add_option("--policy", options.policy, "NAME[,key=value...]; see trib policies")->required();
    command->add_option("--drive", options.drive, "NAME[,key=value...]; see trib drive list")->default_val("emulated");
    command->add_option("--gc", options.gc, "Where garbage collection puts survivors; see trib options");
    add_policy_packs(command);
    once_each(command->add_option("--set", options.set, "More options, key=value[,key=value...]; they win"));
    command
        ->add_option("--dump", options.dump, "State of the drive at the end as JSON, superblock by superblock, to FILE")
        ->type_name("FILE");
    add_json_option(command, options.json);
    command->callback([kept] {
        check_output("--dump", kept->dump, OutputForm::drive_dump);
        if (kept->json && is_same_file(*kept->json, kept->dump))
            throw Failure(EXIT_USAGE, "--json and --dump name one file: '" + kept->dump + "'");
        replay(*kept);
    });
}

void add_regime(CLI::App *command, RegimeOptions &regime) {
    command->add_option("--fill", regime.fill_percent, "Live data at their peak, percent of the capacity [90]");
    command->add_option("--cold", regime.cold_percent, "Files that never die, percent of the live data [30]");
    command->add_option("--capacity", regime.capacity, "Exported capacity; without it --fill decides");
    command->add_option("--op", regime.over_provisioning, "Over-provisioning, percent [7]");
    command->add_option("--superblock", regime.superblock, "What is erased together [4M]");
    command->add_option("--streams", regime.streams, "Streams besides S0 [8]");
}

void add_compare(CLI::App &app) {
    auto kept = std::make_shared<CompareOptions>();
    CompareOptions &options = *kept;
    CLI::App *command = app.add_subcommand("compare", "Replay a trace under many policies, one table");
    add_source(command, options.source)->required();
    once_each(
        command->add_option("--policy", options.policies, "[LABEL:]NAME[,key=value...][,internal=...]; may be repeated")
            ->take_all());
    add_policy_packs(command);
    command->add_option("--drive", options.drive, "NAME[,key=value...]; see trib drive list");
    once_each(command->add_option("--gc", options.gcs, "Each policy runs with each of these: same,shared"))
        ->delimiter(',');
    add_regime(command, options.regime);
    once_each(
        command->add_option("--set", options.set, "More options of every run, key=value[,key=value...]; they win"));
    command->add_option("--jobs", options.jobs, "Runs side by side [one per core]")->check(CLI::Range(1u, 1024u));
    add_json_option(command, options.json);
    command->callback([kept] { compare(*kept); });
}

} // namespace

void add_compare_commands(CLI::App &app) {
    add_replay(app);
    add_compare(app);
}

} // namespace cli
