// SPDX-License-Identifier: Apache-2.0
// Sessions over real processes: nothing of a survivor is lost, whoever dies when; causes come before effects; no
// process waits for another or for the recorder.
#include "support/catch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ring/ring.h"
#include "support/client.hpp"
#include "support/folder.hpp"
#include "support/pipeline.hpp"
#include "trace/trace.h"

using trib_test::Folder;
using trib_test::join;
using trib_test::join_at;
using trib_test::Pipeline;

namespace {

// The thread sanitizer knows no threads in the child of a process with threads; ring_test has threads under it.
#ifdef __SANITIZE_THREAD__
constexpr bool kForksMayThread = false;
#else
constexpr bool kForksMayThread = true;
#endif

trib_event event_of(uint8_t kind, uint64_t file, uint64_t offset) {
    trib_event event{};
    event.kind = kind;
    event.file = file;
    event.offset_bytes = offset;
    event.length_bytes = kind == TRIB_EVENT_DEATH ? TRIB_LENGTH_TO_END : 100;
    event.cause = kind == TRIB_EVENT_DEATH ? TRIB_CAUSE_UNLINK : 0;
    event.stream = TRIB_STREAM_UNDECIDED;
    event.who.signature = file | 1;
    return event;
}

// A process of the session; `body` returns its exit status. _exit: no destructor of the test's may run twice.
pid_t process(const std::function<int()> &body) {
    const pid_t pid = fork();
    if (pid == 0)
        _exit(body());
    return pid;
}

int status_of(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

// Every event in the order of the trace.
struct Gaps {
    uint64_t count = 0, events = 0, bytes = 0;
};
std::vector<trib_event> events_of(const std::string &trace, Gaps *gaps = nullptr) {
    trib_trace_reader *reader = nullptr;
    trib_error error{};
    static trib_trace_item item;
    std::vector<trib_event> events;
    REQUIRE(trib_trace_reader_open(&reader, trace.c_str(), nullptr, &error) == 0);
    int rc;
    while ((rc = trib_trace_next(reader, &item, &error)) == 1) {
        if (item.kind == TRIB_TRACE_EVENT)
            events.push_back(item.event);
        else if (item.kind == TRIB_TRACE_GAP && gaps)
            gaps->count++, gaps->events += item.gap_events, gaps->bytes += item.gap_bytes;
    }
    CHECK(rc == 0);
    trib_trace_reader_close(reader);
    return events;
}

// Writes of `file` in the order of offset, so that the test sees what is missing and what is out of order.
bool submit_many(trib_client *client, uint64_t file, unsigned count) {
    bool all = true;
    for (unsigned i = 0; i < count; i++) {
        const trib_event event = event_of(TRIB_EVENT_WRITE, file, i * 100);
        all = trib_client_submit(client, &event) && all;
    }
    return all;
}

// A daemon in a process of its own, listening once this is made. `body` is its life after that; its exit status.
pid_t start_daemon(const std::string &address, const std::function<int(Pipeline &)> &body) {
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    const pid_t pid = process([&] {
        Pipeline pipeline("policy=none,drive=none,session=" + address, true);
        const char byte = pipeline.rc() == 0 ? '1' : '0';
        return write(ready[1], &byte, 1) == 1 ? body(pipeline) : 1;
    });
    char byte = '0';
    CHECK(read(ready[0], &byte, 1) == 1);
    close(ready[0]), close(ready[1]);
    REQUIRE(byte == '1');
    return pid;
}

// Its processes are made before the recorder, and wait for it: the child of a process with threads may find a lock of
// the address sanitizer's taken for ever.
class Session {
  public:
    Folder folder;
    std::string path = folder / "session", trace = folder / "trace.trib";
    std::unique_ptr<Pipeline> recorder;

    Session() {
        REQUIRE(pipe(gate_) == 0);
    }
    ~Session() {
        close(gate_[0]), close(gate_[1]);
    }
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    pid_t process(const std::function<int()> &body) {
        REQUIRE(recorder == nullptr);
        return ::process([&] {
            char byte;
            close(gate_[1]);
            return read(gate_[0], &byte, 1) == 0 ? body() : 255;
        });
    }
    void record(const std::string &more = "") {
        recorder =
            std::make_unique<Pipeline>("policy=pcstream,drive=none,session=" + path + ",trace=" + trace + more, true);
        INFO(recorder->error());
        REQUIRE(recorder->rc() == 0);
        close(gate_[1]);
        gate_[1] = -1;
    }

  private:
    int gate_[2] = {-1, -1}; // opens when its last writer is gone
};

// One that records from the start.
struct Recording : Session {
    explicit Recording(const std::string &more = "") {
        record(more);
    }
};

} // namespace

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

TEST_CASE("joining leaves the process's descriptors alone, even with a full table, and no child to wait for") {
    Session session;
    const pid_t child = session.process([&] {
        trib_client *client = nullptr;
        if (trib_client_open(&client, session.path.c_str(), nullptr) != 0)
            return 1;
        const rlimit none = {3, 3};
        closefrom(0);
        if (setrlimit(RLIMIT_NOFILE, &none) != 0)
            return 2;
        const trib_event event = event_of(TRIB_EVENT_WRITE, 2, 0);
        if (!trib_client_submit(client, &event))
            return 3;
        for (int fd = 0; fd < 64; fd++)
            if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
                return 4;
        return waitpid(-1, nullptr, __WALL) == -1 && errno == ECHILD ? 0 : 5;
    });
    session.record();
    const int status = status_of(child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a daemon that is killed costs events, and its processes join the next") {
    Folder folder;
    const std::string path = folder / "session";
    const pid_t recorder = start_daemon(path, [](Pipeline &) {
        pause();
        return 0;
    });
    trib_client *client = join(path);
    REQUIRE(client != nullptr);
    kill(recorder, SIGKILL);
    status_of(recorder);
    const trib_event event = event_of(TRIB_EVENT_WRITE, 2, 0);
    unsigned accepted = 0;
    while (accepted < 100000 && trib_client_submit(client, &event))
        accepted++;
    CHECK(accepted < 100000); // the ring is full at the latest
    trib_client *late = nullptr;
    CHECK(join_at(path, &late) == -ECONNREFUSED);

    Pipeline next("policy=none,drive=none,session=" + path, true); // takes the place of the dead
    REQUIRE(next.rc() == 0);
    bool taken = false;
    for (unsigned i = 0; i < 1000 && !(taken = next.status().processes == 1); i++) {
        trib_client_submit(client, &event);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    CHECK(taken);
    CHECK(next.status().joins_again == 1);
    const uint64_t before = next.status().events;
    CHECK(trib_client_submit(client, &event));
    trib_pipeline_drain(next.get());
    CHECK(next.status().events > before);
    CHECK(next.status().events_dropped >= accepted); // what the dead one never took
    CHECK(next.status().lost_alone == next.status().events_dropped);
    CHECK(next.status().bytes_dropped == next.status().events_dropped * 100);
    trib_client_close(client);
    CHECK(next.close() == 0);
    CHECK(access(path.c_str(), F_OK) != 0);
}

TEST_CASE("a daemon that is stopped holds up nobody, and takes what fitted when it goes on") {
    Folder folder;
    const std::string path = folder / "session";
    const pid_t recorder = start_daemon(path, [](Pipeline &pipeline) {
        for (unsigned i = 0; i < 2000 && pipeline.status().events < 10; i++)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return pipeline.status().events == 10 && pipeline.status().processes == 1 ? 0 : 1;
    });
    trib_client *client = join(path);
    REQUIRE(client != nullptr);
    kill(recorder, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(700)); // longer than its silence is taken for life
    const auto begin = std::chrono::steady_clock::now();
    CHECK(submit_many(client, 2, 10));
    trib_client *late = nullptr;
    CHECK(join_at(path, &late) == -ETIMEDOUT);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(1500));
    kill(recorder, SIGCONT);
    CHECK(WEXITSTATUS(status_of(recorder)) == 0);
    trib_client_close(client);
}

TEST_CASE("submit says so once the daemon has closed") {
    Recording session;
    trib_client *client = join(session.path);
    REQUIRE(client != nullptr);
    const trib_event event = event_of(TRIB_EVENT_WRITE, 2, 0);
    CHECK(trib_client_submit(client, &event));
    REQUIRE(session.recorder->close() == 0);
    CHECK_FALSE(trib_client_submit(client, &event));
    trib_client_close(client);
}

TEST_CASE("processes submit nothing while the daemon pauses") {
    Recording session;
    trib_client *client = join(session.path);
    REQUIRE(client != nullptr);
    const trib_event event = event_of(TRIB_EVENT_WRITE, 2, 0);
    trib_pipeline_pause(session.recorder->get(), true);
    CHECK_FALSE(trib_client_wanted(client));
    CHECK_FALSE(trib_client_submit(client, &event));
    trib_pipeline_pause(session.recorder->get(), false);
    CHECK(trib_client_wanted(client));
    CHECK(trib_client_submit(client, &event));
    trib_pipeline_drain(session.recorder->get());
    CHECK(session.recorder->status().events == 1);
    CHECK(session.recorder->status().events_dropped == 0);
    trib_client_close(client);
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

TEST_CASE("a socket in use is not taken over, and nothing else is one") {
    Recording session;
    Pipeline second("policy=none,drive=none,session=" + session.path, true);
    CHECK(second.rc() == -EADDRINUSE);
    trib_client *client = nullptr;
    CHECK(join_at(session.folder / "absent", &client) == -ENOENT);
    CHECK(join_at(session.trace, &client) == -ECONNREFUSED);
    CHECK(join_at("relative", &client) == -EINVAL);
    CHECK(join_at("/" + std::string(200, 'x'), &client) == -ENAMETOOLONG);
    Pipeline on_a_file("policy=none,drive=none,session=" + session.trace, true);
    CHECK(on_a_file.rc() == -EADDRINUSE);
    CHECK(access(session.trace.c_str(), F_OK) == 0);
    Pipeline replay("policy=none,drive=none,session=" + (session.folder / "other"));
    CHECK(replay.rc() == -EINVAL);
    Pipeline nameless("policy=none,drive=none", true);
    CHECK(nameless.rc() == -EINVAL);
}

TEST_CASE("only who is on the list may join") {
    if (geteuid() != 0)
        return; // another user cannot be had
    Session session;
    const auto joins_as_other = [&] {
        trib_client *client = nullptr;
        if (setgid(65534) != 0 || setuid(65534) != 0)
            return 1;
        return -join_at(session.path, &client);
    };
    chmod((session.folder / "").c_str(), 0755);
    int opened[2];
    REQUIRE(pipe(opened) == 0);
    const pid_t first = session.process(joins_as_other);
    const pid_t second = session.process([&] {
        char byte;
        return read(opened[0], &byte, 1) == 1 ? joins_as_other() : 1;
    });
    session.record();
    CHECK(WEXITSTATUS(status_of(first)) == EACCES);
    chmod(session.path.c_str(), 0666); // what the socket's mode lets in, the list keeps out
    CHECK(write(opened[1], "", 1) == 1);
    CHECK(WEXITSTATUS(status_of(second)) == EACCES);
    close(opened[0]), close(opened[1]);
    CHECK(session.recorder->status().joins_refused == 1);
    CHECK(session.recorder->status().processes == 0);
}

TEST_CASE("a context's stream is the policy's once its writes have been seen") {
    Recording session;
    trib_client *client = join(session.path);
    REQUIRE(client != nullptr);
    trib_context hot{};
    hot.signature = 77;
    CHECK(trib_client_place(client, &hot) == 0);
    // Two contexts whose lifetimes differ; pcstream gives them streams when it clusters.
    for (unsigned i = 0; i < 60; i++) {
        for (unsigned k = 0; k < 8; k++) {
            trib_event event = event_of(TRIB_EVENT_WRITE, 10, k * 100);
            event.length_bytes = 1 << 20;
            event.offset_bytes = 0;
            event.who = hot;
            while (!trib_client_submit(client, &event))
                std::this_thread::yield();
        }
        trib_pipeline_drain(session.recorder->get());
    }
    trib_context as_recorded = hot;
    const uint16_t expected = trib_pipeline_place(session.recorder->get(), &as_recorded);
    CHECK(expected != 0);
    CHECK(trib_client_place(client, &hot) == expected);
    trib_client_close(client);
}

TEST_CASE("a call path that the session has not met gets what the policy says of its kind") {
    Folder folder;
    const std::string path = folder / "session";
    Pipeline recorder("policy=manual,map=sqlite,drive=none,session=" + path, true); // databases: S2
    REQUIRE(recorder.rc() == 0);
    trib_client *client = join(path);
    REQUIRE(client != nullptr);
    trib_event event = event_of(TRIB_EVENT_WRITE, 3, 0);
    event.who.file_kind = TRIB_FILE_DATABASE;
    CHECK(trib_client_place(client, &event.who) == 0); // nothing was written yet
    REQUIRE(trib_client_submit(client, &event));
    trib_pipeline_drain(recorder.get());
    CHECK(trib_client_place(client, &event.who) == 2);
    event.who.signature = 4242;
    CHECK(trib_pipeline_place(recorder.get(), &event.who) == 2);
    CHECK(trib_client_place(client, &event.who) == 2);
    event.who.file_kind = TRIB_FILE_JOURNAL;
    CHECK(trib_client_place(client, &event.who) == 0);
    trib_client_close(client);
}
