// SPDX-License-Identifier: Apache-2.0
// The demo's report: one page that needs nothing else, from figures in the documented formats.
#include "support/catch.hpp"
#include "support/process.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>

namespace {

namespace fs = std::filesystem;
using trib_test::Folder;
using trib_test::has;
using trib_test::read_file;

const std::string SOURCE = TRIB_SOURCE_DIR;
const std::string FIXTURES = SOURCE + "/tests/fixtures/";

// Debian's interpreter: the plotting library is packaged for it, not for whatever comes first on PATH.
int python(const std::string &arguments, const std::string &log) {
    const int status = std::system(("/usr/bin/python3 -B " + arguments + " >" + log + " 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int report(const std::string &result, const std::string &compared, const std::string &out, const std::string &log) {
    return python(SOURCE + "/bench/report/report.py " + result + " " + compared + " " + out, log);
}

// The page without the plotting library, which is several megabytes of somebody else's text.
std::string own_part(const std::string &page) {
    const size_t body = page.find("<body>");
    REQUIRE(body != std::string::npos);
    return page.substr(body);
}

} // namespace

TEST_CASE("report: a self-contained page with every part") {
    Folder folder;
    REQUIRE(report(FIXTURES + "report-result.json", FIXTURES + "report-compare.json", folder.file("r.html"),
                   folder.file("log")) == 0);
    CHECK(read_file(folder.file("log")).empty());
    const std::string page = read_file(folder.file("r.html"));
    const std::string own = own_part(page);

    SECTION("nothing is fetched from elsewhere") {
        CHECK(page.size() > 1000000); // plotly.js is inside
        CHECK_FALSE(has(own, "src="));
        CHECK_FALSE(has(own, "href="));
        CHECK_FALSE(has(own, "http://"));
        CHECK_FALSE(has(own, "https://"));
    }
    SECTION("all plots are drawn") {
        for (const char *plot :
             {"waf-per-policy", "waf-over-time-same", "waf-over-time-shared", "lifetimes", "streams-over-time"}) {
            INFO(plot);
            CHECK(has(own, std::string("id=\"") + plot + "\""));
        }
        CHECK(has(own, "\"type\":\"box\""));
        CHECK(has(own, "\"stackgroup\":"));
    }
    SECTION("the sentence and the table come from the data") {
        CHECK(has(own, "copies 90 % less than without placement"));
        CHECK(has(own, "from 1.60 to 1.06 (gc=same)"));
        CHECK(has(own, "pcstream salted+internal ★"));
        CHECK(has(own, "1.0312, 1.0312"));
        CHECK(has(own, "This is a fixture of the tests"));
    }
    SECTION("call paths are short, whole on demand, and harmless") {
        CHECK(has(own, "<summary>DBImpl::BackgroundCompaction › CompactionJob::Run › NewWritableFile</summary>"));
        CHECK(has(own, "<li>librocksdb.so.7.8!rocksdb::ThreadPoolImpl::Impl::BGThread+0x50</li>"));
        CHECK_FALSE(has(own, "<script>alert"));
    }
}

TEST_CASE("report: the same figures give the same page") {
    Folder folder;
    for (const char *name : {"a.html", "b.html"})
        REQUIRE(report(FIXTURES + "report-result.json", FIXTURES + "report-compare.json", folder.file(name),
                       folder.file("log")) == 0);
    CHECK(read_file(folder.file("a.html")) == read_file(folder.file("b.html")));
}

TEST_CASE("report: bad input is one sentence and no page") {
    Folder folder;
    std::ofstream(folder.file("cut.json")) << "{\"version\": 1, \"rows\": [";
    std::ofstream(folder.file("empty.json")) << "{}";
    const std::string compared = FIXTURES + "report-compare.json";
    for (const std::string &result : {folder.file("cut.json"), folder.file("empty.json"), folder.file("absent")}) {
        INFO(result);
        CHECK(report(result, compared, folder.file("r.html"), folder.file("log")) == 1);
        CHECK(has(read_file(folder.file("log")), "report: "));
        CHECK_FALSE(has(read_file(folder.file("log")), "Traceback"));
        CHECK_FALSE(fs::exists(folder.file("r.html")));
    }
}

TEST_CASE("demo and report: their pure parts") {
    Folder folder;
    const int code = python(SOURCE + "/bench/demo/demo_test.py", folder.file("log"));
    INFO(read_file(folder.file("log")));
    CHECK(code == 0);
}

TEST_CASE("demo: usage errors are told before any work") {
    Folder folder;
    const std::string demo = SOURCE + "/bench/demo/demo.py --out " + folder.file("out");
    CHECK(python(demo + " --fill 0", folder.file("log")) == 2);
    CHECK(python(demo + " --compaction fifo", folder.file("log")) == 2);
    CHECK(python(demo + " --experiment " + folder.file("absent.ini"), folder.file("log")) == 1);
    CHECK(has(read_file(folder.file("log")), "demo: cannot read the experiment"));
}
