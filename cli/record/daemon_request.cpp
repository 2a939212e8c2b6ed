// SPDX-License-Identifier: Apache-2.0
// What is asked of a daemon from outside: `trib status`, `trib daemon stop|pause|resume`.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <tributary/status.h>

#include "common/failure.h"
#include "common/json.h"
#include "common/table.h"
#include "record/address.h"
#include "record/daemon.h"
#include "record/lost.h"
#include "ring/message.h"

namespace cli {

namespace {

constexpr size_t ANSWER_BYTES_MAX = 256 * 1024;
constexpr time_t ANSWER_SECONDS = 5;
constexpr time_t END_SECONDS = 20; // a daemon takes ten at most for what waits in the rings, then closes its files

// Whoever gives a socket as a name hears of the path: rel.sock is looked for as /run/tributary/rel.sock.sock.
std::string absence(const std::string &address) {
    const std::string name = daemon_name(address), ending = ".sock";
    const bool is_file = name[0] != '/' && name.size() > ending.size() &&
                         name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
    return "no daemon answers there; " + (is_file ? "a socket's path begins with '/', '" + name + "' is a name"
                                                  : "start one with `trib daemon " + name + "`");
}

[[noreturn]] void fail(const std::string &address, int error) {
    std::string why = error == ENOENT || error == ECONNREFUSED ? absence(address)
                      : error == EAGAIN                        ? "it does not answer"
                                                               : std::strerror(error);
    throw Failure(EXIT_RUNTIME, address + ": " + why);
}

// One question to a daemon, and its answer.
class Connection {
  public:
    explicit Connection(const std::string &address) : address_(address) {
        sockaddr_un to = {};
        to.sun_family = AF_UNIX;
        if (address.size() >= sizeof to.sun_path)
            throw Failure(EXIT_USAGE, address + ": a socket's path has at most 107 bytes");
        std::memcpy(to.sun_path, address.c_str(), address.size() + 1);
        fd_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (fd_ < 0 || connect(fd_, reinterpret_cast<sockaddr *>(&to), sizeof to) != 0) {
            const int error = errno;
            close(fd_);
            fail(address, error);
        }
    }
    ~Connection() {
        close(fd_);
    }
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;

    std::string ask(trib_request_kind kind, uint32_t detail) {
        trib_request request = {};
        request.magic = TRIB_WIRE_MAGIC;
        request.version = TRIB_WIRE_VERSION;
        request.kind = static_cast<uint16_t>(kind);
        request.detail = detail;
        std::string answer(ANSWER_BYTES_MAX, '\0');
        wait_at_most(ANSWER_SECONDS);
        ssize_t got = send(fd_, &request, TRIB_REQUEST_BYTES_MIN, MSG_NOSIGNAL);
        if (got > 0)
            got = recv(fd_, answer.data(), answer.size(), 0);
        if (got <= 0)
            fail(address_, got < 0 ? errno : ECONNRESET);
        answer.resize(static_cast<size_t>(got));
        return answer;
    }
    // Of a daemon that was asked to end, and has said yes: it closes this connection by ending.
    bool sees_end() {
        char nothing;
        wait_at_most(END_SECONDS);
        return recv(fd_, &nothing, sizeof nothing, 0) == 0 || errno == ECONNRESET;
    }

  private:
    void wait_at_most(time_t seconds) {
        const timeval limit = {seconds, 0};
        setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }

    std::string address_;
    int fd_ = -1;
};

trib_status status_of(const std::string &address, const std::string &record) {
    trib_answer refusal = {};
    trib_status status = {};
    if (record.size() == sizeof refusal) {
        std::memcpy(&refusal, record.data(), sizeof refusal);
        fail(address, refusal.code < 0 ? -refusal.code : EPROTO);
    }
    if (record.size() != sizeof status)
        throw Failure(EXIT_RUNTIME, address + ": a daemon of another version");
    std::memcpy(&status, record.data(), sizeof status);
    return status;
}

// Lines of at most 80 columns, behind names that stay where scripts look for them.
void say(const char *name, const std::string &text) {
    fmt::print("{}", wrapped(fmt::format("{:<12}", name), text));
}

void print(const trib_status &status, const std::string &name) {
    say("daemon", name + (status.paused ? fmt::format(", paused for {} s", status.paused_seconds) : ""));
    say("policy", status.policy);
    say("drive",
        fmt::format("{}: placement {} ({})", status.drive, trib_placement_name(status.placement), status.evidence));
    say("processes",
        fmt::format("{} now, {} so far, {} rejoined after a restart, {} refused", grouped(status.processes_live),
                    grouped(status.processes), grouped(status.joins_again), grouped(status.joins_refused)));
    say("written",
        fmt::format("{} in {}", size_text(static_cast<double>(status.written_bytes)), counted(status.events, "event")));
    const std::string causes = lost_causes(status);
    say("lost", fmt::format("{} ({}){}{}", counted(status.events_dropped, "event"),
                            size_text(static_cast<double>(status.bytes_dropped)), causes.empty() ? "" : ": ", causes));
    say("faults", fmt::format("rings damaged: {}, adapters that gave up: {}", grouped(status.rings_damaged),
                              grouped(status.broken)));
    say("uncovered", fmt::format("{}{}{}", counted(status.starts_uncovered, "start"), status.uncovered[0] ? ": " : "",
                                 printable(status.uncovered)));
    say("learned",
        fmt::format("{} in {}, from {}", counted(status.attributes, "writer"), counted(status.streams_used, "stream"),
                    size_text(static_cast<double>(status.clock_bytes))));
    if (status.waf > 0)
        say("WAF", fmt::format("{} ({} written, {} copied)", fixed(status.waf, 3), counted(status.host_pages, "page"),
                               grouped(status.gc_pages)));
    if (status.drive_errors)
        say("full",
            fmt::format("{} refused: {}; the first after {}", counted(status.drive_errors, "write"),
                        drive_advice(status.drive), size_text(static_cast<double>(status.drive_refused_from_bytes))));
    say("trace", fmt::format("{}, {}{}{}", size_text(static_cast<double>(status.trace_bytes)),
                             counted(status.trace_errors, "error"), status.trace_stopped[0] ? "; stopped: " : "",
                             printable(status.trace_stopped)));
}

// `trib status --json pg` asks the daemon of no name and writes a file pg; whoever has a daemon pg means that.
void check_no_name(const std::string &json) {
    const bool is_name = !json.empty() && json.find('/') == std::string::npos && json[0] != '.' && json != "-";
    std::string address;
    try {
        address = is_name && access(json.c_str(), F_OK) != 0 ? daemon_address(json, false) : "";
    } catch (const Failure &) {
        return; // no daemon has such a name
    }
    if (!address.empty() && daemon_answers(address))
        throw Failure(EXIT_USAGE,
                      fmt::format("'{0}' is the name of a daemon, and --json takes the next word for a file: "
                                  "trib status --json=FILE {0}, or trib status {0} --json",
                                  json));
}

} // namespace

int control_daemon(const std::string &name, const std::string &what) {
    const std::string address = daemon_address(name, false);
    const trib_control control = what == "stop"    ? TRIB_CONTROL_STOP
                                 : what == "pause" ? TRIB_CONTROL_PAUSE
                                                   : TRIB_CONTROL_RESUME;
    Connection daemon(address);
    const std::string answer = daemon.ask(TRIB_REQUEST_CONTROL, control);
    trib_answer head = {};
    std::memcpy(&head, answer.data(), std::min(answer.size(), sizeof head));
    if (answer.size() != sizeof head || head.code)
        fail(address, head.code < 0 ? -head.code : EPROTO);
    if (control == TRIB_CONTROL_STOP && !daemon.sees_end())
        throw Failure(EXIT_RUNTIME, fmt::format("{}: it was asked to end, and has not in {} s", address, END_SECONDS));
    return EXIT_OK;
}

std::string ask_status(const std::string &address, trib_status_kind kind) {
    return Connection(address).ask(TRIB_REQUEST_STATUS, kind);
}

bool daemon_answers(const std::string &address) {
    sockaddr_un to = {};
    to.sun_family = AF_UNIX;
    if (address.size() >= sizeof to.sun_path)
        return false;
    std::memcpy(to.sun_path, address.c_str(), address.size() + 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool connected = fd >= 0 && connect(fd, reinterpret_cast<sockaddr *>(&to), sizeof to) == 0;
    if (fd >= 0)
        close(fd);
    return connected;
}

int daemon_status(const StatusOptions &options) {
    if (options.json && !options.is_named)
        check_no_name(*options.json);
    const std::string address = daemon_address(options.name, false);
    if (options.openmetrics || options.json) {
        const std::string text = ask_status(address, options.json ? TRIB_STATUS_JSON : TRIB_STATUS_OPENMETRICS);
        write_text(text, options.json.value_or(""));
        return EXIT_OK;
    }
    print(status_of(address, ask_status(address, TRIB_STATUS_RECORD)), address);
    return EXIT_OK;
}

} // namespace cli
