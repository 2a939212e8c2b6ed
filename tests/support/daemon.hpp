// SPDX-License-Identifier: Apache-2.0
// A `trib daemon` of a test's own, and a process under the preload adapter that it records.
#pragma once
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "support/cli.hpp"

namespace trib_test {

// Standard error goes to a file, so that nobody who waits for the end of a pipe waits for the process.
inline pid_t start(const std::vector<std::string> &command, const Environment &environment, const std::string &err) {
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    for (const auto &[name, value] : environment)
        setenv(name.c_str(), value.c_str(), 1);
    const int fd = open(err.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, STDERR_FILENO);
    std::vector<char *> arguments;
    for (const std::string &argument : command)
        arguments.push_back(const_cast<char *>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
}

template <typename Condition> bool comes_true(Condition condition, int milliseconds = 10000) {
    for (; milliseconds > 0; milliseconds -= 50) {
        if (condition())
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return condition();
}

class Daemon {
  public:
    explicit Daemon(const std::vector<std::string> &more, const Environment &environment = {}) {
        std::vector<std::string> command = {TRIB_BINARY_DIR "/cli/trib", "daemon", socket()};
        command.insert(command.end(), more.begin(), more.end());
        pid_ = start(command, environment, folder_ / "err");
        const bool answers = comes_true([&] { return trib({"status", socket()}).code == 0; });
        INFO(read_file(folder_ / "err"));
        REQUIRE(answers);
    }
    ~Daemon() {
        stop();
    }
    Daemon(const Daemon &) = delete;
    Daemon &operator=(const Daemon &) = delete;

    int stop() {
        int status = -1;
        if (pid_ > 0) {
            (void)trib({"daemon", "stop", socket()});
            if (!comes_true([&] { return waitpid(pid_, &status, WNOHANG) == pid_; })) {
                kill(pid_, SIGKILL);
                waitpid(pid_, &status, 0);
            }
        }
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::string socket() const {
        return folder_ / "socket";
    }
    std::string err() const {
        return read_file(folder_ / "err");
    }
    Json status() const {
        return trib({"status", socket(), "--json"}).json();
    }
    const Folder &folder() const {
        return folder_;
    }

  private:
    Folder folder_;
    pid_t pid_ = -1;
};

// A shell that runs a script, recorded, until the end of the test.
class Recorded {
  public:
    Recorded(const Daemon &daemon, const std::string &script)
        : pid_(start({"/bin/sh", "-c", script},
                     {{"LD_PRELOAD", TRIB_BINARY_DIR "/preload/libtributary-preload.so"},
                      {"TRIBUTARY_SESSION", daemon.socket()}},
                     daemon.folder() / "writer.err")) {
    }
    ~Recorded() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    Recorded(const Recorded &) = delete;
    Recorded &operator=(const Recorded &) = delete;
    pid_t pid() const {
        return pid_;
    }

  private:
    pid_t pid_;
};

} // namespace trib_test
