// SPDX-License-Identifier: Apache-2.0
// Lists, and whether man page, completions and docs/options.md keep up with what the tool really
// has.
#include "support/cli.hpp"

#include <set>

#include "pipeline_options.h"
#include <tributary/drive.h>
#include <tributary/policy.h>

using namespace trib_test;

namespace {

const std::vector<std::vector<std::string>> COMMANDS = {
    {"record"},   {"run"},           {"daemon"},           {"status"},  {"top"},           {"replay"},
    {"compare"},  {"lab", "matrix"}, {"lab", "reproduce"}, {"inspect"}, {"drive", "list"}, {"drive", "describe"},
    {"policies"}, {"workloads"},     {"options"},          {"version"}};

std::string source_file(const std::string &name) {
    const std::string text = read_file(std::string(TRIB_SOURCE_DIR) + "/" + name);
    REQUIRE_FALSE(text.empty());
    return text;
}

std::set<std::string> flags_of(std::vector<std::string> command) {
    command.push_back("--help");
    const Outcome outcome = trib(command);
    REQUIRE(outcome.code == 0);
    std::set<std::string> flags;
    const std::string &help = outcome.out;
    for (size_t at = 0; (at = help.find("--", at)) != std::string::npos;) {
        const size_t end = help.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
        flags.insert(help.substr(at, end - at));
        at = std::min(end, help.size());
    }
    flags.erase("--help");
    return flags;
}

} // namespace

TEST_CASE("policies and drives are the registries") {
    const Json policies = trib({"policies", "--json"}).json()["policies"];
    const auto policy_names = lines_of(trib({"policies", "--names"}).out);
    size_t count = 0;
    for (; trib_policies()[count]; count++) {
        CHECK(policies[count]["name"] == trib_policies()[count]->name);
        CHECK(policies[count]["summary"] == trib_policies()[count]->summary);
        CHECK(policy_names[count] == trib_policies()[count]->name);
    }
    CHECK(policies.size() == count);
    CHECK(policy_names.size() == count);
    CHECK(count >= 4);
    const Json drives = trib({"drive", "list", "--json"}).json()["drives"];
    CHECK(drives[0]["name"] == trib_drives()[0]->name);
    CHECK(has(drives.dump(), "pm963"));
    for (const auto &command :
         {std::vector<std::string>{"policies"}, {"workloads"}, {"drive", "list"}, {"options"}, {"version"}}) {
        const Outcome outcome = trib(command);
        CHECK(outcome.code == 0);
        CHECK(widest_line(outcome.out) <= 80);
    }
}

TEST_CASE("drive describe opens the drive it describes") {
    const Outcome outcome = trib({"drive", "describe", "emulated", "preset=hotstorage18", "--json"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const Json json = outcome.json();
    CHECK(json["reclaim_units"] == 512);
    CHECK(json["reclaim_unit_bytes"] == 24 << 20);
    CHECK(json["streams"] == 7);
    CHECK(json["level"] == "placed");
    CHECK_FALSE(json["evidence"].get<std::string>().empty());
    const Outcome text = trib({"drive", "describe", "emulated", "capacity=64M,superblock=1M"});
    CHECK(text.code == 0);
    CHECK(widest_line(text.out) <= 80);
    CHECK(has(text.out, "64.0 MiB"));
    check_refusal(trib({"drive", "describe", "nonesuch"}), 2);
    const Outcome unknown = trib({"drive", "describe", "emulated", "colour=red"});
    check_refusal(unknown, 2);
    CHECK(has(unknown.err, "'colour'; valid here: preset capacity op ")); // one space between keys, no key missing
    check_refusal(trib({"drive", "describe", "emulated", "preset=nonesuch"}), 2);
    check_refusal(trib({"drive"}), 2);
}

TEST_CASE("version names compiler, build type and assertions") {
    const Json json = trib({"version", "--json"}).json();
    CHECK(json["tributary"] == trib_version());
    CHECK_FALSE(json["compiler"].get<std::string>().empty());
    CHECK(json.contains("build_type"));
    CHECK(json.contains("assertions"));
    CHECK(has(trib({"version"}).out, trib_version()));
}

TEST_CASE("docs/options.md holds the tables that the tool prints, all keys and nothing else") {
    const std::string document = source_file("docs/options.md");
    const std::string tables = trib({"options", "--markdown"}).out;
    CHECK(has(tables, "### pipeline"));
    // Regenerate with: trib options --markdown
    CHECK(has(document, tables));
    std::vector<const trib_option_spec *> all = {trib_pipeline_options};
    for (size_t i = 0; trib_policies()[i]; i++)
        all.push_back(trib_policies()[i]->options);
    for (size_t i = 0; trib_drives()[i]; i++)
        all.push_back(trib_drives()[i]->options);
    for (const trib_option_spec *specs : all)
        for (; specs && specs->key; specs++) {
            INFO(specs->key);
            CHECK(has(document, "| `" + std::string(specs->key) + "` |"));
            CHECK_FALSE(std::string(specs->help).empty());
        }
    const Json json = trib({"options", "--json"}).json();
    CHECK(json["pipeline"][0]["key"] == trib_pipeline_options[0].key);
}

TEST_CASE("man page and completions know every command and flag") {
    const std::string man = source_file("docs/man/trib.1.scd"), bash = source_file("cli/completion/trib.bash"),
                      zsh = source_file("cli/completion/trib.zsh");
    const std::string help = trib({"--help"}).out;
    for (const auto &command : COMMANDS) {
        for (const std::string &word : command) {
            INFO(word);
            CHECK(has(man, word));
            CHECK(has(bash, word));
            CHECK(has(zsh, word));
        }
        CHECK(has(help, command[0]));
        for (const std::string &flag : flags_of(command)) {
            INFO(command[0] << " " << flag);
            CHECK(has(man, flag));
            CHECK(has(bash, flag));
            CHECK(has(zsh, flag));
        }
    }
    CHECK(flags_of({"compare"}).count("--jobs") == 1); // the search does find flags
}

TEST_CASE("the help lists the commands of this list and no others") {
    const std::string help = trib({"--help"}).out;
    std::set<std::string> known;
    for (const auto &command : COMMANDS)
        known.insert(command[0]);
    std::set<std::string> listed;
    bool inside = false;
    for (const std::string &line : lines_of(help)) {
        if (inside && line.rfind("  ", 0) == 0 && line.size() > 2 && line[2] != ' ') // not one that goes on
            listed.insert(line.substr(2, line.find(' ', 2) - 2));
        inside = inside ? !line.empty() && line[0] == ' ' : line == "Subcommands:";
    }
    CHECK(listed == known);
}

TEST_CASE("bash accepts the completion script") {
    const std::string script = std::string(TRIB_SOURCE_DIR) + "/cli/completion/trib.bash";
    REQUIRE(std::system(("bash -n '" + script + "'").c_str()) == 0);
}

// "trib daemon pause NAME" -> each word a command as long as there are commands, then flags that the last one has.
static void check_command(const std::string &text) {
    INFO(text);
    std::vector<std::string> command;
    std::string help = trib({"--help"}).out;
    std::istringstream words(text.substr(5));
    for (std::string word; words >> word && word != "--";) {
        const bool is_word = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos;
        if (word.rfind("--", 0) == 0) {
            CHECK(has(help, word.substr(0, word.find('='))));
        } else if (is_word && has(help, "\nSubcommands:\n")) {
            REQUIRE(has(help.substr(help.find("\nSubcommands:\n")), "\n  " + word + " "));
            command.push_back(word);
            std::vector<std::string> asked = command;
            asked.emplace_back("--help");
            help = trib(asked).out;
        }
    }
    CHECK_FALSE(command.empty());
}

TEST_CASE("the commands that the pages name are commands of trib") {
    std::vector<std::string> pages = {"README.md"};
    for (const auto &entry : fs::recursive_directory_iterator(TRIB_SOURCE_DIR "/docs"))
        if (entry.path().extension() == ".md")
            pages.push_back(fs::relative(entry.path(), TRIB_SOURCE_DIR).string());
    std::set<std::string> commands;
    for (const std::string &page : pages) {
        const std::string text = source_file(page);
        for (size_t at = 0; (at = text.find("`trib ", at)) != std::string::npos; at++)
            commands.insert(text.substr(at + 1, text.find('`', at + 1) - at - 1));
    }
    CHECK(commands.size() > 30);
    for (const std::string &command : commands)
        check_command(command);
}
