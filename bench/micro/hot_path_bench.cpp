// SPDX-License-Identifier: Apache-2.0
// What a write pays: capture of the call path and the hand-over to the daemon, together and alone. The recorder and the
// maintenance thread run beside it, in this process. The design's bar: 60 ns median, 250 ns p99.
#include <cstdio>
#include <string>
#include <unistd.h>

#include <tributary/client.h>
#include <tributary/pipeline.h>
#include <tributary/signature.h>

#include "support/measure.hpp"

namespace {

using namespace trib_bench;

trib_pipeline *pipeline;
trib_client *client;
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

[[gnu::noinline]] void Capture() {
    sink = trib_signature_capture(TRIB_FRAME_HERE(), 12);
}

[[gnu::noinline]] void Place() {
    sink = trib_client_place(client, &event.who);
}

[[gnu::noinline]] void Submit() {
    event.offset_bytes += event.length_bytes;
    sink = trib_client_submit(client, &event);
}

[[gnu::noinline]] void Everything() {
    event.who.signature = trib_signature_capture(TRIB_FRAME_HERE(), 12);
    event.offset_bytes += event.length_bytes;
    sink = trib_client_submit(client, &event);
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
    const std::string address = "/tmp/tributary-bench-" + std::to_string(getpid()) + ".sock";
    const std::string options = "policy=pcstream,drive=none,process-ring=131072,trace=/dev/null,session=" + address;
    if (trib_pipeline_open(&pipeline, options.c_str(), true, &error) ||
        trib_client_open(&client, address.c_str(), &error) || trib_client_join(client)) {
        std::fprintf(stderr, "hot_path_bench: %s\n", error.text);
        return 1;
    }
    event = SampleWrite();
    Figure("write_capture_ns", Capture, "depth 12, 16 frames");
    Figure("write_place_ns", Place, "the stream, read from the shared table");
    Figure("write_submit_ns", Submit, "clock and ring, recorder and maintenance thread beside it");
    Figure("write_total_ns", Everything, "capture at depth 12 + submit; batches of 32");
    trib_status status;
    trib_pipeline_status(pipeline, &status);
    Print("write_dropped_events", static_cast<double>(status.events_dropped), "events", status.events);
    return trib_pipeline_close(pipeline) ? 1 : 0;
}
