// SPDX-License-Identifier: Apache-2.0
// Threads, forks, rings, mappings and signals at once: nothing crashes, and every byte is told. By itself ten seconds;
// TRIB_STRESS_SECONDS says otherwise (scripts and the sanitizers' ten minutes).
#include "support/catch.hpp"

#include "support/preload.hpp"

namespace {

using namespace trib_test;

void Stress(const std::string &seconds) {
    Folder folder, traces;
    const Outcome outcome = run_in_session({PRELOAD_STRESS, folder.file(""), seconds}, traces.file("trace"));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK(outcome.err.empty());
    const Said said = read_said(traces.file("trace"));
    uint64_t told = 0;
    std::string odd;
    for (const trib_event &event : said.events) {
        const auto name = said.names.find(event.file);
        const bool is_mapped = name != said.names.end() && name->second[0] == 'm';
        const bool is_output = name != said.names.end() && name->second == "out";
        if (event.kind == TRIB_EVENT_WRITE && !is_mapped && !is_output)
            told += event.length_bytes;
        if (event.length_bytes > 65536 && !is_mapped)
            odd += (name == said.names.end() ? "?" : name->second) + " " + line_of(event) + "\n";
    }
    INFO(odd); // larger than any write of the program
    const uint64_t written = std::stoull(outcome.out);
    CHECK(told <= written);
    CHECK(told + said.gap_bytes >= written); // what is missing is counted
    if (!said.has_gap)
        CHECK(told == written);
}

} // namespace

TEST_CASE("threads, forks, rings, mappings and signals") {
#ifdef __SANITIZE_THREAD__
    return skip("ThreadSanitizer does not know the threads and the memory of raw system calls");
#endif
    const char *seconds = getenv("TRIB_STRESS_SECONDS");
    Stress(seconds ? seconds : "10");
}
