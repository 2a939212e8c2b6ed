// SPDX-License-Identifier: Apache-2.0
// What a daemon keeps of those who speak to its socket: nothing of a request once it is answered, a ring only for who
// has it, memory that nobody else can change or grow. Callers speak the protocol themselves, as an attacker would.
#include "support/catch.hpp"

#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "support/daemon.hpp"
#include "support/skip.hpp"
#include "support/users.hpp"

using namespace trib_test;

namespace {

std::string proc(pid_t pid, const std::string &file) {
    return "/proc/" + std::to_string(pid) + "/" + file;
}

size_t descriptors(pid_t pid) {
    return Folder::files_in(proc(pid, "fd"));
}

int lowest_free_descriptor(pid_t pid) {
    int fd = 0;
    while (std::filesystem::is_symlink(proc(pid, "fd/" + std::to_string(fd))))
        fd++;
    return fd;
}

double cpu_seconds(pid_t pid) {
    const std::string stat = read_file(proc(pid, "stat"));
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));
    std::string skipped;
    double user = 0, system = 0;
    for (int i = 3; i < 14; i++)
        fields >> skipped;
    fields >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// One request after another on one connection, each with a pidfd of this process's; `waits`: each answered before the
// next, else all of them sent, and nobody there when the answers come.
void ask_with_pidfd(const std::string &address, const std::vector<trib_request> &requests, bool waits = true) {
    const int to = connect_to(address), process = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
    REQUIRE((to >= 0 && process >= 0));
    fcntl(to, F_SETFL, 0);
    char answer[4096];
    for (const trib_request &request : requests) {
        REQUIRE(send_with(to, request, {process}));
        if (waits && request.kind != TRIB_REQUEST_FAILED)
            (void)!recv(to, answer, sizeof answer, 0);
    }
    close(process);
    close(to);
}

trib_request with(trib_request request, const std::function<void(trib_request &)> &change) {
    change(request);
    return request;
}

} // namespace

TEST_CASE("a pidfd that comes with a request that needs none does not stay in the daemon") {
    DaemonOfRoot daemon("process-ring=1024");
    trib_client *client = join_soon(daemon.address); // the stock of rings is filled, the epoch known
    REQUIRE(client != nullptr);
    const trib_request join = request_of(TRIB_REQUEST_JOIN);
    const std::vector<std::vector<trib_request>> asked = {
        {request_of(TRIB_REQUEST_STATUS, TRIB_STATUS_JSON)},
        {request_of(TRIB_REQUEST_CONTROL, TRIB_CONTROL_RESUME)},
        {request_of(TRIB_REQUEST_CONTROL, 77)},
        {request_of(TRIB_REQUEST_FAILED)},
        {request_of(static_cast<trib_request_kind>(99))},
        {with(join, [](trib_request &it) { it.magic = 0; })},
        {with(join, [](trib_request &it) { it.version = 99; })},
        {with(join, [](trib_request &it) { it.program_bytes = 1; })},
        {with(join, [&](trib_request &it) { it.epoch = trib_test_epoch(client); })},
    };
    std::this_thread::sleep_for(200ms);
    const size_t before = descriptors(daemon.pid());
    for (size_t which = 0; which < asked.size(); which++) {
        INFO("request " << which);
        for (unsigned i = 0; i < 20; i++)
            ask_with_pidfd(daemon.address, asked[which]);
        CHECK(comes_true([&] { return descriptors(daemon.pid()) <= before + 2; }));
    }
    trib_client_close(client);
}

TEST_CASE("of three joins on one connection one gets a ring, and the others leave nothing") {
    DaemonOfRoot daemon("process-ring=1024");
    trib_client_close(join_soon(daemon.address));
    REQUIRE(comes_true([&] { return daemon.status()["processes_live"] == 0; }));
    const size_t before = descriptors(daemon.pid());
    const trib_request join = request_of(TRIB_REQUEST_JOIN);
    daemon.halt(); // so that all wait when it looks: later ones bring no descriptor on newer kernels
    std::vector<int> connections;
    for (unsigned i = 0; i < 20; i++) {
        connections.push_back(connect_to(daemon.address));
        for (unsigned k = 0; k < 3; k++) {
            const int process = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
            REQUIRE(send_with(connections.back(), join, {process}));
            close(process);
        }
    }
    kill(daemon.pid(), SIGCONT);
    CHECK(comes_true([&] { return daemon.status()["joins_refused"] == 40; }));
    CHECK(daemon.status()["processes_live"] == 20); // each of which keeps a pidfd
    for (const int connection : connections)
        close(connection);
    CHECK(comes_true([&] { return descriptors(daemon.pid()) <= before + 20 + 2; }));
}

TEST_CASE("a ring is for whoever waits for it: who has hung up gets none") {
    DaemonOfRoot daemon("process-ring=1024");
    trib_client_close(join_soon(daemon.address));
    REQUIRE(comes_true([&] { return daemon.status()["processes_live"] == 0; }));
    const size_t before = descriptors(daemon.pid());
    daemon.halt(); // the answers come too late
    for (unsigned i = 0; i < 20; i++)
        ask_with_pidfd(daemon.address, {request_of(TRIB_REQUEST_JOIN)}, false);
    kill(daemon.pid(), SIGCONT);
    for (unsigned i = 0; i < 3; i++)
        (void)daemon.status(); // behind them all
    CHECK(comes_true([&] { return daemon.status()["processes_live"] == 0; }, 2000));
    CHECK(comes_true([&] { return descriptors(daemon.pid()) <= before + 2; }, 2000));
    CHECK(daemon.status()["processes"] == 1);
}

TEST_CASE("a daemon without a free descriptor rests, and goes on when it has one") {
    DaemonOfRoot daemon("process-ring=1024");
    trib_client_close(join_soon(daemon.address));
    std::this_thread::sleep_for(200ms);
    rlimit before = {};
    REQUIRE(prlimit(daemon.pid(), RLIMIT_NOFILE, nullptr, &before) == 0);
    const rlimit full = {static_cast<rlim_t>(lowest_free_descriptor(daemon.pid())), before.rlim_max};
    REQUIRE(prlimit(daemon.pid(), RLIMIT_NOFILE, &full, nullptr) == 0);
    const int waits = connect_to(daemon.address);
    REQUIRE(waits >= 0);
    const double began = cpu_seconds(daemon.pid());
    std::this_thread::sleep_for(2s);
    CHECK(cpu_seconds(daemon.pid()) - began < 0.4); // of 2
    REQUIRE(prlimit(daemon.pid(), RLIMIT_NOFILE, &before, nullptr) == 0);
    trib_client *client = join_soon(daemon.address);
    CHECK(client != nullptr);
    trib_client_close(client);
    close(waits);
}

// Of memory that it may map, as `left_bytes` beyond what it has mapped; what it could map before.
rlimit leave_memory(pid_t pid, rlim_t left_bytes) {
    const std::string status = read_file(proc(pid, "status"));
    rlimit before = {};
    REQUIRE(prlimit(pid, RLIMIT_AS, nullptr, &before) == 0);
    const rlim_t mapped_bytes = std::stoull(status.substr(status.find("VmSize:") + 7)) * 1024;
    const rlimit little = {mapped_bytes + left_bytes, before.rlim_max};
    REQUIRE(prlimit(pid, RLIMIT_AS, &little, nullptr) == 0);
    return before;
}

TEST_CASE("a daemon without memory refuses who joins: hosts lose events, nothing else") {
    if (is_sanitized())
        return skip("a sanitizer does not live without memory");
    DaemonOfRoot daemon("process-ring=1024");
    trib_client *joined = nullptr, *refused = nullptr;
    for (trib_client **client : {&joined, &refused}) {
        REQUIRE(trib_client_open(client, daemon.address.c_str(), nullptr) == 0);
        trib_test_set_image(*client, 0); // as below: another program of this process would take over
    }
    REQUIRE(comes_true([&] { return trib_client_join(joined) == 0; }));
    submit_all(joined, 1, 1);
    REQUIRE(comes_true([&] { return daemon.status()["events"] == 1; }));
    const uint64_t refused_before = daemon.status()["joins_refused"];

    const rlimit before = leave_memory(daemon.pid(), 2 << 20);
    std::map<int, unsigned> answers; // each is waited for: what the daemon says does not depend on how busy it is
    for (unsigned i = 0; i < 60; i++) {
        const Given given = ring_from(daemon.address);
        answers[given.code]++;
        close(given.ring);
        close(given.table);
    }
    CHECK(answers[0] > 0); // there were some in stock
    CHECK(answers[-ENOMEM] > 0);
    CHECK(answers[0] + answers[-ENOMEM] == 60);
    submit_all(joined, 1, 10); // as before
    CHECK(trib_client_join(refused) != 0);
    const trib_event event = write_of(2, 0);
    for (unsigned i = 0; i < 10; i++)
        CHECK_FALSE(trib_client_submit(refused, &event)); // nobody takes them
    REQUIRE(prlimit(daemon.pid(), RLIMIT_AS, &before, nullptr) == 0);

    CHECK(comes_true([&] { return daemon.status()["joins_refused"] >= refused_before + answers[-ENOMEM] + 1; }));
    CHECK(comes_true([&] { return daemon.status()["events"] == 11; }));
    CHECK(comes_true([&] { // and they are counted when it may join
        trib_test_try_now(refused);
        (void)trib_client_submit(refused, &event);
        return daemon.status()["lost_alone"] >= 10;
    }));
    trib_client_close(joined);
    trib_client_close(refused);
    CHECK(daemon.stop() == 0);
    CHECK(writes_of(daemon.trace, 1) == 11);
}

// One connection that has joined, and how it says that it cannot use what it got.
int join_and_stay(const std::string &address) {
    const int to = connect_to(address), process = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
    trib_answer answer{};
    REQUIRE((to >= 0 && process >= 0));
    fcntl(to, F_SETFL, 0);
    REQUIRE(send_with(to, request_of(TRIB_REQUEST_JOIN), {process}));
    REQUIRE(recv(to, &answer, sizeof answer, 0) == sizeof answer); // what comes with it is closed
    REQUIRE(answer.code == 0);
    close(process);
    return to;
}
bool give_up(int to) {
    const trib_request failed = request_of(TRIB_REQUEST_FAILED, ENOMEM);
    return send(to, &failed, TRIB_REQUEST_BYTES_MIN, MSG_NOSIGNAL) == TRIB_REQUEST_BYTES_MIN;
}

TEST_CASE("who cannot use its ring says so: it is counted as refused, and the ring is another's") {
    DaemonOfRoot daemon("process-ring=1024");
    trib_client_close(join_soon(daemon.address));
    REQUIRE(comes_true([&] { return daemon.status()["processes_live"] == 0; }));
    const size_t before = descriptors(daemon.pid());
    const uint64_t refused = daemon.status()["joins_refused"];
    std::vector<int> connections;
    for (unsigned i = 0; i < 20; i++)
        connections.push_back(join_and_stay(daemon.address));
    REQUIRE(comes_true([&] { return daemon.status()["processes_live"] == 20; }));
    for (const int connection : connections)
        REQUIRE(give_up(connection));
    CHECK(comes_true([&] { return daemon.status()["joins_refused"] == refused + 20; }));
    CHECK(comes_true([&] { return daemon.status()["processes_live"] == 0; }));
    CHECK(comes_true([&] { return descriptors(daemon.pid()) <= before + 20 + 2; })); // no pidfd of theirs
    const int another = join_and_stay(daemon.address); // in the place of one of them, who says it once more
    REQUIRE(give_up(connections[0]));
    CHECK(comes_true([&] { return daemon.status()["joins_refused"] == refused + 21; }));
    std::this_thread::sleep_for(200ms);
    CHECK(daemon.status()["processes_live"] == 1);
    for (const int connection : connections)
        close(connection);
    close(another);
}

TEST_CASE("a daemon takes as many descriptors as it may have, not as many as it starts with") {
    rlimit before = {};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit few = {80, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
    DaemonOfRoot daemon("process-ring=1024");
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    std::vector<trib_client *> clients;
    for (int i = 0; i < 100; i++) { // a pidfd each
        clients.push_back(join_soon(daemon.address));
        REQUIRE(clients.back() != nullptr);
    }
    CHECK(comes_true([&] { return daemon.status()["processes_live"] == 100; }));
    for (trib_client *client : clients)
        trib_client_close(client);
}

TEST_CASE("who has joined can neither write to the table, nor change the size of table or ring") {
    DaemonOfRoot daemon("process-ring=1024");
    const Given given = ring_from(daemon.address);
    REQUIRE(given.code == 0);
    const auto anew = [](int fd) { return open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR | O_CLOEXEC); };
    struct Shared {
        int fd;
        off_t bytes;
    };
    for (const auto &[fd, bytes] :
         {Shared{given.ring, given.answer.ring_bytes}, Shared{given.table, given.answer.table_bytes}}) {
        INFO((fd == given.ring ? "ring" : "table"));
        const int mine = anew(fd); // the owner of the memory may open it as he likes
        REQUIRE(mine >= 0);
        for (const off_t size : {off_t{0}, bytes - 1, bytes + 1}) {
            CHECK(ftruncate(mine, size) == -1);
            CHECK(errno == EPERM);
        }
        CHECK(pwrite(mine, "x", 1, bytes) == -1);
        CHECK(fallocate(mine, 0, bytes, 4096) == -1);
        close(mine);
    }
    const int mine = anew(given.table);
    CHECK(pwrite(mine, "x", 1, 0) == -1);
    CHECK(fallocate(mine, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == -1);
    CHECK(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mine, 0) == MAP_FAILED);
    void *read_only = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, mine, 0);
    REQUIRE(read_only != MAP_FAILED);
    CHECK(mprotect(read_only, 4096, PROT_READ | PROT_WRITE) == -1);
    munmap(read_only, 4096);
    close(mine);
    close(given.ring);
    close(given.table);
}

TEST_CASE("a ring that its process damages is said in the log once, and counted each time") {
    Daemon daemon({"--policy", "none", "--drive", "none"});
    for (unsigned i = 1; i <= 3; i++) {
        trib_client *client = join_soon(daemon.socket());
        REQUIRE(client != nullptr);
        trib_event nonsense = write_of(1, 0);
        nonsense.kind = TRIB_EVENT_READ + 1;
        REQUIRE(submit_as_is(client, nonsense));
        CHECK(comes_true([&] { return daemon.status()["rings_damaged"] == i; }));
        trib_client_close(client);
    }
    const std::string line = "process " + std::to_string(getpid()) + " damaged its ring; its events are lost";
    INFO(daemon.err());
    CHECK(has(daemon.err(), line));
    CHECK(daemon.err().find(line) == daemon.err().rfind(line));
}
