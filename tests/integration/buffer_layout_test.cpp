// SPDX-License-Identifier: Apache-2.0
// A server whose mini-transactions are not laid out as libtributary-mysql.so believes: it must run as if alone, say one
// line, count it, and have every page go by its content. Without the self-test the wild ones end with SIGSEGV.
#include "support/catch.hpp"

#include "support/mtr_server.h"
#include "support/process.hpp"
#include "support/skip.hpp"

namespace {

using namespace trib_test;

struct Served {
    Outcome outcome;
    double noted = -1; // percent
    std::string front;
    unsigned lines = 0;
};

Served serve(const char *program, const std::string &fault, const std::string &from = "0",
             const std::string &options = "report=off") {
    Folder folder;
    Served served;
    served.outcome = run(
        {program, folder / "", fault, from},
        {{"LD_PRELOAD", TRIB_MYSQL_LIBRARY}, {"TRIBUTARY_BUFFER", options}, {"TRIBUTARY", "policy=none,drive=none"}});
    const std::string &out = served.outcome.out;
    const size_t noted = out.find("noted="), front = out.find("front=");
    if (noted != std::string::npos && front != std::string::npos) {
        served.noted = std::stod(out.substr(noted + 6));
        served.front = out.substr(front + 6, out.find('\n', front) - front - 6);
    }
    for (size_t at = 0; (at = served.outcome.err.find("no front-end signatures: ", at)) != std::string::npos; at++)
        served.lines++;
    return served;
}

} // namespace

TEST_CASE("mini-transactions as they must be are read, before and after the proof") {
    if (TRIB_SANITIZED)
        return trib_test::skip("a sanitizer's runtime has to come before every preloaded library");
    const Served served = serve(TRIB_MTR_SERVER, "sound");
    INFO(served.outcome.out << served.outcome.err);
    REQUIRE(served.outcome.code == 0);
    CHECK(served.noted == 100);
    CHECK(served.front == "mtr_t::commit hooked");
    CHECK(served.lines == 0);
}

TEST_CASE("one wrong field, and the server is left alone") {
    if (TRIB_SANITIZED)
        return trib_test::skip("a sanitizer's runtime has to come before every preloaded library");
    for (int fault = MTR_SOUND + 1; fault < MTR_FAULTS; fault++)
        for (const char *from : {"0", "100"}) {
            const Served served = serve(TRIB_MTR_SERVER, mtr_fault_names[fault], from);
            INFO(mtr_fault_names[fault] << " from " << from << ": " << served.outcome.out << served.outcome.err);
            REQUIRE(served.outcome.code == 0);
            CHECK(has(served.front, "off: "));
            CHECK(has(served.outcome.out, "refusals=1"));
            CHECK(served.lines == 1);
            CHECK(served.noted <= 100 * (100.0 / 3000) + 0.01); // what was noted before the fault, no page more
        }
}

TEST_CASE("code that does not name the fields is hooked on demand only") {
    if (TRIB_SANITIZED)
        return trib_test::skip("a sanitizer's runtime has to come before every preloaded library");
    const Served refused = serve(TRIB_MTR_SERVER_SILENT, "sound");
    INFO(refused.outcome.out << refused.outcome.err);
    CHECK(refused.outcome.code == 0);
    CHECK(has(refused.front, "mtr_t has another layout"));
    CHECK(refused.noted == 0);
    CHECK(refused.lines == 1);
    const Served guessed = serve(TRIB_MTR_SERVER_SILENT, "sound", "0", "layout=guess");
    CHECK(guessed.noted == 100);
    const Served guessed_wrong = serve(TRIB_MTR_SERVER_SILENT, "memo-wild", "0", "layout=guess");
    CHECK(guessed_wrong.outcome.code == 0);
    CHECK(has(guessed_wrong.front, "off: "));
}

TEST_CASE("a build that nobody examined is refused where only known ones are wanted") {
    if (TRIB_SANITIZED)
        return trib_test::skip("a sanitizer's runtime has to come before every preloaded library");
    const Served served = serve(TRIB_MTR_SERVER, "sound", "0", "layout=known");
    CHECK(served.outcome.code == 0);
    CHECK(has(served.front, "layout=known, and this build is not"));
    CHECK(served.noted == 0);
}
