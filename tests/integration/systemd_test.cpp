// SPDX-License-Identifier: Apache-2.0
// Units for systemd: that systemd accepts them where it is installed, that they confine the daemon, and that a daemon
// takes the socket that it is handed and tells when it is ready.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sys/socket.h>
#include <sys/un.h>

#include "support/daemon.hpp"
#include "support/skip.hpp"

using namespace trib_test;

namespace {

const std::string PACKAGING = TRIB_SOURCE_DIR "/packaging/systemd/";

// Sections and their "key=value" lines.
std::map<std::string, std::multimap<std::string, std::string>> sections_of(const std::string &path) {
    std::map<std::string, std::multimap<std::string, std::string>> sections;
    std::string section;
    for (const std::string &line : lines_of(read_file(path))) {
        INFO(path << ": " << line);
        const size_t equals = line.find('=');
        if (line.empty() || line[0] == '#')
            continue;
        if (line[0] == '[') {
            REQUIRE(line.back() == ']');
            section = line.substr(1, line.size() - 2);
        } else {
            REQUIRE(equals != std::string::npos);
            REQUIRE_FALSE(section.empty());
            sections[section].emplace(line.substr(0, equals), line.substr(equals + 1));
        }
    }
    return sections;
}

using Variables = std::map<std::string, std::string>;

Variables variables_in(const std::vector<std::string> &settings, const std::regex &form) {
    Variables variables;
    std::smatch parts;
    for (const std::string &setting : settings)
        if (std::regex_match(setting, parts, form))
            variables[parts[1]] = parts[2];
    return variables;
}

Variables variables_of_dropin(const std::string &path) {
    const auto service = sections_of(path)["Service"];
    const auto range = service.equal_range("Environment");
    std::vector<std::string> settings;
    std::for_each(range.first, range.second, [&](const auto &line) { settings.push_back(line.second); });
    return variables_in(settings, std::regex("(\\w+)=(\\S*)"));
}

// As Debian's pg_ctlcluster reads it.
Variables variables_of_cluster(const std::string &path) {
    return variables_in(lines_of(read_file(path)), std::regex("(\\w+) = '([^']*)'"));
}

// What a server needs to be recorded by the daemon NAME.
void check_reaches(const std::string &name, Variables variables) {
    CHECK(variables["TRIBUTARY_SESSION"] == "/run/tributary/" + name + ".sock");
    INFO("LD_PRELOAD=" << variables["LD_PRELOAD"] << ", built are" TRIB_PRELOADED_LIBRARIES);
    CHECK(has(TRIB_PRELOADED_LIBRARIES, " " + variables["LD_PRELOAD"] + " "));
}

sockaddr_un address_of(const std::string &path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return address;
}

int bound(const std::string &path, int type) {
    const int fd = socket(AF_UNIX, type, 0);
    const sockaddr_un address = address_of(path);
    REQUIRE(bind(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0);
    return fd;
}

// As systemd does: descriptor 3, LISTEN_FDS, LISTEN_PID of the very process.
pid_t start_activated(const std::string &path, int listener, const std::string &notify) {
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    dup2(listener, 3);
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    setenv("NOTIFY_SOCKET", notify.c_str(), 1);
    execl(TRIB_BINARY_DIR "/cli/trib", "trib", "daemon", "test", "--address", path.c_str(), "--set", "drive=none",
          nullptr);
    _exit(127);
}

std::string next_message(int fd) {
    char text[256] = {};
    const timeval limit = {10, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return recv(fd, text, sizeof text - 1, 0) > 0 ? text : "";
}

} // namespace

TEST_CASE("the service is confined and starts what is installed") {
    auto service = sections_of(PACKAGING + "tributary@.service")["Service"];
    const auto has_line = [&](const std::string &key, const std::string &value) {
        const auto range = service.equal_range(key);
        return std::any_of(range.first, range.second, [&](const auto &line) { return line.second == value; });
    };
    for (const char *key : {"NoNewPrivileges", "PrivateTmp", "PrivateDevices", "PrivateNetwork", "ProtectHome",
                            "ProtectKernelTunables", "ProtectKernelModules", "ProtectControlGroups",
                            "RestrictNamespaces", "LockPersonality", "MemoryDenyWriteExecute"}) {
        INFO(key);
        CHECK(has_line(key, "yes"));
    }
    CHECK(has_line("ProtectSystem", "strict"));
    CHECK(has_line("CapabilityBoundingSet", ""));
    CHECK(has_line("RestrictAddressFamilies", "AF_UNIX"));
    CHECK(has_line("SystemCallFilter", "@system-service"));
    CHECK(has_line("User", "tributary"));
    CHECK(has_line("Type", "notify"));
    CHECK(service.count("PrivateUsers") == 0); // peers would have no names
    const std::string listens =
        sections_of(PACKAGING + "tributary@.socket")["Socket"].find("ListenSequentialPacket")->second;
    CHECK(has(service.find("ExecStart")->second, " --address " + listens + " "));
}

TEST_CASE("systemd accepts the units") {
    if (run({"sh", "-c", "command -v systemd-analyze"}).code != 0)
        return skip("systemd is not installed");
    Folder folder;
    for (const char *unit : {"tributary@.service", "tributary@.socket"}) {
        std::string text = read_file(PACKAGING + unit);
        const size_t at = text.find("/usr/bin/trib ");
        if (at != std::string::npos)
            text.replace(at, 13, TRIB_BINARY_DIR "/cli/trib");
        std::ofstream(folder / unit) << text;
    }
    for (const char *unit : {"tributary@test.service", "tributary@test.socket"}) {
        const std::string link = folder / unit;
        std::filesystem::copy(folder / (std::string("tributary@") + (link.back() == 't' ? ".socket" : ".service")),
                              link);
        const Outcome outcome = run({"systemd-analyze", "verify", "--man=no", link});
        INFO(outcome.out << outcome.err);
        CHECK(outcome.code == 0);
        CHECK_FALSE(has(outcome.err, "tributary@")); // it warns of keys that it does not know, and succeeds
    }
}

TEST_CASE("every example takes options that the daemon takes, and its server gets a library and the daemon's socket") {
    unsigned configs = 0, dropins = 0;
    Folder folder;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(PACKAGING + "examples")) {
        if (entry.path().extension() != ".conf")
            continue;
        INFO(entry.path().string());
        if (entry.path().filename() == "tributary.conf") {
            auto sections = sections_of(entry.path().string());
            CHECK(sections["Unit"].count("Wants") == 1);
            CHECK(sections["Unit"].count("Requires") == 0);
            const std::string socket = sections["Unit"].find("Wants")->second; // tributary@NAME.socket
            const std::string name = socket.substr(10, socket.find('.') - 10);
            const std::string elsewhere = PACKAGING + "examples/" + name + ".environment";
            const bool is_elsewhere = access(elsewhere.c_str(), R_OK) == 0;
            check_reaches(name,
                          is_elsewhere ? variables_of_cluster(elsewhere) : variables_of_dropin(entry.path().string()));
            CHECK(access((PACKAGING + "examples/" + name + ".conf").c_str(), R_OK) == 0);
            dropins++;
            continue;
        }
        std::string text = read_file(entry.path().string());
        text = text.substr(text.find("OPTIONS=") + 8);
        text.erase(text.find('\n'));
        // Folders and users of an installation are not here: everything else is taken as it is.
        for (const char *user : {"allow=mysql,", "allow=cassandra,", "allow=postgres,"})
            if (text.find(user) != std::string::npos)
                text.replace(text.find(user), std::strlen(user), "");
        for (size_t at; (at = text.find("/var/lib/tributary/")) != std::string::npos;)
            text.replace(at, text.find('/', at + 19) + 1 - at, folder / "");
        Daemon daemon({"--set", text});
        CHECK(daemon.status()["drive"] == "none");
        configs++;
    }
    CHECK(configs == 3);
    CHECK(dropins == 4);
}

// What they do there under a real systemd: tests/suites/systemd.py.
TEST_CASE("the page's commands put the examples where systemd and the daemon look") {
    const std::string page = read_file(TRIB_SOURCE_DIR "/docs/operations/daemon.md");
    unsigned blocks = 0;
    for (size_t begin = 0; (begin = page.find("```sh\nsystemd-sysusers", begin)) != std::string::npos; begin += 6) {
        Folder etc;
        const std::string root = etc / "";
        std::string script = "set -e\nmkdir -p '" + root + "postgresql/15/main'\n", enabled, restarted;
        for (const std::string &line : lines_of(page.substr(begin + 6, page.find("\n```", begin + 6) - begin - 6))) {
            if (line.rfind("cd ", 0) == 0) // where the examples are installed
                script += "cd '" + PACKAGING + "examples'\n";
            if (line.rfind("install ", 0) == 0 || line.rfind("cat ", 0) == 0)
                script += std::regex_replace(line, std::regex("/etc/"), root) + "\n";
            if (line.rfind("systemctl enable --now ", 0) == 0)
                enabled = line.substr(23);
            if (line.rfind("systemctl restart ", 0) == 0)
                restarted = line.substr(18);
        }
        const Outcome outcome = run({"sh", "-c", script});
        INFO(script << outcome.err);
        REQUIRE(outcome.code == 0);
        REQUIRE(enabled.rfind("tributary@", 0) == 0);
        const std::string name = enabled.substr(10, enabled.find('.') - 10);
        CHECK(access((etc / ("tributary/" + name + ".conf")).c_str(), R_OK) == 0);
        CHECK(has(read_file(PACKAGING + "tributary@.service"), "EnvironmentFile=-/etc/tributary/%i.conf\n"));
        unsigned dropins = 0;
        Variables variables = variables_of_cluster(etc / "postgresql/15/main/environment");
        for (const auto &entry : std::filesystem::recursive_directory_iterator(etc / "systemd/system"))
            if (entry.path().extension() == ".conf") {
                CHECK(has(read_file(entry.path().string()), "Wants=" + enabled + "\n"));
                CHECK(has(entry.path().parent_path().filename().string(), restarted));
                variables.merge(variables_of_dropin(entry.path().string()));
                dropins++;
            }
        CHECK(dropins == 1);
        check_reaches(name, variables);
        blocks++;
    }
    CHECK(blocks == 2);
}

TEST_CASE("a daemon serves the socket that it is handed, says when it is ready, and leaves the socket") {
    Folder folder;
    const std::string path = folder / "activated.sock";
    const int listener = bound(path, SOCK_SEQPACKET), notify = bound(folder / "notify", SOCK_DGRAM);
    REQUIRE(listen(listener, 8) == 0);
    for (int round = 0; round < 2; round++) { // a second daemon at the same socket: a restart
        const pid_t pid = start_activated(path, listener, folder / "notify");
        CHECK(next_message(notify) == "READY=1");
        const Outcome status = trib({"status", path, "--json"});
        INFO(status.err);
        REQUIRE(status.code == 0);
        CHECK(status.json()["pid"] == pid);
        CHECK(trib({"daemon", "stop", path}).code == 0);
        CHECK(next_message(notify) == "STOPPING=1");
        int code = -1;
        CHECK(waitpid(pid, &code, 0) == pid);
        CHECK(code == 0);
        CHECK(access(path.c_str(), F_OK) == 0); // systemd's, not ours to take away
    }
    close(listener);
    close(notify);
}
