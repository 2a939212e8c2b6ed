// SPDX-License-Identifier: Apache-2.0
// A check that finds something broken in a process makes it inert, and the daemon counts it: nothing faults or stops.
#include "support/catch.hpp"

#include <string>

#include "support/client.hpp"
#include "support/daemon.hpp"

namespace {

using namespace trib_test;

trib_event event_of(uint64_t offset) {
    trib_event event{};
    event.kind = TRIB_EVENT_WRITE;
    event.file = 7;
    event.offset_bytes = offset;
    event.length_bytes = 100;
    event.stream = TRIB_STREAM_UNDECIDED;
    return event;
}

// In a process of its own, whose breaker stays with it. Its exit status: the step that went wrong, or 0.
int spoil_one(const std::string &address, int what) {
    trib_client *client = join(address);
    if (!client)
        return 1;
    trib_event event = event_of(0);
    if (!trib_client_submit(client, &event) || !trib_client_name_file(client, 7, "/before"))
        return 2;
    usleep(100000); // the daemon has taken both
    trib_test_spoil(client, what);
    event = event_of(100);
    const bool takes = what == 0 ? trib_client_submit(client, &event) : trib_client_name_file(client, 8, "/after");
    if (takes || trib_client_wanted(client))
        return 3;
    for (int i = 0; i < 1000; i++)
        if (trib_client_submit(client, &event) || trib_client_name_file(client, 9, "/never"))
            return 4;
    if (trib_client_place(client, &event.who) != 0 || trib_client_wanted(client))
        return 5;
    usleep(200000); // the daemon looks before it sees the process end
    return 0;
}

} // namespace

TEST_CASE("a process that finds its memory damaged becomes inert, and the daemon counts it") {
    const int what = GENERATE(0, 1, 2);
    Daemon daemon({});
    const pid_t pid = fork();
    if (pid == 0)
        _exit(spoil_one(daemon.socket(), what));
    int status = -1;
    waitpid(pid, &status, 0);
    INFO("spoilt " << what);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(comes_true([&] { return daemon.status()["broken"] == 1; }, 3000));
    CHECK(daemon.status()["broken"] == 1);
}

TEST_CASE("what is whole trips nothing, also with a ring that is full") {
    Daemon daemon({"--set", "process-ring=1024"});
    const pid_t pid = fork();
    if (pid == 0) {
        trib_client *client = join(daemon.socket());
        unsigned taken = 0, refused = 0;
        for (unsigned i = 0; client && i < 200000; i++) {
            const trib_event event = event_of(i);
            trib_client_submit(client, &event) ? taken++ : refused++;
            (void)trib_client_name_file(client, i, std::string(1000, 'n').c_str());
        }
        _exit(taken && refused && trib_client_wanted(client) ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(status == 0);
    CHECK(daemon.status()["broken"] == 0);
    CHECK(daemon.status()["rings_damaged"] == 0);
}
