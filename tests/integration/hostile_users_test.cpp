// SPDX-License-Identifier: Apache-2.0
// What another user can send that takes long: descriptors whose close waits, events that name terabytes, names without
// end. The daemon is root's. Needs root.
#include "support/catch.hpp"

#include <netinet/in.h>
#include <vector>

#include "support/users.hpp"

using namespace trib_test;

namespace {

constexpr int kLinger_s = 15;

// TCP connections whose last close waits for somebody who never reads.
struct LingeringSockets {
    std::vector<int> ends, readers;

    explicit LingeringSockets(unsigned count) {
        const int listening = socket(AF_INET, SOCK_STREAM, 0), small = 4096;
        sockaddr_in at{};
        socklen_t length = sizeof at;
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        setsockopt(listening, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        auto *address = reinterpret_cast<sockaddr *>(&at);
        REQUIRE(bind(listening, address, length) == 0);
        REQUIRE(listen(listening, static_cast<int>(count)) == 0);
        REQUIRE(getsockname(listening, address, &length) == 0);
        static char zeros[1 << 16];
        for (unsigned i = 0; i < count; i++) {
            const int fd = socket(AF_INET, SOCK_STREAM, 0);
            REQUIRE(connect(fd, address, length) == 0);
            fcntl(fd, F_SETFL, O_NONBLOCK);
            while (write(fd, zeros, sizeof zeros) > 0) {
            }
            const linger wait{1, kLinger_s};
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &wait, sizeof wait);
            ends.push_back(fd);
            readers.push_back(accept(listening, nullptr, nullptr));
        }
        close(listening);
    }
    void close_ends() {
        for (const int fd : ends)
            close(fd);
        ends.clear();
    }
    ~LingeringSockets() {
        for (const int fd : readers) // unread data: the other end is told, and waits no more
            close(fd);
        close_ends();
    }
    LingeringSockets(const LingeringSockets &) = delete;
    LingeringSockets &operator=(const LingeringSockets &) = delete;
};

long milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

TEST_CASE("a descriptor whose close takes long holds up neither joins nor the daemon's end") {
    if (!is_root())
        return;
    const uid_t user = GENERATE(kOther, kThird); // on the list, or not
    // 2: what does not fit into a receiver's buffer, receiving closes. 0: behind a request that is refused.
    const unsigned per_message = GENERATE(0u, 1u, 2u);
    DaemonOfRoot daemon("allow=" + std::to_string(kOther));
    chmod(daemon.address.c_str(), 0666);
    kill(daemon.pid(), SIGSTOP); // all of it waits when the daemon looks
    const unsigned each = per_message == 1 ? 1 : 2;
    LingeringSockets sockets(4 * each);
    CHECK(as(user, [&] {
              for (unsigned kind = TRIB_REQUEST_JOIN; kind <= TRIB_REQUEST_FAILED; kind++) {
                  const int to = connect_to(daemon.address);
                  const trib_request request = request_of(static_cast<trib_request_kind>(kind));
                  trib_request nonsense = request;
                  nonsense.magic = 0;
                  if (per_message == 0 && send(to, &nonsense, TRIB_REQUEST_BYTES_MIN, MSG_NOSIGNAL) < 0)
                      return 1;
                  const int *first = &sockets.ends[each * (kind - 1)];
                  if (!send_with(to, request, {first, first + each}))
                      return 2;
              }
              return 0;
          }) == 0);
    sockets.close_ends(); // what is on its way is all there is
    const auto start = std::chrono::steady_clock::now();
    kill(daemon.pid(), SIGCONT);
    for (int i = 0; i < 5; i++) {
        trib_client *client = join_soon(daemon.address);
        CHECK(client != nullptr);
        trib_client_close(client);
    }
    CHECK(daemon.stop() == 0);
    CHECK(milliseconds_since(start) < kLinger_s * 1000 / 3);
}

TEST_CASE("descriptors that nobody asked for do not stay in the daemon") {
    if (!is_root())
        return;
    DaemonOfRoot daemon("allow=" + std::to_string(kOther));
    const auto descriptors = [&] { return Folder::files_in("/proc/" + std::to_string(daemon.pid()) + "/fd"); };
    trib_client_close(join_soon(daemon.address)); // the stock of rings is filled
    std::this_thread::sleep_for(200ms);
    const size_t before = descriptors();
    CHECK(as(kOther, [&] {
              for (unsigned i = 0; i < 200; i++) {
                  const int to = connect_to(daemon.address);
                  if (to < 0)
                      return 1;
                  fcntl(to, F_SETFL, 0);
                  const trib_request request = request_of(static_cast<trib_request_kind>(i % 5));
                  send_with(to, request, std::vector<int>(1 + i % 3, STDERR_FILENO));
                  char answer[4096];
                  (void)!recv(to, answer, sizeof answer, 0);
                  close(to);
              }
              return 0;
          }) == 0);
    bool is_as_before = false;
    for (int i = 0; i < 100 && !(is_as_before = descriptors() <= before + 2); i++)
        std::this_thread::sleep_for(20ms);
    CHECK(is_as_before);
}

TEST_CASE("a process that leaves and keeps its own pidfd stays in nobody's poll") {
    if (!is_root())
        return;
    DaemonOfRoot daemon("process-ring=1024,allow=" + std::to_string(kOther));
    const auto watched = [&] {
        size_t count = 0;
        for (const auto &entry : fs::directory_iterator("/proc/" + std::to_string(daemon.pid()) + "/fdinfo")) {
            const std::string text = read_file(entry.path().string());
            for (size_t at = 0; (at = text.find("tfd:", at)) != std::string::npos; at++)
                count++;
        }
        return count;
    };
    std::thread other([&] {
        as(kOther, [&] {
            for (int i = 0; i < 40; i++) {
                const Given given = ring_from(daemon.address, true);
                void *at = mmap(nullptr, given.answer.ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, given.ring, 0);
                if (given.code || at == MAP_FAILED)
                    return 1;
                static_cast<volatile uint32_t *>(at)[34] = 1; // gives the ring back
            }
            std::this_thread::sleep_for(2s);
            return 0;
        });
    });
    std::this_thread::sleep_for(1s);
    CHECK(daemon.status()["processes"] == 40);
    CHECK(daemon.status()["processes_live"] == 0);
    CHECK(watched() <= 5);
    other.join();
}

TEST_CASE("whoever connects and leaves, over and over, keeps nobody out") {
    if (!is_root())
        return;
    const bool is_listed = GENERATE(false, true);
    DaemonOfRoot daemon("allow=" + std::to_string(is_listed ? kOther : kThird));
    std::thread flood([&] {
        as(kOther, [&] {
            const bool is_first = fork() != 0;
            for (const auto end = std::chrono::steady_clock::now() + 4s; std::chrono::steady_clock::now() < end;)
                for (int i = 0; i < 100; i++)
                    close(connect_to(daemon.address));
            if (is_first)
                wait(nullptr);
            return 0;
        });
    });
    std::this_thread::sleep_for(300ms);
    unsigned joined = 0, at_once = 0;
    for (int i = 0; i < 10; i++) {
        const auto start = std::chrono::steady_clock::now();
        trib_client *client = join_soon(daemon.address);
        joined += client != nullptr;
        at_once += milliseconds_since(start) < 100;
        trib_client_close(client);
    }
    CHECK(joined == 10);
    if (!is_listed) // the file system turns him away
        CHECK(at_once >= 8);
    flood.join();
}
