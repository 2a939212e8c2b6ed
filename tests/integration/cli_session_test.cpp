// SPDX-License-Identifier: Apache-2.0
// `trib record` and `trib run` as their users run them: the command's streams, status and signals are its own, and what
// its processes wrote is in the trace.
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/catch.hpp"
#include "support/cli.hpp"
#include "support/daemon.hpp"
#include "support/elf.hpp"
#include "support/process.hpp"
#include "support/skip.hpp"

#ifdef __SANITIZE_THREAD__
TEST_CASE("commands under record") {
    trib_test::skip("ThreadSanitizer's runtime maps memory before it is ready, through the preloaded library");
}
#else

using namespace trib_test;

namespace {

// A sanitizer's runtime has to come before every preloaded library: nothing is covered then, but commands shall run.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kCovered = false;
const int kLate = setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
#else
constexpr bool kCovered = true;
#endif

bool is_covered() {
    if (!kCovered)
        skip("nothing is covered under a sanitizer");
    return kCovered;
}

Outcome record(const Folder &folder, const std::string &script, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"record", "--trace", folder / "out.trib", "--json", folder / "out.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--", "sh", "-c", script});
    return trib(arguments);
}

Json summary(const Folder &folder) {
    return Json::parse(read_file(folder / "out.json"));
}

} // namespace

// One of an installation and one of a build, say; or one that is preloaded, and one that the server opens.
TEST_CASE("two copies of a library record each write once, and miss nothing") {
    if (!is_covered())
        return;
    const std::string library = GENERATE(as<std::string>(), TRIB_BINARY_DIR "/preload/libtributary-preload.so",
                                         TRIB_BINARY_DIR "/mysql-buffer-hook/libtributary-mysql.so");
    Folder folder;
    const std::string copy = folder / "copy.so";
    std::ofstream(folder / "writes.sh") << "cd $(mktemp -d '" << folder / "XXXXXX"
                                        << "'); for i in 1 2 3; do echo $i >$i; done\n";
    std::filesystem::copy_file(library, copy);
    const auto counted = [&](const std::string &preloaded) {
        const Outcome outcome = record(folder, "LD_PRELOAD='" + preloaded + "' sh '" + (folder / "writes.sh") + "'");
        CHECK(outcome.code == 0);
        CHECK_FALSE(has(outcome.err, "not covered"));
        const Json found = summary(folder);
        return std::array<Json, 3>{found["processes"], found["events"], found["written_bytes"]};
    };
    const auto one = counted(library);
    INFO(library);
    CHECK(one == std::array<Json, 3>{1, 6, 6}); // each file is written and closed
    CHECK(counted(library + ":" + copy) == one);
    CHECK(counted(copy + ":" + library) == one);
}

TEST_CASE("a command under record keeps its output and its exit status") {
    Folder folder;
    const Outcome outcome = record(folder, "echo out; echo err >&2; exit 7");
    CHECK(outcome.code == 7);
    CHECK(outcome.out == "out\n");
    CHECK(has(outcome.err, "err\n"));
    CHECK(summary(folder)["exit_code"] == 7);
    CHECK(record(folder, "kill -9 $$").code == 128 + SIGKILL);
    CHECK(record(folder, "true").code == 0);
}

TEST_CASE("what goes wrong before the command runs has the statuses of env(1)") {
    Folder folder;
    const std::string trace = folder / "t.trib";
    check_refusal(trib({"record", "--trace", trace, "--", folder / "absent"}), 127);
    check_refusal(trib({"record", "--trace", trace, "--", "/"}), 126);
    check_refusal(trib({"record"}), 125);
    check_refusal(trib({"record", "--nonsense", "--", "true"}), 125);
    check_refusal(trib({"record", "--trace", "-", "--", "true"}), 125);
    check_refusal(trib({"record", "--json", "-", "--", "true"}), 125);
    check_refusal(trib({"run", "--policy", "nonsense", "--", "true"}), 125);
    check_refusal(trib({"record", "--trace", trace, "--preload", folder / "no.so", "--", "true"}), 125);
    CHECK(trib({"record", "--help"}).code == 0);
}

TEST_CASE("flags behind the mark belong to the command") {
    Folder folder;
    const Outcome outcome = trib({"record", "--trace", folder / "t.trib", "--", "echo", "--help", "--", "-x"});
    CHECK(outcome.code == 0);
    CHECK(outcome.out == "--help -- -x\n");
}

TEST_CASE("a signal to trib goes to the command") {
    for (const std::string signal : {"TERM", "USR1", "USR2", "ALRM"}) {
        Folder folder;
        const std::string script = "'" TRIB_BINARY_DIR "/cli/trib' record --trace '" + (folder / "t.trib") +
                                   "' -- sh -c 'trap \"exit 9\" " + signal + "; touch " + (folder / "ready") +
                                   "; while :; do sleep 0.05; done' & pid=$!; while [ ! -e " + (folder / "ready") +
                                   " ]; do sleep 0.05; done; kill -" + signal + " $pid; wait $pid";
        INFO(signal);
        CHECK(run({"sh", "-c", script}).code == 9);
    }
}

TEST_CASE("a limit on the size of files ends the command as it ends it without a record") {
    Folder folder;
    const std::string script =
        "ulimit -f 1; exec dd if=/dev/zero of=" + (folder / "f") + " bs=4096 count=9 status=none";
    REQUIRE(run({"sh", "-c", "(" + script + "); exit $?"}).code == 128 + SIGXFSZ);
    CHECK(record(folder, script).code == 128 + SIGXFSZ);
}

TEST_CASE("a command's own LD_PRELOAD is kept, behind the library") {
    Folder folder;
    const std::string mine = folder / "mine.so";
    std::filesystem::copy("/lib/x86_64-linux-gnu/libm.so.6", mine);
    const Outcome outcome =
        run({"env", "LD_PRELOAD=" + mine, TRIB_BINARY_DIR "/cli/trib", "record", "--trace", folder / "t.trib", "--",
             "sh", "-c", "echo $LD_PRELOAD; grep -c mine.so /proc/$$/maps"});
    CHECK(outcome.code == 0); // grep found it
    REQUIRE(lines_of(outcome.out).size() == 2);
    CHECK(has(lines_of(outcome.out)[0], "/libtributary-preload.so:" + mine));
}

TEST_CASE("the summary counts the losses that the daemon counts") {
    if (!is_covered())
        return;
    Folder folder;
    const std::string status = folder / "status.json";
    const Outcome outcome = record(folder,
                                   "dd if=/dev/zero of=" + (folder / "f") +
                                       " bs=1 count=300000 status=none; sleep 0.5; unset LD_PRELOAD; '" TRIB_BINARY_DIR
                                       "/cli/trib' status --json=" +
                                       status + " $TRIBUTARY_SESSION",
                                   {"--set", "process-ring=1024"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const Json said = Json::parse(read_file(status)), json = summary(folder);
    CHECK(said["events_dropped"] > 0);
    CHECK(json["events_lost"] == said["events_dropped"]);
    CHECK(json["bytes_lost"] == said["bytes_dropped"]);
    CHECK(json["lost_full"] == said["lost_full"]);
    CHECK(has(outcome.err, " lost ("));
    CHECK(has(outcome.err, " ring full)"));
}

TEST_CASE("all processes of a command are in the trace, in order") {
    if (!is_covered())
        return;
    Folder folder;
    const std::string a = folder / "a", b = folder / "b";
    const Outcome outcome =
        record(folder, "for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=" + a + " bs=4096 count=10 status=none; cat " +
                           a + " >" + b + "; rm " + a + "; done");
    REQUIRE(outcome.code == 0);
    const Json json = summary(folder);
    CHECK(json["processes"] >= 24);
    CHECK(json["events_lost"] == 0);
    CHECK(json["complete"] == true);
    CHECK(json["written_bytes"] == 8 * 2 * 40960);
    const Outcome events = trib({"inspect", "--events", "--json", folder / "out.trib"});
    REQUIRE(events.code == 0);
    CHECK(has(events.out, a));
    uint64_t alive = 0, deaths = 0;
    for (const std::string &line : lines_of(events.out)) {
        const Json event = Json::parse(line);
        if (event.value("kind", "") == "death" && event.value("cause", "") == "unlink") {
            deaths++;
            CHECK(alive == 2 * 40960); // never before the writes of the process that made it
            alive = 0;
        } else if (event.value("kind", "") == "write") {
            alive += event.value("length", event.value("length_bytes", 0));
        }
    }
    CHECK(deaths == 8);
}

TEST_CASE("run reports the drive, and lifetimes last over runs in a state file") {
    Folder folder;
    const std::string state = folder / "state", file = folder / "f";
    const std::vector<std::string> command = {
        "run",     "--json",     folder / "out.json", "--set",      "state=" + state + ",capacity=256M",
        "--",      "dd",         "if=/dev/zero",      "of=" + file, "bs=1M",
        "count=4", "status=none"};
    REQUIRE(trib(command).code == 0);
    const Json first = summary(folder);
    const Outcome again = trib(command);
    REQUIRE(again.code == 0);
    CHECK(has(again.err, "WAF"));
    const Json second = summary(folder);
    CHECK(second["drive"]["placement"] == "placed");
    if (kCovered) {
        CHECK(first["written_bytes"] == 4 << 20);
        CHECK(second["written_bytes"] == 4 << 20);
        CHECK(trib({"inspect", state, "--json"}).json()["clock_bytes"] == 8 << 20); // the state's clock goes on
        CHECK(second["signatures"] == first["signatures"]);
    }
}

TEST_CASE("processes that outlive the command are waited for, unless told otherwise") {
    if (!is_covered())
        return;
    Folder folder;
    const std::string late = folder / "late";
    const std::string script =
        "(echo early >" + late + "; sleep 0.6; echo late >>" + late + ") >/dev/null 2>&1 & sleep 0.2; exit 3";
    const Outcome waited = record(folder, script);
    CHECK(waited.code == 3);
    CHECK_FALSE(has(waited.err, "still ran"));
    CHECK(summary(folder)["written_bytes"] == 11);
    CHECK(summary(folder)["complete"] == true);
    const Outcome left = record(folder, script, {"--no-wait"});
    INFO(left.err);
    CHECK(left.code == 3);
    CHECK(has(left.err, "trib: 1 process still ran when recording ended\n"));
    CHECK(summary(folder)["written_bytes"] == 6);
    CHECK(summary(folder)["complete"] == false);
    std::this_thread::sleep_for(std::chrono::milliseconds(700)); // it writes into the folder
}

TEST_CASE("a disk that fills stops the trace, not the command") {
    if (!is_covered())
        return;
    Folder folder;
    // Once it runs, the recorder may write no more than 8 KiB to a file.
    const Outcome outcome =
        trib({"record", "--trace", folder / "t.trib", "--json", folder / "out.json", "--", "sh", "-c",
              "prlimit --pid $PPID --fsize=8192: && dd if=/dev/zero of=" + (folder / "f") +
                  " bs=512 count=30000 status=none && echo done"});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(outcome.out == "done\n");
    CHECK(has(outcome.err, "recording stops"));
    CHECK(has(outcome.err, "trib: the trace stopped: "));
    CHECK(summary(folder)["trace"]["stopped"] != "");
    CHECK(summary(folder)["complete"] == false);
    CHECK(has(outcome.err, "the record is not complete: File too large"));
    check_refusal(trib({"record", "--trace", "/dev/full", "--", "true"}), 125);
}

#ifdef __x86_64__
TEST_CASE("programs that tell nothing are named, whoever started them") {
    Folder folder;
    const std::string program = static_program().write(folder / "alone");
    REQUIRE(trib({"record", "--json", folder / "out.json", "--", program}).code == 0);
    CHECK(summary(folder)["not_covered"]["starts"] == 1);
    CHECK(summary(folder)["not_covered"]["programs"] == program + " (static)");
    REQUIRE(record(folder, "true").code == 0);
    CHECK_FALSE(summary(folder).contains("not_covered"));
    if (!kCovered)
        return;
    const Outcome outcome =
        record(folder, "cd " + (folder / "") + "; ./alone; PATH=.:$PATH; alone; (exec ./alone); env -i true; true");
    CHECK(outcome.code == 0);
    CHECK(summary(folder)["not_covered"]["starts"] == 4);
    CHECK(has(outcome.err, "alone (static)"));
    CHECK(has(outcome.err, "true (cleared environment)"));
    CHECK_FALSE(has(outcome.err, "--users"));
    CHECK(has(trib({"inspect", "--events", folder / "out.trib"}).out, "not covered: ./alone (static)"));
}

TEST_CASE("what another user starts is named, unless all users take part") {
    if (!is_covered() || !is_root_or_skips("nobody can be two users"))
        return;
    if (run({"sh", "-c", "command -v setpriv"}).code != 0)
        return skip("setpriv is not installed");
    Folder folder;
    const std::string command = "setpriv --reuid=65534 --clear-groups sh -c 'env true; exit 3'";
    const Outcome outcome = record(folder, command);
    CHECK(outcome.code == 3);
    CHECK(has(outcome.err, "sh (another user)"));
    CHECK(has(outcome.err, "; --users records other users', too\n"));
    CHECK(summary(folder)["not_covered"]["starts"] == 1); // it tells nothing of what it starts
    REQUIRE(trib({"record", "--users", "--json", folder / "out.json", "--", "sh", "-c", command}).code == 3);
    CHECK_FALSE(summary(folder).contains("not_covered"));
}

TEST_CASE("a user on the list of a daemon is not named as one who is not") {
    if (!is_covered() || !is_root_or_skips("nobody can be two users"))
        return;
    if (run({"sh", "-c", "command -v setpriv"}).code != 0)
        return skip("setpriv is not installed");
    Daemon daemon({"--set", "drive=none", "--allow", "65534"});
    std::filesystem::permissions(daemon.folder() / "", std::filesystem::perms::all);
    const std::string library = daemon.folder() / "preload.so"; // the build may lie where he may not look
    std::filesystem::copy_file(TRIB_BINARY_DIR "/preload/libtributary-preload.so", library);
    const std::string command = "cd " + (daemon.folder() / "") + " && LD_PRELOAD=" + library +
                                " TRIBUTARY_SESSION=" + daemon.socket() +
                                " setpriv --reuid=65534 --clear-groups sh -c 'echo 1 >a; cp a b; :'";
    const Outcome outcome = run({"sh", "-c", command});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    REQUIRE(comes_true([&] { return daemon.status()["written_bytes"] == 4; })); // cp's, too
    CHECK(daemon.status()["starts_uncovered"] == 0);
}

TEST_CASE("a program whose code may not be changed is named: what it writes by stdio goes unseen") {
    if (!is_covered())
        return;
    Folder folder;
    const std::string deny = "import ctypes, os, sys\n"
                             "if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0): sys.exit(77)\n" // PR_SET_MDWE
                             "os.execv(sys.argv[1], sys.argv[1:])";
    const Outcome outcome =
        run({"python3", "-c", deny, TRIB_BINARY_DIR "/cli/trib", "record", "--json", folder / "out.json", "--trace",
             folder / "trace", "--", "sh", "-c", "seq 1 100 >" + (folder / "numbers")});
    if (outcome.code == 77)
        return skip("this kernel has no PR_SET_MDWE");
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK(has(outcome.err, "writes of stdio"));
    CHECK(has(summary(folder)["not_covered"]["programs"].get<std::string>(), "seq (writes of stdio"));
}
#endif

TEST_CASE("an installed trib finds the installed library") {
    Folder folder;
    for (const char *part : {"cli", "preload", "packaging"}) {
        const Outcome outcome = run({TRIB_CMAKE, "-DCMAKE_INSTALL_PREFIX=" + (folder / "there"), "-P",
                                     std::string(TRIB_BINARY_DIR) + "/" + part + "/cmake_install.cmake"});
        INFO(outcome.err);
        REQUIRE(outcome.code == 0);
    }
    const std::string root = folder / "there/";
    REQUIRE(access((root + TRIB_INSTALL_LIBDIR "/libtributary-preload.so").c_str(), R_OK) == 0);
    const Outcome outcome = run({root + TRIB_INSTALL_BINDIR "/trib", "record", "--json", folder / "out.json", "--",
                                 "dd", "if=/dev/zero", "of=" + (folder / "f"), "bs=4096", "count=3", "status=none"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    if (kCovered)
        CHECK(summary(folder)["written_bytes"] == 3 * 4096);
    const std::string unit = root + "lib/systemd/system/tributary@.service";
    CHECK(has(read_file(unit), "\nExecStart=" + root + TRIB_INSTALL_BINDIR "/trib daemon %i "));
    if (run({"sh", "-c", "command -v systemd-analyze"}).code == 0) {
        std::filesystem::copy(unit, folder / "tributary@test.service");
        const Outcome verified = run({"systemd-analyze", "verify", "--man=no", folder / "tributary@test.service"});
        INFO(verified.err);
        CHECK_FALSE(has(verified.err, "is not executable"));
    }
}

TEST_CASE("no session file is left behind") {
    Folder folder;
    const std::string path = folder / "session";
    CHECK(record(folder, "test -e " + path, {"--session", path}).code == 0);
    CHECK(access(path.c_str(), F_OK) != 0);
}

#endif
