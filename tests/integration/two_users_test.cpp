// SPDX-License-Identifier: Apache-2.0
// Two users on one machine: neither reads, stops, feeds or stalls the other's daemon. The daemon is root's, the other
// user is nobody; he speaks to the socket himself, as an attacker would. Needs root.
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

using namespace trib_test;
using namespace std::chrono_literals;

namespace {

constexpr uid_t kOther = 65534, kThird = 65533;

bool is_root() {
    if (geteuid() == 0)
        return true;
    WARN("only root can be two users: not tested");
    return false;
}

// Exit status of `body` as another user with nothing of root's.
int as(uid_t user, const std::function<int()> &body) {
    const pid_t pid = fork();
    if (pid == 0) {
        if (setgroups(0, nullptr) != 0 || setgid(user) != 0 || setuid(user) != 0)
            _exit(126);
        _exit(body());
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

// A daemon of root's with the options, in a folder that everybody may pass.
class Daemon {
  public:
    explicit Daemon(const std::string &options) {
        chmod((folder / "").c_str(), 0755);
        pid_ = fork();
        if (pid_ == 0) {
            execl(TRIB_BINARY_DIR "/cli/trib", "trib", "daemon", "--address", address.c_str(), "--policy", "none",
                  "--drive", "none", "--trace", trace.c_str(), "--set", options.c_str(), nullptr);
            _exit(127);
        }
        for (int i = 0; i < 500 && access(address.c_str(), F_OK) != 0; i++)
            std::this_thread::sleep_for(20ms);
        REQUIRE(access(address.c_str(), F_OK) == 0);
    }
    ~Daemon() {
        if (pid_ > 0)
            stop();
    }
    pid_t pid() const {
        return pid_;
    }
    // Its exit status.
    int stop() {
        int status = 0;
        kill(pid_, SIGTERM);
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

int connect_to(const std::string &address) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    memcpy(to.sun_path, address.c_str(), address.size() + 1);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connect(fd, reinterpret_cast<sockaddr *>(&to), sizeof to) == 0)
        return fd;
    close(fd);
    return -1;
}

trib_request request_of(trib_request_kind kind, uint32_t detail = 0) {
    trib_request request{};
    request.magic = TRIB_WIRE_MAGIC;
    request.version = TRIB_WIRE_VERSION;
    request.kind = static_cast<uint16_t>(kind);
    request.detail = detail;
    request.pid = static_cast<uint32_t>(getpid());
    return request;
}

// What the daemon answers: a code, or 1 when it says more than a code.
int code_of(const std::string &address, const trib_request &request) {
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

struct Given {
    int code, ring;
    trib_answer answer;
};

// A ring of the caller's, by the protocol itself.
Given ring_from(const std::string &address) {
    Given given{-ECONNREFUSED, -1, {}};
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
        close(fds[1]);
    }
    close(process);
    close(fd);
    return given;
}

trib_event write_of(uint64_t file, uint64_t offset) {
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
uint64_t writes_of(const std::string &trace, uint64_t file) {
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
trib_client *join_soon(const std::string &address) {
    const auto limit = std::chrono::steady_clock::now() + 5s;
    trib_client *client = nullptr;
    while (join_at(address, &client) != 0 && std::chrono::steady_clock::now() < limit)
        std::this_thread::sleep_for(20ms);
    return client;
}

void submit_all(trib_client *client, uint64_t file, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        const trib_event event = write_of(file, i * 100);
        while (!trib_client_submit(client, &event))
            std::this_thread::sleep_for(1ms);
    }
}

} // namespace

TEST_CASE("who may join may not stop, pause, read or signal") {
    if (!is_root())
        return;
    Daemon daemon("allow=" + std::to_string(kOther));
    CHECK(as(kOther, [&] {
              trib_client *client = join(daemon.address);
              if (!client)
                  return 1;
              submit_all(client, 1000, 100);
              trib_client_close(client);
              return 0;
          }) == 0);
    for (uint32_t what : {TRIB_CONTROL_STOP, TRIB_CONTROL_PAUSE, TRIB_CONTROL_RESUME})
        CHECK(as(kOther, [&] { return -code_of(daemon.address, request_of(TRIB_REQUEST_CONTROL, what)); }) == EACCES);
    CHECK(as(kOther, [&] { return open(daemon.trace.c_str(), O_RDONLY) < 0 ? errno : 0; }) == EACCES);
    CHECK(as(kOther, [&] { return unlink(daemon.address.c_str()) < 0 ? errno : 0; }) == EACCES);
    CHECK(as(kOther, [&] { return kill(daemon.pid(), SIGSTOP) < 0 ? errno : 0; }) == EPERM);
    CHECK(as(kOther, [&] {
              const std::string memory = "/proc/" + std::to_string(daemon.pid()) + "/fd";
              return access(memory.c_str(), R_OK) < 0 ? errno : 0;
          }) == EACCES);
    CHECK(daemon.status()["processes"] == 1);
    CHECK(daemon.stop() == 0);
    CHECK(writes_of(daemon.trace, 1000) == 100);
}

TEST_CASE("who is not on the list learns nothing and changes nothing") {
    if (!is_root())
        return;
    Daemon daemon("allow=" + std::to_string(kThird)); // the socket takes connections from all
    for (trib_request_kind kind : {TRIB_REQUEST_JOIN, TRIB_REQUEST_STATUS, TRIB_REQUEST_CONTROL, TRIB_REQUEST_FAILED})
        for (uint32_t detail = 0; detail < 4; detail++)
            CHECK(as(kOther, [&] { return -code_of(daemon.address, request_of(kind, detail)); }) == EACCES);
    CHECK(as(kThird, [&] { return join(daemon.address) ? 0 : 1; }) == 0);
    CHECK(daemon.status()["joins_refused"] == 16);
    CHECK(daemon.status()["processes"] == 1);
}

TEST_CASE("a daemon that names nobody cannot be reached by others") {
    if (!is_root())
        return;
    Daemon daemon("process-ring=1024");
    CHECK(as(kOther, [&] {
              trib_client *client = nullptr;
              return -join_at(daemon.address, &client);
          }) == EACCES);
    CHECK(as(kOther, [&] { return connect_to(daemon.address) < 0 ? 0 : 1; }) == 0);
}

TEST_CASE("a user who holds every connection that he can get keeps nobody out") {
    if (!is_root())
        return;
    const uid_t listed = GENERATE(kOther, kThird); // the one who floods is on the list, or is not
    Daemon daemon("allow=" + std::to_string(listed));
    std::thread flood([&] {
        as(kOther, [&] {
            const auto end = std::chrono::steady_clock::now() + 4s;
            std::vector<int> held;
            while (std::chrono::steady_clock::now() < end) {
                const int fd = connect_to(daemon.address);
                if (fd >= 0)
                    held.push_back(fd);
                else
                    std::this_thread::sleep_for(1ms);
                if (held.size() >= 900) {
                    for (int old : held)
                        close(old);
                    held.clear();
                }
            }
            return 0;
        });
    });
    std::this_thread::sleep_for(300ms);
    for (int i = 0; i < 20; i++) {
        trib_client *client = join_soon(daemon.address);
        CHECK(client != nullptr);
        if (client)
            submit_all(client, 2000, 10);
        trib_client_close(client);
    }
    CHECK(daemon.status()["processes"] == 20);
    flood.join();
    CHECK(daemon.stop() == 0);
    CHECK(writes_of(daemon.trace, 2000) == 200);
}

TEST_CASE("a user who takes every ring that he can get leaves enough for others") {
    if (!is_root())
        return;
    Daemon daemon("process-ring=1024,allow=" + std::to_string(kOther));
    CHECK(as(kOther, [&] {
              int rings = 0;
              Given given{};
              while (rings < 4096 && (given = ring_from(daemon.address)).code == 0) {
                  close(given.ring);
                  rings++;
              }
              return given.code == -EUSERS && rings >= 100 && rings < 2048 ? 0 : 1;
          }) == 0);
    trib_client *client = join_soon(daemon.address);
    CHECK(client != nullptr);
    trib_client_close(client);
}

TEST_CASE("a user who fills his ring with nonsense spoils nobody else's") {
    if (!is_root())
        return;
    Daemon daemon("process-ring=1024,allow=" + std::to_string(kOther));
    std::thread hostile([&] {
        as(kOther, [&] {
            std::mt19937_64 random(5);
            for (int round = 0; round < 20; round++) {
                const Given given = ring_from(daemon.address);
                if (given.code)
                    return 1;
                void *at = mmap(nullptr, given.answer.ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, given.ring, 0);
                if (at == MAP_FAILED)
                    return 1;
                (void)!ftruncate(given.ring, 0); // sealed: refused
                const auto end = std::chrono::steady_clock::now() + 100ms;
                while (std::chrono::steady_clock::now() < end)
                    for (uint64_t i = 0; i < given.answer.ring_bytes / 8; i += 1 + random() % 3)
                        static_cast<volatile uint64_t *>(at)[i] = random();
                munmap(at, given.answer.ring_bytes);
                close(given.ring);
            }
            return 0;
        });
    });
    trib_client *client = join_soon(daemon.address);
    REQUIRE(client != nullptr);
    submit_all(client, 3000, 20000);
    trib_client_close(client);
    hostile.join();
    CHECK(daemon.status()["rings_damaged"] >= 1);
    CHECK(daemon.stop() == 0);
    CHECK(writes_of(daemon.trace, 3000) >= 20000); // nonsense may name the same file
}

TEST_CASE("a folder that another user has made is no place for a private daemon") {
    if (!is_root())
        return;
    const std::string folder = "/tmp/tributary-" + std::to_string(kThird);
    std::filesystem::remove_all(folder);
    REQUIRE(as(kOther, [&] { return mkdir(folder.c_str(), 0777) == 0 && chmod(folder.c_str(), 0777) == 0 ? 0 : 1; }) ==
            0);
    const auto start = [&] {
        char address[128];
        trib_error error{};
        unsetenv("XDG_RUNTIME_DIR");
        return -trib_client_start_daemon("policy=none,drive=none", address, sizeof address, &error);
    };
    CHECK(as(kThird, start) == EACCES);
    CHECK(std::filesystem::is_empty(folder));
    std::filesystem::remove_all(folder);
}
