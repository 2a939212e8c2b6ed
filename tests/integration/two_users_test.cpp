// SPDX-License-Identifier: Apache-2.0
// Two users on one machine: neither reads, stops, feeds or stalls the other's daemon. The daemon is root's, the other
// user is nobody; he speaks to the socket himself, as an attacker would. Needs root.
#include "support/catch.hpp"

#include <random>
#include <sys/mman.h>

#include "support/users.hpp"

using namespace trib_test;

TEST_CASE("who may join may not stop, pause, read or signal") {
    if (!is_root())
        return;
    DaemonOfRoot daemon("allow=" + std::to_string(kOther));
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
    DaemonOfRoot daemon("allow=" + std::to_string(kThird));
    REQUIRE(chmod(daemon.address.c_str(), 0666) == 0); // as where the file system has no lists
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
    DaemonOfRoot daemon("process-ring=1024");
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
    DaemonOfRoot daemon("allow=" + std::to_string(listed));
    REQUIRE(chmod(daemon.address.c_str(), 0666) == 0);
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
    DaemonOfRoot daemon("process-ring=1024,allow=" + std::to_string(kOther));
    CHECK(as(kOther, [&] {
              int rings = 0;
              Given given{};
              while (rings < 4096 && (given = ring_from(daemon.address)).code == 0) {
                  close(given.ring);
                  close(given.table);
                  rings++;
              }
              return given.code == -EUSERS && rings == 512 ? 0 : 1;
          }) == 0);
    trib_client *client = join_soon(daemon.address);
    CHECK(client != nullptr);
    trib_client_close(client);
}

TEST_CASE("whoever says that he is a process of another user takes nothing from it") {
    if (!is_root())
        return;
    DaemonOfRoot daemon("process-ring=1024,allow=" + std::to_string(kOther));
    trib_client *client = join_soon(daemon.address);
    REQUIRE(client != nullptr);
    trib_request claim = request_of(TRIB_REQUEST_JOIN); // this process's number, and no pidfd
    claim.image = 4711;                                 // as if it had called exec
    CHECK(as(kOther, [&] { return -code_of(daemon.address, claim); }) == 0);
    CHECK(daemon.status()["processes"] == 2);
    std::this_thread::sleep_for(200ms); // some rounds, in which a ring would be taken back
    submit_all(client, 5000, 100);
    trib_client_close(client);
    CHECK(daemon.stop() == 0);
    CHECK(writes_of(daemon.trace, 5000) == 100);
}

// The kernel names whoever connected, and that number may be another process's when the request comes.
TEST_CASE("a connection that was left by who made it joins nobody") {
    if (!is_root())
        return;
    int unknown = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), process = -1;
    socklen_t length = sizeof process;
    const bool names_peers =
        getsockopt(unknown, SOL_SOCKET, 77 /* SO_PEERPIDFD */, &process, &length) == 0 || errno != ENOPROTOOPT;
    close(unknown);
    if (!names_peers)
        return skip("a kernel before 6.5 does not say who connected");
    DaemonOfRoot daemon("process-ring=1024,allow=" + std::to_string(kOther));
    CHECK(as(kOther, [&] {
              int answers[2];
              if (pipe(answers) != 0)
                  return 1;
              const pid_t first = fork();
              if (first == 0) {
                  const int fd = connect_to(daemon.address);
                  if (fork() != 0)
                      _exit(0);
                  std::this_thread::sleep_for(200ms); // until it has ended, and its number could be another's
                  fcntl(fd, F_SETFL, 0);
                  const trib_request claim = request_of(TRIB_REQUEST_JOIN);
                  trib_answer answer{};
                  (void)!send(fd, &claim, TRIB_REQUEST_BYTES_MIN, MSG_NOSIGNAL);
                  const bool came = recv(fd, &answer, sizeof answer, 0) == sizeof answer;
                  const int code = came ? answer.code : 1;
                  (void)!write(answers[1], &code, sizeof code);
                  _exit(0);
              }
              waitpid(first, nullptr, 0);
              int code = 0;
              close(answers[1]);
              return read(answers[0], &code, sizeof code) == sizeof code ? -code : 2;
          }) == ESRCH);
    CHECK(daemon.status()["processes"] == 0);
    CHECK(daemon.status()["joins_refused"] == 1);
}

TEST_CASE("what a process had before it became another user and called exec is taken back") {
    if (!is_root())
        return;
    DaemonOfRoot daemon("process-ring=1024,allow=" + std::to_string(kOther));
    int said[2], end[2];
    REQUIRE(pipe(said) == 0);
    REQUIRE(pipe(end) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        trib_request claim = request_of(TRIB_REQUEST_JOIN);
        claim.image = 1;
        int codes[2] = {code_of(daemon.address, claim), 1};
        (void)!setuid(kOther);
        claim.image = 2;
        codes[1] = code_of(daemon.address, claim);
        (void)!write(said[1], codes, sizeof codes);
        close(end[1]);
        (void)!read(end[0], codes, 1);
        _exit(0);
    }
    int codes[2] = {1, 1};
    REQUIRE(read(said[0], codes, sizeof codes) == sizeof codes);
    CHECK(codes[0] == 0);
    CHECK(codes[1] == 0);
    nlohmann::json live;
    for (int i = 0; i < 40 && live != 1; i++) {
        std::this_thread::sleep_for(50ms);
        live = daemon.status()["processes_live"];
    }
    CHECK(live == 1);
    close(end[1]);
    waitpid(pid, nullptr, 0);
    for (int fd : {said[0], said[1], end[0]})
        close(fd);
}

TEST_CASE("a user who fills his ring with nonsense spoils nobody else's") {
    if (!is_root())
        return;
    DaemonOfRoot daemon("process-ring=1024,allow=" + std::to_string(kOther));
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
                close(given.table);
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
