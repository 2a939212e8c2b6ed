// SPDX-License-Identifier: Apache-2.0
// Every command of docs/operations is run, and prints what the page shows. Pages are for root, whose sockets are in
// /run/tributary: a /run of the test's own keeps it from daemons of this machine.
#include <filesystem>
#include <fstream>

#include "support/cli.hpp"
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

Outcome run_page(const std::string &page) {
    return run({"unshare", "-m", "sh", "-c",
                "mount -t tmpfs -o mode=755 none /run && exec python3 '" TRIB_SOURCE_DIR
                "/tests/support/run_page.py' '" +
                    page + "' '" TRIB_BINARY_DIR "/cli' '" TRIB_BINARY_DIR "/preload'"});
}

// trib and its libraries must be readable for the users that a page becomes.
bool is_open_to_all() {
    return run({"setpriv", "--reuid=nobody", "--clear-groups", TRIB_BINARY_DIR "/cli/trib", "version"}).code == 0;
}

} // namespace

TEST_CASE("the pages of operations do what they show") {
    if (!may_have_own_run())
        return skip("needs root and a mount namespace");
    unsigned pages = 0;
    for (const auto &entry : std::filesystem::directory_iterator(TRIB_SOURCE_DIR "/docs/operations")) {
        const std::string page = entry.path().string();
        if (entry.path().stem() == "security" && !is_open_to_all()) {
            WARN("other users cannot read this build: security.md is not tested");
            continue;
        }
        const Outcome outcome = run_page(page);
        INFO(page << "\n" << outcome.out << outcome.err);
        CHECK(outcome.code == 0);
        pages++;
    }
    CHECK(pages >= 3);
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
    CHECK(code_of("$ echo 12 MiB in 3 files\n99 MiB in 4 files\n") == 0);
    CHECK(code_of("$ printf 'a\\nb\\nc\\n'\na\n...\n") == 0);
    CHECK(code_of("$ echo 12 MiB in 3 files\n99 MiB in 4 folders\n") == 1);
    CHECK(code_of("$ echo one; echo two\none\n") == 1);
    CHECK(code_of("$ echo one\none\ntwo\n") == 1);
    CHECK(code_of("$ false\n") == 1);
    CHECK(code_of("$ false # exit 1\n") == 0);
    CHECK(code_of("$ true # exit 1\n") == 1);
    CHECK(code_of("") == 1);
}

#endif
