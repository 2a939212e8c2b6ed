// SPDX-License-Identifier: Apache-2.0
// A daemon of root's, and other users who speak to its socket by the protocol itself, as an attacker would.
#pragma once
#include "support/catch.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <grp.h>
#include <random>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <tributary/status.h>

#include "base/options.h"
#include "ring/message.h"
#include "support/cli.hpp"
#include "support/client.hpp"
#include "support/skip.hpp"

namespace trib_test {

using namespace std::chrono_literals;

inline constexpr uid_t kOther = 65534, kThird = 65533;
inline constexpr gid_t kGroup = 65532;

inline bool is_root() {
    return is_root_or_skips("nobody can be two users");
}

// Exit status of `body` as another user with nothing of root's.
inline int as(uid_t user, gid_t group, const std::function<int()> &body) {
    const pid_t pid = fork();
    if (pid == 0) {
        if (setgroups(0, nullptr) != 0 || setgid(group) != 0 || setuid(user) != 0)
            _exit(126);
        _exit(body());
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

inline int as(uid_t user, const std::function<int()> &body) {
    return as(user, user, body);
}

// A daemon of root's with the options, in a folder that everybody may pass.
class DaemonOfRoot {
  public:
    explicit DaemonOfRoot(const std::string &options) {
        chmod((folder / "").c_str(), 0755);
        pid_ = fork();
        if (pid_ == 0) {
            execl(TRIB_BINARY_DIR "/cli/trib", "trib", "daemon", "--address", address.c_str(), "--policy", "none",
                  "--drive", "none", "--trace", trace.c_str(), "--set", options.c_str(), nullptr);
            _exit(127);
        }
        bool answers = false;
        for (int i = 0; i < 500 && !(answers = trib({"status", address}).code == 0); i++)
            std::this_thread::sleep_for(20ms);
        REQUIRE(answers);
    }
    DaemonOfRoot(const DaemonOfRoot &) = delete;
    DaemonOfRoot &operator=(const DaemonOfRoot &) = delete;
    ~DaemonOfRoot() {
        if (pid_ > 0)
            stop();
    }
    pid_t pid() const {
        return pid_;
    }
    // Until SIGCONT. Each of its threads has stopped when this returns.
    void halt() const {
        int status = 0;
        REQUIRE(kill(pid_, SIGSTOP) == 0);
        REQUIRE(waitpid(pid_, &status, WUNTRACED) == pid_);
        REQUIRE(WIFSTOPPED(status));
    }
    // Its exit status.
    int stop() {
        int status = 0;
        kill(pid_, SIGTERM);
        kill(pid_, SIGCONT); // a test that failed may have left it stopped
        while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
    }
    Json status() const {
        return Json::parse(trib({"status", address, "--json", "-"}).out);
    }

    Folder folder;
    const std::string address = folder / "d.sock", trace = folder / "t.trib";

  private:
    pid_t pid_ = -1;
};

inline int connect_to(const std::string &address) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    memcpy(to.sun_path, address.c_str(), address.size() + 1);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connect(fd, reinterpret_cast<sockaddr *>(&to), sizeof to) == 0)
        return fd;
    close(fd);
    return -1;
}

inline trib_request request_of(trib_request_kind kind, uint32_t detail = 0) {
    trib_request request{};
    request.magic = TRIB_WIRE_MAGIC;
    request.version = TRIB_WIRE_VERSION;
    request.kind = static_cast<uint16_t>(kind);
    request.detail = detail;
    request.pid = static_cast<uint32_t>(getpid());
    return request;
}

// What the daemon answers: a code, or 1 when it says more than a code.
inline int code_of(const std::string &address, const trib_request &request) {
    const int fd = connect_to(address);
    char text[sizeof(trib_answer) + 1];
    if (fd < 0)
        return -errno;
    fcntl(fd, F_SETFL, 0);
    (void)!send(fd, &request, TRIB_REQUEST_BYTES_MIN, MSG_NOSIGNAL);
    const ssize_t got = recv(fd, text, sizeof text, 0);
    close(fd);
    if (got != sizeof(trib_answer))
        return got > 0 ? 1 : -ECONNRESET;
    trib_answer answer;
    memcpy(&answer, text, sizeof answer);
    return answer.code;
}

// One message with descriptors.
inline bool send_with(int to, const trib_request &request, const std::vector<int> &fds) {
    iovec part{const_cast<trib_request *>(&request), TRIB_REQUEST_BYTES_MIN};
    std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    if (!fds.empty())
        memcpy(CMSG_DATA(head), fds.data(), fds.size() * sizeof(int));
    return sendmsg(to, &message, MSG_NOSIGNAL) >= 0;
}

struct Given {
    int code, ring, table;
    trib_answer answer;
};

// A ring of the caller's and the table, by the protocol itself; -1 = none.
inline Given ring_from(const std::string &address, bool keeps_pidfd = false) {
    Given given{-ECONNREFUSED, -1, -1, {}};
    const int fd = connect_to(address);
    trib_request request = request_of(TRIB_REQUEST_JOIN);
    const int process = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
    union {
        cmsghdr head;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control{};
    iovec part{&request, TRIB_REQUEST_BYTES_MIN};
    msghdr message{};
    if (fd < 0)
        return given;
    fcntl(fd, F_SETFL, 0);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE(sizeof(int));
    control.head.cmsg_len = CMSG_LEN(sizeof(int));
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(&control.head), &process, sizeof process);
    (void)!sendmsg(fd, &message, MSG_NOSIGNAL);
    part = {&given.answer, sizeof given.answer};
    message.msg_controllen = sizeof control;
    if (recvmsg(fd, &message, 0) == sizeof given.answer) {
        given.code = given.answer.code;
        int fds[2] = {-1, -1};
        if (message.msg_controllen >= CMSG_LEN(sizeof fds))
            memcpy(fds, CMSG_DATA(&control.head), sizeof fds);
        given.ring = fds[0];
        given.table = fds[1];
    }
    if (!keeps_pidfd)
        close(process);
    close(fd);
    return given;
}

inline trib_event write_of(uint64_t file, uint64_t offset) {
    trib_event event{};
    event.kind = TRIB_EVENT_WRITE;
    event.file = file;
    event.offset_bytes = offset;
    event.length_bytes = 100;
    event.stream = TRIB_STREAM_UNDECIDED;
    event.who.signature = file | 1;
    return event;
}

// Writes of one file in the trace.
inline uint64_t writes_of(const std::string &trace, uint64_t file) {
    trib_trace_reader *reader = nullptr;
    trib_error error{};
    static trib_trace_item item;
    uint64_t count = 0;
    REQUIRE(trib_trace_reader_open(&reader, trace.c_str(), nullptr, &error) == 0);
    while (trib_trace_next(reader, &item, &error) == 1)
        count += item.kind == TRIB_TRACE_EVENT && item.event.file == file;
    trib_trace_reader_close(reader);
    return count;
}

// Joins as the daemon's owner however often it takes, for at most five seconds.
inline trib_client *join_soon(const std::string &address) {
    const auto limit = std::chrono::steady_clock::now() + 5s;
    trib_client *client = nullptr;
    while (join_at(address, &client) != 0 && std::chrono::steady_clock::now() < limit)
        std::this_thread::sleep_for(20ms);
    return client;
}

inline void submit_all(trib_client *client, uint64_t file, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        const trib_event event = write_of(file, i * 100);
        while (!trib_client_submit(client, &event))
            std::this_thread::sleep_for(1ms);
    }
}

} // namespace trib_test
