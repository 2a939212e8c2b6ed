// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <fmt/format.h>
#include <memory>

#include <tributary/policy.h>

#include "base/nearest.h"
#include "common/failure.h"
#include "common/flags.h"
#include "common/help.h"
#include "common/output_file.h"
#include "record/address.h"
#include "record/daemon.h"
#include "record/session.h"
#include "record/top.h"

namespace cli {

namespace {

// `trib daemon stpo` would start a daemon of that name and say so to nobody who reads it.
void check_name(const std::string &name) {
    const std::string meant = nearest(name, {"stop", "pause", "resume", "status"});
    if (!meant.empty() && trib_edits(name.c_str(), meant.c_str()) == 1)
        throw Failure(EXIT_USAGE, fmt::format("'{}': did you mean {}? A daemon of that name: trib daemon --address {}",
                                              name, meant, daemon_address(name, false)));
}

// Verbs of other tools, which would be daemons' names; what to say instead.
void add_verbs_of_others(CLI::App &daemon) {
    const std::pair<const char *, std::string> verbs[] = {
        {"status", "a daemon's status: trib status [NAME]"},
        {"start", "a daemon starts by its name alone: trib daemon NAME"},
        {"restart", "a daemon restarts by its end and a new start: trib daemon stop NAME && trib daemon NAME ..."},
        {"reload", "a daemon reads its options when it starts: trib daemon stop NAME && trib daemon NAME ..."},
        {"list", "running daemons are named by their sockets: ls " + daemon_folder()},
    };
    for (const auto &[verb, sentence] : verbs)
        daemon.add_subcommand(verb)->group("")->prefix_command()->callback(
            [sentence = sentence] { throw Failure(EXIT_USAGE, sentence); });
}

// What the two commands that run another one share.
CLI::App *add_session(CLI::App &app, const char *name, const char *help, SessionOptions &options) {
    CLI::App *command = app.add_subcommand(name, help);
    command->footer("Then: -- CMD [ARGS...]. Its exit status is trib's; 125: trib failed before it ran.");
    command->add_option("--set", options.set, "More options, key=value[,key=value...]; they win");
    command->add_flag("--users", options.users, "Processes of other users take part, too");
    command->add_flag("--no-wait", options.no_wait, "End with CMD, even if it left processes behind");
    command->add_option("--json", options.json, "Summary as JSON")
        ->type_name("FILE")
        ->each([](const std::string &file) { check_output("--json", file, OutputForm::json); });
    command->add_option("--preload", options.preload, "libtributary-preload.so, if not beside trib")->type_name("FILE");
    command->add_option("--session", options.path, "Socket that the processes join [one in /tmp]")->type_name("FILE");
    return command;
}

void add_record(CLI::App &app, const std::vector<std::string> &what, int &exit_code) {
    auto kept = std::make_shared<SessionOptions>();
    kept->command = what;
    CLI::App *command = add_session(app, "record", "Run a command and record what its processes write", *kept);
    command->add_option("--trace", kept->trace, "Where to")->type_name("FILE")->default_val("tributary.trib");
    command->callback([kept, &exit_code] {
        kept->policy = TRIB_POLICY_DEFAULT; // learns, for option state; nothing is placed
        kept->drive = "none";
        exit_code = record(*kept);
    });
}

void add_run(CLI::App &app, const std::vector<std::string> &what, int &exit_code) {
    auto kept = std::make_shared<SessionOptions>();
    kept->command = what;
    CLI::App *command = add_session(app, "run", "Run a command under a policy and its drive", *kept);
    command->add_option("--policy", kept->policy, "NAME[,key=value...]; see trib policies")
        ->default_val(TRIB_POLICY_DEFAULT);
    add_policy_packs(command);
    command->add_option("--drive", kept->drive, "NAME[,key=value...]; see trib drive list")->default_val("emulated");
    command->add_option("--gc", kept->gc, "Where garbage collection puts survivors");
    command->add_option("--trace", kept->trace, "Record, too")->type_name("FILE");
    command->callback([kept, &exit_code] { exit_code = run_under(*kept); });
}

void add_daemon(CLI::App &app) {
    auto kept = std::make_shared<DaemonOptions>();
    DaemonOptions &options = *kept;
    CLI::App *command = app.add_subcommand("daemon", "Own policy, drive, state and trace for the processes that join");
    command
        ->add_option("name", options.name,
                     "Names the socket: /run/tributary/NAME.sock for root; for others NAME.sock in "
                     "$XDG_RUNTIME_DIR/tributary, or in /tmp/tributary-UID where that variable is not set")
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
    command->callback([kept, command] {
        if (!command->get_subcommands().empty())
            return;
        if (kept->address.empty())
            check_name(kept->name);
        (void)daemon(*kept);
    });
    for (const char *what : {"stop", "pause", "resume"}) {
        CLI::App *control = command->add_subcommand(what, std::string(what) + " a running daemon; programs run on");
        control->add_option("name", options.name, "Of the daemon, or its socket's path")->capture_default_str();
        control->callback([kept, what] { (void)control_daemon(kept->name, what); });
    }
    add_verbs_of_others(*command);
}

void add_status(CLI::App &app) {
    auto kept = std::make_shared<StatusOptions>();
    StatusOptions &options = *kept;
    CLI::App *command = app.add_subcommand("status", "What a running daemon has seen, placed and lost");
    CLI::Option *name =
        command->add_option("name", options.name, "Of the daemon, or its socket's path")->capture_default_str();
    CLI::Option *json = add_json_option(command, options.json);
    command->add_flag("--openmetrics", options.openmetrics, "As OpenMetrics text, for a collector")->excludes(json);
    command->callback([kept, name] {
        kept->is_named = name->count() > 0;
        (void)daemon_status(*kept);
    });
}

void add_top(CLI::App &app) {
    auto kept = std::make_shared<TopOptions>();
    TopOptions &options = *kept;
    CLI::App *command =
        app.add_subcommand("top", "Who writes, where it goes, who has joined: a running daemon's tables");
    command->add_option("name", options.name, "Of the daemon, or its socket's path")->capture_default_str();
    command->add_flag("--once", options.once, "Print the tables once, as when this is no terminal");
    command->add_option("--interval", options.interval_seconds, "Seconds between looks")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    command->callback([kept] { (void)top(*kept); });
}

} // namespace

void add_record_commands(CLI::App &app, const std::vector<std::string> &command, int &exit_code) {
    add_record(app, command, exit_code);
    add_run(app, command, exit_code);
    add_daemon(app);
    add_status(app);
    add_top(app);
}

} // namespace cli
