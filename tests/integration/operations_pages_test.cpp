// SPDX-License-Identifier: Apache-2.0
// Every command of docs/operations is run, and prints what the page shows. Pages are for root, whose sockets are in
// /run/tributary: a /run of the test's own keeps it from daemons of this machine.
#include <filesystem>
#include <fstream>
#include <regex>

#include "support/daemon.hpp"
#include "support/skip.hpp"

#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
TEST_CASE("commands of the pages") {
    trib_test::skip("a sanitizer's runtime has to come before every preloaded library");
}
#else

using namespace trib_test;

namespace {

bool may_have_own_run() {
    return geteuid() == 0 && run({"unshare", "-m", "mount", "-t", "tmpfs", "none", "/run"}).code == 0;
}

// `trib` and the library where the users that a page becomes can read them, wherever this build is.
const std::string &programs() {
    static const Folder folder;
    static const std::string path = [] {
        const Outcome outcome =
            run({"sh", "-c",
                 "chmod 755 " + (folder / "") +
                     " && cp " TRIB_BINARY_DIR "/cli/trib " TRIB_BINARY_DIR "/preload/libtributary-preload.so " +
                     (folder / "")});
        INFO(outcome.err);
        REQUIRE(outcome.code == 0);
        return folder / "";
    }();
    return path;
}

Outcome run_page(const std::string &page) {
    return run({"unshare", "-m", "sh", "-c",
                "mount -t tmpfs -o mode=755 none /run && exec python3 '" TRIB_SOURCE_DIR
                "/tests/support/run_page.py' '" +
                    page + "' '" + programs() + "' '" + programs() + "'"});
}

} // namespace

TEST_CASE("the pages of operations do what they show") {
    if (!may_have_own_run())
        return skip("needs root and a mount namespace");
    unsigned pages = 0;
    for (const auto &entry : std::filesystem::directory_iterator(TRIB_SOURCE_DIR "/docs/operations")) {
        const std::string page = entry.path().string();
        const Outcome outcome = run_page(page);
        INFO(page << "\n" << outcome.out << outcome.err);
        CHECK(outcome.code == 0);
        pages++;
    }
    CHECK(pages >= 4);
}

TEST_CASE("what monitoring.md names is in the JSON and in the metrics") {
    const Daemon daemon({"--drive", "none"});
    const Json json = daemon.status();
    const std::string metrics = trib({"status", daemon.socket(), "--openmetrics"}).out;
    const std::string page = read_file(TRIB_SOURCE_DIR "/docs/operations/monitoring.md");
    const std::regex name("`(\\w+)`"), value("is `?(\"\\w+\"|\\d+)"), row("\\| (`[^|]*) \\| (`[^|]*) \\|");
    unsigned rows = 0, names = 0;
    for (const std::string &line : lines_of(page.substr(page.find("| in the JSON |")))) {
        std::smatch cells, is;
        if (!std::regex_search(line, cells, row))
            continue;
        rows++;
        const std::string field = cells[1], metric = cells[2];
        for (auto at = std::sregex_iterator(field.begin(), field.end(), name); at != std::sregex_iterator();
             ++at, names++) {
            INFO(line << ": " << at->str(1));
            REQUIRE(json.contains(at->str(1)));
            if (std::regex_search(field, is, value)) // of the same type as the value that it says
                CHECK(json[at->str(1)].is_string() == (is[1].str()[0] == '"'));
        }
        for (auto at = std::sregex_iterator(metric.begin(), metric.end(), name); at != std::sregex_iterator(); ++at) {
            INFO(line << ": " << at->str(1));
            CHECK(has(metrics, "\n" + at->str(1) + "{daemon="));
        }
    }
    CHECK(rows >= 12);
    CHECK(names >= rows);
    CHECK(json["placement"] == "none"); // as the page has it
    CHECK(has(metrics, "\ntributary_placement{daemon=\"" + daemon.socket() + "\"} 0\n"));
}

TEST_CASE("a page that shows something else is noticed") {
    if (!may_have_own_run())
        return skip("needs root and a mount namespace");
    Folder folder;
    const std::string page = folder / "page.md";
    const auto code_of = [&](const std::string &block) {
        std::ofstream(page) << "```console run\n" << block << "```\n";
        return run_page(page).code;
    };
    CHECK(code_of("$ echo 12 MiB in 30 files\n99 MiB in 45 files\n") == 0);
    CHECK(code_of("$ echo 12.5 KiB, WAF 1.000, 0 lost\n13 MiB, WAF 1.234, 0 lost\n") == 0);
    CHECK(code_of("$ echo lost 455 events\nlost 0 events\n") == 1);
    CHECK(code_of("$ echo lost 0 events\nlost 455 events\n") == 1);
    CHECK(code_of("$ echo lost 1 events, 12 B\nlost 1 events, 0 B\n") == 1);
    CHECK(code_of("$ echo lost 1.5 events\nlost 1 events\n") == 1);
    CHECK(code_of("$ echo 1 so far\n2 so far\n") == 1);
    CHECK(code_of("$ printf 'a\\nb\\nc\\n'\na\n...\n") == 0);
    CHECK(code_of("$ echo 12 MiB in 3 files\n99 MiB in 3 folders\n") == 1);
    CHECK(code_of("$ echo one; echo two\none\n") == 1);
    CHECK(code_of("$ echo one\none\ntwo\n") == 1);
    CHECK(code_of("$ false\n") == 1);
    CHECK(code_of("$ false # exit 1\n") == 0);
    CHECK(code_of("$ true # exit 1\n") == 1);
    CHECK(code_of("") == 1);
}

#endif
