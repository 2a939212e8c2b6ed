// SPDX-License-Identifier: Apache-2.0
// The option grammar of the RocksDB adapter.
#include "support/catch.hpp"

#include "tributary_options.h"

namespace {

TributaryOptions parse(const std::string &uri, const char *environment = nullptr) {
    TributaryOptions options;
    std::string error;
    INFO(error);
    REQUIRE(ParseTributaryOptions(uri, environment, &options, &error));
    return options;
}

std::string refusal(const std::string &uri, const char *environment = nullptr) {
    TributaryOptions options;
    options.canonical = "untouched";
    std::string error;
    REQUIRE_FALSE(ParseTributaryOptions(uri, environment, &options, &error));
    CHECK(options.canonical == "untouched");
    return error;
}

} // namespace

TEST_CASE("every way to write a URI") {
    CHECK(parse("tributary://").pipeline.empty());
    CHECK(parse("tributary://?").pipeline.empty());
    for (const char *uri : {"tributary://policy=none,drive=emulated", "tributary://?drive=emulated,policy=none",
                            "tributary://policy:none,drive:emulated"}) {
        CHECK(parse(uri).pipeline == "drive=emulated,policy=none");
    }
    CHECK(parse("tributary://,policy=none,,drive=emulated,").pipeline == "drive=emulated,policy=none");
    CHECK(parse("tributary://trace=/a:b=c").pipeline == "trace=/a:b=c");
    CHECK(parse("tributary://trace:/a:b=c").pipeline == "trace=/a:b=c");
}

TEST_CASE("the adapter's own keys stay with the adapter") {
    const TributaryOptions defaults = parse("tributary://");
    CHECK(defaults.depth == 12);
    CHECK(defaults.open_depth == 5);
    CHECK_FALSE(defaults.strict);
    const TributaryOptions options =
        parse("tributary://depth=32,open_depth=1,signature=write,stats=/s.json,strict=on,policy=none");
    CHECK(options.depth == 32);
    CHECK(options.open_depth == 1);
    CHECK(options.signature == TributaryOptions::Signature::kWrite);
    CHECK(options.stats == TributaryOptions::Stats::kFile);
    CHECK(options.stats_path == "/s.json");
    CHECK(options.strict);
    CHECK(options.pipeline == "policy=none");
}

TEST_CASE("the URI wins over the environment") {
    const TributaryOptions options = parse("tributary://policy=none", "policy=manual,streams=4,depth=7");
    CHECK(options.pipeline == "policy=none,streams=4");
    CHECK(options.depth == 7);
    CHECK(options.canonical == parse("tributary://streams=4,depth=7,policy=none").canonical);
}

TEST_CASE("what makes no sense is named") {
    CHECK(refusal("tributary://depth=0").find("'depth': 0 is outside 1..32") != std::string::npos);
    CHECK(refusal("tributary://depth=33").find("outside 1..32") != std::string::npos);
    CHECK(refusal("tributary://depth=").find("'depth'") != std::string::npos);
    CHECK(refusal("tributary://depth=5x").find("'depth': '5x'") != std::string::npos);
    CHECK(refusal("tributary://signature=maybe").find("auto|file|write") != std::string::npos);
    CHECK(refusal("tributary://strict=perhaps").find("'strict': 'perhaps'") != std::string::npos);
    CHECK(refusal("tributary://stats=").find("'stats'") != std::string::npos);
    CHECK(refusal("tributary://policy").find("key=value") != std::string::npos);
    CHECK(refusal("tributary://=1").find("key=value") != std::string::npos);
    CHECK(refusal("tributary://a=1,a=2").find("twice") != std::string::npos);
    CHECK(refusal("tributary://", "oops").find("TRIBUTARY_OPTIONS") != std::string::npos);
}

TEST_CASE("an option is dropped wherever it stands") {
    auto without = [](std::string options, const char *key) {
        CHECK(DropOption(key, &options));
        return options;
    };
    CHECK(without("trace=x", "trace").empty());
    CHECK(without("trace=x,z=1", "trace") == "z=1");
    CHECK(without("a=1,trace=x,z=1", "trace") == "a=1,z=1");
    CHECK(without("a=1,trace=x", "trace") == "a=1");
    std::string options = "subtrace=x,tracer=1";
    CHECK_FALSE(DropOption("trace", &options));
    CHECK(options == "subtrace=x,tracer=1");
}
