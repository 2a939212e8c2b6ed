// SPDX-License-Identifier: Apache-2.0
// What a client puts into the memory that it was given, how often it asks for some, and what it gives back.
#include "support/catch.hpp"

#include <atomic>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

#include <tributary/signature.h>

#include "support/client.hpp"
#include "support/fake_daemon.hpp"

namespace {

using namespace trib_test;

constexpr int kName = 1, kSignature = 2;

trib_event event_of(uint64_t signature) {
    trib_event event{};
    event.kind = TRIB_EVENT_WRITE;
    event.file = 7;
    event.length_bytes = 100;
    event.stream = TRIB_STREAM_UNDECIDED;
    event.who.signature = signature;
    return event;
}

__attribute__((noinline)) uint64_t here() {
    const uint64_t signature = trib_signature_capture(__builtin_frame_address(0), TRIB_SIGNATURE_DEPTH_DEFAULT);
    __asm__ volatile("" ::: "memory"); // a call of its own, not a jump
    return signature;
}

// Of memory that a fake daemon gave or keeps, in this process.
unsigned mappings() {
    std::istringstream maps(read_file("/proc/self/maps"));
    unsigned count = 0;
    for (std::string line; std::getline(maps, line);)
        count += line.find("memfd:fake") != std::string::npos;
    return count;
}

// The daemon is gone, and another has taken its place. Whether the process joins that.
bool follow(FakeDaemon &daemon, trib_client *client) {
    const unsigned before = daemon.joins();
    const trib_event event = event_of(0);
    fake_fall_silent(daemon.table());
    trib_test_try_now(client);
    trib_client_submit(client, &event);
    return daemon.joins() == before + 1;
}

bool is_mapped(const void *memory) {
    unsigned char there = 0;
    return mincore(const_cast<void *>(memory), 4096, &there) == 0;
}

} // namespace

TEST_CASE("a call path that found no room is sent with a later event") {
    FakeDaemon daemon;
    trib_client *client = join(daemon.address());
    REQUIRE(client);
    const std::string name(1000, 'n');
    uint64_t file = 0;
    while (trib_client_name_file(client, ++file, name.c_str()))
        ;
    REQUIRE(file > 50);
    const trib_event event = event_of(here());
    REQUIRE(event.who.signature != TRIB_SIGNATURE_UNKNOWN);
    for (int i = 0; i < 100; i++) // a few bytes are left, for a module perhaps
        CHECK(trib_client_submit(client, &event));
    CHECK(daemon.take_texts().count(kSignature) == 0);
    CHECK(trib_client_submit(client, &event));
    CHECK(daemon.take_texts().count(kSignature) == 1);
    for (int i = 0; i < 100; i++)
        CHECK(trib_client_submit(client, &event));
    CHECK(daemon.take_texts().count(kSignature) == 0); // and once
    trib_client_close(client);
}

TEST_CASE("a long name keeps its end") {
    FakeDaemon daemon;
    trib_client *client = join(daemon.address());
    REQUIRE(client);
    const std::string end = "/the/end.db", path = "/the/beginning/" + std::string(3000, 'n') + end;
    CHECK(trib_client_name_file(client, 1, path.c_str()));
    const auto texts = daemon.take_texts();
    REQUIRE(texts.count(kName) == 1);
    const std::string kept = texts.find(kName)->second;
    CHECK(kept.size() == 1023);
    CHECK(kept == path.substr(path.size() - kept.size()));
    trib_client_close(client);
}

TEST_CASE("a daemon that is not there is asked for ever more seldom, but at least every two seconds") {
    Folder folder;
    trib_client *client = nullptr;
    REQUIRE(trib_client_open(&client, (folder / "link").c_str(), nullptr) == 0);
    uint64_t before_ns = 0;
    for (int i = 0; i < 20; i++) {
        CHECK(trib_client_join(client) == -ENOENT);
        CHECK(trib_client_join(client) == -EAGAIN); // not again at once
        const uint64_t now_ns = trib_test_backoff_ns(client);
        CHECK(now_ns == (i == 0 ? 50000000u : std::min<uint64_t>(2 * before_ns, 2000000000u)));
        before_ns = now_ns;
        trib_test_try_now(client);
    }
    CHECK(before_ns == 2000000000u);
    FakeDaemon daemon;
    REQUIRE(symlink(daemon.address().c_str(), (folder / "link").c_str()) == 0);
    CHECK(trib_client_join(client) == 0);
    CHECK(trib_test_backoff_ns(client) == 0);
    trib_client_close(client);
}

TEST_CASE("the memory of a daemon that is gone goes back to the system") {
    FakeDaemon daemon;
    trib_client *client = join(daemon.address());
    REQUIRE(client);
    const trib_event event = event_of(0);
    for (int i = 0; i < 10; i++)
        CHECK(trib_client_submit(client, &event));
    void *const former = daemon.ring();
    CHECK(fake_events(former) == 10);
    fake_fall_silent(daemon.table());
    trib_test_try_now(client);
    CHECK(trib_client_submit(client, &event));
    CHECK(daemon.joins() == 2);
    REQUIRE(daemon.ring() != former);
    CHECK(fake_events(daemon.ring()) == 1);
    CHECK(fake_events(former) == 0); // a page of zeros, as nobody has it any more
    trib_client_close(client);
}

TEST_CASE("after many daemons a process still joins the next, in the memory of those that it left long ago") {
    const unsigned others = mappings(); // of fake daemons of other tests
    FakeDaemon daemon;
    trib_client *client = join(daemon.address());
    REQUIRE(client);
    const auto of_client = [&] { return mappings() - others - 2 * daemon.joins(); };
    for (int i = 2; i <= 8; i++)
        CHECK(follow(daemon, client));
    CHECK_FALSE(follow(daemon, client)); // a thread may still be inside of each
    CHECK(of_client() == 16);
    for (int round = 0; round < 3; round++) {
        trib_test_let_retired_age(client);
        for (int i = 0; i < 7; i++)
            CHECK(follow(daemon, client));
        CHECK_FALSE(follow(daemon, client));
    }
    CHECK(daemon.joins() == 29);
    CHECK(of_client() == 16);
    trib_client_close(client);
    CHECK(of_client() == 0);
}

TEST_CASE("the child of a fork has none of its parent's ring in its memory") {
    FakeDaemon daemon;
    trib_client *client = join(daemon.address());
    REQUIRE(client);
    for (int i = 0; i < 2; i++) { // the first ring, and one in the place of another
        uint64_t bytes = 0;
        const void *const ring = trib_test_ring_memory(client, &bytes);
        const void *const table = trib_test_table_memory(client, &bytes);
        CHECK(is_mapped(ring));
        CHECK(is_mapped(table));
        const pid_t child = fork();
        if (child == 0)
            _exit(is_mapped(ring) + 2 * is_mapped(table));
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(status == 0);
        for (int k = 0; k < 7 && i == 0; k++)
            CHECK(follow(daemon, client));
        trib_test_let_retired_age(client);
        CHECK(follow(daemon, client));
    }
    trib_client_close(client);
}

TEST_CASE("joining beside other threads holds none of the program's descriptors") {
    FakeDaemon daemon; // its thread is this process's
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    std::atomic<short> events{0};
    daemon.before_answer([&, read_fd = ends[0], write_fd = ends[1]] {
        struct pollfd read_end = {read_fd, POLLIN, 0};
        close(write_fd);
        poll(&read_end, 1, 0);
        events = read_end.revents;
    });
    trib_client *client = join(daemon.address());
    REQUIRE(client);
    CHECK((events & POLLHUP) != 0); // the end of the pipe was nobody's any more
    close(ends[0]);
    trib_client_close(client);
}
