// SPDX-License-Identifier: Apache-2.0
// Sessions of a test's own: a recorder in this process, or in one of its own, and processes that join it.
#pragma once
#include "support/catch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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

namespace trib_test {

// The thread sanitizer knows no threads in the child of a process with threads; ring_test has threads under it.
#ifdef __SANITIZE_THREAD__
constexpr bool kForksMayThread = false;
#else
constexpr bool kForksMayThread = true;
#endif

inline trib_event event_of(uint8_t kind, uint64_t file, uint64_t offset) {
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
inline pid_t process(const std::function<int()> &body) {
    const pid_t pid = fork();
    if (pid == 0)
        _exit(body());
    return pid;
}

inline int status_of(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

// Every event in the order of the trace.
struct Gaps {
    uint64_t count = 0, events = 0, bytes = 0;
};
inline std::vector<trib_event> events_of(const std::string &trace, Gaps *gaps = nullptr) {
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
inline bool submit_many(trib_client *client, uint64_t file, unsigned count) {
    bool all = true;
    for (unsigned i = 0; i < count; i++) {
        const trib_event event = event_of(TRIB_EVENT_WRITE, file, i * 100);
        all = trib_client_submit(client, &event) && all;
    }
    return all;
}

// A daemon in a process of its own, listening once this is made. `body` is its life after that; its exit status.
inline pid_t start_daemon(const std::string &address, const std::function<int(Pipeline &)> &body) {
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
        return trib_test::process([&] {
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

} // namespace trib_test
