// SPDX-License-Identifier: Apache-2.0
// The path that a daemon listens at: one daemon has it, whoever else starts or ends, and nothing is left behind.
#include "support/catch.hpp"

#include "support/daemon.hpp"
#include "support/users.hpp"

using namespace trib_test;

namespace {

const std::string kTrib = TRIB_BINARY_DIR "/cli/trib";

pid_t start_at(const std::string &address, const std::string &err, const std::vector<std::string> &more = {}) {
    std::vector<std::string> command = {kTrib, "daemon", "--address", address, "--policy", "none", "--drive", "none"};
    command.insert(command.end(), more.begin(), more.end());
    return start(command, {}, err);
}

int end_of(pid_t pid, int signal) {
    int status = 0;
    kill(pid, signal);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

bool answers(const std::string &address) {
    return trib({"status", address}).code == 0;
}

bool has_ended(pid_t pid) {
    return waitpid(pid, nullptr, WNOHANG) == pid;
}

void leave_stale_socket(const std::string &address) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    memcpy(at.sun_path, address.c_str(), address.size() + 1);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    REQUIRE(bind(fd, reinterpret_cast<sockaddr *>(&at), sizeof at) == 0);
    close(fd);
}

} // namespace

TEST_CASE("of daemons that start at once at one path, one gets it and answers") {
    for (int round = 0; round < 15; round++) {
        Folder folder;
        const std::string address = folder / "d.sock";
        if (round % 3)
            leave_stale_socket(address);
        std::vector<pid_t> all;
        for (int i = 0; i < 4; i++)
            all.push_back(start_at(address, folder / "err"));
        const auto running = [&] {
            all.erase(std::remove_if(all.begin(), all.end(), has_ended), all.end());
            return all.size();
        };
        CHECK(comes_true([&] { return running() == 1; }));
        CHECK(comes_true([&] { return answers(address); }));
        for (const pid_t pid : all)
            CHECK(end_of(pid, SIGTERM) == 0);
        CHECK(folder.files() == 1); // what they said
    }
}

TEST_CASE("a daemon that ends leaves the socket of another that took its path") {
    Folder folder;
    const std::string address = folder / "d.sock";
    const pid_t former = start_at(address, folder / "err");
    REQUIRE(comes_true([&] { return answers(address); }));
    REQUIRE(unlink(address.c_str()) == 0);
    const pid_t next = start_at(address, folder / "err");
    REQUIRE(comes_true([&] { return answers(address); }));
    CHECK(end_of(former, SIGTERM) == 0);
    CHECK(answers(address));
    CHECK(end_of(next, SIGTERM) == 0);
    CHECK(folder.files() == 1);
}

TEST_CASE("private daemons leave no file, and the next removes what a killed one left") {
    Folder folder;
    const std::string one = folder / "auto-1.sock", other = folder / "auto-2.sock", err = folder / "err";
    const pid_t killed = start_at(one, err, {"--private", "--linger", "60000"});
    REQUIRE(comes_true([&] { return answers(one); }));
    CHECK(folder.files() == 2); // err, and the socket
    CHECK(end_of(killed, SIGKILL) == 256 + SIGKILL);
    close(open((one + ".lock").c_str(), O_CREAT | O_WRONLY, 0600));
    close(open((folder / "auto-3.sock.lock").c_str(), O_CREAT | O_WRONLY, 0600));
    close(open((folder / "auto-3.sock.start").c_str(), O_CREAT | O_WRONLY, 0600));
    const pid_t next = start_at(other, err, {"--private", "--linger", "60000"});
    REQUIRE(comes_true([&] { return answers(other); }));
    CHECK(folder.files() == 2);
    const pid_t third = start_at(one, err, {"--private", "--linger", "60000"}); // sweeps beside a daemon that lives
    REQUIRE(comes_true([&] { return answers(one); }));
    CHECK(answers(other));
    CHECK(end_of(next, SIGTERM) == 0);
    CHECK(end_of(third, SIGTERM) == 0);
    CHECK(folder.files() == 1);
}

TEST_CASE("of private daemons for the same options one serves, and the others say that it does") {
    Folder folder;
    const std::string address = folder / "auto-4.sock";
    std::vector<pid_t> all;
    for (int i = 0; i < 4; i++)
        all.push_back(start_at(address, folder / "err", {"--private", "--linger", "60000"}));
    unsigned good = 0;
    CHECK(comes_true([&] {
        for (auto pid = all.begin(); pid != all.end();) {
            int status = 0;
            const bool ended = waitpid(*pid, &status, WNOHANG) == *pid;
            good += ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
            pid = ended ? all.erase(pid) : pid + 1;
        }
        return all.size() <= 1;
    }));
    CHECK(good == 3);
    REQUIRE(all.size() == 1);
    CHECK(answers(address));
    CHECK(end_of(all[0], SIGTERM) == 0);
}

TEST_CASE("a private daemon stays while somebody is joined, and ends after the last") {
    Folder folder;
    const std::string address = folder / "auto-5.sock";
    const pid_t pid = start_at(address, folder / "err", {"--private", "--linger", "300"});
    REQUIRE(comes_true([&] { return access(address.c_str(), F_OK) == 0; }));
    trib_client *client = join_soon(address);
    REQUIRE(client != nullptr);
    std::this_thread::sleep_for(1500ms);
    CHECK_FALSE(has_ended(pid));
    trib_client_close(client);
    CHECK(comes_true([&] { return has_ended(pid); }, 5000));
}

TEST_CASE("a socket's path that no program could join is refused") {
    const Outcome outcome = trib({"daemon", "--address", "rel.sock", "--policy", "none", "--drive", "none"});
    CHECK(outcome.code != 0);
    CHECK(outcome.err.find("an absolute path") != std::string::npos);
}

TEST_CASE("who is not on the list cannot even connect, where the file system has lists") {
    if (!is_root())
        return;
    DaemonOfRoot daemon("allow=" + std::to_string(kOther) + "+@" + std::to_string(kGroup) + "+5+3+5");
    const auto code = [&](uid_t user, gid_t group) {
        return as(user, group, [&] { return connect_to(daemon.address) >= 0 ? 0 : 1; });
    };
    CHECK(code(kOther, kOther) == 0);
    CHECK(code(kThird, kGroup) == 0);
    CHECK(code(kThird, kThird) == 1);
    CHECK(code(3, 3) == 0);
}
