// SPDX-License-Identifier: Apache-2.0
// What is wrong with an option is said in the same words by every adapter: the same bad texts go to all of them.
#include "support/catch.hpp"

#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <tributary/pipeline.h>

#include "base/options.h"
#include "mysql-buffer-hook/src/options.h"
#include "tributary_options.h"
#ifdef HAVE_JVM
#include "jni/src/options.h"
#endif

namespace {

// An adapter, or a part of ours with the same kinds of options; each has names of its own for them.
struct Taker {
    std::string number, flag, choice, text; // keys; empty: it has none
    std::function<std::string(const std::string &)> refusal;
};

// What the pipeline says to what an adapter left to it, with the adapter's keys among the valid ones.
std::string pipelines(const std::string &rest, const trib_option_spec *own) {
    trib_error error{};
    trib_pipeline *pipeline = nullptr;
    if (trib_pipeline_open(&pipeline, rest.c_str(), false, &error) == 0) {
        trib_pipeline_close(pipeline);
        return "";
    }
    trib_options_add_valid(&error, own);
    return error.text;
}

struct Fields {
    uint32_t depth;
    bool flag;
    int choice;
    char text[TRIB_OPTION_TEXT_MAX];
};
const trib_option_spec kSpecs[] = {
    {"depth", "5", nullptr, "", 1, 32, offsetof(Fields, depth), TRIB_OPTION_U32},
    {"flag", "off", nullptr, "", 0, 0, offsetof(Fields, flag), TRIB_OPTION_BOOL},
    {"choice", "a", "a|b", "", 0, 0, offsetof(Fields, choice), TRIB_OPTION_ENUM},
    {"text", "", nullptr, "", 0, 0, offsetof(Fields, text), TRIB_OPTION_TEXT},
    {},
};

std::string parsers(const std::string &text) {
    trib_error error{};
    Fields fields{};
    trib_options_read(text.c_str(), kSpecs, &fields, &error);
    return error.text;
}

std::string mysql(const std::string &text) {
    trib_error error{};
    trib_buffer_options options{};
    trib_buffer_options_parse(text.c_str(), &options, &error);
    return error.text;
}

std::string rocksdb(const std::string &text) {
    TributaryOptions options;
    std::string error;
    const bool good = ParseTributaryOptions("tributary://" + text, nullptr, &options, &error);
    return good ? pipelines(options.pipeline, kTributaryOptionSpecs) : error;
}

#ifdef HAVE_JVM
std::string jvm(const std::string &text) {
    trib_error error{};
    trib_jvm_options options{};
    if (trib_jvm_options_parse(text.c_str(), &options, &error) != 0)
        return error.text;
    return pipelines(options.pipeline, trib_jvm_option_specs);
}
#endif

std::map<std::string, Taker> takers() {
    return {
        {"parser", {"depth", "flag", "choice", "text", parsers}},
        {"mysql", {"depth", "front", "layout", "", mysql}},
        {"rocksdb", {"depth", "strict", "signature", "stats", rocksdb}},
#ifdef HAVE_JVM
        {"jvm", {"innermost", "strict", "path", "file", jvm}},
#endif
    };
}

// Without what is each one's own: the key, its range, its choices, its other keys.
std::string common(std::string text, const std::string &key) {
    if (!key.empty())
        text = std::regex_replace(text, std::regex("option '" + key + "'"), "option KEY");
    text = std::regex_replace(text, std::regex("outside \\d+\\.\\.\\d+"), "outside RANGE");
    text = std::regex_replace(text, std::regex("not one of .*"), "not one of CHOICES");
    return std::regex_replace(text, std::regex("; valid here: .*"), "; valid here: KEYS");
}

// Each bad value of the kind of option that `key` chooses.
void check_values(std::string Taker::*key, const std::vector<std::string> &values) {
    for (const std::string &value : values) {
        const std::string expected =
            common(parsers(takers().at("parser").*key + "=" + value), takers().at("parser").*key);
        INFO("'" << value << "': " << expected);
        REQUIRE_FALSE(expected.empty());
        for (const auto &[name, taker] : takers()) {
            if ((taker.*key).empty())
                continue;
            INFO(name);
            CHECK(common(taker.refusal(taker.*key + "=" + value), taker.*key) == expected);
        }
    }
}

} // namespace

TEST_CASE("texts that are no options") {
    std::string endless;
    for (int i = 0; i <= 64; i++)
        endless += "k" + std::to_string(i) + "=1,";
    for (const std::string &bad : {std::string("colour"), std::string("=1"), std::string("a=1,a=1"),
                                   std::string("depth=5,depth=6"), std::string("policy=none,policy=none"), endless}) {
        const std::string expected = parsers(bad);
        INFO(bad << ": " << expected);
        REQUIRE_FALSE(expected.empty());
        for (const auto &[name, taker] : takers()) {
            INFO(name);
            CHECK(taker.refusal(bad) == expected);
        }
    }
}

TEST_CASE("an unknown key, and every adapter's own keys among the valid ones") {
    for (const auto &[name, taker] : takers()) {
        const std::string text = taker.refusal("colour=red");
        INFO(name << ": " << text);
        CHECK(common(text, "") == "unknown option 'colour'; valid here: KEYS");
        for (const std::string &key : {taker.number, taker.flag, taker.choice, taker.text})
            CHECK((text + " ").find(key + " ") != std::string::npos);
    }
}

TEST_CASE("numbers that are none, too large, or out of range") {
    check_values(&Taker::number, {"", "x", "-1", "+1", " 1", "1 ", "1x", "0x10", "1.5", "33", "4294967297",
                                  "18446744073709551617", "99999999999999999999999999"});
}

TEST_CASE("neither on nor off") {
    check_values(&Taker::flag, {"", "maybe", "2", "ON", "yes please", "true;false"});
}

TEST_CASE("none of the choices") {
    check_values(&Taker::choice, {"", "red", "a|b", "Full"});
}

TEST_CASE("texts that are too long") {
    check_values(&Taker::text, {std::string(TRIB_OPTION_TEXT_MAX, 'x'), std::string(5000, 'y')});
}

TEST_CASE("adding the keys of an adapter to a sentence leaves others alone and never overflows") {
    trib_error error{};
    snprintf(error.text, sizeof error.text, "the disk is full; valid here: nothing");
    trib_options_add_valid(&error, kSpecs);
    CHECK(std::string(error.text) == "the disk is full; valid here: nothing");
    std::string full = "unknown option 'x'; valid here:";
    while (full.size() < sizeof error.text)
        full += " kkkk";
    snprintf(error.text, sizeof error.text, "%s", full.c_str());
    trib_options_add_valid(&error, kSpecs);
    const std::string text = error.text;
    CHECK(text.rfind("unknown option 'x'; valid here: depth flag choice text kkk", 0) == 0);
    CHECK(text.size() < sizeof error.text);
    CHECK(text.substr(text.size() - 9) == " kkkk ..."); // no word is cut
}

TEST_CASE("a mistyped key is answered with the nearest, whoever's it is") {
    trib_error error{};
    trib_options *options = nullptr;
    REQUIRE(trib_options_open(&options, "coice=a", &error) == 0);
    CHECK(trib_options_finish(options, &error) == -EINVAL);
    trib_options_close(options);
    CHECK(std::string(error.text) == "unknown option 'coice'; valid here:");
    trib_options_add_valid(&error, kSpecs);
    CHECK(std::string(error.text) ==
          "unknown option 'coice' (did you mean choice?); valid here: depth flag choice text");
    Fields fields = {};
    CHECK(trib_options_read("dpeth=1", kSpecs, &fields, &error) == -EINVAL);
    CHECK(std::string(error.text).rfind("unknown option 'dpeth' (did you mean depth?); valid here: depth", 0) == 0);
    CHECK(trib_options_read("path=1", kSpecs, &fields, &error) == -EINVAL);
    CHECK(std::string(error.text).rfind("unknown option 'path'; valid here: depth", 0) == 0);
}

TEST_CASE("what nobody took is handed on, or refused where there is no room") {
    trib_options *options = nullptr;
    trib_error error{};
    Fields fields{};
    char rest[16];
    REQUIRE(trib_options_open(&options, "a=1,,depth=7,bb=x=y", &error) == 0);
    REQUIRE(trib_options_take(options, kSpecs, &fields, &error) == 0);
    CHECK(trib_options_rest(options, rest, sizeof rest, &error) == 0);
    CHECK(std::string(rest) == "a=1,bb=x=y");
    CHECK(trib_options_rest(options, rest, 10, &error) == -EINVAL);
    CHECK(trib_options_rest(options, rest, 11, &error) == 0);
    trib_options_close(options);
}
