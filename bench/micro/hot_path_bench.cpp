// SPDX-License-Identifier: Apache-2.0
// What a write pays: capture of the call path, the decision, and the submission to the ring, together and alone. The
// recorder and the maintenance thread run beside it, as in a live engine. The design's bar: 60 ns median.
#include <cstdio>

#include <tributary/pipeline.h>
#include <tributary/signature.h>

#include "support/measure.hpp"

namespace {

using namespace trib_bench;

trib_pipeline *pipeline;
trib_event event;
volatile uint64_t sink;

// A call path of plausible depth, so that capture has twelve frames to look at.
template <int Depth> [[gnu::noinline]] void Deep(void (*body)()) {
    volatile char frame[16 + Depth % 5 * 16];
    frame[0] = static_cast<char>(Depth);
    if constexpr (Depth == 0)
        body();
    else
        Deep<Depth - 1>(body);
    frame[1] = frame[0];
}

[[gnu::noinline]] void Capture() { sink = trib_signature_capture(TRIB_FRAME_HERE(), 12); }

[[gnu::noinline]] void Place() { sink = trib_pipeline_place(pipeline, &event.who); }

[[gnu::noinline]] void Submit() {
    event.offset_bytes += event.length_bytes;
    sink = trib_pipeline_submit(pipeline, &event);
}

[[gnu::noinline]] void Everything() {
    event.who.signature = trib_signature_capture(TRIB_FRAME_HERE(), 12);
    event.stream = trib_pipeline_place(pipeline, &event.who);
    event.offset_bytes += event.length_bytes;
    sink = trib_pipeline_submit(pipeline, &event);
}

void Figure(const char *name, void (*call)(), const char *note) {
    static void (*current)();
    static std::vector<double> samples;
    current = call;
    Deep<14>([] {
        for (int i = 0; i < 1000; i++)
            current();
        trib_pipeline_drain(pipeline);
        unsigned count = 0;
        samples = NanosecondsPerCall(8000, 32, current, [&] {
            if (++count % 1000 == 0)
                trib_pipeline_drain(pipeline); /* the ring must not fill: a drop is cheaper than a write */
        });
    });
    const uint64_t calls = samples.size() * 32;
    Print(std::string(name) + "_p50", Percentile(samples, 0.5), "ns", calls, note);
    Print(std::string(name) + "_p99", Percentile(samples, 0.99), "ns", calls, note);
}

} // namespace

int main() {
    trib_error error;
    if (trib_pipeline_open(&pipeline, "policy=pcstream,drive=none,trace=/dev/null", true, &error)) {
        std::fprintf(stderr, "hot_path_bench: %s\n", error.text);
        return 1;
    }
    event = SampleWrite();
    Figure("write_capture_ns", Capture, "depth 12, 16 frames");
    Figure("write_place_ns", Place, "pcstream, row found by key");
    Figure("write_submit_ns", Submit, "ring, recorder and maintenance thread beside it");
    Figure("write_total_ns", Everything, "capture at depth 12 + place + submit; batches of 32");
    trib_status status;
    trib_pipeline_status(pipeline, &status);
    Print("write_dropped_events", static_cast<double>(status.events_dropped), "events", status.events);
    return trib_pipeline_close(pipeline) ? 1 : 0;
}
