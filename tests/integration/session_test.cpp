// SPDX-License-Identifier: Apache-2.0
// Sessions over real processes: nothing of a survivor is lost, whoever dies when; causes come before effects; no
// process waits for another or for the recorder.
#include "support/session.hpp"

using namespace trib_test;

TEST_CASE("threads of many processes submit, some are killed, and no event of a survivor is lost") {
    constexpr unsigned kProcesses = 24, kThreads = 3, kEach = 400;
    Session session;
    std::vector<pid_t> pids, doomed;
    std::mt19937 random(7);
    for (unsigned p = 0; p < kProcesses; p++)
        pids.push_back(session.process([&] {
            trib_client *client = join(session.path);
            if (!client)
                return 1;
            std::vector<std::thread> threads;
            for (unsigned t = 0; t < kThreads; t++) {
                const auto body = [=] { submit_many(client, (p + 1) * 100 + t, kEach); };
                if (kForksMayThread)
                    threads.emplace_back(body);
                else
                    body();
            }
            for (std::thread &thread : threads)
                thread.join();
            return 0;
        }));
    for (unsigned p = 0; p < kProcesses; p++)
        doomed.push_back(session.process([&] {
            trib_client *client = join(session.path);
            for (uint64_t i = 0; client; i += 100) {
                const trib_event event = event_of(TRIB_EVENT_WRITE, 1, i);
                trib_client_submit(client, &event);
            }
            return 0;
        }));
    session.record();
    for (pid_t pid : doomed) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
        kill(pid, SIGKILL);
    }
    for (pid_t pid : doomed)
        CHECK(WIFSIGNALED(status_of(pid)));
    for (pid_t pid : pids)
        CHECK(status_of(pid) == 0);
    trib_pipeline_drain(session.recorder->get());
    CHECK(session.recorder->status().processes >= kProcesses);
    REQUIRE(session.recorder->close() == 0);

    std::map<uint64_t, uint64_t> next; // by file: threads keep their own order
    uint64_t before_ns = 0;
    for (const trib_event &event : events_of(session.trace)) {
        CHECK(event.wall_ns >= before_ns);
        before_ns = event.wall_ns;
        if (event.file == 1)
            continue;
        if (event.offset_bytes != next[event.file])
            FAIL("file " << event.file << " at " << event.offset_bytes);
        next[event.file] += 100;
    }
    CHECK(next.size() == kProcesses * kThreads);
    for (const auto &[file, bytes] : next)
        CHECK(bytes == kEach * 100);
}

TEST_CASE("a process killed in the middle of an event loses that event, and its ring goes") {
    Session session;
    const pid_t pid = session.process([&] {
        trib_client *client = join(session.path);
        if (!client)
            return 1;
        const trib_event event = event_of(TRIB_EVENT_WRITE, 2, 0);
        if (!trib_test::claim_without_publishing(client, event) || !submit_many(client, 3, 10))
            return 1;
        return kill(getpid(), SIGKILL);
    });
    session.record();
    CHECK(WIFSIGNALED(status_of(pid)));
    trib_pipeline_drain(session.recorder->get());
    for (unsigned i = 0; i < 500 && session.recorder->status().processes_live; i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(session.recorder->status().processes_live == 0);
    CHECK(session.recorder->status().processes == 1);
    trib_client *next = join(session.path);
    REQUIRE(next != nullptr);
    CHECK(submit_many(next, 4, 10));
    trib_pipeline_drain(session.recorder->get());
    CHECK(session.recorder->status().events == 20);
    CHECK(session.recorder->status().events_dropped == 1);
    CHECK(session.recorder->status().lost_killed == 1);
    trib_client_close(next);
}

TEST_CASE("what a process deletes after the writer has ended comes after the writes") {
    constexpr unsigned kBuilders = 6, kSteps = 60;
    Session session;
    std::vector<pid_t> builders;
    for (unsigned b = 0; b < kBuilders; b++)
        builders.push_back(session.process([&] {
            trib_client *client = join(session.path);
            bool all = client != nullptr;
            for (unsigned step = 0; step < kSteps && all; step++) {
                const uint64_t file = (b + 1) * 1000 + step;
                const pid_t compiler = process([&] {
                    trib_client *own = join(session.path);
                    return own && submit_many(own, file, 5) ? 0 : 1;
                });
                all = status_of(compiler) == 0;
                const trib_event death = event_of(TRIB_EVENT_DEATH, file, 0);
                all = trib_client_submit(client, &death) && all;
            }
            return all ? 0 : 1;
        }));
    session.record();
    for (pid_t pid : builders)
        CHECK(status_of(pid) == 0);
    REQUIRE(session.recorder->close() == 0);

    std::map<uint64_t, unsigned> writes;
    unsigned deaths = 0;
    for (const trib_event &event : events_of(session.trace)) {
        if (event.kind == TRIB_EVENT_WRITE) {
            writes[event.file]++;
        } else {
            deaths++;
            if (writes[event.file] != 5)
                FAIL("file " << event.file << " died after " << writes[event.file] << " writes");
        }
    }
    CHECK(deaths == kBuilders * kSteps);
}

TEST_CASE("slots are used again, more often than there are") {
    Recording session;
    constexpr unsigned kRounds = 2600;
    for (unsigned i = 0; i < kRounds; i++) {
        trib_client *client = join(session.path);
        REQUIRE(client != nullptr);
        const trib_event event = event_of(TRIB_EVENT_WRITE, i + 1, 0);
        REQUIRE(trib_client_submit(client, &event));
        trib_client_close(client);
        if (i % 100 == 0)
            trib_pipeline_drain(session.recorder->get());
    }
    trib_pipeline_drain(session.recorder->get());
    trib_pipeline_drain(session.recorder->get()); // a second round gives the last slot back
    const trib_status status = session.recorder->status();
    CHECK(status.processes == kRounds);
    CHECK(status.processes_live == 0);
    CHECK(status.events == kRounds);
}

TEST_CASE("a full ring drops and the trace says how much") {
    Recording session(",process-ring=1024");
    trib_client *client = join(session.path);
    REQUIRE(client != nullptr);
    uint64_t refused_events = 0, refused_bytes = 0, accepted = 0;
    for (unsigned round = 1; round <= 3; round++) { // each is a gap of its own
        trib_event event = event_of(TRIB_EVENT_WRITE, 5, 0);
        event.length_bytes = round;
        for (unsigned i = 0; i < 30000; i++) {
            const bool is_taken = trib_client_submit(client, &event);
            accepted += is_taken;
            refused_events += !is_taken;
            refused_bytes += is_taken ? 0 : round;
        }
        trib_pipeline_drain(session.recorder->get());
        CHECK(session.recorder->status().bytes_dropped == refused_bytes);
        CHECK(session.recorder->status().lost_full == refused_events);
    }
    trib_client_close(client);
    REQUIRE(session.recorder->close() == 0);
    Gaps gaps;
    CHECK(events_of(session.trace, &gaps).size() == accepted);
    CHECK(refused_events > 0);
    CHECK(gaps.events == refused_events);
    CHECK(gaps.bytes == refused_bytes);
    CHECK(gaps.count >= 3);
}

TEST_CASE("the child of a fork joins for itself") {
    Session session;
    const pid_t parent = session.process([&] {
        trib_client *client = join(session.path);
        const pid_t child = process([&] {
            const trib_event event = event_of(TRIB_EVENT_WRITE, 2, 0);
            return trib_client_submit(client, &event) ? 0 : 1;
        });
        const bool child_did = status_of(child) == 0;
        const trib_event event = event_of(TRIB_EVENT_WRITE, 3, 0);
        return child_did && trib_client_submit(client, &event) ? 0 : 1;
    });
    session.record();
    CHECK(status_of(parent) == 0);
    REQUIRE(session.recorder->close() == 0);
    const std::vector<trib_event> events = events_of(session.trace);
    REQUIRE(events.size() == 2);
    CHECK(events[0].file == 2);
    CHECK(events[1].file == 3);
    CHECK(events[0].thread >> 12 != events[1].thread >> 12);
    CHECK(events[0].who.tenant == events[1].who.tenant);
}

static std::string open_descriptors() {
    std::string numbers;
    for (int fd = 0; fd < 64; fd++)
        numbers += fcntl(fd, F_GETFD) != -1 ? "1" : "0";
    return numbers;
}

TEST_CASE("joining leaves the process's descriptors alone, even with a full table, and no child to wait for") {
    Session session;
    const bool is_full = GENERATE(false, true), has_threads = kForksMayThread && GENERATE(false, true);
    INFO((is_full ? "a full table" : "a limit of three descriptors") << (has_threads ? ", beside a thread" : ""));
    const pid_t child = session.process([&] {
        trib_client *client = nullptr;
        if (trib_client_open(&client, session.path.c_str(), nullptr) != 0)
            return 1;
        if (has_threads)
            std::thread(pause).detach();
        const rlim_t most = is_full ? 40 : 3;
        const rlimit limit = {most, most};
        closefrom(0);
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            return 2;
        for (int fd = is_full ? open("/dev/null", O_RDONLY) : -1; fd >= 0;)
            fd = dup(fd);
        const std::string before = open_descriptors();
        const trib_event event = event_of(TRIB_EVENT_WRITE, 2, 0);
        if (!trib_client_submit(client, &event))
            return 3;
        const size_t opened = is_full ? most : 0;
        if (before != std::string(opened, '1') + std::string(64 - opened, '0') || open_descriptors() != before)
            return 4;
        return waitpid(-1, nullptr, __WALL) == -1 && errno == ECHILD ? 0 : 5;
    });
    session.record();
    const int status = status_of(child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a client that is closed leaves no mapping, whatever other threads do") {
    Session session;
    const auto mappings = [] {
        const std::string maps = trib_test::read_file("/proc/self/maps");
        size_t count = 0;
        for (size_t at = 0; (at = maps.find("memfd:tributary", at)) != std::string::npos; at++)
            count++;
        return count;
    };
    const pid_t pid = session.process([&] { // where the recorder makes no rings
        std::atomic<bool> end{!kForksMayThread};
        std::thread other;
        if (kForksMayThread)
            other = std::thread([&] {
                while (!end)
                    std::this_thread::yield();
            });
        const size_t before = mappings();
        unsigned joined = 0;
        for (int i = 0; i < 20; i++) {
            trib_client *client = join(session.path);
            joined += client && mappings() == before + 2; // the ring and the table
            trib_client_close(client);
        }
        const bool is_clean = joined == 20 && mappings() == before;
        end = true;
        if (other.joinable())
            other.join();
        return is_clean ? 0 : 1;
    });
    session.record();
    CHECK(status_of(pid) == 0);
}
