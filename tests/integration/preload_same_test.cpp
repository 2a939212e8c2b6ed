// SPDX-License-Identifier: Apache-2.0
// Under the shim a program gets the bytes, results and errno that it gets without: random sequences of all calls, and
// real programs.
#include "support/catch.hpp"

#include <algorithm>
#include <filesystem>

#include "support/preload.hpp"

namespace {

using namespace trib_test;
namespace fs = std::filesystem;

std::string files_of(const fs::path &folder) {
    std::map<std::string, std::string> found;
    for (const auto &entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file())
            found[fs::relative(entry.path(), folder)] = read_file(entry.path());
    std::string all;
    for (const auto &[name, content] : found)
        all += name + ":" + content + "\n";
    return all;
}

} // namespace

TEST_CASE("random calls give the same bytes, results and errno") {
    const unsigned seed = GENERATE(range(1u, 9u));
    Folder without, alone, session, traces;
    const auto command = [&](const Folder &folder) {
        return std::vector<std::string>{PRELOAD_CALLS, std::to_string(seed), folder.file(""), "3000"};
    };
    const Outcome expected = run_without(command(without));
    REQUIRE(expected.code == 0);
    const Outcome first = run_alone(command(alone), traces.file("alone"));
    const Outcome second = run_in_session(command(session), traces.file("session"));
    CHECK(first.code == 0);
    CHECK(second.code == 0);
    CHECK((first.out == expected.out));
    CHECK((second.out == expected.out));
    CHECK((files_of(alone.file("")) == files_of(without.file(""))));
    CHECK((files_of(session.file("")) == files_of(without.file(""))));
    // Both saw the same; but which mapped pages are dirty when asked is also a matter of the kernel's write-back.
    const Said one = read_said(traces.file("alone")), two = read_said(traces.file("session"));
    const auto deaths = [](const Said &said) {
        return std::count_if(said.events.begin(), said.events.end(),
                             [](const trib_event &event) { return event.kind == TRIB_EVENT_DEATH; });
    };
    CHECK(one.events.size() > 1000);
    CHECK(deaths(one) > 100);
    CHECK(deaths(one) == deaths(two));
}

TEST_CASE("an option error is one line, and the program runs on") {
    Environment environment = preload_environment();
    environment["TRIBUTARY"] = "polcy=none";
    Folder folder;
    const Outcome outcome = run({PRELOAD_STORY, "writes", folder.file("")}, environment);
    CHECK(outcome.code == 0);
    CHECK(has(outcome.err, "polcy"));
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    CHECK(fs::file_size(folder.file("a")) == 40003);
}

TEST_CASE("without a recorder, or with a session that is gone, nothing happens") {
    Environment environment = preload_environment();
    Folder folder;
    if (GENERATE(true, false))
        environment["TRIBUTARY_SESSION"] = folder.file("no-session");
    const Outcome outcome = run({PRELOAD_STORY, "fork", folder.file("")}, environment);
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    CHECK_FALSE(fs::exists(folder.file("no-session")));
}
