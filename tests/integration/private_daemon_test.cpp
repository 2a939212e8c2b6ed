// SPDX-License-Identifier: Apache-2.0
// The daemon that TRIBUTARY=options starts for a program: it is nobody's child, and nothing of the program's is in it.
#include "support/catch.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "support/daemon.hpp"
#include "support/skip.hpp"

namespace {

using namespace trib_test;
namespace fs = std::filesystem;

std::string field(const std::string &status, const std::string &name) {
    const size_t at = status.find(name + ":");
    return at == std::string::npos ? ""
                                   : status.substr(at + name.size() + 2, status.find('\n', at) - at - name.size() - 2);
}

uint64_t mask(const std::string &status, const std::string &name) {
    return std::stoull(field(status, name), nullptr, 16);
}

// A shell with the library, which runs `script` in a folder of its own; sockets of daemons are in runtime().
class Host {
  public:
    Host(const std::string &script, const std::string &options, const Environment &more = {}) {
        Environment environment = {{"LD_PRELOAD", TRIB_BINARY_DIR "/preload/libtributary-preload.so"},
                                   {"XDG_RUNTIME_DIR", folder_ / ""},
                                   {"TRIBUTARY_TRIB", TRIB_BINARY_DIR "/cli/trib"}};
        if (!options.empty())
            environment["TRIBUTARY"] = options;
        for (const auto &[name, value] : more)
            environment[name] = value;
        pid_ = start({"/bin/sh", "-c", "cd '" + (folder_ / "") + "'; " + script}, environment, folder_ / "err");
    }
    ~Host() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        for (const std::string &socket : sockets())
            (void)trib({"daemon", "stop", socket});
    }
    Host(const Host &) = delete;
    Host &operator=(const Host &) = delete;

    std::vector<std::string> sockets() const {
        std::vector<std::string> found;
        if (fs::exists(folder_ / "tributary"))
            for (const auto &entry : fs::directory_iterator(folder_ / "tributary"))
                if (entry.is_socket())
                    found.push_back(entry.path().string());
        return found;
    }
    // Of its only daemon.
    int daemon() const {
        REQUIRE(comes_true([&] { return sockets().size() == 1; }));
        Json status;
        REQUIRE(comes_true([&] {
            const Outcome outcome = trib({"status", sockets()[0], "--json"});
            return outcome.code == 0 && (status = outcome.json())["processes"] > 0;
        }));
        return status["pid"];
    }
    pid_t pid() const {
        return pid_;
    }
    const Folder &folder() const {
        return folder_;
    }

  private:
    Folder folder_;
    pid_t pid_;
};

std::string proc(int pid, const std::string &file) {
    return read_file("/proc/" + std::to_string(pid) + "/" + file);
}

const std::string kWriteAndWait = "echo 0123456789 >file; exec sleep 60 >/dev/null 2>&1";

} // namespace

TEST_CASE("a private daemon is nobody's child, in a session of its own, with the signals of a fresh process") {
    if (is_sanitized())
        return skip("a sanitizer's runtime has to come before every preloaded library");
    const auto before = signal(SIGUSR1, SIG_IGN); // as a program's parent may
    const Host host(kWriteAndWait, "policy=none,drive=none");
    signal(SIGUSR1, before);
    const int daemon = host.daemon();
    const std::string status = proc(daemon, "status");
    CHECK(field(status, "PPid") != std::to_string(host.pid()));
    CHECK(getsid(daemon) == daemon);
    CHECK(getsid(host.pid()) != daemon);
    const uint64_t of_programs = 1ull << (SIGUSR1 - 1);
    CHECK((mask(proc(host.pid(), "status"), "SigIgn") & of_programs) != 0);
    CHECK((mask(status, "SigIgn") & of_programs) == 0);
}

TEST_CASE("a private daemon has nothing of the program's environment that concerns us, and none of its files") {
    if (is_sanitized())
        return skip("a sanitizer's runtime has to come before every preloaded library");
    const Host host("exec 7>seven; " + kWriteAndWait, "policy=none,drive=none", {{"MINE", "kept"}});
    const int daemon = host.daemon();
    const std::string environment = proc(daemon, "environ");
    CHECK(environment.find("LD_PRELOAD=") == std::string::npos);
    CHECK(environment.find("TRIBUTARY") == std::string::npos);
    CHECK(environment.find("MINE=kept") != std::string::npos);
    for (const auto &entry : fs::directory_iterator("/proc/" + std::to_string(daemon) + "/fd")) {
        std::error_code gone;
        CHECK(fs::read_symlink(entry.path(), gone).filename() != "seven");
    }
}

TEST_CASE("options that name files by a path from the current folder mean a daemon for each folder") {
    if (is_sanitized())
        return skip("a sanitizer's runtime has to come before every preloaded library");
    const Host host(
        "mkdir one two; export TRIBUTARY=policy=none,drive=none,trace=day.trib; "
        "for f in one two; do (cd $f; exec /bin/sh -c 'echo x >file; exec sleep 20 >/dev/null 2>&1') & done; wait",
        "");
    CHECK(comes_true([&] { return host.sockets().size() == 2; }));
    for (const char *folder : {"one", "two"}) {
        INFO(folder);
        CHECK(comes_true([&] { return fs::exists(host.folder() / folder + "/day.trib"); }));
    }
}

TEST_CASE("a program whose daemon does not get ready starts all the same, with one line") {
    if (is_sanitized())
        return skip("a sanitizer's runtime has to come before every preloaded library");
    Folder folder;
    const std::string silent = folder / "silent";
    std::ofstream(silent) << "#!/bin/sh\nexec sleep 20 >/dev/null 2>&1\n";
    REQUIRE(chmod(silent.c_str(), 0755) == 0);
    const auto begin = std::chrono::steady_clock::now();
    const Host host("echo 0123456789 >file; echo done >done; exec sleep 60 >/dev/null 2>&1", "policy=none,drive=none",
                    {{"TRIBUTARY_TRIB", silent}});
    CHECK(comes_true([&] { return fs::exists(host.folder() / "done"); }, 60000));
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
    CHECK(read_file(host.folder() / "err").find("did not answer within") != std::string::npos);
}

TEST_CASE("a program whose options no daemon takes, or whose daemon ends at once, says so and runs on") {
    if (is_sanitized())
        return skip("a sanitizer's runtime has to come before every preloaded library");
    const std::string script = "echo 0123456789 >file; echo done >done; exec sleep 60 >/dev/null 2>&1";
    const Host wrong(script, "off");
    const Host ended(script, "policy=none,drive=none", {{"TRIBUTARY_TRIB", "/bin/false"}});
    CHECK(
        comes_true([&] { return fs::exists(wrong.folder() / "done") && fs::exists(ended.folder() / "done"); }, 30000));
    const std::string of_wrong = read_file(wrong.folder() / "err"), of_ended = read_file(ended.folder() / "err");
    INFO(of_wrong << of_ended);
    CHECK(of_wrong.find("'off' is not key=value; see trib options; running without") != std::string::npos);
    CHECK(of_ended.find("/bin/false ended before it was ready; running without") != std::string::npos);
}

TEST_CASE("a folder for sockets whose path is too long is refused, not cut") {
    if (is_sanitized())
        return skip("a sanitizer's runtime has to come before every preloaded library");
    Folder folder;
    const std::string deep = folder / (std::string(60, 'x') + "/" + std::string(60, 'y'));
    REQUIRE(fs::create_directories(deep));
    const Host host("echo 0123456789 >file; echo done >done", "policy=none,drive=none", {{"XDG_RUNTIME_DIR", deep}});
    CHECK(comes_true([&] { return fs::exists(host.folder() / "done"); }));
    CHECK(read_file(host.folder() / "err").find("File name too long") != std::string::npos);
    CHECK(fs::is_empty(deep));
}

TEST_CASE("a folder for sockets that is not the user's alone is refused, with the variable that names another") {
    if (is_sanitized())
        return skip("a sanitizer's runtime has to come before every preloaded library");
    const auto check_refused = [](const std::function<void(const std::string &)> &spoil) {
        Folder folder;
        const std::string spoilt = folder / "tributary";
        REQUIRE(fs::create_directory(spoilt));
        spoil(spoilt);
        const Host host("echo 0123456789 >file; echo done >done", "policy=none,drive=none",
                        {{"XDG_RUNTIME_DIR", folder.file("")}});
        CHECK(comes_true([&] { return fs::exists(host.folder() / "done"); }));
        const std::string said = read_file(host.folder() / "err");
        INFO(said);
        CHECK(has(said, "tributary: no folder for a socket: "));
        CHECK(has(said, "tributary is not this user's alone; set XDG_RUNTIME_DIR to one; running without\n"));
        CHECK(fs::is_empty(spoilt));
    };
    check_refused([](const std::string &folder) { REQUIRE(chmod(folder.c_str(), 0777) == 0); });
    if (geteuid() == 0) // who may give a folder away
        check_refused([](const std::string &folder) { REQUIRE(chown(folder.c_str(), 1, 1) == 0); });
}

TEST_CASE("a program whose children have a PID namespace of their own keeps its place of their init") {
    if (is_sanitized())
        return skip("a sanitizer's runtime has to come before every preloaded library");
    if (!is_root_or_skips("no PID namespace"))
        return;
    Folder folder;
    const Outcome outcome =
        run({"unshare", "--pid", "env", "LD_PRELOAD=" TRIB_BINARY_DIR "/preload/libtributary-preload.so",
             "TRIBUTARY=policy=none,drive=none", "XDG_RUNTIME_DIR=" + folder.file(""), "/bin/sh", "-c",
             "echo 1 >" + folder.file("one") + "; sh -c 'echo child $$'; sh -c 'echo again'"});
    INFO(outcome.err);
    CHECK(has(outcome.out, "child 1\n"));
    CHECK(has(outcome.err, "PID namespace"));
}
