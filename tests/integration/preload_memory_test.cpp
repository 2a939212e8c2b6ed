// SPDX-License-Identifier: Apache-2.0
// What a process does with the memory that a daemon gives it: names that find no room in it come later or are counted,
// and memory that is not as it must be is not used.
#include "support/catch.hpp"

#include <sys/stat.h>

#include "support/preload.hpp"

#include "support/daemon.hpp"
#include "support/fake_daemon.hpp"

namespace {

using namespace trib_test;

constexpr unsigned kFiles = 600; // of preload_gated.c

class Gated {
  public:
    Gated(const FakeDaemon &daemon, const std::string &how) {
        for (int attempt = 0; attempt < 5; attempt++) {
            begin(daemon, how, std::to_string(attempt));
            wait("1");
            if (daemon.ring() && fake_events(daemon.ring()) > 0)
                return;
            stop(); // a machine so busy that the answer came after the join had been given up
        }
        FAIL("the program does not join");
    }
    ~Gated() {
        stop();
    }
    Gated(const Gated &) = delete;
    Gated &operator=(const Gated &) = delete;
    void wait(const std::string &step) {
        struct stat status;
        REQUIRE(comes_true([&] { return stat((place_ + "/done" + step).c_str(), &status) == 0; }, 20000));
    }
    void pass(const std::string &step) {
        wait(step);
        mkdir((place_ + "/go" + step).c_str(), 0700);
    }
    void end() {
        int status = -1;
        waitpid(pid_, &status, 0);
        pid_ = -1;
        CHECK(status == 0);
    }

  private:
    void begin(const FakeDaemon &daemon, const std::string &how, const std::string &name) {
        Environment environment = preload_environment();
        environment["TRIBUTARY_SESSION"] = daemon.address();
        place_ = folder_ / name;
        REQUIRE(mkdir(place_.c_str(), 0700) == 0);
        pid_ = start({PRELOAD_GATED, how, place_}, environment, folder_ / "err");
    }
    void stop() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
        pid_ = -1;
    }

    Folder folder_;
    std::string place_;
    pid_t pid_ = -1;
};

} // namespace

TEST_CASE("a name that finds no room comes with a later write") {
    FakeDaemon daemon;
    Gated program(daemon, "again");
    program.wait("1");
    std::set<std::string> names = daemon.take_names();
    CHECK(names.size() > 100);
    CHECK(names.size() < kFiles);
    program.pass("1");
    program.wait("2");
    names.merge(daemon.take_names());
    CHECK(names.size() == kFiles);
    program.pass("2");
    program.end();
    CHECK(fake_names_lost(daemon.ring()) == 0);
}

TEST_CASE("a name that never finds room is counted, at the close or at the end") {
    const std::string how = GENERATE("close", "exit");
    FakeDaemon daemon;
    Gated program(daemon, how);
    program.pass("1");
    program.wait("2");
    if (how == "exit")
        CHECK(fake_names_lost(daemon.ring()) == 0);
    program.pass("2");
    program.end();
    const size_t named = daemon.take_names().size();
    CHECK(named > 100);
    CHECK(named + fake_names_lost(daemon.ring()) == kFiles);
}

TEST_CASE("a name that finds no room is its file's, also when the descriptor's number means another by then") {
    FakeDaemon daemon;
    Gated program(daemon, "output");
    program.wait("1");
    CHECK(daemon.take_names().count("the-old-one") == 0);
    program.pass("1");
    program.wait("2");
    CHECK(daemon.take_names() == std::set<std::string>{"the-old-one"}); // nobody has written into the new one
    program.pass("2");
    program.end();
}

TEST_CASE("a process whose ring has been damaged goes on unrecorded, and says so") {
    FakeDaemon daemon;
    Gated program(daemon, "again");
    program.wait("1");
    daemon.take_names();
    const uint64_t before = fake_events(daemon.ring());
    CHECK(before == kFiles);
    fake_spoil_tail(daemon.ring());
    program.pass("1");
    program.pass("2");
    program.end();
    CHECK(fake_broken(daemon.ring()) == 1);
    CHECK(daemon.take_names().empty()); // those that had found no room: nothing is sent any more
    CHECK(daemon.joins() == 1);
}

TEST_CASE("memory that is not as the answer says, or could be taken away, is not used") {
    constexpr int kBoth = F_SEAL_SHRINK | F_SEAL_GROW;
    const fake_given given = GENERATE_COPY(
        fake_given{0, kBoth, 0, 0, 1024}, fake_given{F_SEAL_GROW, kBoth, 0, 0, 1024}, fake_given{kBoth, 0, 0, 0, 1024},
        fake_given{kBoth, F_SEAL_GROW, 0, 0, 1024}, fake_given{kBoth, kBoth, -4096, 0, 1024},
        fake_given{kBoth, kBoth, 4096, 0, 1024}, fake_given{kBoth, kBoth, 0, -4096, 1024},
        fake_given{kBoth, kBoth, 0, 4096, 1024}, fake_given{kBoth, kBoth, 0, 0, 1000});
    INFO("seals " << given.ring_seals << ", " << given.table_seals << ", more bytes " << given.ring_more_bytes << ", "
                  << given.table_more_bytes << ", events " << given.events);
    FakeDaemon daemon(given);
    Folder folder;
    Environment environment = preload_environment();
    environment["TRIBUTARY_SESSION"] = daemon.address();
    const Outcome outcome = run({PRELOAD_STORY, "writes", folder.file("")}, environment);
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    CHECK(daemon.joins() >= 1);
    CHECK(comes_true([&] { return daemon.given_up() == -EPROTO; })); // and says so
    CHECK(fake_events(daemon.ring()) == 0);
}

TEST_CASE("memory that is as it must be is used") {
    FakeDaemon daemon;
    Folder folder;
    Environment environment = preload_environment();
    environment["TRIBUTARY_SESSION"] = daemon.address();
    CHECK(run({PRELOAD_STORY, "writes", folder.file("")}, environment).code == 0);
    CHECK(daemon.joins() == 1);
    CHECK(daemon.given_up() == 0);
    CHECK(fake_events(daemon.ring()) == 10);
}
