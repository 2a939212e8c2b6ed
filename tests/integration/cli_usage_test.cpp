// SPDX-License-Identifier: Apache-2.0
// What `trib` says to those who use it for the first time: help that fits a terminal, sentences for what was mistyped,
// and for a trace that nobody has ended yet.
#include <regex>

#include "support/daemon.hpp"
#include "support/skip.hpp"

using namespace trib_test;

namespace {

const std::vector<std::vector<std::string>> COMMANDS = {{},
                                                        {"record"},
                                                        {"run"},
                                                        {"daemon"},
                                                        {"daemon", "stop"},
                                                        {"status"},
                                                        {"top"},
                                                        {"replay"},
                                                        {"compare"},
                                                        {"inspect"},
                                                        {"drive"},
                                                        {"drive", "list"},
                                                        {"drive", "describe"},
                                                        {"policies"},
                                                        {"workloads"},
                                                        {"options"},
                                                        {"version"},
                                                        {"lab"},
                                                        {"lab", "matrix"},
                                                        {"lab", "reproduce"}};

// A command that is refused at once; if it is not, nobody waits for it.
Outcome refused(const std::vector<std::string> &arguments) {
    std::vector<std::string> command = {"timeout", "10", TRIB_BINARY_DIR "/cli/trib"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run(command);
}

} // namespace

TEST_CASE("every help text fits 80 columns, and so does a status") {
    for (std::vector<std::string> command : COMMANDS) {
        command.emplace_back("--help");
        const Outcome outcome = trib(command);
        INFO(outcome.out << outcome.err);
        CHECK(outcome.code == 0);
        CHECK(widest_line(outcome.out) <= 80);
        CHECK(lines_of(outcome.out).size() > 3);
    }
    const Daemon daemon({"--policy", "tributary", "--set", "capacity=256M"});
    const Outcome status = trib({"status", daemon.socket()});
    INFO(status.out);
    CHECK(widest_line(status.out) <= 80);
    CHECK(has(status.out, "\ndrive       emulated: placement placed (emulated"));
}

TEST_CASE("an unknown word is named, and the nearest that is known") {
    const std::pair<std::vector<std::string>, std::string> mistyped[] = {
        {{"deamon"}, "unknown command 'deamon'; did you mean daemon? See trib --help"},
        {{"nonsense"}, "unknown command 'nonsense'; see trib --help"},
        {{"drive", "lst"}, "unknown command 'lst'; did you mean list? See trib drive --help"},
        {{"lab", "matirx", "--quick"}, "unknown command 'matirx'; did you mean matrix? See trib lab --help"},
        {{"compare", "x", "--polcy", "y"}, "not expected: --polcy y; did you mean --policy? See trib compare --help"},
        {{"compare", "x", "--colour", "red"}, "not expected: --colour red; see trib compare --help"},
    };
    for (const auto &[arguments, sentence] : mistyped) {
        const Outcome outcome = refused(arguments);
        check_refusal(outcome, 2);
        CHECK(outcome.err == "trib: " + sentence + "\n");
    }
}

TEST_CASE("a mistyped verb starts no daemon") {
    for (const char *name : {"stpo", "sotp", "stopp", "pasue", "resum"}) {
        const Outcome outcome = refused({"daemon", name});
        INFO(name);
        check_refusal(outcome, 2);
        CHECK(has(outcome.err, "trib"));
    }
    const std::pair<std::string, std::string> verbs[] = {{"status", "trib status [NAME]"},
                                                         {"start", "trib daemon NAME"},
                                                         {"restart", "trib daemon stop NAME && trib daemon NAME"},
                                                         {"reload", "trib daemon stop NAME && trib daemon NAME"},
                                                         {"list", ": ls /"}};
    for (const auto &[verb, advice] : verbs)
        for (const std::vector<std::string> &command : {std::vector<std::string>{"daemon", verb},
                                                        {"daemon", verb, "r3"},
                                                        {"daemon", verb, "r3", "--set", "x=1"}}) {
            const Outcome outcome = refused(command);
            INFO(verb << " " << command.size());
            check_refusal(outcome, 2);
            CHECK(has(outcome.err, advice));
        }
    CHECK(has(refused({"daemon", "stpo"}).err, "did you mean stop? A daemon of that name: trib daemon --address /"));
}

TEST_CASE("the list of valid options names the one that was meant, and where all are") {
    const Outcome outcome = refused({"daemon", "x", "--policy", "tributary", "--set", "capactiy=64M"});
    check_refusal(outcome, 2);
    CHECK(has(outcome.err, "unknown option 'capactiy' (did you mean capacity?); valid here: policy "));
    CHECK(has(outcome.err, " ... (all: trib options)\n"));
    CHECK(has(refused({"daemon", "x", "--set", "policy=tributary,drive=none"}).err,
              "use drive=emulated,capacity=SIZE, or another policy"));
}

TEST_CASE("a trace needs no flag before it") {
    Folder folder;
    write_trace(folder / "t", 8 << 20);
    const std::vector<std::string> common = {"--policy", "none", "--set", "capacity=256M"};
    for (const char *command : {"replay", "compare"}) {
        std::vector<std::string> flagged = {command, "--trace", folder / "t"}, plain = {command, folder / "t"};
        flagged.insert(flagged.end(), common.begin(), common.end());
        plain.insert(plain.end(), common.begin(), common.end());
        std::vector<std::string> last = {command};
        last.insert(last.end(), common.begin(), common.end());
        last.push_back(folder / "t"); // no further value of the option before it
        const Outcome wanted = trib(flagged);
        INFO(wanted.err);
        REQUIRE(wanted.code == 0);
        CHECK(trib(plain).out == wanted.out);
        CHECK(trib(last).out == wanted.out);
        check_refusal(trib({command, "--policy", "none"}), 2);
        plain.insert(plain.begin() + 1, "--json=" + (folder / "result"));
        CHECK(trib(plain).out == wanted.out);
        CHECK(fs::file_size(folder / "result") > 100);
    }
}

TEST_CASE("a trace too small for the standard drive says how small, and what to do") {
    Folder folder;
    write_trace(folder / "t", 8 << 20);
    const Outcome outcome = trib({"compare", folder / "t", "--policy", "none"});
    check_refusal(outcome, 3);
    CHECK(has(outcome.err, "trib: the trace has only "));
    CHECK(has(outcome.err, ": record more, or use --superblock 64K, or, where that is not enough, --capacity 128M ("));
    CHECK(trib({"compare", folder / "t", "--policy", "none", "--superblock", "64K"}).code == 0);
    CHECK(trib({"compare", folder / "t", "--policy", "none", "--capacity", "128M"}).code == 0);
    const Outcome chosen = trib({"compare", folder / "t", "--policy", "none", "--superblock", "4M"});
    check_refusal(chosen, 3);
    CHECK(
        has(chosen.err, "a larger --capacity, smaller superblocks (--superblock) or more over-provisioning (--op) ("));
    CHECK_FALSE(has(chosen.err, "record more"));
    CHECK_FALSE(has(outcome.err + chosen.err, "capacity=")); // a drive's option, no flag of this command
}

TEST_CASE("of a flag and its positional twin one is required, and the help says so") {
    for (const char *command : {"compare", "replay"}) {
        const Outcome help = trib({command, "--help"});
        const std::string text = std::regex_replace(help.out, std::regex("\\s+"), " ");
        INFO(help.out);
        CHECK(has(text, "this or --trace is required"));
        CHECK(has(text, "this or trace is required"));
        CHECK_FALSE(std::regex_search(text, std::regex("trace TEXT REQUIRED")));
    }
}

TEST_CASE("the flag --version prints the version") {
    const Outcome outcome = trib({"--version"});
    CHECK(outcome.code == 0);
    CHECK(outcome.out == std::string("trib ") + trib_version() + "\n");
}

TEST_CASE("who may join is a list joined by +, and a comma is said to be none") {
    for (const std::vector<std::string> &command :
         {std::vector<std::string>{"daemon", "x", "--allow", "mysql,postgres"}, {"daemon", "x", "--allow", "mysql,"}}) {
        const Outcome outcome = refused(command);
        check_refusal(outcome, 2);
        CHECK(has(outcome.err, "allow takes users and @groups joined by + (USER+@GROUP): not 'mysql,"));
    }
}

TEST_CASE("where no daemon answers the sentence names the daemon, or the path that was meant") {
    const Outcome named = trib({"status", "none-such"}), path = trib({"status", "/tmp/none-such.sock"});
    check_refusal(named, 1);
    CHECK(has(named.err, "; start one with `trib daemon none-such`\n"));
    CHECK(has(path.err, "; start one with `trib daemon /tmp/none-such.sock`\n"));
    CHECK(has(trib({"status", "rel.sock"}).err, "; a socket's path begins with '/', 'rel.sock' is a name\n"));
    CHECK(has(trib({"status", "./rel.sock"}).err, "; a socket's path begins with '/'\n"));
}

TEST_CASE("a trace that is being recorded, or whose recorder was killed, says what to do") {
    Folder folder;
    const std::string trace = folder / "t.trib";
    Daemon recorder({"--set", "drive=none,trace=" + trace});
    REQUIRE(comes_true([&] { return access(trace.c_str(), F_OK) == 0; }));
    const Outcome live = trib({"inspect", trace});
    CHECK(live.code == 1);
    CHECK(has(live.err, "t.trib is still being recorded; stop its daemon, or use --truncated-ok\n"));
    CHECK(has(live.err, "it is still being recorded: stop the daemon first, or use --truncated-ok\n"));
    CHECK(trib({"inspect", "--truncated-ok", trace}).code == 0);
    kill(recorder.status()["pid"].get<pid_t>(), SIGKILL);
    REQUIRE(comes_true([&] { return trib({"status", recorder.socket()}).code == 1; }));
    const Outcome killed = trib({"inspect", trace});
    check_refusal(killed, 1);
    CHECK(has(killed.err, "; --truncated-ok reads a cut trace, as a killed daemon leaves one, up to the cut\n"));
}

#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__ // their runtimes come before every preloaded library
TEST_CASE("a daemon whose trace stopped says so, in its status and by its exit status") {
    Folder folder;
    Daemon daemon({"--set", "drive=none,trace=" + (folder / "t.trib")});
    const std::string pid = daemon.status()["pid"].dump();
    REQUIRE(run({"prlimit", "--pid", pid, "--fsize=8192:"}).code == 0);
    const Recorded writer(daemon, "dd if=/dev/zero of=" + (daemon.folder() / "f") + " bs=512 count=30000; sleep 60");
    CHECK(comes_true([&] { return daemon.status()["trace_stopped"] != ""; }));
    CHECK(has(trib({"status", daemon.socket()}).out, "; stopped: "));
    CHECK(daemon.stop() == 1);
    CHECK(has(daemon.err(), "the record is not complete"));
}
#endif

TEST_CASE("a limit on the size of files is said in a sentence") {
    Folder folder;
    const auto within = [&](const std::string &command) {
        return run({"sh", "-c", "ulimit -f 1; exec '" TRIB_BINARY_DIR "/cli/trib' " + command});
    };
    const Outcome daemon = within("daemon --address " + (folder / "d.sock") + " --policy none --drive none");
    check_refusal(daemon, 1);
    CHECK(has(daemon.err, "File too large"));
    const Outcome record = within("record --trace " + (folder / "t.trib") + " -- true");
    check_refusal(record, 125);
    CHECK(has(record.err, "File too large"));
}

TEST_CASE("a folder of sockets that others may write is refused") {
    if (geteuid() == 0 && run({"unshare", "-m", "mount", "-t", "tmpfs", "none", "/run"}).code != 0)
        return skip("no mount namespace can be made here");
    const auto start_in = [](const std::string &prepare) { // root's is in /run: one of the test's own
        Folder folder;
        const std::string start = " && exec timeout 2 '" TRIB_BINARY_DIR "/cli/trib' daemon x --set drive=none";
        if (geteuid() != 0)
            return run({"sh", "-c", "cd " + (folder / "") + " && " + prepare + start},
                       {{"XDG_RUNTIME_DIR", folder / ""}});
        return run(
            {"unshare", "-m", "sh", "-c", "mount -t tmpfs -o mode=755 none /run && cd /run && " + prepare + start});
    };
    for (const char *prepare : {"mkdir -m 777 tributary", "mkdir -m 775 tributary", "mkdir -m 757 tributary",
                                "mkdir -m 755 other && ln -s other tributary", "touch tributary"}) {
        INFO(prepare);
        check_refusal(start_in(prepare), 1);
    }
    if (geteuid() == 0)
        check_refusal(start_in("mkdir -m 755 tributary && chown 1 tributary"), 1);
    CHECK(start_in("mkdir -m 755 tributary").code != 1); // it ran until its time was over
    CHECK(start_in("true").code != 1);
}
