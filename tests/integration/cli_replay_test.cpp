// SPDX-License-Identifier: Apache-2.0
// `trib replay` as its users run it: figures, refusals, exit codes.
#include "support/cli.hpp"
#include "support/pipeline.hpp"

using namespace trib_test;

namespace {

constexpr uint64_t MIB = 1 << 20;
const char *const DRIVE = "emulated,capacity=24M,op=15,superblock=128K";

trib_event write_event(uint64_t file, uint64_t offset, uint64_t length, uint64_t signature) {
    trib_event event{};
    event.file = file;
    event.offset_bytes = offset;
    event.length_bytes = length;
    event.who.signature = signature;
    event.who.file_kind = TRIB_FILE_SST;
    event.who.level = TRIB_LEVEL_UNKNOWN;
    event.who.io_activity = TRIB_ACTIVITY_UNKNOWN;
    event.stream = TRIB_STREAM_UNDECIDED;
    event.kind = TRIB_EVENT_WRITE;
    return event;
}

trib_event unlink_event(uint64_t file) {
    trib_event event = write_event(file, 0, TRIB_LENGTH_TO_END, 0);
    event.kind = TRIB_EVENT_DEATH;
    event.cause = TRIB_CAUSE_UNLINK;
    return event;
}

} // namespace

TEST_CASE("replay agrees with the library on the same events") {
    Folder folder;
    const auto events = write_trace(folder.file("t"), 300 * MIB);
    const Outcome outcome = trib({"replay", "--trace", folder.file("t"), "--policy", "pcstream", "--drive", DRIVE,
                                  "--set", "latency=on", "--json"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const Json json = outcome.json();

    Pipeline pipeline(std::string("policy=pcstream,latency=on,drive=") + DRIVE);
    INFO(pipeline.error());
    REQUIRE(pipeline.rc() == 0);
    for (const trib_event &event : events)
        REQUIRE(trib_pipeline_process(pipeline.get(), &event) == 0);
    const trib_status status = pipeline.status();
    trib_drive_report drive{};
    REQUIRE(trib_pipeline_drive(pipeline.get(), &drive) == 0);

    CHECK(json["command"] == "replay");
    CHECK(json["policy"] == "pcstream");
    CHECK(json["host_pages"] == drive.host_pages);
    CHECK(json["gc_pages"] == drive.gc_pages);
    CHECK(json["erases"] == drive.erases);
    CHECK(json["waf"].get<double>() == Approx(status.waf));
    CHECK(json["waf"].get<double>() > 1);
    CHECK(json["reclusterings"] == status.reclusterings);
    CHECK(json["virtual_seconds"].get<double>() == Approx(drive.virtual_seconds));
    CHECK(json["iops_sim"].get<double>() == Approx(double(drive.host_pages) / drive.virtual_seconds));
    CHECK(json["trace"]["events"] == events.size());
    CHECK(json["trace"]["host_bytes"] == status.clock_bytes);
}

TEST_CASE("streams and signatures account for every byte") {
    Folder folder;
    write_trace(folder.file("t"), 200 * MIB);
    const Json json =
        trib({"replay", "--trace", folder.file("t"), "--policy", "pcstream", "--drive", DRIVE, "--json"}).json();
    for (const char *list : {"streams", "signatures"}) {
        uint64_t written = 0, died = 0, live = 0;
        for (const Json &row : json[list]) {
            written += row["written_bytes"].get<uint64_t>();
            died += row["died_bytes"].get<uint64_t>();
            live += row["live_bytes"].get<uint64_t>();
        }
        INFO(list);
        CHECK(written == json["trace"]["host_bytes"]);
        CHECK(died + live == written);
        CHECK(died > 0);
        CHECK(live > 0);
    }
    uint64_t in_series = 0;
    for (const Json &point : json["series"])
        for (const Json &bytes : point["stream_bytes"])
            in_series += bytes.get<uint64_t>();
    CHECK(in_series == json["trace"]["host_bytes"]);
    CHECK(json["series"].size() > 150);
    CHECK(json["series"].size() <= 201);
    CHECK(json["series"].back()["waf"] == json["waf"]);
}

TEST_CASE("lifetimes are what the trace says") {
    // Ten files of 1 MiB from one writer, each dead once the next but two is written: 2 MiB more
    // each time.
    Folder folder;
    {
        TraceWriter trace(folder.file("t"));
        for (uint64_t file = 1; file <= 10; file++) {
            trace.event(write_event(file, 0, MIB, 0xAB));
            if (file >= 3)
                trace.event(unlink_event(file - 2));
        }
    }
    const Json json =
        trib({"replay", "--trace", folder.file("t"), "--policy", "none", "--drive", DRIVE, "--json"}).json();
    REQUIRE(json["signatures"].size() == 1);
    const Json &row = json["signatures"][0];
    CHECK(row["signature"] == "0x00000000000000ab");
    CHECK(row["who"]["file_kind"] == "sst");
    CHECK(row["died_bytes"] == 8 * MIB);
    CHECK(row["live_bytes"] == 2 * MIB);
    // From the clock at a file's write to the clock at its death three writes later.
    CHECK(row["lifetime"]["mean"].get<double>() == Approx(3.0 * MIB));
    for (const char *quantile : {"p10", "p50", "p90"})
        CHECK(row["lifetime"][quantile].get<double>() == Approx(3.0 * MIB).epsilon(0.016));
}

TEST_CASE("by address the lifetime of a block is counted in blocks that reached the drive") {
    Folder folder;
    {
        TraceWriter trace(folder.file("t"));
        for (int i = 0; i < 101; i++)
            trace.event(write_event(1, 0, 4096, 0xAB));
    }
    const Json json =
        trib({"replay", "--trace", folder.file("t"), "--policy", "sepbit", "--drive", DRIVE, "--json"}).json();
    uint64_t died = 0;
    for (const Json &stream : json["streams"]) {
        died += stream["died_bytes"].get<uint64_t>();
        if (stream["died_bytes"] > 0)
            CHECK(stream["lifetime"]["mean"] == 4096); // overwritten by the next
    }
    CHECK(died == 100 * 4096);
}

TEST_CASE("the summary is for people: 80 columns, the figures of the JSON") {
    Folder folder;
    write_trace(folder.file("t"), 200 * MIB);
    std::vector<std::string> arguments = {"replay",  "--trace", folder.file("t"), "--policy", "pcstream,salt=hint",
                                          "--drive", DRIVE,     "--gc",           "shared"};
    const Outcome text = trib(arguments);
    CHECK(text.code == 0);
    CHECK(text.err.empty());
    CHECK(widest_line(text.out) <= 80);
    CHECK_FALSE(has(text.out, "\033"));
    arguments.push_back("--json=" + folder.file("json"));
    const Outcome both = trib(arguments);
    CHECK(both.out == text.out);
    const Json json = Json::parse(read_file(folder.file("json")));
    CHECK(json["drive"]["gc"] == "shared");
    char waf[32];
    snprintf(waf, sizeof waf, "%.3f over the whole run", json["waf"].get<double>());
    CHECK(has(text.out, waf));
}

TEST_CASE("a drive that is too small: exit 3, and the size it asks for is enough") {
    Folder folder;
    write_trace(folder.file("t"), 200 * MIB);
    auto run = [&](const std::string &capacity) {
        return trib({"replay", "--trace", folder.file("t"), "--policy", "none", "--set",
                     "superblock=256K,cold=25,capacity=" + capacity});
    };
    const Outcome small = run("16M");
    check_refusal(small, 3);
    CHECK(has(small.err, "event "));
    const size_t at = small.err.find("choose capacity=");
    REQUIRE(at != std::string::npos);
    const std::string wanted = small.err.substr(at + 16, small.err.find(' ', at + 16) - at - 16);
    const Outcome enough = run(wanted);
    INFO(wanted << ": " << enough.err);
    CHECK(enough.code == 0);
}

TEST_CASE("a cut trace is refused with its offset, or replayed up to the cut") {
    Folder folder;
    write_trace(folder.file("t"), 200 * MIB);
    fs::resize_file(folder.file("t"), fs::file_size(folder.file("t")) * 2 / 3);
    const std::vector<std::string> arguments = {"replay",  "--trace", folder.file("t"), "--policy", "none",
                                                "--drive", DRIVE};
    const Outcome refused = trib(arguments);
    check_refusal(refused, 1);
    CHECK(has(refused.err, "offset"));
    CHECK(has(refused.err, "--truncated-ok"));
    std::vector<std::string> forgiving = arguments;
    forgiving.push_back("--truncated-ok");
    const Outcome replayed = trib(forgiving);
    CHECK(replayed.code == 0);
    CHECK(has(replayed.out, "the trace is cut"));
}

TEST_CASE("a damaged trace is refused even when cuts are forgiven") {
    Folder folder;
    write_trace(folder.file("t"), 200 * MIB);
    {
        std::fstream file(folder.file("t"), std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(5000);
        const char byte = static_cast<char>(file.get() ^ 0x40);
        file.seekp(5000);
        file.put(byte);
    }
    const Outcome outcome = trib({"replay", "--trace", folder.file("t"), "--policy", "none", "--truncated-ok"});
    check_refusal(outcome, 1);
    CHECK(has(outcome.err, "offset"));
}

TEST_CASE("foreign and missing files: exit 1") {
    Folder folder;
    std::ofstream(folder.file("text")) << "this is no trace, but it is long enough to have a header of one\n";
    check_refusal(trib({"replay", "--trace", folder.file("text"), "--policy", "none"}), 1);
    check_refusal(trib({"replay", "--trace", folder.file("absent"), "--policy", "none"}), 1);
    write_trace(folder.file("t"), MIB);
    const Outcome outcome = trib({"replay", "--trace", folder.file("t"), "--policy", "none", "--drive", DRIVE,
                                  "--json=" + folder.file("no/such/folder/x.json")});
    check_refusal(outcome, 1);
}

TEST_CASE("wrong usage: exit 2, and the sentence lists what is valid") {
    Folder folder;
    write_trace(folder.file("t"), MIB);
    const std::vector<std::string> start = {"replay", "--trace", folder.file("t")};
    const struct {
        std::vector<std::string> more;
        std::string lists;
    } cases[] = {
        {{"--policy", "nonesuch"}, "pcstream"},
        {{"--policy", "none", "--drive", "nonesuch"}, "emulated"},
        {{"--policy", "none", "--set", "colour=red"}, "capacity"},
        {{"--policy", "none", "--set", "preset=nonesuch"}, "pm963"},
        {{"--policy", "none", "--gc", "nonesuch"}, "shared"},
        {{"--policy", "none", "--set", "op"}, "key=value"},
        {{"--policy", "none", "--set", "trace=/dev/null"}, "replay"},
        {{"--policy", "none", "--colour"}, "--help"},
        {{}, "--policy"},
    };
    for (const auto &wrong : cases) {
        std::vector<std::string> arguments = start;
        arguments.insert(arguments.end(), wrong.more.begin(), wrong.more.end());
        const Outcome outcome = trib(arguments);
        INFO(outcome.err);
        check_refusal(outcome, 2);
        CHECK(has(outcome.err, wrong.lists));
    }
    check_refusal(trib({}), 2);
    check_refusal(trib({"nonesuch"}), 2);
}

TEST_CASE("the drive's state at the end adds up to the figures of the replay") {
    Folder folder;
    write_trace(folder.file("t"), 100 * MIB);
    const std::string dump = folder.file("dump.json");
    // So many streams on so few spare superblocks that some must share one.
    const Outcome outcome =
        trib({"replay", "--trace", folder.file("t"), "--policy", "manual", "--drive",
              "emulated,capacity=24M,op=5,superblock=256K", "--gc", "twin", "--dump", dump, "--json"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const Json replayed = outcome.json(), drive = Json::parse(read_file(dump));
    CHECK(drive["format"] == "tributary-drive-dump");
    CHECK(drive["geometry"]["gc"] == "twin");
    const Json &counters = drive["counters"];
    for (const char *same : {"host_pages", "gc_pages", "erases"})
        CHECK(counters[same] == replayed[same]);
    CHECK(counters["shared_pages"].get<uint64_t>() > 0);
    for (const char *there : {"misplaced_pages", "early_closes"})
        CHECK(counters[there].is_number_unsigned());
    uint64_t valid = 0;
    for (const Json &superblock : drive["superblocks"])
        valid += superblock.value("valid", uint64_t{0});
    CHECK(valid == counters["mapped_pages"]);
    CHECK(drive["superblocks"].size() == drive["geometry"]["superblocks"]);

    check_refusal(trib({"replay", "--trace", folder.file("t"), "--policy", "none", "--drive", "none", "--dump", dump}),
                  2);
    check_refusal(trib({"replay", "--trace", folder.file("t"), "--policy", "none", "--dump", "-"}), 2);
    check_refusal(trib({"replay", "--trace", folder.file("t"), "--policy", "none", "--drive", DRIVE, "--dump",
                        folder.file("no/such/folder")}),
                  1);
}

TEST_CASE("without a drive a replay only learns") {
    Folder folder;
    write_trace(folder.file("t"), 20 * MIB);
    const Outcome outcome =
        trib({"replay", "--trace", folder.file("t"), "--policy", "pcstream", "--drive", "none", "--json"});
    REQUIRE(outcome.code == 0);
    CHECK(outcome.json()["waf"].is_null());
    CHECK_FALSE(outcome.json().contains("drive"));
    CHECK(outcome.json()["signatures"].size() >= 3);
}
