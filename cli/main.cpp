// SPDX-License-Identifier: Apache-2.0
// `trib`: flags to calls, failures to one sentence and an exit code. The work is in the files
// beside this one.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <optional>
#include <tributary/policy.h>

#include "catalog.h"
#include "child.h"
#include "compare.h"
#include "daemon.h"
#include "failure.h"
#include "inspect.h"
#include "matrix.h"
#include "replay.h"
#include "reproduce.h"
#include "rivals/rivals.h"
#include "session.h"

namespace {

using cli::Form;

// --json alone means standard output, --json=FILE a file.
void add_json_option(CLI::App *command, std::optional<std::string> &json) {
    command
        ->add_option_function<std::vector<std::string>>(
            "--json",
            [&json](const std::vector<std::string> &given) { json = given.empty() ? std::string() : given.front(); },
            "Results as JSON, to FILE or alone on standard output")
        ->type_name("FILE")
        ->expected(0, 1);
}

// Loaded as soon as it is read, so that the rest of the line may name its policies.
void add_policy_packs(CLI::App *command) {
    command
        ->add_option_function<std::vector<std::string>>(
            "--policy-pack",
            [](const std::vector<std::string> &files) {
                for (const std::string &file : files) {
                    trib_error error = {};
                    if (int code = trib_policy_pack_load(file.c_str(), &error))
                        throw cli::core_failure(code, error.text);
                }
            },
            "Policies of this shared object, too (docs/howto/policy-pack.md)")
        ->type_name("FILE")
        ->take_all();
}

CLI::Option *add_source(CLI::App *command, cli::SourceSpec &source) {
    CLI::Option *trace = command->add_option("--trace", source.path,
                                             "What to replay: a trace, an experiment (.ini) or a public block trace");
    command->add_option("--format", source.format, "Of the trace: " + cli::source_formats())->capture_default_str();
    command->add_option("--import", source.import_options, "How to read a public trace: key=value[,key=value...]");
    command->add_flag("--truncated-ok", source.truncated_ok, "Replay a cut trace up to the cut");
    return trace;
}

void add_replay(CLI::App &app, cli::ReplayOptions &options) {
    CLI::App *command = app.add_subcommand("replay", "Replay a trace under one policy");
    add_source(command, options.source)->required();
    command->add_option("--policy", options.policy, "NAME[,key=value...]; see trib policies")->required();
    command->add_option("--drive", options.drive, "NAME[,key=value...]; see trib drive list")->default_val("emulated");
    command->add_option("--gc", options.gc, "Where garbage collection puts survivors; see trib options");
    add_policy_packs(command);
    command->add_option("--set", options.set, "More options, key=value[,key=value...]; they win");
    command
        ->add_option("--dump", options.dump, "State of the drive at the end as JSON, superblock by superblock, to FILE")
        ->type_name("FILE");
    add_json_option(command, options.json);
    command->callback([&options] { cli::replay(options); });
}

void add_regime(CLI::App *command, cli::RegimeOptions &regime) {
    command->add_option("--fill", regime.fill_percent, "Live data at their peak, percent of the capacity [90]");
    command->add_option("--cold", regime.cold_percent, "Files that never die, percent of the live data [30]");
    command->add_option("--capacity", regime.capacity, "Exported capacity; without it --fill decides");
    command->add_option("--op", regime.over_provisioning, "Over-provisioning, percent [7]");
    command->add_option("--superblock", regime.superblock, "What is erased together [4M]");
    command->add_option("--streams", regime.streams, "Streams besides S0 [8]");
}

// compare --matrix shares the flags that mean the same.
struct CompareFlags {
    cli::CompareOptions compare;
    cli::MatrixOptions matrix;
    bool is_matrix = false;
};

void run_compare(CompareFlags &flags, bool has_trace) {
    if (!flags.is_matrix && !has_trace)
        throw cli::Failure(cli::EXIT_USAGE, "--trace says what to compare on; see trib --help");
    if (!flags.is_matrix && (flags.matrix.quick || !flags.matrix.workloads.empty()))
        throw cli::Failure(cli::EXIT_USAGE, "--workloads and --quick belong to --matrix");
    if (!flags.is_matrix)
        return cli::compare(flags.compare);
    if (has_trace)
        throw cli::Failure(cli::EXIT_USAGE, "--matrix runs experiments: name them with --workloads, not --trace");
    flags.matrix.policies = flags.compare.policies;
    flags.matrix.gcs = flags.compare.gcs;
    flags.matrix.set = flags.compare.set;
    flags.matrix.jobs = flags.compare.jobs;
    flags.matrix.json = flags.compare.json;
    cli::matrix(flags.matrix);
}

void add_matrix(CLI::App *command, CompareFlags &flags) {
    command->add_flag("--matrix", flags.is_matrix, "Every policy on every workload, under each --gc and --victim");
    command->add_option("--workloads", flags.matrix.workloads,
                        "Experiments of the matrix, or folders of them [those installed]");
    command
        ->add_option("--victim", flags.matrix.victims,
                     "Each cell of the matrix runs with each of these: greedy,cost-benefit")
        ->delimiter(',');
    command->add_flag("--quick", flags.matrix.quick,
                      "Matrix of two capacities of writes, greedy only: a glance, not a result");
}

void add_compare(CLI::App &app, CompareFlags &flags) {
    cli::CompareOptions &options = flags.compare;
    CLI::App *command = app.add_subcommand("compare", "Replay a trace under many policies, one table");
    CLI::Option *trace = add_source(command, options.source);
    add_matrix(command, flags);
    command->add_option("--policy", options.policies, "[LABEL:]NAME[,key=value...][,internal=...]; may be repeated")
        ->take_all();
    add_policy_packs(command);
    command->add_option("--drive", options.drive, "NAME[,key=value...]; see trib drive list");
    command->add_option("--gc", options.gcs, "Each policy runs with each of these: same,shared")->delimiter(',');
    add_regime(command, options.regime);
    command->add_option("--set", options.set, "More options of every run, key=value[,key=value...]; they win");
    command->add_option("--jobs", options.jobs, "Runs side by side [one per core]")->check(CLI::Range(1u, 1024u));
    add_json_option(command, options.json);
    command->callback([&flags, trace] { run_compare(flags, trace->count() > 0); });
}

void add_reproduce(CLI::App &app, cli::ReproduceOptions &options) {
    CLI::App *command = app.add_subcommand("reproduce", "Run experiments of the papers and judge their shapes");
    CLI::Option *name = command->add_option("name", options.name, "An experiment, or all");
    command->add_flag("--names", options.names, "Names of the experiments only");
    command->add_option("--jobs", options.jobs, "Runs side by side [one per core]")->check(CLI::Range(1u, 1024u));
    add_json_option(command, options.json);
    command->callback([&options, name] {
        if (!options.names && name->count() == 0)
            throw cli::Failure(cli::EXIT_USAGE, "name an experiment: all " + cli::reproduction_names());
        cli::reproduce(options);
    });
}

void add_inspect(CLI::App &app, cli::InspectOptions &options) {
    CLI::App *command = app.add_subcommand("inspect", "Show what is in a trace or a state file");
    command->add_option("file", options.file, "Trace or state file")->required();
    command->add_flag("--events", options.events, "Every item on a line");
    command->add_option("--limit", options.limit, "Stop --events after this many events; 0 = never");
    command->add_flag("--truncated-ok", options.truncated_ok, "Read a cut trace up to the cut");
    command->add_flag("--json", options.json, "JSON; with --events one object per line");
    command->callback([&options] { cli::inspect(options); });
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

void add_drive(CLI::App &app, ListOptions &options) {
    CLI::App *command = app.add_subcommand("drive", "List or describe drives");
    command->require_subcommand(1);
    CLI::App *list = command->add_subcommand("list", "Drives and their presets");
    list->add_flag("--json", options.json, "JSON");
    list->add_flag("--names", options.names, "Names only");
    list->callback([&options] { cli::list_drives(options.form()); });
    CLI::App *describe = command->add_subcommand("describe", "Geometry, level of placement and options of a drive");
    describe->add_option("name", options.drive, "Drive")->required();
    describe->add_option("options", options.drive_options, "key=value[,key=value...], as for a pipeline");
    describe->add_flag("--json", options.json, "JSON");
    describe->callback([&options] { cli::describe_drive(options.drive, options.drive_options, options.json); });
}

void add_lists(CLI::App &app, ListOptions &options) {
    add_drive(app, options);
    CLI::App *policies = app.add_subcommand("policies", "List policies, what they need and their options");
    policies->add_flag("--json", options.json, "JSON");
    policies->add_flag("--names", options.names, "Names only");
    add_policy_packs(policies);
    policies->callback([&options] { cli::list_policies(options.form()); });
    CLI::App *workloads = app.add_subcommand("workloads", "List synthetic workloads and readers of public traces");
    workloads->add_flag("--json", options.json, "JSON");
    workloads->add_flag("--names", options.names, "Names of workloads only");
    workloads->callback([&options] { cli::list_workloads(options.form()); });
    CLI::App *keys = app.add_subcommand("options", "List every option of pipeline, policies and drives");
    keys->add_flag("--json", options.json, "JSON");
    keys->add_flag("--markdown", options.markdown, "Tables as in docs/options.md");
    keys->add_option("--values", options.values, "Only the values of a drive's option, e.g. gc or victim")
        ->type_name("KEY");
    keys->callback(
        [&options] { options.values.empty() ? cli::list_options(options.form()) : cli::list_values(options.values); });
    CLI::App *version = app.add_subcommand("version", "Version, compiler, build type, assertions");
    version->add_flag("--json", options.json, "JSON");
    version->callback([&options] { cli::print_version(options.json); });
}

// The two commands that run another one: what they share, and the status that is to be ours.
struct SessionFlags {
    cli::SessionOptions options;
    int exit_code = cli::EXIT_OK;
};

CLI::App *add_session(CLI::App &app, const char *name, const char *help, SessionFlags &flags) {
    cli::SessionOptions &options = flags.options;
    CLI::App *command = app.add_subcommand(name, help);
    command->footer("Then: -- CMD [ARGS...]. Its exit status is trib's; 125: trib failed before it ran.");
    command->add_option("--set", options.set, "More options, key=value[,key=value...]; they win");
    command->add_flag("--users", options.users, "Processes of other users take part, too");
    command->add_flag("--no-wait", options.no_wait, "End with CMD, even if it left processes behind");
    command->add_option("--json", options.json, "Summary as JSON")->type_name("FILE");
    command->add_option("--preload", options.preload, "libtributary-preload.so, if not beside trib")->type_name("FILE");
    command->add_option("--session", options.path, "Socket that the processes join [one in /tmp]")->type_name("FILE");
    return command;
}

void add_record(CLI::App &app, SessionFlags &flags) {
    CLI::App *command = add_session(app, "record", "Run a command and record what its processes write", flags);
    command->add_option("--trace", flags.options.trace, "Where to")->type_name("FILE")->default_val("tributary.trib");
    command->callback([&flags] {
        flags.options.policy = TRIB_POLICY_DEFAULT; // learns, for option state; nothing is placed
        flags.options.drive = "none";
        flags.exit_code = cli::record(flags.options);
    });
}

void add_run(CLI::App &app, SessionFlags &flags) {
    CLI::App *command = add_session(app, "run", "Run a command under a policy and its drive", flags);
    command->add_option("--policy", flags.options.policy, "NAME[,key=value...]; see trib policies")
        ->default_val(TRIB_POLICY_DEFAULT);
    add_policy_packs(command);
    command->add_option("--drive", flags.options.drive, "NAME[,key=value...]; see trib drive list")
        ->default_val("emulated");
    command->add_option("--gc", flags.options.gc, "Where garbage collection puts survivors");
    command->add_option("--trace", flags.options.trace, "Record, too")->type_name("FILE");
    command->callback([&flags] { flags.exit_code = cli::run_under(flags.options); });
}

void add_daemon(CLI::App &app, cli::DaemonOptions &options) {
    CLI::App *command = app.add_subcommand("daemon", "Own policy, drive, state and trace for the processes that join");
    command->add_option("name", options.name, "Names the socket: /run/tributary/NAME.sock, or a user's own")
        ->capture_default_str();
    command->add_option("--policy", options.policy, "NAME[,key=value...]; see trib policies");
    command->add_option("--drive", options.drive, "NAME[,key=value...]; see trib drive list");
    command->add_option("--gc", options.gc, "Where garbage collection puts survivors");
    command->add_option("--state", options.state, "Keep what is learned in this file")->type_name("FILE");
    command->add_option("--trace", options.trace, "Record, too")->type_name("FILE");
    command->add_option("--allow", options.allow, "Who may join besides this user and root: USER+@GROUP+..., or *");
    command->add_option("--set", options.set, "More options, key=value[,key=value...]; they win");
    command->add_option("--address", options.address, "The socket's path, instead of a name")->type_name("FILE");
    command->add_flag("--private", options.is_private, "End some seconds after the last process")->group("");
    command->add_option("--ready", options.ready, "Descriptor that hears when it is ready")->group("");
    command->add_option("--linger", options.linger_ms, "Milliseconds that a private daemon stays")->group("");
    command->callback([&options, command] {
        if (command->get_subcommands().empty())
            (void)cli::daemon(options);
    });
    for (const char *what : {"stop", "pause", "resume"}) {
        CLI::App *control = command->add_subcommand(what, std::string(what) + " a running daemon; its hosts run on");
        control->add_option("name", options.name, "Of the daemon, or its socket's path")->capture_default_str();
        control->callback([&options, what] { (void)cli::control_daemon(options.name, what); });
    }
}

void add_status(CLI::App &app, cli::StatusOptions &options) {
    CLI::App *command = app.add_subcommand("status", "What a running daemon has seen, placed and lost");
    command->add_option("name", options.name, "Of the daemon, or its socket's path")->capture_default_str();
    add_json_option(command, options.json);
    command->add_flag("--openmetrics", options.openmetrics, "As OpenMetrics text, for a collector");
    command->callback([&options] { (void)cli::daemon_status(options); });
}

bool runs_a_command(int argc, char **argv) {
    return argc > 1 && (!std::strcmp(argv[1], "record") || !std::strcmp(argv[1], "run"));
}

// Takes what follows "--" from record and run, before anyone looks for flags in it.
std::vector<std::string> split_command(int &argc, char **argv) {
    if (!runs_a_command(argc, argv))
        return {};
    char **mark = std::find_if(argv, argv + argc, [](char *text) { return !std::strcmp(text, "--"); });
    std::vector<std::string> command(std::min(mark + 1, argv + argc), argv + argc);
    argc = static_cast<int>(mark - argv);
    if (command.empty() &&
        !std::any_of(argv, mark, [](char *text) { return !std::strcmp(text, "--help") || !std::strcmp(text, "-h"); }))
        throw cli::Failure(cli::EXIT_USAGE,
                           "say what to run: trib " + std::string(argv[1]) + " [options] -- CMD [ARGS...]");
    return command;
}

// As env(1) has it: 1 and 2 belong to the command that was to run; 126 and 127 say why it did not.
int exit_code(int code, int argc, char **argv) {
    bool is_ours = runs_a_command(argc, argv) && code < cli::CHILD_OWN_FAILURE;
    return is_ours ? static_cast<int>(cli::CHILD_OWN_FAILURE) : code;
}

int fail(int code, const std::string &sentence) {
    std::fprintf(stderr, "trib: %s\n", sentence.c_str());
    return code;
}

int run(int argc, char **argv) {
    CLI::App app("Replays traces of storage engines on drives with streams, under placement policies.", "trib");
    app.require_subcommand(1);
    app.footer("Exit status: 0 done, 1 failed at run time, 2 wrong usage, 3 the drive is too "
               "small. See trib(1).");
    cli::ReplayOptions replay;
    CompareFlags compare;
    cli::ReproduceOptions reproduce;
    cli::InspectOptions inspect;
    ListOptions lists;
    cli::DaemonOptions daemon;
    cli::StatusOptions status;
    SessionFlags recording, running;
    recording.options.command = running.options.command = split_command(argc, argv);
    add_replay(app, replay);
    add_compare(app, compare);
    add_reproduce(app, reproduce);
    add_inspect(app, inspect);
    add_lists(app, lists);
    add_record(app, recording);
    add_run(app, running);
    add_daemon(app, daemon);
    add_status(app, status);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
            return app.exit(error); // --help
        throw cli::Failure(cli::EXIT_USAGE, std::string(error.what()) + "; see trib --help");
    }
    return recording.exit_code ? recording.exit_code : running.exit_code;
}

} // namespace

int main(int argc, char **argv) {
    (void)trib_policies_add(&trib_rivals, nullptr); // names of its own: nothing to refuse
    try {
        return run(argc, argv);
    } catch (const cli::Failure &failure) {
        return fail(exit_code(failure.code(), argc, argv), failure.what());
    } catch (const std::exception &error) {
        return fail(exit_code(cli::EXIT_RUNTIME, argc, argv), error.what());
    }
}
