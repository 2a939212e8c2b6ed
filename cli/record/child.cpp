// SPDX-License-Identifier: Apache-2.0
#include "record/child.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/failure.h"

namespace cli {

namespace {

constexpr int ENDING[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

sigset_t ending_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (int signal : ENDING)
        sigaddset(&set, signal);
    return set;
}

bool same_name(const char *a, const char *b) {
    const char *end = std::strchr(b, '=');
    return end && std::strncmp(a, b, static_cast<size_t>(end - b) + 1) == 0;
}

std::vector<char *> environment_with(const std::vector<std::string> &more) {
    std::vector<char *> all;
    for (char **entry = environ; *entry; entry++) {
        bool replaced = false;
        for (const std::string &added : more)
            replaced = replaced || same_name(*entry, added.c_str());
        if (!replaced)
            all.push_back(*entry);
    }
    for (const std::string &added : more)
        all.push_back(const_cast<char *>(added.c_str()));
    all.push_back(nullptr);
    return all;
}

// 0, or why exec would not take it.
int exec_error(const std::string &file) {
    struct stat status = {};
    if (stat(file.c_str(), &status) != 0)
        return errno;
    if (!S_ISREG(status.st_mode))
        return EACCES;
    return faccessat(AT_FDCWD, file.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

std::vector<std::string> candidates(const std::string &command) {
    if (command.empty() || command.find('/') != std::string::npos)
        return {command};
    const char *path = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe): nobody sets it
    std::string folders = path ? path : "/bin:/usr/bin";
    std::vector<std::string> files;
    for (size_t at = 0, end; at <= folders.size(); at = end + 1) {
        end = std::min(folders.find(':', at), folders.size());
        files.push_back((end == at ? "." : folders.substr(at, end - at)) + "/" + command);
    }
    return files;
}

} // namespace

std::string find_command(const std::string &command) {
    int error = ENOENT;
    for (const std::string &file : candidates(command)) {
        const int why = exec_error(file);
        if (why == 0)
            return file;
        if (why != ENOENT && why != ENOTDIR)
            error = why; // as exec(3): found, though not to be run
    }
    throw Failure(static_cast<ExitCode>(error == ENOENT ? CHILD_NOT_FOUND : CHILD_NOT_EXECUTABLE),
                  command + ": " + std::strerror(error));
}

Child::Child() : passed_on_(ending_signals()) {
    sigaddset(&passed_on_, SIGUSR1);
    sigaddset(&passed_on_, SIGUSR2);
    sigaddset(&passed_on_, SIGALRM);
    sigset_t blocked = passed_on_;
    sigaddset(&blocked, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL; // inherited SIG_IGN would take the exit status from us
    sigaction(SIGCHLD, &standard, &child_before_);
    standard.sa_handler = SIG_IGN; // a limit on the record's size is an error to report, not an end
    sigaction(SIGXFSZ, &standard, &size_before_);
}

Child::~Child() {
    sigaction(SIGXFSZ, &size_before_, nullptr);
    sigaction(SIGCHLD, &child_before_, nullptr);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int Child::start(const std::vector<std::string> &command, const std::vector<std::string> &environment) {
    std::vector<char *> arguments;
    for (const std::string &argument : command)
        arguments.push_back(const_cast<char *>(argument.c_str()));
    arguments.push_back(nullptr);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t standard;
    sigemptyset(&standard);
    if (size_before_.sa_handler == SIG_DFL)
        sigaddset(&standard, SIGXFSZ);
    posix_spawnattr_setsigdefault(&attributes, &standard);
    posix_spawnattr_setsigmask(&attributes, &before_);
    int rc =
        posix_spawnp(&pid_, arguments[0], nullptr, &attributes, arguments.data(), environment_with(environment).data());
    posix_spawnattr_destroy(&attributes);
    return rc;
}

int Child::wait() {
    sigset_t awaited = passed_on_;
    sigaddset(&awaited, SIGCHLD);
    for (;;) {
        int status;
        if (waitpid(pid_, &status, WNOHANG) == pid_)
            return WIFSIGNALED(status) ? CHILD_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
        siginfo_t info = {};
        int signal = sigwaitinfo(&awaited, &info);
        // What the terminal sends, its whole foreground group has got already.
        if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL)
            kill(pid_, signal);
    }
}

bool Child::asked_to_end(long milliseconds) const {
    const sigset_t ending = ending_signals();
    const timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    return sigtimedwait(&ending, nullptr, &limit) > 0;
}

} // namespace cli
