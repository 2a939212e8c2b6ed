// SPDX-License-Identifier: Apache-2.0
// Mistyped lines cost nobody a file: --json and --dump replace only what such an option wrote, and a command that is
// not there moves no trace.
#include "support/daemon.hpp"
#include "support/skip.hpp"

using namespace trib_test;

namespace {

const std::vector<std::string> kDrive = {"--policy", "none", "--set", "capacity=256M"};

Outcome trib_with(std::vector<std::string> arguments, const std::vector<std::string> &more = kDrive) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return trib(arguments);
}

void write_bytes(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

} // namespace

TEST_CASE("results never replace a trace or another foreign file") {
    Folder folder;
    const std::string trace = folder / "t", victim = folder / "victim.trib";
    write_trace(trace, 8 << 20);
    write_trace(victim, 1 << 20);
    const std::string before = read_file(victim);
    const std::vector<std::vector<std::string>> lines = {{"compare", "--json", victim, trace},
                                                         {"compare", "--json=" + trace, trace},
                                                         {"replay", "--json", victim, trace},
                                                         {"replay", "--dump", victim, trace},
                                                         {"replay", "--dump", trace, trace}};
    const std::string read = read_file(trace);
    for (const std::vector<std::string> &line : lines) {
        const Outcome outcome = trib_with(line);
        INFO(line[0] << " " << line[1]);
        check_refusal(outcome, 2);
        CHECK(has(outcome.err, "move it away, or name another file"));
        CHECK(read_file(victim) == before);
        CHECK(read_file(trace) == read);
    }
    check_refusal(trib({"record", "--json", victim, "--trace", folder / "r", "--", "true"}), 125);
    check_refusal(trib({"run", "--json", victim, "--trace", folder / "r", "--", "true"}), 125);
    check_refusal(trib({"status", "--json", victim}), 2);
    check_refusal(trib({"lab", "reproduce", "--json=" + victim, "all"}), 2);
    CHECK(read_file(victim) == before);
    CHECK_FALSE(fs::exists(folder / "r")); // said before any work
}

TEST_CASE("results replace an empty file, and what such an option wrote") {
    Folder folder;
    const std::string trace = folder / "t", json = folder / "result", dump = folder / "dump";
    write_trace(trace, 8 << 20);
    write_bytes(json, "");
    write_bytes(dump, "");
    for (int round = 0; round < 2; round++) {
        CHECK(trib_with({"replay", "--json=" + json, "--dump", dump, trace}).code == 0);
        CHECK(Json::parse(read_file(json))["command"] == "replay");
        CHECK(Json::parse(read_file(dump))["format"] == "tributary-drive-dump");
    }
    check_refusal(trib_with({"replay", "--dump", json, trace}), 2); // JSON, but no dump
    check_refusal(trib_with({"replay", "--dump", folder / "one", "--json=" + (folder / "one"), trace}), 2);
    CHECK(trib_with({"compare", "--json=/dev/null", trace}).code == 0);
}

TEST_CASE("a file that cannot be written is said before the work") {
    Folder folder;
    check_refusal(trib_with({"replay", "--json", folder / "nowhere/result", folder / "no-trace"}), 1);
    CHECK(has(trib_with({"replay", "--json", folder / "nowhere/result", folder / "no-trace"}).err, "--json: cannot"));
    CHECK(has(trib_with({"replay", "--dump", folder / "", folder / "no-trace"}).err, "--dump: "));
    const Outcome one = trib({"record", "--trace", folder / "x", "--json", folder / "x", "--", "true"});
    check_refusal(one, 125);
    CHECK(has(one.err, "--json and the trace name one file"));
    CHECK_FALSE(fs::exists(folder / "x"));
}

TEST_CASE("help shows that a file of results is optional, and needs its '='") {
    for (const char *command : {"replay", "compare", "status"})
        CHECK(has(trib({command, "--help"}).out, "--json[=FILE] "));
    CHECK(has(trib({"record", "--help"}).out, "--json FILE"));
    const Outcome both = trib({"status", "--json", "--openmetrics"});
    check_refusal(both, 2);
    CHECK(has(both.err, " excludes --"));
}

TEST_CASE("a daemon's name behind --json is no file") {
    if (geteuid() == 0 && run({"unshare", "-m", "mount", "-t", "tmpfs", "none", "/run"}).code != 0)
        return skip("no mount namespace can be made here");
    Folder folder;
    const std::string tell = "cd '" + (folder / "") +
                             "' && " TRIB_BINARY_DIR "/cli/trib daemon pg --set drive=none & "
                             "for i in 1 2 3 4 5 6 7 8 9 10; do " TRIB_BINARY_DIR "/cli/trib status pg >/dev/null 2>&1 "
                             "&& break; sleep 0.3; done; cd '" +
                             (folder / "") +
                             "'; " TRIB_BINARY_DIR "/cli/trib status --json pg; echo $?; ls; " TRIB_BINARY_DIR
                             "/cli/trib status --json=pg pg; echo $?; ls; " TRIB_BINARY_DIR
                             "/cli/trib daemon stop pg; wait";
    const Outcome outcome = geteuid() != 0
                                ? run({"sh", "-c", tell}, {{"XDG_RUNTIME_DIR", folder / ""}})
                                : run({"unshare", "-m", "sh", "-c", "mount -t tmpfs -o mode=755 none /run && " + tell});
    INFO(outcome.out << outcome.err);
    const std::string between = geteuid() != 0 ? "tributary\n" : "";
    CHECK(outcome.out == "2\n" + between + "0\npg\n" + between);
    CHECK(has(outcome.err, "trib status --json=FILE pg, or trib status pg --json"));
}

TEST_CASE("a command that is not there, or is none, moves no trace") {
    Folder folder;
    const std::string trace = folder / "m.trib";
    write_trace(trace, 1 << 20);
    const std::string before = read_file(trace);
    write_bytes(folder / "text", "words");
    const Environment nowhere = {{"PATH", folder / ""}};
    const std::string program = TRIB_BINARY_DIR "/cli/trib";
    CHECK(run({program, "record", "--trace", trace, "--", "nosuchcmd"}).code == 127);
    CHECK(run({program, "record", "--trace", trace, "--", folder / "nosuchcmd"}).code == 127);
    CHECK(run({program, "record", "--trace", trace, "--", "true"}, nowhere).code == 127);
    CHECK(run({program, "record", "--trace", trace, "--", ""}).code == 127);
    CHECK(run({program, "record", "--trace", trace, "--", folder / "text"}).code == 126);
    CHECK(run({program, "record", "--trace", trace, "--", "text"}, nowhere).code == 126);
    CHECK(run({program, "record", "--trace", trace, "--", folder / ""}).code == 126);
    CHECK(read_file(trace) == before);
    CHECK(folder.files() == 2);
#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
    fs::create_symlink("/bin/true", folder / "mine");
    CHECK(run({program, "record", "--trace", trace, "--", "mine"}, {{"PATH", "/nowhere:" + (folder / "")}}).code == 0);
    CHECK(read_file(trace + ".1") == before);
#endif
}
