// SPDX-License-Identifier: Apache-2.0
// `trib` on everything that is no trace of ours: experiments, compressed traces, public traces.
#include "support/cli.hpp"

#include <fstream>
#include <random>
#include <regex>

using namespace trib_test;

namespace {

constexpr uint64_t MIB = 1 << 20;
const std::string FIXTURES = std::string(TRIB_SOURCE_DIR) + "/tests/fixtures/import/";
const std::string EXPERIMENTS = std::string(TRIB_SOURCE_DIR) + "/bench/experiments/";

void write_text(const std::string &path, const std::string &text) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    REQUIRE(out.good());
}

std::string experiment(const std::string &workload, const std::string &more = "") {
    return "# a comment\n[workload]\n" + workload +
           "\n[drive]\nfill = 80\ncold = 0\nop = 20\nsuperblock = 128K\nstreams = 4\n" + more +
           "\n[run]\ncapacities = 5\n";
}

Json replay(const std::string &trace, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"replay", "--trace", trace, "--policy", "none", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = trib(arguments);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return Json::parse(outcome.out);
}

// A public trace of 4-KiB writes at random over 8 MiB, far apart from each other in two volumes.
std::string alibaba(size_t writes) {
    std::mt19937_64 random(1);
    std::string text;
    for (size_t i = 0; i < writes; i++)
        text += std::to_string(7 + random() % 2) + ",W," + std::to_string((1ull << 40) + random() % 1024 * 4096) +
                ",4096," + std::to_string(1000000 + i) + "\n";
    return text;
}

} // namespace

TEST_CASE("an experiment brings its work and its drive, and the user wins") {
    Folder folder;
    const std::string file = folder.file("hot.ini");
    write_text(file, experiment("name = hotcold\nsize = 8M\nseed = 3"));
    const Json json = replay(file);
    CHECK(json["drive"]["capacity_bytes"] == 10 * MIB);
    CHECK(json["drive"]["reclaim_unit_bytes"] == 128 * 1024);
    CHECK(json["drive"]["streams"] == 4);
    CHECK(json["trace"]["host_bytes"] == (8 + 5 * 10) * MIB);
    CHECK(json["waf_steady"].get<double>() > 1.1);
    CHECK(replay(file)["waf"] == json["waf"]);
    CHECK(replay(file, {"--drive", "emulated,superblock=256K"})["drive"]["reclaim_unit_bytes"] == 256 * 1024);

    const Outcome outcome = trib({"compare", "--trace", file, "--policy", "none", "--policy", "sepbit", "--gc", "same",
                                  "--superblock", "256K", "--json"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const Json table = Json::parse(outcome.out);
    CHECK(table["drive"]["capacity_bytes"] == 10 * MIB);
    CHECK(table["drive"]["reclaim_unit_bytes"] == 256 * 1024);
    CHECK(table["rows"].size() == 2);
}

TEST_CASE("wrong experiments are refused with a sentence that says what is valid") {
    Folder folder;
    const std::string file = folder.file("wrong.ini");
    auto refusal = [&](const std::string &text) {
        write_text(file, text);
        const Outcome outcome = trib({"replay", "--trace", file, "--policy", "none"});
        CHECK(outcome.code != 0);
        CHECK(lines_of(outcome.err).size() == 1);
        return outcome.err;
    };
    CHECK(has(refusal(experiment("size = 8M")), "needs a name"));
    CHECK(has(refusal(experiment("name = zip\nsize = 8M")), "valid are partitions"));
    CHECK(has(refusal(experiment("name = zipf\nsize = 8M\nexponnt = 1")), "exponent"));
    CHECK(has(refusal(experiment("name = zipf")), "needs a size"));
    CHECK(has(refusal(experiment("name = zipf\nsize = 8M\nhost = 1G")), "once"));
    CHECK(has(refusal(experiment("name = zipf\nsize = 8M", "fill = 70")), "twice"));
    CHECK(has(refusal(experiment("name = zipf\nsize = 8M", "[drvie]\nop = 7")), "valid are"));
    CHECK(has(refusal(experiment("name = zipf\nsize = 8M", "coldd = 7")), "coldd"));
    CHECK(has(refusal("[workload]\nname zipf\n"), "line 2"));
    CHECK(has(refusal(""), "exactly one of"));
    CHECK(has(refusal("[engine]\nnum = 1\n"), "bench/demo"));
    CHECK(has(trib({"replay", "--trace", folder.file("none.ini"), "--policy", "none"}).err, "no experiment at"));
}

std::string text_of(const std::string &path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

// Its trace is too large to be kept with the sources; bench/loads/record makes it.
bool needs_recording(const fs::path &path) {
    const std::string text = text_of(path);
    std::smatch file;
    return has(text, "[load]") && std::regex_search(text, file, std::regex("\\nfile = (.*)\n")) &&
           !fs::exists(path.parent_path() / file[1].str());
}

// What a program wrote while it was recorded sizes its drive; the pages that tell of it say so where it is little.
bool is_recorded_program(const fs::path &path) {
    return has(text_of(path), "[load]");
}

TEST_CASE("every committed experiment loads and keeps to its regime") {
    size_t count = 0;
    for (const auto &entry : fs::recursive_directory_iterator(EXPERIMENTS)) {
        const std::string path = entry.path().string();
        if (entry.path().extension() != ".ini" || entry.path().filename().string().rfind("demo", 0) == 0)
            continue;
        INFO(path);
        if (needs_recording(path))
            continue;
        const Json json = replay(path);
        const Json &drive = json["drive"];
        const double capacity = drive["capacity_bytes"], host = json["trace"]["host_bytes"];
        const bool recorded = is_recorded_program(path);
        CHECK(drive["reclaim_units"] >= (recorded ? 128 : 200));
        CHECK(host / capacity >= (recorded ? 2.5 : 4.5));
        CHECK(json["trace"]["dropped_events"] == 0);
        count++;
    }
    CHECK(count >= 17);
}

TEST_CASE("compressed traces give what the plain ones give") {
    Folder folder;
    const std::string plain = folder.file("t.trib");
    write_trace(plain, 40 * MIB);
    const Json expected = replay(plain);
    for (const auto &[command, ending] : {std::pair{"zstd -q", ".zst"}, std::pair{"gzip", ".gz"}}) {
        const std::string packed = plain + ending;
        REQUIRE(std::system((std::string(command) + " -c " + plain + " > " + packed).c_str()) == 0);
        CHECK(replay(packed)["gc_pages"] == expected["gc_pages"]);
        CHECK(replay(packed)["waf"] == expected["waf"]);
        fs::resize_file(packed, fs::file_size(packed) / 2);
        const Outcome cut = trib({"replay", "--trace", packed, "--policy", "none"});
        check_refusal(cut, 1);
        CHECK(has(cut.err, "damaged or cut"));
    }
}

TEST_CASE("a public trace: recognised, packed, replayed, and its reader's note") {
    Folder folder;
    const std::string file = folder.file("io.csv");
    write_text(file, alibaba(20000));
    const Json both = replay(file, {"--drive", "emulated,capacity=10M,op=20,superblock=128K"});
    CHECK(both["trace"]["host_bytes"] == 20000 * 4096);
    CHECK(both["trace"]["peak_live_bytes"] == 8 * MIB); // two volumes of 4 MiB, side by side
    CHECK(both["waf_steady"].get<double>() > 1.1);

    const Outcome one = trib({"replay", "--trace", file, "--policy", "none", "--import", "volume=7", "--drive",
                              "emulated,capacity=5M,op=20,superblock=128K"});
    INFO(one.err);
    REQUIRE(one.code == 0);
    CHECK(has(one.out, "alibaba trace"));
    CHECK(has(one.out, "requests of other volumes left out"));

    const Outcome kept = trib({"replay", "--trace", file, "--policy", "none", "--import", "chunk=0"});
    check_refusal(kept, 2);
    CHECK(has(kept.err, "volume="));
    const Outcome needs = trib({"compare", "--trace", file, "--policy", "pcstream"});
    CHECK(needs.code != 0);
    CHECK(has(needs.err, "call paths"));
}

TEST_CASE("too many malformed lines stop the tool and are named") {
    Folder folder;
    const std::string file = folder.file("io.csv");
    write_text(file, alibaba(1500) + "7,W,oops,4096,2000000\n");
    const Json json = replay(file, {"--format", "alibaba"});
    CHECK(json["trace"]["events"] == 1500);
    write_text(file, alibaba(500) + "7,W,oops,4096,2000000\n");
    const Outcome outcome = trib({"replay", "--trace", file, "--policy", "none"});
    check_refusal(outcome, 1);
    CHECK(has(outcome.err, "line 501: 7,W,oops,4096,2000000"));
}

TEST_CASE("formats: named, unknown, and not recognised") {
    CHECK(replay(FIXTURES + "mqsim.txt", {"--format", "mqsim"})["trace"]["events"] == 3);
    CHECK(replay(FIXTURES + "vscsi2.bin")["trace"]["events"] == 2); // the read is of unwritten data
    const Outcome unknown = trib({"replay", "--trace", FIXTURES + "msr.csv", "--format", "spc", "--policy", "none"});
    check_refusal(unknown, 2);
    CHECK(has(unknown.err, "auto|trib|experiment|workload|msr|blkparse"));
    Folder folder;
    write_text(folder.file("x"), "once upon a time\n");
    check_refusal(trib({"replay", "--trace", folder.file("x"), "--policy", "none"}), 1);
    check_refusal(trib({"replay", "--trace", folder.file("nowhere.csv"), "--policy", "none"}), 1);
}

TEST_CASE("trib workloads lists generators and readers") {
    const Json json = Json::parse(trib({"workloads", "--json"}).out);
    CHECK(json["workloads"].size() == 8);
    CHECK(json["formats"].size() == 9);
    CHECK(lines_of(trib({"workloads", "--names"}).out).size() == 8);
    const Outcome text = trib({"workloads"});
    CHECK(widest_line(text.out) <= 80);
    CHECK(has(text.out, "vStream's 64 partitions"));
}

TEST_CASE("who is a tenant, and of what level a table is, may be read differently") {
    Folder folder;
    const std::string trace = folder.file("t");
    {
        TraceWriter writer(trace);
        for (uint32_t process = 1; process <= 2; process++) {
            trib_event event = {};
            event.file = process;
            event.clock_bytes = uint64_t{65536} * (process - 1);
            event.length_bytes = 65536;
            event.who.signature = 0x51;
            event.who.file_kind = TRIB_FILE_SST;
            event.who.write_hint = TRIB_HINT_LONG;
            event.who.level = TRIB_LEVEL_UNKNOWN;
            event.thread = process << 12;
            event.stream = TRIB_STREAM_UNDECIDED;
            event.kind = TRIB_EVENT_WRITE;
            writer.event(event);
        }
    }
    const std::vector<std::string> salted = {"--set", "salt=tenant", "--drive", "none"};
    CHECK(replay(trace, salted)["signatures"].size() == 1);
    std::vector<std::string> by_process = salted;
    by_process.insert(by_process.end(), {"--import", "tenant=process"});
    CHECK(replay(trace, by_process)["signatures"].size() == 2);

    std::vector<std::string> manual = {"replay", "--trace", trace, "--policy", "manual", "--json"};
    CHECK(has(trib(manual).err, "needs levels"));
    manual.insert(manual.end(), {"--import", "level=hint"});
    const Json streams = Json::parse(trib(manual).out)["streams"];
    REQUIRE(streams.size() == 1);
    CHECK(streams[0]["stream"] == 4); // L2

    check_refusal(trib({"replay", "--trace", trace, "--policy", "none", "--import", "volume=1"}), 2);
}

TEST_CASE("two traces are replayed side by side, each with files of its own") {
    Folder folder;
    for (const char *name : {"a", "b"}) {
        TraceWriter writer(folder.file(name));
        for (uint64_t i = 0; i < 10; i++) {
            trib_event event = {};
            event.file = 1 + i;
            event.clock_bytes = i * 65536;
            event.length_bytes = 65536;
            event.who.signature = name[0];
            event.who.level = TRIB_LEVEL_UNKNOWN;
            event.stream = TRIB_STREAM_UNDECIDED;
            event.kind = TRIB_EVENT_WRITE;
            writer.event(event);
        }
    }
    const std::string drive = "[drive]\ncapacity = 64M\nsuperblock = 256K\nstreams = 2\n";
    write_text(folder.file("both.ini"), "[trace]\nfile = a\nbeside = b\n" + drive);
    const Json both = replay(folder.file("both.ini"));
    CHECK(both["streams"][0]["live_bytes"] == 20 * 65536);
    CHECK(both["signatures"].size() == 2);
    write_text(folder.file("wrong.ini"), "[trace]\nfile = a\nbeside = c\n" + drive);
    check_refusal(trib({"replay", "--trace", folder.file("wrong.ini"), "--policy", "none"}), 1);
}
