// SPDX-License-Identifier: Apache-2.0
// `trib inspect`: what it says of traces and state files that the test made.
#include "support/cli.hpp"
#include "support/pipeline.hpp"

#include <map>

using namespace trib_test;

namespace trib_inspect_test {

// Two levels with names of their own, so that the frames can be recognised. Not static: the symbol
// must survive.
[[gnu::noinline]] uint64_t capture_here() {
    const uint64_t signature = trib_signature_capture(TRIB_FRAME_HERE(), 8);
    asm volatile("" ::: "memory"); // no tail call: the frame must stay
    return signature;
}
[[gnu::noinline]] uint64_t flush_of_the_test() {
    const uint64_t signature = capture_here();
    asm volatile("" ::: "memory");
    return signature;
}

} // namespace trib_inspect_test

namespace {

constexpr uint64_t MIB = 1 << 20;

std::vector<trib_event> signed_trace(const std::string &path, uint64_t signature) {
    TraceWriter trace(path);
    std::vector<trib_frame> frames(TRIB_SIGNATURE_DEPTH_MAX);
    const unsigned count = trib_signature_frames(signature, frames.data(), TRIB_SIGNATURE_DEPTH_MAX);
    REQUIRE(count > 0);
    REQUIRE(trib_trace_write_note(trace.get(), "made by a test") == 0);
    REQUIRE(trib_trace_write_signature(trace.get(), signature, frames.data(), count) == 0);
    FileEvents source(11, small_database());
    std::vector<trib_event> events = source.take(3000);
    for (trib_event &event : events) {
        if (event.who.signature == 0x52)
            event.who.signature = signature;
        trace.event(event);
    }
    REQUIRE(trib_trace_write_gap(trace.get(), 17, 4096) == 0);
    return events;
}

} // namespace

TEST_CASE("inspect tells what a trace holds") {
    Folder folder;
    const uint64_t signature = trib_inspect_test::flush_of_the_test();
    REQUIRE(signature != TRIB_SIGNATURE_UNKNOWN);
    const auto events = signed_trace(folder.file("t"), signature);

    SECTION("as JSON") {
        const Outcome outcome = trib({"inspect", folder.file("t"), "--json"});
        INFO(outcome.err);
        REQUIRE(outcome.code == 0);
        const Json json = outcome.json();
        std::map<uint8_t, uint64_t> kinds;
        uint64_t host_bytes = 0, signed_bytes = 0;
        for (const trib_event &event : events) {
            kinds[event.kind]++;
            if (event.kind != TRIB_EVENT_WRITE)
                continue;
            host_bytes += event.length_bytes;
            signed_bytes += event.who.signature == signature ? event.length_bytes : 0;
        }
        CHECK(json["kind"] == "trace");
        CHECK(json["trace"]["events"] == events.size());
        CHECK(json["trace"]["host_bytes"] == host_bytes);
        CHECK(json["events"]["write"] == kinds[TRIB_EVENT_WRITE]);
        CHECK(json["events"]["death"] == kinds[TRIB_EVENT_DEATH]);
        CHECK(json["notes"][0] == "made by a test");
        REQUIRE(json["gaps"].size() == 1);
        CHECK(json["gaps"][0]["dropped_events"] == 17);
        CHECK(json["trace"]["dropped_bytes"] == 4096);

        char text[32];
        snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(signature));
        bool found = false;
        for (const Json &row : json["signatures"]) {
            if (row["signature"] != text)
                continue;
            found = true;
            CHECK(row["written_bytes"] == signed_bytes);
            REQUIRE(row["frames"].size() >= 2);
            CHECK(has(row["frames"][0], "cli_inspect_test!trib_inspect_test::flush_of_the_test+0x"));
        }
        CHECK(found);
        uint64_t by_kind = 0;
        for (const Json &row : json["file_kinds"])
            by_kind += row["written_bytes"].get<uint64_t>();
        CHECK(by_kind == host_bytes);
    }
    SECTION("as tables of 80 columns") {
        const Outcome outcome = trib({"inspect", folder.file("t")});
        REQUIRE(outcome.code == 0);
        for (const std::string &line : lines_of(outcome.out))
            if (line.rfind("    ", 0) != 0) // frames are as long as their names
                CHECK(line.size() <= 80);
        for (const char *part : {"made by a test", "wal", "sst", "manifest", "flush_of_the_test", "17 events"}) {
            INFO(part);
            CHECK(has(outcome.out, part));
        }
    }
    SECTION("event by event") {
        const Outcome all = trib({"inspect", folder.file("t"), "--events", "--json"});
        size_t seen = 0;
        for (const std::string &line : lines_of(all.out)) {
            const Json item = Json::parse(line);
            if (item["item"] != "event")
                continue;
            REQUIRE(seen < events.size());
            CHECK(item["clock_bytes"] == events[seen].clock_bytes);
            if (events[seen].length_bytes == TRIB_LENGTH_TO_END)
                CHECK(item["length_bytes"] == "end");
            else
                CHECK(item["length_bytes"] == events[seen].length_bytes);
            seen++;
        }
        CHECK(seen == events.size());
        const Outcome few = trib({"inspect", folder.file("t"), "--events", "--limit", "5", "--json"});
        size_t limited = 0;
        for (const std::string &line : lines_of(few.out))
            limited += Json::parse(line)["item"] == "event";
        CHECK(limited == 5);
        const Outcome text = trib({"inspect", folder.file("t"), "--events"});
        CHECK(lines_of(text.out).size() == lines_of(all.out).size());
    }
}

TEST_CASE("the peak of live data is that of all times, not of the end") {
    Folder folder;
    {
        TraceWriter trace(folder.file("t"));
        trib_event event{};
        event.kind = TRIB_EVENT_WRITE;
        event.stream = TRIB_STREAM_UNDECIDED;
        event.file = 1;
        event.length_bytes = 3 * MIB;
        trace.event(event);
        event.kind = TRIB_EVENT_DEATH;
        event.cause = TRIB_CAUSE_UNLINK;
        event.length_bytes = TRIB_LENGTH_TO_END;
        trace.event(event);
        event.kind = TRIB_EVENT_WRITE;
        event.cause = TRIB_CAUSE_NONE;
        event.file = 2;
        event.length_bytes = MIB;
        trace.event(event);
    }
    const Json json = trib({"inspect", folder.file("t"), "--json"}).json();
    CHECK(json["trace"]["peak_live_bytes"] == 3 * MIB);
    CHECK(json["trace"]["host_bytes"] == 4 * MIB);
}

TEST_CASE("a truncated file ends where it was cut: a death up to there takes its last block along") {
    Folder folder;
    {
        TraceWriter trace(folder.file("t"));
        const auto add = [&](uint8_t kind, uint64_t file, uint64_t offset, uint64_t length, uint8_t cause) {
            trib_event event{};
            event.kind = kind;
            event.stream = TRIB_STREAM_UNDECIDED;
            event.file = file;
            event.offset_bytes = offset;
            event.length_bytes = length;
            event.cause = cause;
            trace.event(event);
        };
        add(TRIB_EVENT_WRITE, 1, 0, 12288, TRIB_CAUSE_NONE);
        add(TRIB_EVENT_DEATH, 1, 5000, TRIB_LENGTH_TO_END, TRIB_CAUSE_TRUNCATE);
        add(TRIB_EVENT_DEATH, 1, 0, 5000, TRIB_CAUSE_TRIM);
        add(TRIB_EVENT_WRITE, 2, 0, 16384, TRIB_CAUSE_NONE);
    }
    CHECK(trib({"inspect", folder.file("t"), "--json"}).json()["trace"]["peak_live_bytes"] == 16384);
}

TEST_CASE("inspect refuses damaged traces and forgives a cut on request") {
    Folder folder;
    write_trace(folder.file("t"), 100 * MIB);
    fs::resize_file(folder.file("t"), fs::file_size(folder.file("t")) / 2);
    check_refusal(trib({"inspect", folder.file("t")}), 1);
    const Outcome forgiven = trib({"inspect", folder.file("t"), "--truncated-ok", "--json"});
    REQUIRE(forgiven.code == 0);
    CHECK(forgiven.json()["trace"]["truncated"] == true);
    CHECK(forgiven.json()["trace"]["events"] > 0);
    check_refusal(trib({"inspect", folder.file("absent")}), 1);
}

TEST_CASE("inspect reads a recording of several files as one, and says why it stopped and what is gone") {
    Folder folder;
    trib_trace_limits limits = TRIB_TRACE_LIMITS_DEFAULT;
    limits.max_bytes = TRIB_TRACE_MAX_BYTES_MIN;
    limits.floor_bytes = 0;
    trib_trace_writer *writer = nullptr;
    REQUIRE(trib_trace_writer_open_within(&writer, folder.file("t").c_str(), &limits, nullptr) == 0);
    FileEvents source(5, small_database());
    uint64_t events = 0;
    for (; !fs::exists(folder.file("t.2")) && events < 3000000; events++) {
        const trib_event event = source.next();
        REQUIRE(trib_trace_write(writer, &event) == 0);
    }
    std::ofstream(folder.file("t.3")) << "somebody's, in the way of the next rotation";
    int rc = 0;
    for (; rc == 0 && events < 3000000; events += rc == 0) {
        const trib_event event = source.next();
        rc = trib_trace_write(writer, &event);
    }
    REQUIRE(rc == -EEXIST);
    REQUIRE(trib_trace_writer_close(writer) == -EEXIST);
    const Json whole = trib({"inspect", folder.file("t"), "--json"}).json()["trace"];
    CHECK(whole["events"] == events);
    CHECK(whole["stopped"].get<std::string>().find("new file") != std::string::npos);
    CHECK_FALSE(whole.contains("files_missing"));
    fs::remove(folder.file("t.2"));
    const Outcome rest = trib({"inspect", folder.file("t"), "--json"});
    CHECK(rest.json()["trace"]["files_missing"] == 1);
    CHECK(rest.json()["trace"]["events"] < events);
    CHECK(rest.err == "trib: " + folder.file("t") + ": the first file of this recording is gone\n"); // said once
}

TEST_CASE("inspect tells what a state file holds, and leaves it alone") {
    Folder folder;
    const std::string path = folder.file("state");
    trib_status status{};
    {
        Pipeline pipeline("policy=pcstream,drive=none,runs=65536,state=" + path);
        INFO(pipeline.error());
        REQUIRE(pipeline.rc() == 0);
        FileEvents source(5, small_database());
        for (const trib_event &event : source.take(4000))
            REQUIRE(trib_pipeline_process(pipeline.get(), &event) == 0);
        status = pipeline.status();
        REQUIRE(pipeline.close() == 0);
    }
    const std::string before = read_file(path);
    const Outcome outcome = trib({"inspect", path, "--json"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const Json json = outcome.json();
    CHECK(json["kind"] == "state");
    CHECK(json["clock_bytes"] == status.clock_bytes);
    CHECK(json["live_bytes"] == status.live_bytes);
    CHECK(json["rows"].size() == status.attributes);
    uint64_t written = 0;
    for (const Json &row : json["rows"])
        written += row["written_bytes"].get<uint64_t>();
    CHECK(written == status.clock_bytes);
    CHECK(read_file(path) == before);

    const Outcome text = trib({"inspect", path});
    CHECK(text.code == 0);
    CHECK(widest_line(text.out) <= 80);
    check_refusal(trib({"inspect", path, "--events"}), 2);

    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(20).write("\xff\xff\xff\xff", 4);
    check_refusal(trib({"inspect", path}), 1);
}
