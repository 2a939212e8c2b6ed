// SPDX-License-Identifier: Apache-2.0
// What the tool's tables and figures are made of: histograms, numbers, tables, option texts.
#include "support/catch.hpp"
#include "support/events.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "common/failure.h"
#include "common/option_text.h"
#include "common/table.h"
#include "compare/histogram.h"

using cli::Histogram;

TEST_CASE("histogram buckets are contiguous, ordered and hold their middle") {
    size_t before = Histogram::bucket_of(0);
    CHECK(before == 0);
    for (uint64_t value = 1; value < 100000; value++) {
        const size_t bucket = Histogram::bucket_of(value);
        REQUIRE((bucket == before || bucket == before + 1));
        before = bucket;
        const double middle = Histogram::bucket_middle(bucket);
        REQUIRE(std::fabs(middle - double(value)) <= std::max(0.5, double(value) / 32));
    }
    CHECK(Histogram::bucket_of(UINT64_MAX) == Histogram::bucket_of(UINT64_MAX - 1));
}

TEST_CASE("histogram quantiles are weighted and within the promised error") {
    trib_test::Random random(3);
    Histogram histogram;
    std::vector<std::pair<uint64_t, uint64_t>> samples;
    uint64_t total = 0;
    double sum = 0;
    for (int i = 0; i < 5000; i++) {
        const uint64_t value = random.next() >> random.between(8, 60), weight = random.between(1, 1000);
        samples.emplace_back(value, weight);
        histogram.add(value, weight);
        total += weight;
        sum += double(value) * double(weight);
    }
    std::sort(samples.begin(), samples.end());
    for (double fraction : {0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99}) {
        double seen = 0;
        uint64_t exact = 0;
        for (const auto &[value, weight] : samples) {
            exact = value;
            seen += double(weight);
            if (seen >= fraction * double(total))
                break;
        }
        INFO(fraction);
        CHECK(std::fabs(histogram.quantile(fraction) - double(exact)) <= std::max(0.5, 0.016 * double(exact)));
    }
    CHECK(histogram.weight() == total);
    CHECK(histogram.mean() == Approx(sum / double(total)));
}

TEST_CASE("a quantile at the end of a value's share is that value") {
    Histogram histogram;
    for (uint64_t value : {10, 20, 30, 40})
        histogram.add(value, 5);
    CHECK(histogram.quantile(0.25) == 10);
    CHECK(histogram.quantile(0.26) == 20);
    CHECK(histogram.quantile(0.5) == 20);
    CHECK(histogram.quantile(1) == 40);
}

TEST_CASE("merged histograms are the histogram of both") {
    Histogram a, b, both;
    for (uint64_t value : {5u, 500u, 50000u}) {
        a.add(value, value);
        b.add(value * 3, 7);
        both.add(value, value);
        both.add(value * 3, 7);
    }
    a.merge(b);
    for (double fraction : {0.0, 0.3, 0.5, 0.9, 1.0})
        CHECK(a.quantile(fraction) == both.quantile(fraction));
    CHECK(a.mean() == Approx(both.mean()));
    CHECK(Histogram().quantile(0.5) == 0);
    CHECK(Histogram().mean() == 0);
}

TEST_CASE("numbers are short and readable") {
    CHECK(cli::grouped(0) == "0");
    CHECK(cli::grouped(999) == "999");
    CHECK(cli::grouped(1234567) == "1,234,567");
    CHECK(cli::si(999) == "999");
    CHECK(cli::si(999.4) == "999");
    CHECK(cli::si(999.7) == "1.00k"); // never a thousand of a unit
    CHECK(cli::si(999.7e6) == "1.00G");
    CHECK(cli::size_text(1023.8) == "1.00 KiB");
    CHECK(cli::si(1234) == "1.23k");
    CHECK(cli::si(45.6e6) == "45.6M");
    CHECK(cli::size_text(4096) == "4.00 KiB");
    CHECK(cli::size_text(0) == "0 B");
    CHECK(cli::size_option(4u << 20) == "4M");
    CHECK(cli::size_option(4097) == "4097");
    CHECK(cli::fixed(std::nan(""), 2) == "-");
    for (double value = 0.5; value < 1e20; value *= 1.37) {
        INFO(value);
        CHECK(cli::si(value).size() <= 5);
        CHECK(cli::size_text(value).size() <= 9);
    }
}

TEST_CASE("a table that is too wide gives up width where it may") {
    cli::Table table({{"name", cli::Align::left, true}, {"value"}});
    table.add({std::string(100, 'x'), "1"});
    table.rule();
    table.add({"y", "12345"}, true);
    const std::string plain = table.text(false);
    std::istringstream in(plain);
    size_t lines = 0;
    for (std::string line; std::getline(in, line); lines++)
        CHECK(line.size() <= cli::TEXT_COLUMNS);
    CHECK(lines == 5);
    CHECK(plain.find("12345") != std::string::npos);
    CHECK(plain.find("..") != std::string::npos);
    CHECK(plain.find('\033') == std::string::npos);
    CHECK(table.text(true).find('\033') != std::string::npos);
}

TEST_CASE("cells that begin alike are cut where they do not differ") {
    cli::Table table({{"policy", cli::Align::left, true}, {"value"}});
    table.add({"tributary,plan=fine,pages=front", "1"});
    table.add({"tributary,plan=fine,pages=content", "2"});
    table.add({"autostream-mq,levels=8,period=1000", "3"});
    const std::string text = table.text(false, 22);
    INFO(text);
    CHECK(text.find("trib..ages=front") != std::string::npos);
    CHECK(text.find("trib..es=content") != std::string::npos);
    CHECK(text.find("autostream-mq,..") != std::string::npos);
}

TEST_CASE("paragraphs wrap behind their prefix") {
    std::string words;
    for (int i = 0; i < 60; i++)
        words += "word ";
    const std::string text = cli::wrapped("note: ", words);
    std::istringstream in(text);
    std::string line;
    std::getline(in, line);
    CHECK(line.rfind("note: word", 0) == 0);
    while (std::getline(in, line)) {
        CHECK(line.rfind("      word", 0) == 0);
        CHECK(line.size() <= cli::TEXT_COLUMNS);
    }
}

TEST_CASE("option texts merge: later wins, order stays") {
    cli::OptionText text;
    text.merge("pcstream,distance=log", "policy");
    text.merge("gc=same,distance=linear");
    CHECK(text.text() == "policy=pcstream,distance=linear,gc=same");
    text.erase("gc");
    CHECK_FALSE(text.has("gc"));
    CHECK(text.get("distance") == "linear");
    text.merge("");
    CHECK(text.text() == "policy=pcstream,distance=linear");
    CHECK_THROWS_AS(text.merge("pcstream"), cli::Failure);
    CHECK_THROWS_AS(text.merge("a=1,none", "policy"), cli::Failure);
    CHECK_THROWS_AS(text.merge("=1"), cli::Failure);
}
