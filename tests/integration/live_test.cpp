// SPDX-License-Identifier: Apache-2.0
// The live half: a live run equals the replay of its own trace, nothing is lost unnoticed, and nothing that fails
// behind the ring ever reaches the engine.
#include "support/catch.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "log/log.h"
#include "support/client.hpp"
#include "support/events.hpp"
#include "support/folder.hpp"
#include "support/pipeline.hpp"
#include "trace/trace.h"

using trib_test::Folder;
using trib_test::join;
using trib_test::Pipeline;

namespace {

const std::string kDrive = trib_test::Drive("512M");

std::string TempPath(const char *name) {
    return "/tmp/tributary-" + std::to_string(getpid()) + "-" + name;
}

struct Counts {
    uint64_t events = 0, gap_events = 0, gap_bytes = 0, names = 0;
};

// Replays a trace into a pipeline as `trib replay` does.
Counts Replay(const std::string &path, trib_pipeline *pipeline) {
    trib_trace_reader *reader = nullptr;
    trib_error error{};
    Counts counts;
    INFO(error.text);
    REQUIRE(trib_trace_reader_open(&reader, path.c_str(), nullptr, &error) == 0);
    static trib_trace_item item;
    int rc;
    while ((rc = trib_trace_next(reader, &item, &error)) == 1) {
        if (item.kind == TRIB_TRACE_EVENT) {
            counts.events++;
            if (pipeline)
                REQUIRE(trib_pipeline_process(pipeline, &item.event) == 0);
        } else if (item.kind == TRIB_TRACE_GAP) {
            counts.gap_events += item.gap_events;
            counts.gap_bytes += item.gap_bytes;
            if (pipeline)
                trib_pipeline_skip(pipeline, item.gap_bytes);
        } else if (item.kind == TRIB_TRACE_NAME) {
            counts.names++;
        }
    }
    CHECK(rc == 0);
    trib_trace_reader_close(reader);
    return counts;
}

} // namespace

TEST_CASE("a live run equals the replay of its own trace") {
    Folder folder;
    const std::string path = TempPath("live.trib"), socket = folder / "socket";
    for (const char *policy : {"policy=none", "policy=pcstream,gc=twin", "policy=rocksdb-hints,gc=shared"}) {
        const std::string options = kDrive + "," + policy;
        Pipeline live(options + ",session=" + socket + ",trace=" + path, true);
        INFO(options << ": " << live.error());
        REQUIRE(live.rc() == 0);
        trib_client *client = join(socket);
        REQUIRE(client != nullptr);
        trib_test::FileEvents events(5);
        for (int i = 0; i < 60000; i++) {
            const trib_event event = events.next();
            if (i % 50 == 0)
                trib_client_name_file(client, event.file, "some/file");
            while (!trib_client_submit(client, &event))
                std::this_thread::yield();
        }
        trib_client_close(client);
        trib_pipeline_drain(live.get());
        const trib_status a = live.status();
        REQUIRE(live.close() == 0);

        Pipeline replay(options);
        REQUIRE(replay.rc() == 0);
        const Counts counts = Replay(path, replay.get());
        const trib_status b = replay.status();
        CHECK(a.host_pages > 50000);
        CHECK(a.host_pages == b.host_pages);
        CHECK(a.gc_pages == b.gc_pages);
        CHECK(a.erases == b.erases);
        CHECK(a.waf == b.waf);
        CHECK(a.clock_bytes == b.clock_bytes);
        CHECK(a.reclusterings == b.reclusterings);
        CHECK(counts.names > 0);
    }
    unlink(path.c_str());
}

TEST_CASE("a full ring drops, counts, and tells the trace and the clock") {
    Folder folder;
    const std::string path = TempPath("gap.trib"), socket = folder / "socket";
    Pipeline live("policy=none,drive=none,process-ring=1024,session=" + socket + ",trace=" + path, true);
    REQUIRE(live.rc() == 0);
    trib_client *client = join(socket);
    REQUIRE(client != nullptr);
    uint64_t accepted = 0, refused = 0, bytes = 0;
    for (int i = 0; i < 200000; i++) {
        trib_event event{};
        event.kind = TRIB_EVENT_WRITE;
        event.file = 9;
        event.offset_bytes = static_cast<uint64_t>(i) * 100;
        event.length_bytes = 100;
        event.who.signature = 3;
        event.stream = TRIB_STREAM_UNDECIDED;
        trib_client_submit(client, &event) ? accepted++ : refused++;
        bytes += 100;
    }
    trib_pipeline_drain(live.get());
    // Drops after the last event reach the clock at the next poll.
    for (int i = 0; i < 1000 && live.status().clock_bytes < bytes; i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const trib_status status = live.status();
    REQUIRE(live.close() == 0);
    CHECK(refused > 0);
    CHECK(status.events == accepted);
    CHECK(status.events_dropped == refused);
    CHECK(status.bytes_dropped == refused * 100);
    CHECK(status.clock_bytes == bytes);
    const Counts counts = Replay(path, nullptr);
    CHECK(counts.events == accepted);
    CHECK(counts.gap_events == refused);
    CHECK(counts.gap_bytes == refused * 100);
    unlink(path.c_str());
}

TEST_CASE("many threads submit at once and nothing is lost or torn") {
    constexpr uint64_t kThreads = 4, kEach = 50000;
    Folder folder;
    Pipeline live("policy=pcstream,drive=none,process-ring=262144,session=" + (folder / "socket"), true);
    REQUIRE(live.rc() == 0);
    trib_client *client = join(folder / "socket");
    REQUIRE(client != nullptr);
    std::vector<std::thread> threads;
    std::atomic<uint64_t> refused{0};
    for (uint64_t t = 0; t < kThreads; t++)
        threads.emplace_back([&, t] {
            for (uint64_t i = 0; i < kEach; i++) {
                trib_event event{};
                event.kind = TRIB_EVENT_WRITE;
                event.file = t + 1;
                event.offset_bytes = i * 10;
                event.length_bytes = 10;
                event.who.signature = t + 1;
                event.stream = TRIB_STREAM_UNDECIDED;
                if (!trib_client_submit(client, &event))
                    refused++;
                (void)trib_pipeline_place(live.get(), &event.who);
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    trib_pipeline_drain(live.get());
    const trib_status status = live.status();
    CHECK(status.events + refused == kThreads * kEach);
    CHECK(status.live_bytes == (kThreads * kEach - refused) * 10);
    CHECK(status.attributes == kThreads);
}

TEST_CASE("a disk that is full stops the trace, not the program") {
    Folder folder;
    Pipeline live("policy=none,drive=none,trace=/dev/full,session=" + (folder / "socket"), true);
    INFO(live.error());
    if (live.rc()) { // refused at open is as good: then nothing runs behind the engine's back
        CHECK(live.rc() < 0);
        return;
    }
    trib_event event{};
    event.kind = TRIB_EVENT_WRITE;
    event.file = 1;
    event.length_bytes = 4096;
    event.stream = TRIB_STREAM_UNDECIDED;
    trib_client *client = join(folder / "socket");
    REQUIRE(client != nullptr);
    for (int i = 0; i < 100000; i++, event.offset_bytes += 4096)
        while (!trib_client_submit(client, &event))
            std::this_thread::yield();
    trib_pipeline_drain(live.get());
    CHECK(live.status().events == 100000);
    CHECK(live.status().trace_errors == 1); // what it refuses after that is no error of its own
    CHECK(live.close() == -ENOSPC);
}
