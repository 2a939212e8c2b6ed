// SPDX-License-Identifier: Apache-2.0
// A process's first write, which finds out the program's name and reserves the memory of call paths: with a thread
// beside it that has lost its processor, and with a child whose limits are its own.
#include "support/catch.hpp"

#include <filesystem>
#include <set>

#include "support/fake_daemon.hpp"
#include "support/preload.hpp"
#include "support/skip.hpp"

namespace {

using namespace trib_test;

constexpr int kNotPossible = 77, kSignatureText = 2; // of ring/text.h
constexpr int kTries = 10; // a process gives up to join a daemon that a busy machine keeps from answering

std::string path() {
    return std::filesystem::canonical(PRELOAD_FIRST).string();
}

// False: this machine cannot do it.
bool runs(const FakeDaemon &daemon, const std::string &how) {
    Folder folder;
    Environment environment = preload_environment();
    environment["TRIBUTARY_SESSION"] = daemon.address();
    if (!std::string(PRELOAD_SANITIZER).empty())
        return skip("a sanitizer's runtime makes system calls of its own"), false;
    const Outcome outcome = run({PRELOAD_FIRST, how, folder.file("")}, environment);
    if (outcome.code == kNotPossible)
        return skip("no process may trace another here"), false;
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(read_file(folder / "first").rfind("first", 0) == 0);
    CHECK(read_file(folder / "second").rfind("second", 0) == 0);
    return true;
}

} // namespace

TEST_CASE("a thread that waits for another's first write, wherever that one is, knows its program's name") {
    FakeDaemon daemon;
    for (int i = 0; i < kTries && daemon.joins() <= 5; i++)
        if (!runs(daemon, "wait_for_each_call"))
            return;
    CHECK(daemon.joins() > 5);
    for (const std::string &program : daemon.programs())
        CHECK(program == path());
}

TEST_CASE("a process whose first write never comes to its end goes by the name that it was called by") {
    FakeDaemon daemon;
    std::set<std::string> names;
    for (int i = 0; i < kTries && names.empty(); i++) {
        if (!runs(daemon, "wait_for_name"))
            return;
        names.insert(daemon.programs().begin(), daemon.programs().end());
        names.erase(path()); // joined after all
    }
    CHECK(names == std::set<std::string>{"another-name"});
}

TEST_CASE("the limits of a vfork's child are not its parent's") {
    FakeDaemon daemon;
    bool is_recorded = false;
    for (int i = 0; i < kTries && !is_recorded; i++) {
        if (!runs(daemon, "limit_child"))
            return;
        is_recorded = daemon.joins() && fake_events(daemon.ring()) > 0;
    }
    REQUIRE(is_recorded);
    CHECK(daemon.take_texts().count(kSignatureText) == 1); // which needs memory
}
