// SPDX-License-Identifier: Apache-2.0
// What a process of a session pays: joining, and each event. The recorder runs beside it, in this process.
#include <cstdio>
#include <string>
#include <unistd.h>

#include <tributary/pipeline.h>
#include <tributary/session.h>

#include "support/measure.hpp"

namespace {

using namespace trib_bench;

trib_pipeline *pipeline;
trib_producer *producer;
trib_event event;
volatile uint64_t sink;

void Submit() {
    event.offset_bytes += event.length_bytes;
    sink = trib_producer_submit(producer, &event);
}

void Place() { sink = trib_producer_place(producer, &event.who); }

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

// Leaving gives the ring back, so that from the second time on its memory is there, as in a build.
int JoinFigure(const std::string &path) {
    const unsigned count = 1000;
    std::vector<double> samples;
    for (unsigned i = 0; i < count; i++) {
        trib_producer *another;
        const double begin = Seconds();
        if (trib_producer_join(&another, path.c_str(), nullptr))
            return 1;
        samples.push_back((Seconds() - begin) * 1e6);
        trib_producer_leave(another);
        if (i % 100 == 99)
            trib_pipeline_drain(pipeline);
    }
    Print("session_join_us_p50", Percentile(samples, 0.5), "us", count, "file, slot, two mappings, /proc");
    Print("session_join_us_p99", Percentile(samples, 0.99), "us", count);
    return 0;
}

} // namespace

int main() {
    trib_error error;
    const std::string path = "/dev/shm/tributary-bench-" + std::to_string(getpid());
    const std::string options = "policy=pcstream,drive=none,trace=/dev/null,session=" + path;
    if (trib_pipeline_open(&pipeline, options.c_str(), true, &error) ||
        trib_producer_join(&producer, path.c_str(), &error)) {
        std::fprintf(stderr, "session_bench: %s\n", error.text);
        return 1;
    }
    event = SampleWrite();
    Figure("session_submit_ns", Submit, "clock and ring, recorder beside it; batches of 32");
    Figure("session_place_ns", Place, "table in the session file");
    trib_status status;
    trib_pipeline_status(pipeline, &status);
    Print("session_dropped_events", static_cast<double>(status.events_dropped), "events", status.events);
    const int rc = JoinFigure(path);
    trib_producer_leave(producer);
    return trib_pipeline_close(pipeline) || rc ? 1 : 0;
}
