// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <memory>

#include "common/failure.h"
#include "common/flags.h"
#include "lab/matrix.h"
#include "lab/reproduce.h"

namespace cli {

namespace {

void add_matrix(CLI::App &lab) {
    auto kept = std::make_shared<MatrixOptions>();
    MatrixOptions &options = *kept;
    CLI::App *command =
        lab.add_subcommand("matrix", "Every policy on every experiment, under each --gc and each --victim");
    command->add_option("--workloads", options.workloads, "Experiments, or folders of them [those installed]");
    command->add_option("--policy", options.policies, "As of compare; may be repeated [every policy]")->take_all();
    add_policy_packs(command);
    command->add_option("--gc", options.gcs, "Each cell runs with each of these: same,shared")->delimiter(',');
    command->add_option("--victim", options.victims, "Each cell runs with each of these: greedy,cost-benefit")
        ->delimiter(',');
    command->add_flag("--quick", options.quick, "Two capacities of writes, greedy only: a glance, not a result");
    command->add_option("--set", options.set, "More options of every run, key=value[,key=value...]; they win");
    command->add_option("--jobs", options.jobs, "Runs side by side [one per core]")->check(CLI::Range(1u, 1024u));
    add_json_option(command, options.json);
    command->callback([kept] { matrix(*kept); });
}

void add_reproduce(CLI::App &lab) {
    auto kept = std::make_shared<ReproduceOptions>();
    ReproduceOptions &options = *kept;
    CLI::App *command = lab.add_subcommand("reproduce", "Run experiments of the papers and judge their shapes");
    CLI::Option *name = command->add_option("name", options.name, "An experiment, or all");
    command->add_flag("--names", options.names, "Names of the experiments only");
    command->add_option("--jobs", options.jobs, "Runs side by side [one per core]")->check(CLI::Range(1u, 1024u));
    add_json_option(command, options.json);
    command->callback([kept, name] {
        if (!kept->names && name->count() == 0)
            throw Failure(EXIT_USAGE, "name an experiment: all " + reproduction_names());
        reproduce(*kept);
    });
}

} // namespace

void add_lab_commands(CLI::App &app) {
    CLI::App *lab = app.add_subcommand("lab", "The laboratory: compare all policies, reproduce the papers");
    lab->require_subcommand(1);
    add_matrix(*lab);
    add_reproduce(*lab);
}

} // namespace cli
