// SPDX-License-Identifier: Apache-2.0
// Rounds of the recorder, one at a time: what is taken when, in which order, what is counted, and what becomes of rings
// whose processes have left. The test is daemon and process at once, so that nothing depends on who runs when.
#include "support/catch.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <tributary/signature.h>

#include "base/clock.h"
#include "support/folder.hpp"
#include "support/recorder.hpp"

using namespace trib_test;

namespace {

constexpr uint64_t kMillisecond = 1000000;
constexpr uint32_t kUnknown = 4095, kUnsent = 4094; // numbers of modules that have none

} // namespace

TEST_CASE("what is stamped after a round began waits for the next, so that no effect comes before its cause") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *first = join_patiently(folder / "s"), *second = join_patiently(folder / "s");
    REQUIRE((first && second));
    const uint64_t now_ns = trib_now_ns();
    REQUIRE(submit_as_is(first, write_of(1, now_ns + 4000 * kMillisecond)));
    CHECK(recorder.take_all().empty());
    REQUIRE(submit_as_is(second, write_of(2, now_ns + 2000 * kMillisecond)));
    while (trib_now_ns() <= now_ns + 4000 * kMillisecond)
        sleep_ms(50);
    const std::vector<trib_event> events = recorder.take_all();
    REQUIRE(events.size() == 2);
    CHECK(events[0].file == 2);
    CHECK(events[1].file == 1);
    trib_client_close(first);
    trib_client_close(second);
}

TEST_CASE("times never go back, whatever a process stamps") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    const uint64_t now_ns = trib_now_ns();
    REQUIRE(submit_as_is(client, write_of(1, now_ns)));
    REQUIRE(submit_as_is(client, write_of(2, now_ns - 1000)));
    std::vector<trib_event> events = recorder.take_all();
    REQUIRE(events.size() == 2);
    CHECK(events[0].file == 1);
    CHECK(events[1].wall_ns >= events[0].wall_ns);
    REQUIRE(submit_as_is(client, write_of(3, 1)));
    const uint64_t before_ns = events[1].wall_ns;
    events = recorder.take_all();
    REQUIRE(events.size() == 1);
    CHECK(events[0].wall_ns >= before_ns);
    trib_client_close(client);
}

TEST_CASE("of a process that has left everything is taken, even what it stamped in the future") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    REQUIRE(submit_as_is(client, write_of(1, trib_now_ns() + 3600000 * kMillisecond)));
    CHECK(recorder.take_all().empty());
    trib_client_close(client);
    const std::vector<trib_event> events = recorder.take_all();
    REQUIRE(events.size() == 1);
    CHECK(events[0].wall_ns <= trib_now_ns());
    recorder.take();
    CHECK(recorder.counts().processes_live == 0);
}

TEST_CASE("a ring is not taken back while a name waits in it") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    REQUIRE(submit_as_is(client, write_of(7, trib_now_ns())));
    REQUIRE(submit_as_is(client, write_of(7, trib_now_ns())));
    trib_test_leave(client);
    REQUIRE(recorder.take(1).size() == 1);
    REQUIRE(trib_test_put_name(client, 7, "seven"));
    CHECK(recorder.take().size() == 1);
    recorder.take_all();
    CHECK(recorder.names[7] == "seven");
    recorder.take();
    CHECK(recorder.counts().processes_live == 0);
    trib_client_close(client);
}

TEST_CASE("a call path is known once its modules are, not before") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    const uint64_t module = trib_test_put_module(client, "/lib/engine.so", false);
    REQUIRE(trib_test_put_signature(client, 1234, module));
    recorder.take();
    CHECK(recorder.signatures[1234] == 1);
    CHECK_FALSE(trib_test_is_known(client, 1234));
    REQUIRE(trib_test_put_module(client, "/lib/engine.so", true) == module);
    REQUIRE(trib_test_put_signature(client, 1234, module));
    recorder.take();
    CHECK(trib_test_is_known(client, module));
    CHECK(trib_test_is_known(client, 1234));
    trib_client_close(client);
}

TEST_CASE("modules that nobody sends get no number, and of those that are sent one user gets half") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    const auto path_of = [&](uint64_t signature, uint64_t module) {
        while (!trib_test_put_signature(client, signature, module))
            recorder.take();
        recorder.take();
        return recorder.modules_of[signature];
    };
    for (uint64_t i = 1; i <= 5000; i++)
        CHECK(path_of(i, 1000000 + i) == kUnsent);
    const uint64_t real = trib_test_put_module(client, "/lib/engine.so", true);
    CHECK(path_of(6000, real) == 0);
    CHECK(recorder.module_names == std::map<uint32_t, std::string>{{0, "/lib/engine.so"}});
    uint64_t last = 0;
    for (unsigned i = 1; i <= 5000; i++) {
        const std::string name = "/lib/" + std::to_string(i);
        while (!(last = trib_test_put_module(client, name.c_str(), true)))
            recorder.take();
    }
    CHECK(path_of(7000, last) == kUnknown);
    CHECK(trib_test_is_known(client, 7000)); // it does not come again
    CHECK(recorder.module_names.count(kUnknown) == 0);
    CHECK(recorder.module_names.count(kUnsent) == 0);
    CHECK(recorder.module_names.size() == (geteuid() == 0 ? 4094u : 2048u));
    CHECK(path_of(8000, real) == 0);
    trib_client_close(client);
}

TEST_CASE("drops are counted once, events and bytes, however often the ring is full") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    uint64_t events = 0, bytes = 0;
    for (unsigned round = 1; round <= 3; round++) {
        for (unsigned i = 0; i < 1000; i++) {
            const bool fits = submit_as_is(client, write_of(1, trib_now_ns(), round));
            events += !fits;
            bytes += fits ? 0 : round;
        }
        recorder.take_all();
        CHECK(recorder.counts().events_dropped == events);
        CHECK(recorder.counts().bytes_dropped == bytes);
    }
    CHECK(events > 0);
    trib_client_close(client);
}

TEST_CASE("which program an event is of is the daemon's word, and a thread's number lies within its process's") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    trib_event event = write_of(1, trib_now_ns());
    event.who.tenant = 77;
    event.thread = 0xabcdef;
    REQUIRE(submit_as_is(client, event));
    const std::vector<trib_event> events = recorder.take_all();
    REQUIRE(events.size() == 1);
    CHECK(events[0].who.tenant == 0);
    CHECK(events[0].thread == 0xdef); // of process 0
    trib_client_close(client);
}

TEST_CASE("an event that cannot be is damage, and none of its bytes are believed") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    trib_event nonsense[4] = {write_of(1, 1, TRIB_EVENT_BYTES_MAX + 1), write_of(2, 1), write_of(3, 1),
                              write_of(5, 1, INT64_MAX)};
    nonsense[1].kind = TRIB_EVENT_READ + 1;
    nonsense[2].offset_bytes = 1ull << 63;
    nonsense[3].kind = TRIB_EVENT_READ;
    for (const trib_event &event : nonsense)
        REQUIRE(submit_as_is(client, event));
    REQUIRE(submit_as_is(client, write_of(4, 1, TRIB_EVENT_BYTES_MAX)));
    const std::vector<trib_event> events = recorder.take_all();
    REQUIRE(!events.empty());
    for (const trib_event &event : events)
        CHECK(event.file == 4);
    CHECK(recorder.counts().events_dropped == 4);
    CHECK(recorder.counts().bytes_dropped == 0);
    CHECK(recorder.counts().damaged == 1); // rings, not events
    trib_client_close(client);
}

TEST_CASE("a round of long events is taken in pieces, with a sign of life before each") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    for (uint64_t i = 0; i < 4; i++)
        REQUIRE(submit_as_is(client, write_of(i, 1, TRIB_EVENT_BYTES_MAX)));
    REQUIRE(submit_as_is(client, write_of(4, 1, 100)));
    uint64_t taken[5] = {};
    while (taken[4] == 0) {
        const uint64_t before_ns = trib_now_ns();
        uint64_t bytes = 0;
        const std::vector<trib_event> events = recorder.take();
        REQUIRE(!events.empty());
        for (const trib_event &event : events) {
            CHECK(event.offset_bytes == taken[event.file]); // one piece after the other
            taken[event.file] += event.length_bytes;
            bytes += event.length_bytes;
        }
        CHECK(bytes <= 64ull << 20);
        CHECK(trib_test_heartbeat_ns(client) >= before_ns);
    }
    for (unsigned i = 0; i < 4; i++)
        CHECK(taken[i] == TRIB_EVENT_BYTES_MAX);
    CHECK(recorder.take_all().empty());
    CHECK(recorder.counts().damaged == 0);
    trib_client_close(client);
}

TEST_CASE("what waits in a damaged ring when it is taken back is counted") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    trib_event nonsense = write_of(1, 1);
    nonsense.kind = TRIB_EVENT_READ + 1;
    REQUIRE(submit_as_is(client, nonsense));
    REQUIRE(submit_as_is(client, write_of(2, 1)));
    REQUIRE(submit_as_is(client, write_of(3, 1)));
    trib_test_leave(client);
    REQUIRE(recorder.take(1).size() == 1); // in the middle of a round, which ends before these
    REQUIRE(submit_as_is(client, write_of(4, 1, 70)));
    REQUIRE(submit_as_is(client, write_of(5, 1, 7)));
    CHECK(recorder.take().size() == 1);
    recorder.take();
    CHECK(recorder.counts().processes_live == 0);
    CHECK(recorder.counts().events_dropped == 3);
    CHECK(recorder.counts().bytes_dropped == 77);
    trib_client_close(client);
}

TEST_CASE("nobody is answered before the recorder starts") {
    Folder folder;
    Recorder recorder(folder / "s", false);
    trib_client *client = nullptr;
    CHECK(join_at(folder / "s", &client) == -ETIMEDOUT);
    REQUIRE(trib_test_recorder_start(recorder.self) == 0);
    client = join_patiently(folder / "s");
    CHECK(client);
    trib_client_close(client);
}

TEST_CASE("a recorder that never starts leaves no socket") {
    Folder folder;
    {
        Recorder recorder(folder / "s", false);
        CHECK(access((folder / "s").c_str(), F_OK) == 0);
    }
    CHECK(access((folder / "s").c_str(), F_OK) != 0);
}

TEST_CASE("what an end that takes too long leaves is counted") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    for (uint64_t i = 1; i <= 4; i++)
        REQUIRE(submit_as_is(client, write_of(i, 1, i)));
    trib_test_recorder_stop(recorder.self);
    REQUIRE(recorder.take(1).size() == 1);
    trib_test_recorder_give_up(recorder.self);
    CHECK(recorder.take_all().empty());
    CHECK(recorder.counts().events_dropped == 3);
    CHECK(recorder.counts().bytes_dropped == 9);
    trib_client_close(client);
}

TEST_CASE("a text that claims to be longer than what was sent is damage, and not read") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    REQUIRE(trib_test_put_name(client, 6, "six"));
    trib_test_put_lying_name(client, 7, 500);
    recorder.take();
    CHECK(recorder.names.size() == 1);
    CHECK(recorder.names.count(6) == 1);
    CHECK(recorder.counts().damaged == 1);
    trib_client_close(client);
}

TEST_CASE("what a process had before exec is given back when its next program joins") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *former = join_patiently(folder / "s"), *next = nullptr;
    REQUIRE(former);
    REQUIRE(trib_client_open(&next, (folder / "s").c_str(), nullptr) == 0);
    trib_test_set_image(next, 4711);
    for (unsigned i = 0; i < 20 && trib_client_join(next) != 0; i++)
        sleep_ms(100);
    recorder.wait_for(&trib_test_counts::processes, 2);
    recorder.take();
    recorder.take();
    CHECK(recorder.counts().processes_live == 1);
    trib_client_close(next);
    trib_client_close(former);
}

TEST_CASE("two libraries of one program keep a ring each") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *one = join_patiently(folder / "s"), *other = join_patiently(folder / "s");
    REQUIRE((one && other));
    recorder.take();
    recorder.take();
    CHECK(recorder.counts().processes_live == 2);
    trib_client_close(one);
    trib_client_close(other);
}

TEST_CASE("a context never gets the stream of another that shares its place in the table") {
    Folder folder;
    Recorder recorder(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    trib_context one{}, other{};
    one.signature = 1;
    const uint64_t slot = trib_test_place_slot(&one);
    for (other.signature = 2; trib_test_place_slot(&other) != slot;)
        other.signature++;
    trib_test_recorder_publish(recorder.self, &one, 3);
    CHECK(trib_client_place(client, &one) == 3);
    CHECK(trib_client_place(client, &other) == 0);
    trib_client_close(client);
}

TEST_CASE("whoever connects and says nothing is sent away, after a second") {
    Folder folder;
    const std::string path = folder / "s";
    Recorder recorder(path);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    strcpy(address.sun_path, path.c_str());
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const uint64_t before_ns = trib_now_ns();
    REQUIRE(connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0);
    pollfd hung{fd, POLLIN, 0};
    REQUIRE(poll(&hung, 1, 10000) == 1);
    const uint64_t took_ns = trib_now_ns() - before_ns;
    CHECK(took_ns >= 1000 * kMillisecond);
    CHECK(took_ns < 3000 * kMillisecond);
    char byte;
    CHECK(read(fd, &byte, 1) == 0);
    close(fd);
}

TEST_CASE("the next daemon is told what its predecessor knew, and once what nobody took") {
    Folder folder;
    auto recorder = std::make_unique<Recorder>(folder / "s");
    trib_client *client = join_patiently(folder / "s");
    REQUIRE(client);
    trib_event event = write_of(1, 0);
    event.who.signature = trib_signature_capture(TRIB_FRAME_HERE(), 4);
    REQUIRE(trib_client_submit(client, &event));
    recorder->take();
    CHECK(recorder->signatures[event.who.signature] == 1);
    for (unsigned restart = 1; restart <= 3; restart++) {
        trib_test_recorder_stop(recorder->self);
        uint64_t missed = 0;
        CHECK_FALSE(trib_client_submit(client, &event));
        recorder = std::make_unique<Recorder>(folder / "s");
        for (missed = 1; !trib_client_submit(client, &event); missed++)
            sleep_ms(10);
        recorder->wait_for(&trib_test_counts::rejoined, 1);
        recorder->wait_for(&trib_test_counts::events_dropped, missed);
        recorder->take();
        CHECK(recorder->counts().events_dropped == missed);
        CHECK(recorder->counts().bytes_dropped == missed * 100);
        CHECK(recorder->signatures[event.who.signature] == 1);
    }
    trib_client_close(client);
}
