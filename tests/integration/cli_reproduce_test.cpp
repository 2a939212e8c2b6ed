// SPDX-License-Identifier: Apache-2.0
// `trib lab reproduce`: that experiments run, are judged and are written as promised. Whether the
// papers' shapes hold is for people to read; only what cannot fail on any machine is asserted here.
#include "support/cli.hpp"

using namespace trib_test;

namespace {

const Json run_json(const std::string &name) {
    const Outcome outcome = trib({"lab", "reproduce", name, "--json"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return outcome.json();
}

void check_findings(const Json &json) {
    REQUIRE(json.is_array());
    REQUIRE(!json.empty());
    for (const Json &finding : json) {
        for (const char *key : {"paper", "figure", "case", "shape", "note"})
            REQUIRE(finding[key].is_string());
        for (const char *key : {"ours", "paper_value"})
            REQUIRE((finding[key].is_number() || finding[key].is_null()));
        REQUIRE(finding["holds"].is_boolean());
    }
}

} // namespace

TEST_CASE("the attributes of FIOS's Table 3 select the features that its text fixes") {
    const Json json = run_json("fios-selection");
    check_findings(json);
    CHECK(json.size() == 12);
    for (const Json &finding : json) {
        INFO(finding["case"]);
        CHECK(finding["holds"] == true);
    }
}

TEST_CASE("control: the numbers of the streams do not matter") {
    const Json json = run_json("control-labels");
    check_findings(json);
    CHECK(json[0]["ours"] == 1.0);
    CHECK(json[1]["holds"] == true); // there is something to copy
}

TEST_CASE("the table for people fits 80 columns and counts what holds") {
    const Outcome outcome = trib({"lab", "reproduce", "control-labels"});
    REQUIRE(outcome.code == 0);
    CHECK(widest_line(outcome.out) <= 80);
    CHECK(has(outcome.out, "2 of 2 shapes hold"));
}

TEST_CASE("an unknown experiment is refused, the valid ones named") {
    const Outcome outcome = trib({"lab", "reproduce", "fast20"});
    check_refusal(outcome, 2);
    CHECK(has(outcome.err, "fast19-fig12"));
}

TEST_CASE("controls: where nothing can be won, nobody wins", "[.slow]") {
    for (const char *name : {"control-half-full", "control-blind"}) {
        const Json json = run_json(name);
        check_findings(json);
        for (const Json &finding : json) {
            INFO(finding["case"]);
            CHECK(finding["holds"] == true);
        }
    }
}

TEST_CASE("PCStream's table: shapes on recorded db_bench runs", "[.slow]") {
    const Json json = run_json("hotstorage18");
    check_findings(json);
    CHECK(json.size() == 27);
    for (const Json &finding : json)
        if (finding["case"].get<std::string>().rfind("UR ", 0) == 0) {
            INFO(finding["case"]);
            CHECK(finding["holds"] == true);
        }
}
