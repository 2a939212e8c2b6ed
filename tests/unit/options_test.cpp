// SPDX-License-Identifier: Apache-2.0
// The option grammar: every type, every refusal, and the promise that an error leaves the fields untouched.
#include "support/catch.hpp"

#include <cerrno>
#include <cstddef>
#include <string>

#include "base/options.h"

namespace {

struct Fields {
    bool flag;
    uint32_t small;
    uint64_t size;
    double ratio;
    double percent;
    int choice;
    uint32_t flags;
    char text[TRIB_OPTION_TEXT_MAX];
};

const trib_option_spec kSpecs[] = {
    {"flag", "off", nullptr, "", 0, 0, offsetof(Fields, flag), TRIB_OPTION_BOOL},
    {"small", "3", nullptr, "", 1, 9, offsetof(Fields, small), TRIB_OPTION_U32},
    {"size", "4K", nullptr, "", 0, 0, offsetof(Fields, size), TRIB_OPTION_SIZE},
    {"ratio", "0.5", nullptr, "", 0, 1, offsetof(Fields, ratio), TRIB_OPTION_DOUBLE},
    {"op", "7", nullptr, "", 0, 100, offsetof(Fields, percent), TRIB_OPTION_PERCENT},
    {"gc", "same", "same|shared|twin", "", 0, 0, offsetof(Fields, choice), TRIB_OPTION_ENUM},
    {"salt", "none", "kind|hint|level", "", 0, 0, offsetof(Fields, flags), TRIB_OPTION_FLAGS},
    {"path", "", nullptr, "", 0, 0, offsetof(Fields, text), TRIB_OPTION_TEXT},
    {},
};

struct Result {
    int rc;
    Fields fields;
    std::string error;
};

Result Parse(const char *text) {
    Result result{};
    trib_error error{};
    trib_options *options = nullptr;
    result.fields.small = 77;
    result.rc = trib_options_open(&options, text, &error);
    if (result.rc == 0)
        result.rc = trib_options_take(options, kSpecs, &result.fields, &error);
    if (result.rc == 0)
        result.rc = trib_options_finish(options, &error);
    trib_options_close(options);
    result.error = error.text;
    return result;
}

} // namespace

TEST_CASE("defaults apply to keys that are not given") {
    Result r = Parse(nullptr);
    REQUIRE(r.rc == 0);
    CHECK_FALSE(r.fields.flag);
    CHECK(r.fields.small == 3);
    CHECK(r.fields.size == 4096);
    CHECK(r.fields.ratio == 0.5);
    CHECK(r.fields.percent == 7.0);
    CHECK(r.fields.choice == 0);
    CHECK(r.fields.flags == 0);
}

TEST_CASE("every type is parsed") {
    Result r = Parse("flag=yes,small=9,size=12G,ratio=0.25,op=28%,gc=twin,salt=kind+level,path=/a b");
    REQUIRE(r.rc == 0);
    CHECK(r.fields.flag);
    CHECK(r.fields.small == 9);
    CHECK(r.fields.size == 12ull << 30);
    CHECK(r.fields.ratio == 0.25);
    CHECK(r.fields.percent == 28.0);
    CHECK(r.fields.choice == 2);
    CHECK(r.fields.flags == 5);
    CHECK(std::string(r.fields.text) == "/a b");
}

TEST_CASE("what is wrong is named, and the fields stay as they were") {
    struct Bad {
        const char *text, *expected;
    };
    const Bad bad[] = {
        {"small=10", "outside 1..9"},          {"small=x", "whole number"},       {"small=-1", "whole number"},
        {"size=99999999999G", "size such as"}, {"size=4Q", "size such as"},       {"ratio=nan", "a number"},
        {"op=101%", "outside 0..100"},         {"gc=mirror", "same|shared|twin"}, {"salt=kind+age", "kind|hint|level"},
        {"flag=maybe", "on or off"},           {"small=4294967297", "outside"},
    };
    for (const Bad &b : bad) {
        Result r = Parse(b.text);
        INFO(b.text << " -> " << r.error);
        CHECK(r.rc == -EINVAL);
        CHECK(r.error.find(b.expected) != std::string::npos);
        CHECK(r.fields.small == 77);
    }
}

TEST_CASE("unknown keys are an error that lists the valid ones") {
    Result r = Parse("flag=on,polciy=x");
    CHECK(r.rc == -EINVAL);
    CHECK(r.error.find("'polciy'") != std::string::npos);
    CHECK(r.error.find("gc") != std::string::npos);
    CHECK(r.error.find("salt") != std::string::npos);
}

TEST_CASE("grammar errors") {
    CHECK(Parse("flag").error.find("key=value") != std::string::npos);
    CHECK(Parse("=1").rc == -EINVAL);
    CHECK(Parse("flag=on,flag=off").error.find("twice") != std::string::npos);
    CHECK(Parse(",,flag=on,,").rc == 0);
}
