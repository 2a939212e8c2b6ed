// SPDX-License-Identifier: Apache-2.0
// What another user can send that takes long: descriptors whose close waits, or of which the kernel has much to say.
// The daemon is root's. Needs root.
#include "support/catch.hpp"

#include <linux/kcmp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <vector>

#include "support/users.hpp"

extern "C" {
bool trib_closer_has_room(uid_t user); // recorder/listener.h
void trib_closer_park(uid_t user, int fd);
}

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
            setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
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
    void close_readers() { // unread data: the other end is told, and waits no more
        for (const int fd : readers)
            close(fd);
        readers.clear();
    }
    ~LingeringSockets() {
        close_readers();
        close_ends();
    }
    LingeringSockets(const LingeringSockets &) = delete;
    LingeringSockets &operator=(const LingeringSockets &) = delete;
};

long milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count();
}

// An epoll with that many watches: each number of one file, then each of another. -1: the system grants no more.
int epoll_with(unsigned watches) {
    constexpr int kFirst = 512; // below are the files themselves
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 20000);
    setrlimit(RLIMIT_NOFILE, &limit);
    const int poll = epoll_create1(EPOLL_CLOEXEC), last = static_cast<int>(limit.rlim_cur);
    for (unsigned count = 0; count < watches;) {
        const int file = eventfd(0, EFD_CLOEXEC);
        for (int fd = kFirst; fd < last && count < watches; fd++, count++) {
            epoll_event event{};
            event.events = EPOLLIN;
            if (dup2(file, fd) < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) != 0)
                return -1;
        }
    }
    for (int fd = kFirst; fd < last; fd++)
        close(fd);
    return poll;
}

// One message, and what it is answered, or -errno.
int answer_to(int to, const trib_request &request, const std::vector<int> &fds) {
    trib_answer answer{};
    const timeval patience = {5, 0};
    fcntl(to, F_SETFL, 0);
    setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!send_with(to, request, fds) || recv(to, &answer, sizeof answer, 0) != sizeof answer)
        return -errno;
    return answer.code;
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
    daemon.halt(); // all of it waits when the daemon looks
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

TEST_CASE("a descriptor of which the kernel has much to say holds up nobody") {
    if (!is_root())
        return;
    const uid_t user = GENERATE(kOther, kThird); // on the list, or not
    DaemonOfRoot daemon("process-ring=1024,allow=" + std::to_string(kOther));
    chmod(daemon.address.c_str(), 0666);
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    std::thread sender([&] {
        as(user, [&] {
            const int poll = epoll_with(200000); // to print them takes most of a second
            (void)!write(ready[1], poll < 0 ? "n" : "y", 1);
            for (const auto end = std::chrono::steady_clock::now() + 3s; std::chrono::steady_clock::now() < end;) {
                const int to = connect_to(daemon.address);
                (void)answer_to(to, request_of(TRIB_REQUEST_JOIN), {poll});
                close(to);
            }
            return 0;
        });
    });
    char has_epoll = 0;
    CHECK(read(ready[0], &has_epoll, 1) == 1);
    CHECK(has_epoll == 'y');
    unsigned at_once = 0;
    for (int i = 0; i < 10; i++) {
        const auto start = std::chrono::steady_clock::now();
        trib_client *client = join_soon(daemon.address);
        CHECK(client != nullptr);
        at_once += milliseconds_since(start) < 200;
        trib_client_close(client);
    }
    CHECK(at_once >= 8);
    sender.join();
    close(ready[0]);
    close(ready[1]);
}

TEST_CASE("who is not on the list is answered whatever he sends, and none of it is received") {
    if (!is_root())
        return;
    DaemonOfRoot daemon("allow=" + std::to_string(kThird));
    chmod(daemon.address.c_str(), 0666);
    CHECK(as(kOther, [&] {
              const int process = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
              const std::vector<std::vector<int>> all = {{}, {process}, {STDERR_FILENO}, {process, process}};
              for (const std::vector<int> &fds : all) {
                  const int to = connect_to(daemon.address);
                  int waiting_bytes = 0;
                  if (answer_to(to, request_of(TRIB_REQUEST_JOIN), fds) != -EACCES)
                      return 1;
                  if (ioctl(to, SIOCOUTQ, &waiting_bytes) != 0 || waiting_bytes == 0)
                      return 2;
                  char byte;
                  errno = 0;
                  if (recv(to, &byte, 1, 0) > 0 || errno == EAGAIN) // comes to an end, whoever stays
                      return 3;
                  close(to);
              }
              return 0;
          }) == 0);
    CHECK(daemon.status()["joins_refused"] == 4);
    CHECK(daemon.status()["processes"] == 0);
}

TEST_CASE("users whose descriptors take for ever to close leave room for root and the daemon's owner") {
    if (!is_root())
        return;
    constexpr uid_t kFirst = 61000, kOwner = kOther;
    LingeringSockets sockets(64 + 4);
    REQUIRE(seteuid(kOwner) == 0);
    size_t parked = 0;
    for (uid_t user = kFirst; user < kFirst + 20; user++)
        for (; parked < 64 && trib_closer_has_room(user); parked++)
            trib_closer_park(user, sockets.ends[parked]);
    const bool others_have_room = trib_closer_has_room(kFirst + 20);
    const bool owner_has_room = trib_closer_has_room(kOwner), root_has_room = trib_closer_has_room(0);
    size_t of_root = 0;
    for (; of_root < 4 && trib_closer_has_room(0); of_root++)
        trib_closer_park(0, sockets.ends[parked + of_root]);
    const bool root_has_more = trib_closer_has_room(0), owner_has_room_still = trib_closer_has_room(kOwner);
    REQUIRE(seteuid(0) == 0);
    sockets.ends.erase(sockets.ends.begin(), sockets.ends.begin() + static_cast<long>(parked + of_root));
    CHECK(parked == 64);
    CHECK_FALSE(others_have_room);
    CHECK(owner_has_room);
    CHECK(root_has_room);
    CHECK(of_root == 4);
    CHECK_FALSE(root_has_more);
    CHECK(owner_has_room_still);
    sockets.close_readers();
    bool has_room = false;
    for (int i = 0; i < 100 && !(has_room = trib_closer_has_room(kFirst) && trib_closer_has_room(0)); i++)
        std::this_thread::sleep_for(20ms);
    CHECK(has_room);
}

TEST_CASE("the pidfd by which the daemon sees a process end is nobody else's") {
    if (!is_root())
        return;
    int pair[2] = {-1, -1}, own = -1;
    socklen_t length = sizeof own;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0 ||
        getsockopt(pair[0], SOL_SOCKET, 77 /* SO_PEERPIDFD */, &own, &length) != 0)
        return skip("a kernel before 6.5 gives no pidfd of who is at the other end");
    for (const int fd : {own, pair[0], pair[1]})
        close(fd);
    DaemonOfRoot daemon("process-ring=1024");
    const int process = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)), to = connect_to(daemon.address);
    REQUIRE(answer_to(to, request_of(TRIB_REQUEST_JOIN), {process}) == 0);
    CHECK(daemon.status()["processes_live"] == 1);
    const auto holds = [&] {
        bool found = false;
        for (const auto &entry : fs::directory_iterator("/proc/" + std::to_string(daemon.pid()) + "/fd"))
            found |= syscall(SYS_kcmp, getpid(), daemon.pid(), KCMP_FILE, process,
                             std::stoi(entry.path().filename().string())) == 0;
        return found;
    };
    bool is_held = true;
    for (int i = 0; i < 100 && (is_held = holds()); i++)
        std::this_thread::sleep_for(20ms);
    CHECK_FALSE(is_held);
    close(process);
    close(to);
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
