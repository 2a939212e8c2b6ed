// SPDX-License-Identifier: Apache-2.0
// `trib compare` as its users run it: the regime, the table, the JSON, and that neither time nor
// threads change them.
#include "support/cli.hpp"

#include <map>
#include <set>

using namespace trib_test;

namespace {

constexpr uint64_t MIB = 1 << 20;

std::vector<std::string> compare_arguments(const std::string &trace, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"compare", "--trace", trace};
    if (std::find(more.begin(), more.end(), "--superblock") == more.end())
        arguments.insert(arguments.end(), {"--superblock", "256K"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

void check_keys(const Json &object, std::initializer_list<const char *> keys) {
    for (const char *key : keys) {
        INFO(key);
        CHECK(object.contains(key));
    }
}

} // namespace

TEST_CASE("the default comparison: table and JSON of one run") {
    Folder folder;
    write_trace(folder.file("t"), 600 * MIB);
    const Outcome outcome = trib(compare_arguments(folder.file("t"), {"--json=" + folder.file("json")}));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK(outcome.err.empty());
    CHECK(widest_line(outcome.out) <= 80);
    const Json json = Json::parse(read_file(folder.file("json")));

    SECTION("a row per policy and gc, in order") {
        const char *const labels[] = {"none",     "rocksdb-hints",     "manual",
                                      "pcstream", "pcstream+internal", "pcstream+salt+internal"};
        REQUIRE(json["rows"].size() == 12);
        for (size_t i = 0; i < 12; i++) {
            CHECK(json["rows"][i]["label"] == labels[i % 6]);
            CHECK(json["rows"][i]["gc"] == (i < 6 ? "same" : "shared"));
        }
    }
    SECTION("the regime is the one asked for") {
        const Json &drive = json["drive"];
        check_keys(drive,
                   {"name", "capacity_bytes", "physical_bytes", "over_provisioning_percent", "reclaim_unit_bytes",
                    "reclaim_units", "streams", "live_peak_percent", "cold_percent", "capacities_written", "victim"});
        CHECK(drive["live_peak_percent"].get<double>() == Approx(90).margin(2));
        CHECK(drive["cold_percent"].get<double>() == Approx(30).margin(1));
        CHECK(drive["over_provisioning_percent"].get<double>() == Approx(7).margin(0.5));
        CHECK(drive["reclaim_unit_bytes"] == 256 * 1024);
        CHECK(drive["streams"] == 8);
        const double host = json["trace"]["host_bytes"], capacity = drive["capacity_bytes"];
        CHECK(drive["capacities_written"].get<double>() == Approx(host / capacity));
        CHECK(has(outcome.out, "% of capacity"));
    }
    SECTION("each row has what the report needs") {
        check_keys(json["trace"], {"file", "events", "host_bytes", "peak_live_bytes", "files", "dropped_events"});
        for (const Json &row : json["rows"]) {
            check_keys(row, {"label",
                             "policy",
                             "options",
                             "internal",
                             "salt",
                             "gc",
                             "waf",
                             "waf_steady",
                             "excess_ratio",
                             "host_pages",
                             "gc_pages",
                             "erases",
                             "iops_sim",
                             "streams_used",
                             "open_units_peak",
                             "reclusterings",
                             "virtual_seconds",
                             "series",
                             "streams",
                             "signatures"});
            CHECK(row["waf"].get<double>() >= 1);
            CHECK(row["iops_sim"].get<double>() > 0);
            CHECK(row["host_pages"] == json["rows"][0]["host_pages"]); // the same work
            check_keys(row["series"][0], {"host_bytes", "waf", "waf_window", "stream_bytes"});
            check_keys(row["signatures"][0], {"key", "signature", "who", "frames", "written_bytes", "died_bytes",
                                              "live_bytes", "lifetime", "stream"});
            check_keys(row["signatures"][0]["lifetime"], {"p10", "p25", "p50", "p75", "p90", "mean"});
        }
    }
    SECTION("relative figures refer to none of the same gc") {
        for (size_t group : {0u, 6u}) {
            const double none = json["rows"][group]["waf_steady"];
            CHECK(json["rows"][group]["excess_ratio"].get<double>() == Approx(1));
            for (size_t i = group; i < group + 6; i++) {
                const double steady = json["rows"][i]["waf_steady"];
                CHECK(json["rows"][i]["excess_ratio"].get<double>() == Approx((steady - 1) / (none - 1)));
            }
        }
    }
    SECTION("internal streams do not depend on gc") {
        for (size_t i : {4u, 5u}) {
            CHECK(json["rows"][i]["internal"] == true);
            CHECK(json["rows"][i]["waf"] == json["rows"][i + 6]["waf"]);
            CHECK(has(json["rows"][i]["options"].get<std::string>(), "gc=twin"));
        }
    }
    SECTION("separating lifetimes by level pays") {
        CHECK(json["rows"][1]["waf_steady"].get<double>() < json["rows"][0]["waf_steady"].get<double>());
    }
    SECTION("the best row of each gc is marked") {
        std::map<std::string, double> best;
        for (const Json &row : json["rows"]) {
            const std::string gc = row["gc"];
            const double steady = row["waf_steady"];
            best[gc] = best.count(gc) ? std::min(best[gc], steady) : steady;
        }
        std::map<std::string, size_t> marked, wanted;
        for (const Json &row : json["rows"])
            wanted[row["gc"].get<std::string>()] += row["waf_steady"].get<double>() == best[row["gc"]];
        for (const std::string &line : lines_of(outcome.out))
            if (!line.empty() && line.back() == '*') {
                const std::string gc = has(line, " shared ") ? "shared" : "same";
                char text[32];
                snprintf(text, sizeof text, " %.3f ", best[gc]);
                CHECK(has(line, text));
                marked[gc]++;
            }
        CHECK(marked == wanted);
    }
}

TEST_CASE("the number of jobs changes nothing, nor does another run") {
    Folder folder;
    write_trace(folder.file("t"), 150 * MIB);
    const std::string first = trib(compare_arguments(folder.file("t"), {"--json", "--jobs", "1"})).out;
    CHECK(Json::parse(first)["rows"].size() == 12);
    for (const char *jobs : {"1", "2", "5"}) {
        INFO(jobs);
        CHECK(trib(compare_arguments(folder.file("t"), {"--json", "--jobs", jobs})).out == first);
    }
}

TEST_CASE("the options of a row run it again in replay") {
    Folder folder;
    write_trace(folder.file("t"), 150 * MIB);
    const Json row =
        trib(compare_arguments(folder.file("t"), {"--policy", "pcstream,salt=hint", "--gc", "same", "--json"}))
            .json()["rows"][0];
    const std::string options = row["options"];
    REQUIRE(options.rfind("policy=pcstream,", 0) == 0);
    const Json again = trib({"replay", "--trace", folder.file("t"), "--policy", "pcstream", "--set",
                             options.substr(options.find(',') + 1), "--json"})
                           .json();
    for (const char *key : {"waf", "waf_steady", "gc_pages", "erases", "streams", "signatures", "series"})
        CHECK(again[key] == row[key]);
}

TEST_CASE("rows can be chosen, labelled and set") {
    Folder folder;
    write_trace(folder.file("t"), 100 * MIB);
    const Outcome outcome = trib(compare_arguments(
        folder.file("t"), {"--policy", "nothing:none", "--policy", "mine:pcstream,salt=hint,internal=twin", "--gc",
                           "shared", "--set", "victim=fifo", "--streams", "4", "--json=" + folder.file("json")}));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK(has(outcome.out, "nothing"));
    CHECK(has(outcome.out, "mine"));
    const Json json = Json::parse(read_file(folder.file("json")));
    REQUIRE(json["rows"].size() == 2);
    CHECK(json["rows"][1]["label"] == "mine");
    CHECK(json["rows"][1]["salt"] == true);
    CHECK(json["rows"][1]["internal"] == true);
    CHECK(json["rows"][0]["salt"] == false);
    CHECK(json["drive"]["victim"] == "fifo");
    CHECK(json["drive"]["streams"] == 4);
}

TEST_CASE("fill, cold and capacity make the drive") {
    Folder folder;
    write_trace(folder.file("t"), 100 * MIB);
    auto drive = [&](std::vector<std::string> more) {
        more.insert(more.end(), {"--policy", "none", "--gc", "same", "--json"});
        const Outcome outcome = trib(compare_arguments(folder.file("t"), more));
        INFO(outcome.err);
        REQUIRE(outcome.code == 0);
        return outcome.json()["drive"];
    };
    const Json full = drive({"--fill", "95"}), empty = drive({"--fill", "60"});
    CHECK(full["live_peak_percent"].get<double>() == Approx(95).margin(2));
    CHECK(empty["live_peak_percent"].get<double>() == Approx(60).margin(2));
    CHECK(full["capacity_bytes"] < empty["capacity_bytes"]);
    const Json warm = drive({"--cold", "0"});
    CHECK(warm["cold_percent"] == 0.0);
    CHECK(warm["live_peak_percent"].get<double>() == Approx(90).margin(2));
    const Json fixed = drive({"--capacity", "256M"});
    CHECK(fixed["capacity_bytes"] == 256 * MIB);
    CHECK(fixed["cold_percent"].get<double>() == Approx(30).margin(1));
}

TEST_CASE("an unusual regime is told under the table") {
    Folder folder;
    write_trace(folder.file("t"), 60 * MIB);
    const Outcome outcome = trib({"compare", "--trace", folder.file("t"), "--superblock", "512K", "--policy", "none",
                                  "--gc", "same", "--fill", "25"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK(widest_line(outcome.out) <= 80);
    CHECK(has(outcome.out, "note: only"));
    CHECK(has(outcome.out, "superblocks"));
    CHECK(has(outcome.out, "capacities were written"));
    CHECK(has(outcome.out, "little to gain"));
}

TEST_CASE("negative control: half empty, every policy copies next to nothing") {
    Folder folder;
    write_trace(folder.file("t"), 400 * MIB);
    const Json json =
        trib(compare_arguments(folder.file("t"), {"--fill", "40", "--superblock", "64K", "--json"})).json();
    for (const Json &row : json["rows"]) {
        INFO(row["label"] << " " << row["gc"]);
        CHECK(row["waf_steady"].get<double>() < 1.05);
    }
}

TEST_CASE("what compare refuses") {
    Folder folder;
    write_trace(folder.file("t"), 10 * MIB);
    { TraceWriter empty(folder.file("empty")); }
    check_refusal(trib(compare_arguments(folder.file("t"), {"--policy", "nonesuch"})), 2);
    check_refusal(trib(compare_arguments(folder.file("t"), {"--policy", "none,internal=maybe"})), 2);
    check_refusal(trib(compare_arguments(folder.file("t"), {"--policy", "none,colour=red"})), 2);
    check_refusal(trib(compare_arguments(folder.file("t"), {"--gc", "nonesuch"})), 2);
    check_refusal(trib(compare_arguments(folder.file("t"), {"--fill", "0"})), 2);
    check_refusal(trib(compare_arguments(folder.file("t"), {"--cold", "100"})), 2);
    check_refusal(trib(compare_arguments(folder.file("t"), {"--drive", "none"})), 2);
    check_refusal(trib(compare_arguments(folder.file("t"), {"--jobs", "0"})), 2);
    check_refusal(trib(compare_arguments(folder.file("t"), {"--capacity", "big"})), 2);
    check_refusal(trib(compare_arguments(folder.file("empty"))), 1);
    check_refusal(trib(compare_arguments(folder.file("absent"))), 1);
    const Outcome small = trib(compare_arguments(folder.file("t"), {"--capacity", "8M", "--op", "20"}));
    check_refusal(small, 3);
    CHECK(has(small.err, "choose capacity="));
}

TEST_CASE("substreams and chains are rows of their own, whatever gc says") {
    Folder folder;
    write_trace(folder.file("t"), 40 * MIB);
    const Json json =
        Json::parse(trib(compare_arguments(folder.file("t"), {"--policy", "none,internal=chain", "--policy",
                                                              "pcstream,internal=substream", "--set",
                                                              "substream_pages=10", "--json", "-"}))
                        .out);
    for (const auto &row : json["rows"]) {
        CHECK(row["internal"] == true);
        CHECK(row["label"] == (row["policy"] == "none" ? "none+chain" : "pcstream+substream"));
    }
}
