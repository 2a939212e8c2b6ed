// SPDX-License-Identifier: Apache-2.0
// What the daemon and `trib run` say to whoever has a file in the way, a folder of somebody else's, a drive that is
// full, or a daemon that is paused.
#include "support/daemon.hpp"
#include "support/skip.hpp"
#include "support/users.hpp"

using namespace trib_test;

namespace {

const std::string kTrib = TRIB_BINARY_DIR "/cli/trib";

// `trib daemon x` as user 1, who can read a copy of it, and has no folder of sockets yet; in a /tmp of the test's own.
Outcome as_user(const std::string &prepare, const Environment &environment) {
    return run(
        {"unshare", "-m", "sh", "-c",
         "mount -t tmpfs -o mode=755 none /run && cp '" + kTrib +
             "' /run/trib && mount -t tmpfs -o mode=1777 none /tmp && " + prepare +
             " && exec setpriv --reuid=1 --regid=1 --clear-groups timeout 3 /run/trib daemon x --set drive=none"},
        environment);
}

} // namespace

TEST_CASE("a file at the socket's path is no other daemon") {
    Folder folder;
    std::ofstream(folder / "f") << "words";
    const Outcome daemon = run({"timeout", "10", kTrib, "daemon", "--address", folder / "f", "--set", "drive=none"});
    check_refusal(daemon, 1);
    CHECK(has(daemon.err, "what is there is no socket; move it away"));
    CHECK(read_file(folder / "f") == "words");
    const Daemon one({"--set", "drive=none"});
    CHECK(has(run({"timeout", "10", kTrib, "daemon", one.socket(), "--set", "drive=none"}).err,
              "another daemon has it; end that with `trib daemon stop " + one.socket() + "`\n"));
}

TEST_CASE("stop returns when the daemon is gone, so that the next one finds its place free") {
    Folder folder;
    const std::string daemon = "'" + kTrib + "' daemon --address " + (folder / "s") +
                               " --set drive=none,state=" + (folder / "state") + " 2>>" + (folder / "err"),
                      answers =
                          "until '" + kTrib + "' status " + (folder / "s") + " >/dev/null 2>&1; do sleep 0.05; done";
    const Outcome outcome = run({"timeout", "60", "sh", "-c",
                                 daemon + " & for i in 1 2 3 4 5 6 7 8; do " + answers + "; '" + kTrib +
                                     "' daemon stop " + (folder / "s") + " || exit 1; " + daemon + " & done; " +
                                     answers + "; '" + kTrib + "' daemon stop " + (folder / "s") + "; wait $!"});
    INFO(outcome.err << read_file(folder / "err"));
    CHECK(outcome.code == 0);
    CHECK_FALSE(has(read_file(folder / "err"), "another daemon"));
}

// Says yes to whoever asks, and closes the connection only so much later.
class SlowToEnd {
  public:
    SlowToEnd(const std::string &path, int seconds) : socket_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        REQUIRE(path.size() < sizeof address.sun_path);
        path.copy(address.sun_path, path.size());
        REQUIRE(bind(socket_, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0);
        REQUIRE(listen(socket_, 1) == 0);
        thread_ = std::thread([this, seconds] {
            const int connection = accept(socket_, nullptr, nullptr);
            trib_request request{};
            trib_answer answer{};
            (void)!recv(connection, &request, sizeof request, 0);
            (void)!send(connection, &answer, sizeof answer, MSG_NOSIGNAL);
            std::this_thread::sleep_for(std::chrono::seconds(seconds));
            close(connection);
        });
    }
    ~SlowToEnd() {
        thread_.join();
        close(socket_);
    }
    SlowToEnd(const SlowToEnd &) = delete;
    SlowToEnd &operator=(const SlowToEnd &) = delete;

  private:
    int socket_;
    std::thread thread_;
};

TEST_CASE("stop waits for the end, but not for ever") {
    Folder folder;
    const auto seconds_of = [](const std::string &path, int code) {
        const auto began = std::chrono::steady_clock::now();
        const Outcome outcome = run({"timeout", "60", kTrib, "daemon", "stop", path});
        CHECK(outcome.code == code);
        CHECK(has(outcome.err, code ? path + ": it was asked to end, and has not in 20 s\n" : ""));
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    const SlowToEnd slow(folder / "slow", 3), hangs(folder / "hangs", 24);
    CHECK(seconds_of(folder / "slow", 0) >= 2.9);
    CHECK(seconds_of(folder / "hangs", 1) < 24);
}

TEST_CASE("under nohup a daemon stays when its terminal goes") {
    Folder folder;
    const std::string command = "'" + kTrib + "' daemon --address " + (folder / "s") + " --set drive=none";
    const pid_t pid = start({"/bin/sh", "-c", "trap '' HUP; exec " + command}, {}, folder / "err");
    REQUIRE(comes_true([&] { return trib({"status", folder / "s"}).code == 0; }));
    kill(pid, SIGHUP);
    std::this_thread::sleep_for(500ms);
    CHECK(waitpid(pid, nullptr, WNOHANG) == 0);
    CHECK(trib({"daemon", "stop", folder / "s"}).code == 0);
    CHECK(comes_true([&] { return waitpid(pid, nullptr, WNOHANG) == pid; }));
}

TEST_CASE("one of a thing is one") {
    const Daemon daemon({"--drive", "none"});
    const std::string nothing = trib({"status", daemon.socket()}).out;
    CHECK(has(nothing, " 0 writers in 0 streams"));
    CHECK(has(nothing, " 0 errors"));
    trib_client *client = join_soon(daemon.socket());
    REQUIRE(client != nullptr);
    submit_all(client, 1, 1);
    std::string text;
    CHECK(comes_true([&] { return has(text = trib({"status", daemon.socket()}).out, " in 1 event\n"); }));
    INFO(text);
    CHECK(has(text, " 1 writer in "));
    trib_client_close(client);
}

// A process says at its next join what it missed; a daemon that is stopped leaves rings full.
TEST_CASE("each cause of a loss is said once, with its own advice") {
    Folder folder;
    const std::string socket = folder / "s", log = folder / "err";
    const pid_t pid = start({kTrib, "daemon", "--address", socket, "--set", "drive=none,process-ring=1024"}, {}, log);
    REQUIRE(comes_true([&] { return trib({"status", socket}).code == 0; }));
    for (int i = 0; i < 2; i++) {
        trib_request claim = request_of(TRIB_REQUEST_JOIN);
        claim.epoch = 4711; // of a daemon that was there before
        claim.image = static_cast<uint64_t>(i) + 1;
        claim.missed_events = 5;
        claim.missed_bytes = 50;
        CHECK(code_of(socket, claim) == 0);
    }
    trib_client *client = join_soon(socket);
    REQUIRE(client != nullptr);
    int status = 0;
    kill(pid, SIGSTOP);
    waitpid(pid, &status, WUNTRACED);
    for (uint64_t i = 0; i < 5000; i++) {
        const trib_event event = write_of(1, i * 100);
        (void)trib_client_submit(client, &event);
    }
    kill(pid, SIGCONT);
    CHECK(comes_true([&] { return has(read_file(log), "a ring is full; raise option 'process-ring'"); }));
    trib_client_close(client);
    CHECK(trib({"daemon", "stop", socket}).code == 0);
    waitpid(pid, nullptr, 0);
    const std::string said = read_file(log);
    INFO(said);
    for (const char *cause : {"a process could not join for a while", "a ring is full; raise option 'process-ring'"}) {
        const size_t at = said.find(std::string("events are lost: ") + cause);
        CHECK(at != std::string::npos);
        CHECK(said.find(cause, at + 20) == std::string::npos);
    }
}

TEST_CASE("a size out of bounds is refused with sizes as they are given") {
    const Outcome outcome = trib({"daemon", "/tmp/x", "--set", "drive=none,trace=/tmp/t,trace_max=5"});
    check_refusal(outcome, 2);
    CHECK(has(outcome.err, "5 is outside 1M..1024T"));
}

TEST_CASE("an emulated drive that is full is named in the log, with the option to raise") {
    const Daemon daemon({"--policy", "none", "--drive", "emulated,capacity=16M,superblock=64K"});
    trib_client *client = join_soon(daemon.socket());
    REQUIRE(client != nullptr);
    for (uint64_t i = 0; i < 40; i++) {
        trib_event event = write_of(1, i);
        event.offset_bytes = i << 20;
        event.length_bytes = 1 << 20;
        REQUIRE(trib_client_submit(client, &event));
    }
    CHECK(comes_true([&] { return daemon.status()["drive_errors"] > 0; }));
    const std::string log = daemon.err();
    INFO(log);
    CHECK(has(log, ": the emulated drive is full, raise capacity=; the program goes on\n"));
    CHECK_FALSE(has(log, "No space left on device"));
    trib_client_close(client);
}

TEST_CASE("of two daemons with one metrics file the second says so") {
    Folder folder;
    const std::vector<std::string> options = {"--drive", "none", "--set",
                                              "metrics-every=1,metrics-file=" + (folder / "m.prom")};
    {
        const Daemon one(options);
        REQUIRE(comes_true([&] { return fs::exists(folder / "m.prom"); }));
        std::this_thread::sleep_for(1500ms); // a later version is held as the first was
        const Daemon other(options);
        CHECK(has(other.err(), "m.prom: another daemon writes it, too"));
        CHECK_FALSE(has(one.err(), "another daemon"));
    }
    const Daemon next(options);
    CHECK_FALSE(has(next.err(), "another daemon"));
}

TEST_CASE("a folder of sockets that is another user's is told apart from one's own") {
    if (geteuid() != 0 || run({"unshare", "-m", "mount", "-t", "tmpfs", "none", "/run"}).code != 0)
        return skip("needs root and a mount namespace");
    const Outcome theirs = as_user("mkdir /tmp/tributary-1", {});
    check_refusal(theirs, 1);
    CHECK(has(theirs.err, "set XDG_RUNTIME_DIR to a folder of this user"));
    CHECK_FALSE(has(theirs.err, "remove it"));
    const Outcome variable = as_user("mkdir -m 755 /tmp/other", {{"XDG_RUNTIME_DIR", "/tmp/other"}});
    check_refusal(variable, 1);
    CHECK(has(variable.err, "it is from XDG_RUNTIME_DIR: set that to a folder of this user"));
    CHECK(as_user("true", {}).code == 124); // it ran
}

// The daemon tells processes apart: each of them is one.
TEST_CASE("of processes that are refused the first eight are named, all are counted") {
    const Daemon daemon({"--set", "drive=none"});
    constexpr unsigned kRefused = 20;
    const auto nonsense = [&] {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        strcpy(address.sun_path, daemon.socket().c_str());
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        char answer[512];
        return connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0 &&
                       send(fd, "nonsense", 8, MSG_NOSIGNAL) == 8 && recv(fd, answer, sizeof answer, 0) > 0
                   ? 0
                   : 1;
    };
    for (unsigned i = 0; i < kRefused; i++)
        REQUIRE(as(geteuid(), getegid(), nonsense) == 0);
    CHECK(daemon.status()["joins_refused"] == kRefused);
    unsigned named = 0;
    for (const std::string &line : lines_of(daemon.err()))
        named += has(line, " could not join: not of this version; what it writes is not recorded");
    INFO(daemon.err());
    CHECK(named == 8);
}

TEST_CASE("a pause is seen, for how long, and the trace has where") {
    Folder folder;
    Daemon daemon({"--set", "drive=none,trace=" + (folder / "t.trib")});
    REQUIRE(trib({"daemon", "pause", daemon.socket()}).code == 0);
    CHECK(comes_true([&] { return daemon.status()["paused_seconds"] >= 1; }));
    CHECK(has(trib({"status", daemon.socket()}).out, ", paused for "));
    REQUIRE(trib({"daemon", "resume", daemon.socket()}).code == 0);
    CHECK(daemon.status()["paused_seconds"] == 0);
    CHECK(daemon.status()["paused"] == 0);
    CHECK_FALSE(has(trib({"status", daemon.socket()}).out, "paused"));
    std::this_thread::sleep_for(200ms);
    REQUIRE(daemon.stop() == 0);
    const std::string items = trib({"inspect", "--events", folder / "t.trib"}).out;
    INFO(items);
    const size_t pause = items.find("paused: what is written from here on is not recorded");
    REQUIRE(pause != std::string::npos);
    CHECK(items.find("resumed after ", pause) != std::string::npos);
    CHECK(items.find("paused: ", pause + 1) == std::string::npos);
}

#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__ // their runtimes come before every preloaded library
TEST_CASE("the summary says that the drive was full, and since when") {
    Folder folder;
    const std::vector<std::string> line = {"run", "--policy", "none", "--drive",
                                           "emulated,capacity=16M,superblock=64K"};
    const auto write = [&](const std::string &blocks) {
        std::vector<std::string> command = line;
        for (const std::string &word :
             {std::string("--json"), folder / "s", std::string("--"), std::string("dd"), std::string("if=/dev/zero"),
              "of=" + (folder / "f"), std::string("bs=64K"), "count=" + blocks})
            command.push_back(word);
        return trib(command);
    };
    const Outcome full = write("640");
    INFO(full.err);
    CHECK(full.code == 0);
    CHECK(has(full.err, "trib: of what came after the first 16"));
    CHECK(has(full.err, "the emulated drive is full, raise capacity="));
    const Json drive = Json::parse(read_file(folder / "s"))["drive"];
    CHECK(drive["errors"] > 0);
    CHECK(drive["refused_from_bytes"].get<uint64_t>() >= 15u << 20);
    CHECK(drive["refused_from_bytes"].get<uint64_t>() <= 17u << 20);
    CHECK_FALSE(has(write("40").err, "refused"));
}

TEST_CASE("a recording at a path where a file is says that it is no socket") {
    Folder folder;
    std::ofstream(folder / "f") << "words";
    const Outcome outcome = trib({"record", "--session", folder / "f", "--trace", folder / "t", "--", "true"});
    check_refusal(outcome, 125);
    CHECK(has(outcome.err, "no socket"));
}
#endif
