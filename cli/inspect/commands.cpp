// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <memory>

#include "common/flags.h"
#include "inspect/catalog.h"
#include "inspect/inspect.h"

namespace cli {

namespace {

void add_inspect(CLI::App &app) {
    auto kept = std::make_shared<InspectOptions>();
    InspectOptions &options = *kept;
    CLI::App *command = app.add_subcommand("inspect", "Show what is in a trace or a state file");
    command->add_option("file", options.file, "Trace or state file")->required();
    command->add_flag("--events", options.events, "Every item on a line");
    command->add_option("--limit", options.limit, "Stop --events after this many events; 0 = never");
    command->add_flag("--truncated-ok", options.truncated_ok, "Read a cut trace up to the cut");
    command->add_flag("--json", options.json, "JSON; with --events one object per line");
    command->callback([kept] { inspect(*kept); });
}

// Flags of the commands that only list things.
struct ListOptions {
    bool json = false, names = false, markdown = false;
    std::string drive, values;
    std::vector<std::string> drive_options;

    Form form() const {
        return json ? Form::json : names ? Form::names : markdown ? Form::markdown : Form::text;
    }
};

void add_drive(CLI::App &app, const std::shared_ptr<ListOptions> &kept) {
    ListOptions &options = *kept;
    CLI::App *command = app.add_subcommand("drive", "List or describe drives");
    command->require_subcommand(1);
    CLI::App *list = command->add_subcommand("list", "Drives and their presets");
    list->add_flag("--json", options.json, "JSON");
    list->add_flag("--names", options.names, "Names only");
    list->callback([kept] { list_drives(kept->form()); });
    CLI::App *describe = command->add_subcommand("describe", "Geometry, level of placement and options of a drive");
    describe->add_option("name", options.drive, "Drive")->required();
    describe->add_option("options", options.drive_options, "key=value[,key=value...], as for a pipeline");
    describe->add_flag("--json", options.json, "JSON");
    describe->callback([kept] { describe_drive(kept->drive, kept->drive_options, kept->json); });
}

void add_lists(CLI::App &app) {
    auto kept = std::make_shared<ListOptions>();
    ListOptions &options = *kept;
    add_drive(app, kept);
    CLI::App *policies = app.add_subcommand("policies", "List policies, what they need and their options");
    policies->add_flag("--json", options.json, "JSON");
    policies->add_flag("--names", options.names, "Names only");
    add_policy_packs(policies);
    policies->callback([kept] { list_policies(kept->form()); });
    CLI::App *workloads = app.add_subcommand("workloads", "List synthetic workloads and readers of public traces");
    workloads->add_flag("--json", options.json, "JSON");
    workloads->add_flag("--names", options.names, "Names of workloads only");
    workloads->callback([kept] { list_workloads(kept->form()); });
    CLI::App *keys = app.add_subcommand("options", "List every option of pipeline, policies and drives");
    keys->add_flag("--json", options.json, "JSON");
    keys->add_flag("--markdown", options.markdown, "Tables as in docs/options.md");
    keys->add_option("--values", options.values, "Only the values of a drive's option, e.g. gc or victim")
        ->type_name("KEY");
    keys->callback([kept] { kept->values.empty() ? list_options(kept->form()) : list_values(kept->values); });
    CLI::App *version = app.add_subcommand("version", "Version, compiler, build type, assertions");
    version->add_flag("--json", options.json, "JSON");
    version->callback([kept] { print_version(kept->json); });
}

} // namespace

void add_inspect_commands(CLI::App &app) {
    add_inspect(app);
    add_lists(app);
}

} // namespace cli
