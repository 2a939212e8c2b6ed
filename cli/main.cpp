// SPDX-License-Identifier: Apache-2.0
// `trib`: the command line, failures to one sentence and an exit code. Flags are in each room's commands.cpp, the work
// in the files beside it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <tributary/policy.h>

#include "commands.h"
#include "common/failure.h"
#include "common/help.h"
#include "record/child.h"
#include "rivals/rivals.h"

namespace {

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
    CLI::App app("Records what programs write, places it in streams, and replays records on drives with streams, under "
                 "placement policies.",
                 "trib");
    app.formatter(cli::narrow_help());
    app.require_subcommand(1);
    app.set_version_flag("--version", std::string("trib ") + trib_version(), "The version alone; more: trib version");
    app.footer("Exit status: 0 done, 1 failed at run time, 2 wrong usage, 3 the drive is too "
               "small. See trib(1).");
    int code_of_command = cli::EXIT_OK;
    const std::vector<std::string> command = split_command(argc, argv);
    cli::add_record_commands(app, command, code_of_command);
    cli::add_compare_commands(app);
    cli::add_inspect_commands(app);
    cli::add_lab_commands(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
            return app.exit(error); // --help, --version
        throw cli::Failure(cli::EXIT_USAGE, cli::usage_sentence(app, error));
    }
    return code_of_command;
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
