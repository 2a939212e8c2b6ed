// SPDX-License-Identifier: Apache-2.0
#include "record/daemon.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <tributary/pipeline.h>

#include "common/failure.h"
#include "common/option_text.h"
#include "record/address.h"
#include "recorder/address.h"

namespace cli {

namespace {

constexpr long POLL_MS = 100;
constexpr int SYSTEMD_SOCKET = 3; // sd_listen_fds(3)

std::string environment(const char *name) {
    const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nobody sets it
    return value ? value : "";
}

// systemd opened the socket: its descriptor, or 0.
int activation_socket() {
    bool is_for_us = environment("LISTEN_PID") == std::to_string(getpid()) && environment("LISTEN_FDS") == "1";
    if (is_for_us)
        fcntl(SYSTEMD_SOCKET, F_SETFD, FD_CLOEXEC);
    return is_for_us ? SYSTEMD_SOCKET : 0;
}

void notify_systemd(const char *state) {
    std::string path = environment("NOTIFY_SOCKET");
    sockaddr_un to = {};
    if (path.empty() || path.size() >= sizeof to.sun_path)
        return;
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, path.data(), path.size());
    if (to.sun_path[0] == '@')
        to.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    if (fd >= 0) {
        (void)sendto(fd, state, std::strlen(state), MSG_NOSIGNAL, reinterpret_cast<sockaddr *>(&to), length);
        close(fd);
    }
}

// A descriptor for each process that joins.
void raise_descriptor_limit() {
    rlimit limit = {};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

// A comma would begin the next option.
void check_allow(const std::string &allow) {
    if (allow.find(',') != std::string::npos)
        throw Failure(EXIT_USAGE, "allow takes users and @groups joined by + (USER+@GROUP): not '" + allow + "'");
}

std::string pipeline_options(const DaemonOptions &options, const std::string &address) {
    OptionText text;
    text.merge(options.policy, "policy");
    text.merge(options.drive, "drive");
    const std::pair<const char *, const std::string &> given[] = {
        {"gc", options.gc}, {"state", options.state}, {"trace", options.trace}, {"allow", options.allow}};
    for (const auto &[key, value] : given)
        if (!value.empty())
            text.set(key, value);
    for (const std::string &more : options.set)
        text.merge(more);
    check_allow(text.get("allow"));
    text.set("session", address);
    if (int fd = activation_socket())
        text.set("session-socket", std::to_string(fd));
    if (text.get("trace") == "-")
        throw Failure(EXIT_USAGE, "a daemon's trace needs a file");
    return text.text();
}

// Whoever started a private daemon waits for this line; only the first of them hears of an error.
void say_ready(int fd, int code, const std::string &sentence) {
    std::string line = code ? fmt::format("{} {}\n", code, sentence) : "0\n";
    if (fd < 0)
        return;
    (void)!write(fd, line.data(), line.size());
    close(fd);
}

// Two processes that name the same options may start at the same moment: one daemon serves both. Held until it listens.
class StartLock {
  public:
    explicit StartLock(const std::string &address) : path_(address + ".start") {
        if (trib_address_lock(path_.c_str(), true, &lock_) == -EAGAIN)
            throw Failure(EXIT_RUNTIME, "another daemon holds " + path_ + " and does not answer");
    }
    ~StartLock() {
        trib_address_unlock(path_.c_str(), lock_);
    }
    StartLock(const StartLock &) = delete;
    StartLock &operator=(const StartLock &) = delete;

  private:
    std::string path_;
    int lock_ = -1;
};

// What private daemons left that were killed: nobody may ever start one with the same options again.
void sweep(const std::string &address) {
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(std::filesystem::path(address).parent_path(), error)) {
        std::string path = entry.path().string();
        for (const std::string ending : {".lock", ".start"})
            if (path.size() > ending.size() && path.compare(path.size() - ending.size(), ending.size(), ending) == 0)
                path.resize(path.size() - ending.size());
        int start = -1;
        if (entry.path().filename().string().rfind("auto-", 0) != 0 || path == address ||
            trib_address_lock((path + ".start").c_str(), false, &start) != 0)
            continue;
        trib_address_sweep(path.c_str());
        trib_address_unlock((path + ".start").c_str(), start);
    }
}

class Signals {
  public:
    Signals() {
        sigemptyset(&ending_);
        for (int signal : {SIGINT, SIGTERM, SIGQUIT})
            sigaddset(&ending_, signal);
        struct sigaction inherited = {};
        if (sigaction(SIGHUP, nullptr, &inherited) == 0 && inherited.sa_handler != SIG_IGN)
            sigaddset(&ending_, SIGHUP); // under nohup(1) it would be waited for in spite of that
        pthread_sigmask(SIG_BLOCK, &ending_, nullptr);
        struct sigaction ignore = {};
        ignore.sa_handler = SIG_IGN;
        sigaction(SIGPIPE, &ignore, nullptr);
        sigaction(SIGXFSZ, &ignore, nullptr); // a limit on the trace's size is an error to report, not an end
    }
    bool came(long milliseconds) const {
        const timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000};
        return sigtimedwait(&ending_, nullptr, &limit) > 0;
    }

  private:
    sigset_t ending_ = {};
};

void serve(trib_pipeline *pipeline, const DaemonOptions &options, const Signals &signals) {
    uint64_t joined = 0, quiet_ms = 0;
    while (!signals.came(POLL_MS) && !trib_pipeline_is_asked_to_stop(pipeline)) {
        if (!options.is_private)
            continue;
        trib_status status = {};
        trib_pipeline_status(pipeline, &status);
        bool is_quiet = status.processes_live == 0 && status.processes == joined;
        quiet_ms = is_quiet ? quiet_ms + POLL_MS : 0;
        joined = status.processes;
        if (quiet_ms > options.linger_ms)
            return;
    }
}

std::string said_options(const DaemonOptions &options, const std::string &address) {
    try {
        return pipeline_options(options, address);
    } catch (const Failure &failure) {
        say_ready(options.ready, -EINVAL, failure.what());
        throw;
    }
}

trib_pipeline *open_pipeline(const DaemonOptions &options, const std::string &address) {
    trib_pipeline *pipeline = nullptr;
    trib_error error = {};
    int code = trib_pipeline_open(&pipeline, said_options(options, address).c_str(), true, &error);
    if (code) {
        say_ready(options.ready, code, error.text);
        throw core_failure(code, error.text);
    }
    return pipeline;
}

} // namespace

int daemon(const DaemonOptions &options) {
    const std::string address = options.address.empty() ? daemon_address(options.name, true) : options.address;
    const Signals signals;
    raise_descriptor_limit();
    std::optional<StartLock> lock;
    if (options.is_private) {
        lock.emplace(address);
        sweep(address);
    }
    if (options.is_private && daemon_answers(address)) {
        say_ready(options.ready, 0, "");
        return EXIT_OK;
    }
    trib_pipeline *pipeline = open_pipeline(options, address);
    lock.reset();
    say_ready(options.ready, 0, "");
    notify_systemd("READY=1");
    if (!options.is_private)
        fmt::print(stderr, "trib: daemon at {}\n", address);
    serve(pipeline, options, signals);
    notify_systemd("STOPPING=1");
    int code = trib_pipeline_close(pipeline);
    if (code)
        throw Failure(EXIT_RUNTIME, std::string("the record is not complete: ") + std::strerror(-code));
    return EXIT_OK;
}

} // namespace cli
