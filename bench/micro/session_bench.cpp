// SPDX-License-Identifier: Apache-2.0
// What a recorded process pays: joining, and each event. The recorder runs beside it.
#include <chrono>
#include <cstdio>
#include <future>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <tributary/client.h>
#include <tributary/pipeline.h>

#include "support/measure.hpp"

namespace {

using namespace trib_bench;

trib_pipeline *pipeline;
trib_client *client;
trib_event event;
volatile uint64_t sink;

void Submit() {
    event.offset_bytes += event.length_bytes;
    sink = trib_client_submit(client, &event);
}

void Place() {
    sink = trib_client_place(client, &event.who);
}

template <class Call> void Figure(const char *name, Call call, const char *note) {
    const unsigned batch = 32, batches = 8000;
    for (int i = 0; i < 1000; i++)
        call();
    trib_pipeline_drain(pipeline);
    unsigned count = 0;
    std::vector<double> samples = NanosecondsPerCall(batches, batch, call, [&] {
        if (++count % 100 == 0)
            trib_pipeline_drain(pipeline); /* the ring must not fill: a drop is cheaper than a write */
    });
    Print(std::string(name) + "_p50", Percentile(samples, 0.5), "ns", batches * batch, note);
    Print(std::string(name) + "_p99", Percentile(samples, 0.99), "ns", batches * batch, note);
}

// A process that joins, as every process of a build does: the recorder is another, and rests in between.
int JoinFigure(const std::string &path, const std::string &name, const char *note) {
    const unsigned count = 1000;
    std::vector<double> samples;
    for (unsigned i = 0; i < count; i++) {
        trib_client *another;
        if (trib_client_open(&another, path.c_str(), nullptr))
            return 1;
        const double begin = Seconds();
        if (trib_client_join(another))
            return 1;
        samples.push_back((Seconds() - begin) * 1e6);
        trib_client_close(another);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    Print(name + "_p50", Percentile(samples, 0.5), "us", count, note);
    Print(name + "_p99", Percentile(samples, 0.99), "us", count, note);
    return 0;
}

int JoinFigures(const std::string &path, const std::string &options) {
    int ready[2], end[2];
    char byte = 0;
    trib_error error;
    if (pipe(ready) || pipe(end))
        return 1;
    const pid_t recorder = fork();
    if (recorder == 0) {
        close(end[1]);
        const int rc = trib_pipeline_open(&pipeline, options.c_str(), true, &error);
        (void)!write(ready[1], &byte, 1);
        (void)!read(end[0], &byte, 1);
        _exit(rc || trib_pipeline_close(pipeline));
    }
    close(end[0]);
    (void)!read(ready[0], &byte, 1);
    int rc = JoinFigure(path, "session_join_us", "in the process itself: socket, two mappings");
    std::promise<void> over;
    std::thread another([&over] { over.get_future().wait(); });
    rc |= JoinFigure(path, "session_join_threads_us", "in a thread aside, for the process has threads");
    over.set_value();
    another.join();
    close(end[1]);
    int status = 1;
    waitpid(recorder, &status, 0);
    return rc || status;
}

} // namespace

int main() {
    trib_error error;
    const std::string path = "/dev/shm/tributary-bench-" + std::to_string(getpid());
    const std::string options = "policy=pcstream,drive=none,trace=/dev/null,session=" + path;
    if (trib_pipeline_open(&pipeline, options.c_str(), true, &error) ||
        trib_client_open(&client, path.c_str(), &error) || trib_client_join(client)) {
        std::fprintf(stderr, "session_bench: %s\n", error.text);
        return 1;
    }
    event = SampleWrite();
    Figure("session_submit_ns", Submit, "clock and ring, recorder beside it; batches of 32");
    Figure("session_place_ns", Place, "the shared table");
    trib_status status;
    trib_pipeline_status(pipeline, &status);
    Print("session_dropped_events", static_cast<double>(status.events_dropped), "events", status.events);
    trib_client_close(client);
    return trib_pipeline_close(pipeline) || JoinFigures(path, options) ? 1 : 0;
}
