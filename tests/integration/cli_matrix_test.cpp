// SPDX-License-Identifier: Apache-2.0
// `trib lab matrix` on experiments small enough for a test: who runs where, what is best,
// that threads change nothing, and that a policy which lacks something says what.
#include "support/cli.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

using namespace trib_test;

namespace {

void write_experiment(const Folder &folder, const std::string &name, const std::string &workload) {
    std::ofstream out(folder.file(name + ".ini"));
    out << "[experiment]\nsummary = " << name << " of a test\n[workload]\n"
        << workload << "\n[drive]\nfill = 90\ncold = 0\nop = 12\nsuperblock = 128K\nstreams = 8\n"
        << "[run]\ncapacities = 4\n";
}

void write_experiments(const Folder &folder) {
    write_experiment(folder, "heat", "name = hotcold\nsize = 16M\nextent = 4K");
    write_experiment(folder, "tree",
                     "name = lsm\nsize = 24M\nmemtable = 64K\ntarget = 64K\nbase = 512K\n"
                     "multiplier = 5");
    std::ofstream(folder.file("engine.ini")) << "[engine]\nbenchmarks = overwrite\n";
}

Json matrix_json(const Folder &folder, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"lab", "matrix", "--json", "--workloads", folder.file("")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = trib(arguments);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return outcome.json();
}

const Json *find(const Json &json, const std::string &workload, const std::string &label, const std::string &gc,
                 const std::string &victim) {
    for (const Json &row : json["rows"])
        if (row["workload"] == workload && row["label"] == label && row["gc"] == gc && row["victim"] == victim)
            return &row;
    return nullptr;
}

double steady(const Json &json, const std::string &workload, const std::string &label, const std::string &gc,
              const std::string &victim) {
    const Json *row = find(json, workload, label, gc, victim);
    INFO(workload << " " << label << " gc=" << gc << " victim=" << victim);
    REQUIRE(row != nullptr);
    REQUIRE((*row)["waf_steady"].is_number());
    return (*row)["waf_steady"];
}

// Nanoseconds are the machine's; everything else must not depend on how the runs were scheduled.
void forget_times(Json &json) {
    for (Json &row : json["rows"]) {
        row.erase("place_ns");
        row.erase("died_ns");
    }
    json.erase("clustering");
}

} // namespace

TEST_CASE("every policy on every workload, each destination and victim") {
    Folder folder;
    write_experiments(folder);
    const Json json = matrix_json(folder);

    std::set<std::string> policies, workloads, gcs, victims;
    for (const Json &row : json["rows"]) {
        policies.insert(row["policy"].get<std::string>());
        workloads.insert(row["workload"].get<std::string>());
        gcs.insert(row["gc"].get<std::string>());
        victims.insert(row["victim"].get<std::string>());
        for (const char *key :
             {"waf", "gc_pages", "metadata_pages", "place_ns", "state_bytes", "streams_used", "missing"})
            REQUIRE(row.contains(key));
        // Either it ran, or it says why not.
        REQUIRE(row["waf_steady"].is_null() != row["missing"].is_null());
    }
    const Outcome names = trib({"policies", "--names"});
    for (const std::string &name : lines_of(names.out))
        CHECK(policies.count(name) == 1);
    CHECK(workloads == std::set<std::string>{"heat", "tree"}); // engine.ini is no workload
    CHECK(victims == std::set<std::string>{"greedy", "cost-benefit"});
    for (const char *gc : {"same", "shared", "twin", "class", "pstream", "preserve"})
        CHECK(gcs.count(gc) == 1);
    CHECK(json["failures"].empty());
}

TEST_CASE("the oracle is a bound, and theory one where it has a closed form") {
    Folder folder;
    write_experiments(folder);
    const Json json =
        matrix_json(folder, {"--policy", "none", "--policy", "oracle", "--policy", "sepbit", "--gc", "shared"});
    for (const char *workload : {"heat", "tree"})
        for (const char *victim : {"greedy", "cost-benefit"}) {
            double bound = steady(json, workload, "oracle", "class", victim);
            CHECK(bound >= 1);
            CHECK(bound < steady(json, workload, "none", "shared", victim));
            CHECK(bound < steady(json, workload, "sepbit", "class", victim));
        }
    REQUIRE(json["workloads"][0]["name"] == "heat");
    const double optimum = json["workloads"][0]["optimum_waf"];
    CHECK(optimum > 1.2);
    CHECK(optimum < steady(json, "heat", "none", "shared", "greedy"));
    CHECK(json["workloads"][1]["optimum_waf"].is_null()); // nobody has one for an LSM tree
}

// The figures that people see against those of the same run's JSON.
TEST_CASE(
    "the tables show the steady WAF, mark the best and the worst that can be used, and the median of what is kept") {
    Folder folder;
    write_experiments(folder);
    const Outcome outcome = trib({"lab", "matrix", "--json=" + folder.file("json"), "--workloads", folder.file(""),
                                  "--policy", "none", "--policy", "sepbit", "--policy", "autostream-sfr", "--policy",
                                  "oracle", "--gc", "same", "--gc", "shared"});
    INFO(outcome.err << outcome.out);
    REQUIRE(outcome.code == 0);
    const Json json = Json::parse(read_file(folder.file("json")));
    const std::vector<std::string> lines = lines_of(outcome.out);
    const auto words_of = [](const std::string &line) {
        std::istringstream in(line);
        return std::vector<std::string>(std::istream_iterator<std::string>(in), {});
    };
    const auto row_of = [&](const std::string &title, const std::string &policy) {
        auto line = std::find(lines.begin(), lines.end(), title);
        REQUIRE(line != lines.end());
        line = std::find_if(line, lines.end(), [&](const auto &l) { return l.rfind(policy + " ", 0) == 0; });
        REQUIRE(line != lines.end());
        return words_of(*line);
    };
    for (const char *gc : {"same", "shared"})
        for (const char *victim : {"greedy", "cost-benefit"})
            for (size_t workload : {0u, 1u}) {
                const std::string name = json["workloads"][workload]["name"];
                double best = 1e9, worst = 0;
                for (const char *policy : {"none", "sepbit", "autostream-sfr"}) {
                    best = std::min(best, steady(json, name, policy, gc, victim));
                    worst = std::max(worst, steady(json, name, policy, gc, victim));
                }
                for (const char *policy : {"none", "sepbit", "autostream-sfr", "oracle"}) {
                    const double waf = steady(json, name, policy, gc, victim);
                    char text[32];
                    snprintf(text, sizeof text, "%.3f", waf);
                    std::string want = text;
                    if (std::string(policy) != "oracle")
                        want += waf == best ? "*" : waf == worst ? "!" : "";
                    const auto row = row_of(std::string("Steady WAF, gc=") + gc + ", victim=" + victim, policy);
                    REQUIRE(row.size() == 3);
                    CAPTURE(gc, victim, name, policy, best, worst);
                    CHECK(row[1 + workload] == want);
                }
            }
    for (const char *policy : {"none", "sepbit", "autostream-sfr"}) {
        std::vector<double> times;
        for (const Json &row : json["rows"])
            if (row["policy"] == policy && row["waf"].is_number())
                times.push_back(row["place_ns"]);
        std::sort(times.begin(), times.end());
        const auto row = row_of("What it costs (medians over all runs; memory at the end of a run)", policy);
        REQUIRE(row.size() >= 2);
        CHECK(std::stod(row[1]) == Approx(times[times.size() / 2]).margin(0.51));
    }
}

TEST_CASE("where the best of several choices is shown, it is the best") {
    Folder folder;
    write_experiments(folder);
    const Json json = matrix_json(folder, {"--policy", "oracle", "--policy", "three:oracle,death_window=3", "--policy",
                                           "ten:oracle,death_window=10", "--policy", "thirty:oracle,death_window=30",
                                           "--gc", "same", "--gc", "shared"});
    std::set<std::string> winners;
    for (const char *workload : {"heat", "tree"})
        for (const char *gc : {"same", "shared"})
            for (const char *victim : {"greedy", "cost-benefit"}) {
                std::pair<double, std::string> best{1e9, ""};
                for (const char *label : {"three", "ten", "thirty"})
                    best = std::min(best, {steady(json, workload, label, gc, victim), label});
                CHECK(steady(json, workload, "oracle", gc, victim) == best.first);
                winners.insert(best.second);
            }
    CHECK(winners.size() > 1);
}

TEST_CASE("what a workload lacks is said, and is no failure") {
    Folder folder;
    write_experiments(folder);
    const Json json =
        matrix_json(folder, {"--policy", "none", "--policy", "rocksdb-hints", "--gc", "same", "--victim", "greedy"});
    const Json *row = find(json, "heat", "rocksdb-hints", "same", "greedy");
    REQUIRE(row != nullptr);
    CHECK((*row)["waf"].is_null());
    CHECK(has((*row)["missing"].get<std::string>(), "write hints"));
    CHECK(steady(json, "tree", "rocksdb-hints", "same", "greedy") >= 1);
    const Outcome text = trib({"lab", "matrix", "--quick", "--workloads", folder.file("heat.ini"), "--policy", "none",
                               "--policy", "rocksdb-hints"});
    CHECK(text.code == 0);
    CHECK(has(text.out, "rocksdb-hints needs write hints"));
    CHECK(widest_line(text.out) <= 80);
    CHECK(!has(text.out, "victim=cost-benefit")); // --quick
}

TEST_CASE("one thread or two: the same matrix") {
    Folder folder;
    write_experiments(folder);
    const std::vector<std::string> rows = {"--policy", "none",   "--policy", "pcstream",
                                           "--policy", "oracle", "--victim", "greedy"};
    std::vector<std::string> one = rows, two = rows;
    one.insert(one.end(), {"--jobs", "1"});
    two.insert(two.end(), {"--jobs", "2"});
    Json first = matrix_json(folder, one), second = matrix_json(folder, two);
    forget_times(first);
    forget_times(second);
    CHECK(first == second);
}

TEST_CASE("a matrix has a row for pcstream's own destination, and no more when asked for it") {
    Folder folder;
    write_experiments(folder);
    const Json json =
        matrix_json(folder, {"--policy", "pcstream", "--policy", "both:pcstream,internal=twin", "--victim", "greedy"});
    CHECK(steady(json, "tree", "pcstream", "twin", "greedy") == steady(json, "tree", "both", "twin", "greedy"));
    CHECK(find(json, "tree", "both", "same", "greedy") == nullptr);
}

TEST_CASE("what cannot be meant is refused with one sentence") {
    Folder folder;
    write_experiments(folder);
    check_refusal(trib({"compare"}), 2);
    check_refusal(trib({"lab", "matrix", "--trace", "x"}), 2);
    check_refusal(trib({"compare", "--trace", "x", "--quick"}), 2);
    check_refusal(trib({"lab", "matrix", "--workloads", folder.file("none.ini")}), 1);
    check_refusal(trib({"lab", "matrix", "--workloads", folder.file("heat.ini"), "--policy", "no-such"}), 2);
    // A row that was asked for must run: here in replay and compare.
    for (const char *command : {"replay", "compare"}) {
        const Outcome outcome = trib({command, "--trace", folder.file("heat.ini"), "--policy", "rocksdb-hints"});
        check_refusal(outcome, 2);
        CHECK(has(outcome.err, "rocksdb-hints needs write hints"));
    }
    const Outcome undriven =
        trib({"replay", "--trace", folder.file("heat.ini"), "--policy", "sepbit", "--drive", "none"});
    check_refusal(undriven, 2);
    CHECK(has(undriven.err, "logical blocks"));
}

TEST_CASE("replay and compare tell the oracle the future, too") {
    Folder folder;
    write_experiments(folder);
    const Outcome outcome =
        trib({"replay", "--trace", folder.file("heat.ini"), "--policy", "oracle", "--gc", "class", "--json"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const Json json = matrix_json(folder, {"--policy", "none", "--victim", "greedy"});
    CHECK(outcome.json()["waf_steady"].get<double>() < 0.8 * steady(json, "heat", "none", "shared", "greedy"));
    CHECK(outcome.json()["streams_used"].get<int>() > 1); // counted below the file system
}
