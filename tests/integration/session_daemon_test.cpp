// SPDX-License-Identifier: Apache-2.0
// A session's daemon as its processes see it: killed, stopped, paused, closed, somebody else's; and the streams it
// says.
#include "support/session.hpp"
#include "support/skip.hpp"

#include <cstring>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

using namespace trib_test;

// Writes until the daemon at `path` has recorded the process; how many events that took.
static unsigned write_until_joined(trib_client *client, Pipeline &next) {
    const trib_event event = event_of(TRIB_EVENT_WRITE, 2, 0);
    unsigned count = 0;
    for (; count < 1000 && next.status().processes != 1; count++) {
        trib_client_submit(client, &event);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    CHECK(next.status().processes == 1);
    CHECK(next.status().joins_again == 1);
    return count;
}

TEST_CASE("a daemon that is killed costs events, and its processes join the next") {
    Folder folder;
    const std::string path = folder / "session";
    const pid_t recorder = start_daemon(path, [](Pipeline &) {
        pause();
        return 0;
    });
    trib_client *client = join(path);
    REQUIRE(client != nullptr);
    kill(recorder, SIGKILL);
    status_of(recorder);
    const trib_event event = event_of(TRIB_EVENT_WRITE, 2, 0);
    unsigned accepted = 0;
    while (accepted < 100000 && trib_client_submit(client, &event))
        accepted++;
    CHECK(accepted < 100000); // the ring is full at the latest
    const unsigned refused = 1000;
    for (unsigned i = 1; i < refused; i++)
        CHECK_FALSE(trib_client_submit(client, &event));
    trib_client *late = nullptr;
    CHECK(join_at(path, &late) == -ECONNREFUSED);

    Pipeline next("policy=none,drive=none,session=" + path, true); // takes the place of the dead
    REQUIRE(next.rc() == 0);
    write_until_joined(client, next);
    const uint64_t before = next.status().events;
    CHECK(trib_client_submit(client, &event));
    trib_pipeline_drain(next.get());
    CHECK(next.status().events > before);
    // What the dead one never took, and what its ring did not.
    CHECK(next.status().events_dropped >= accepted + refused);
    CHECK(next.status().lost_alone == next.status().events_dropped);
    CHECK(next.status().bytes_dropped == next.status().events_dropped * 100);
    trib_client_close(client);
    CHECK(next.close() == 0);
    CHECK(access(path.c_str(), F_OK) != 0);
}

TEST_CASE("daemons start while others ask for their status") {
    Folder folder;
    const std::string path = folder / "session";
    std::vector<pid_t> askers(2);
    for (pid_t &asker : askers)
        asker = process([&] {
            trib_client *client = nullptr;
            trib_status status;
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            while (trib_client_open(&client, path.c_str(), nullptr) == 0) {
                (void)trib_client_status(client, &status);
                trib_client_close(client);
            }
            return 1;
        });
    for (int i = 0; i < 30; i++) {
        const pid_t daemon = start_daemon(path, [](Pipeline &pipeline) { return pipeline.close(); });
        CHECK(status_of(daemon) == 0);
    }
    for (const pid_t asker : askers) {
        kill(asker, SIGKILL);
        status_of(asker);
    }
}

TEST_CASE("what a daemon has counted as lost, the next does not count again") {
    Folder folder;
    const std::string path = folder / "session";
    static constexpr unsigned submitted = 20000; // the ring has 16,384 slots
    const pid_t recorder = start_daemon(path, [](Pipeline &pipeline) {
        for (unsigned i = 0; i < 2000 && pipeline.status().events + pipeline.status().events_dropped < submitted; i++)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        const bool counted = pipeline.status().events_dropped > 1000;
        return counted ? kill(getpid(), SIGKILL) : 1;
    });
    trib_client *client = join(path);
    REQUIRE(client != nullptr);
    kill(recorder, SIGSTOP);
    int status = 0;
    REQUIRE(waitpid(recorder, &status, WUNTRACED) == recorder);
    submit_many(client, 2, submitted);
    kill(recorder, SIGCONT);
    CHECK(WIFSIGNALED(status_of(recorder)));

    Pipeline next("policy=none,drive=none,session=" + path, true);
    REQUIRE(next.rc() == 0);
    const unsigned alone = write_until_joined(client, next);
    CHECK(next.status().events_dropped <= alone);
    trib_client_close(client);
}

TEST_CASE("a daemon that is stopped holds up nobody, and takes what fitted when it goes on") {
    Folder folder;
    const std::string path = folder / "session";
    const pid_t recorder = start_daemon(path, [](Pipeline &pipeline) {
        for (unsigned i = 0; i < 2000 && pipeline.status().events < 10; i++)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return pipeline.status().events == 10 && pipeline.status().processes == 1 ? 0 : 1;
    });
    trib_client *client = join(path);
    REQUIRE(client != nullptr);
    kill(recorder, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(700)); // longer than its silence is taken for life
    const auto took = [](const auto &body) {
        const auto begin = std::chrono::steady_clock::now();
        body();
        return std::chrono::steady_clock::now() - begin;
    };
    CHECK(took([&] { CHECK(submit_many(client, 2, 10)); }) < std::chrono::milliseconds(150));
    trib_client *late = nullptr;
    std::chrono::nanoseconds quickest = std::chrono::seconds(9);
    for (int i = 0; i < 5; i++) { // the machine may be busy with others
        const auto one = took([&] { CHECK(join_at(path, &late) == -ETIMEDOUT); });
        quickest = std::min<std::chrono::nanoseconds>(quickest, one);
    }
    CHECK(quickest < std::chrono::milliseconds(100)); // one that lives is waited for twice as long
    kill(recorder, SIGCONT);
    CHECK(WEXITSTATUS(status_of(recorder)) == 0);
    trib_client_close(client);
}

// It accepts, as the kernel does for it, shows life, and says nothing.
class Mute {
  public:
    explicit Mute(const std::string &path) : path_(path) {
        struct sockaddr_un at = {};
        at.sun_family = AF_UNIX;
        strncpy(at.sun_path, path.c_str(), sizeof at.sun_path - 1);
        listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        REQUIRE(bind(listener_, reinterpret_cast<struct sockaddr *>(&at), sizeof at) == 0);
        REQUIRE(listen(listener_, 512) == 0);
    }
    ~Mute() {
        close(listener_);
    }
    Mute(const Mute &) = delete;
    Mute &operator=(const Mute &) = delete;
    // How long a write of the client takes, a moment after a sign of life.
    std::chrono::nanoseconds write(trib_client *client) const {
        const trib_event event = event_of(TRIB_EVENT_WRITE, 2, 0);
        CHECK(utimensat(AT_FDCWD, path_.c_str(), nullptr, 0) == 0);
        const auto begin = std::chrono::steady_clock::now();
        CHECK_FALSE(trib_client_submit(client, &event));
        return std::chrono::steady_clock::now() - begin;
    }

  private:
    std::string path_;
    int listener_;
};

TEST_CASE("a daemon that lives and does not answer is waited for a moment, and not by every write") {
    using std::chrono::milliseconds;
    Folder folder;
    const Mute daemon(folder / "session");
    std::chrono::nanoseconds quickest = std::chrono::seconds(9);
    for (int i = 0; i < 3; i++) { // the machine may be busy with others
        trib_client *client = nullptr;
        REQUIRE(trib_client_open(&client, (folder / "session").c_str(), nullptr) == 0);
        quickest = std::min(quickest, daemon.write(client));
        trib_client_close(client);
    }
    CHECK(quickest >= milliseconds(100));
    CHECK(quickest < milliseconds(600));
    trib_client *client = nullptr;
    REQUIRE(trib_client_open(&client, (folder / "session").c_str(), nullptr) == 0);
    unsigned late = 0;
    for (int i = 0; i < 100; i++) {
        late += daemon.write(client) >= milliseconds(100);
        std::this_thread::sleep_for(milliseconds(5));
    }
    CHECK(late >= 1);
    CHECK(late < 20);
    trib_client_close(client);
}

TEST_CASE("a daemon that lives touches its socket, so that its answer is waited for") {
    Recording session;
    const timespec long_ago[2] = {{1, 0}, {1, 0}};
    REQUIRE(utimensat(AT_FDCWD, session.path.c_str(), long_ago, 0) == 0);
    struct stat status = {};
    for (int i = 0; i < 100 && status.st_mtime <= 1; i++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        REQUIRE(stat(session.path.c_str(), &status) == 0);
    }
    CHECK(status.st_mtime > 1);
}

TEST_CASE("submit says so once the daemon has closed") {
    Recording session;
    trib_client *client = join(session.path);
    REQUIRE(client != nullptr);
    const trib_event event = event_of(TRIB_EVENT_WRITE, 2, 0);
    CHECK(trib_client_submit(client, &event));
    REQUIRE(session.recorder->close() == 0);
    CHECK_FALSE(trib_client_submit(client, &event));
    trib_client_close(client);
}

TEST_CASE("processes submit nothing while the daemon pauses") {
    Recording session;
    trib_client *client = join(session.path);
    REQUIRE(client != nullptr);
    const trib_event event = event_of(TRIB_EVENT_WRITE, 2, 0);
    trib_pipeline_pause(session.recorder->get(), true);
    CHECK_FALSE(trib_client_wanted(client));
    CHECK_FALSE(trib_client_submit(client, &event));
    trib_pipeline_pause(session.recorder->get(), false);
    CHECK(trib_client_wanted(client));
    CHECK(trib_client_submit(client, &event));
    trib_pipeline_drain(session.recorder->get());
    CHECK(session.recorder->status().events == 1);
    CHECK(session.recorder->status().events_dropped == 0);
    trib_client_close(client);
}

TEST_CASE("a socket in use is not taken over, and nothing else is one") {
    Recording session;
    Pipeline second("policy=none,drive=none,session=" + session.path, true);
    CHECK(second.rc() == -EADDRINUSE);
    trib_client *client = nullptr;
    CHECK(join_at(session.folder / "absent", &client) == -ENOENT);
    CHECK(join_at(session.trace, &client) == -ECONNREFUSED);
    CHECK(join_at("relative", &client) == -EINVAL);
    CHECK(join_at("/" + std::string(200, 'x'), &client) == -ENAMETOOLONG);
    Pipeline on_a_file("policy=none,drive=none,session=" + session.trace, true);
    CHECK(on_a_file.rc() == -EADDRINUSE);
    CHECK(access(session.trace.c_str(), F_OK) == 0);
    Pipeline replay("policy=none,drive=none,session=" + (session.folder / "other"));
    CHECK(replay.rc() == -EINVAL);
    Pipeline nameless("policy=none,drive=none", true);
    CHECK(nameless.rc() == -EINVAL);
}

TEST_CASE("only who is on the list may join") {
    if (!is_root_or_skips("nobody can be two users"))
        return;
    Session session;
    const auto joins_as_other = [&] {
        trib_client *client = nullptr;
        if (setgid(65534) != 0 || setuid(65534) != 0)
            return 1;
        return -join_at(session.path, &client);
    };
    chmod((session.folder / "").c_str(), 0755);
    int opened[2];
    REQUIRE(pipe(opened) == 0);
    const pid_t first = session.process(joins_as_other);
    const pid_t second = session.process([&] {
        char byte;
        return read(opened[0], &byte, 1) == 1 ? joins_as_other() : 1;
    });
    session.record();
    CHECK(WEXITSTATUS(status_of(first)) == EACCES);
    chmod(session.path.c_str(), 0666); // what the socket's mode lets in, the list keeps out
    CHECK(write(opened[1], "", 1) == 1);
    CHECK(WEXITSTATUS(status_of(second)) == EACCES);
    close(opened[0]), close(opened[1]);
    CHECK(session.recorder->status().joins_refused == 1);
    CHECK(session.recorder->status().processes == 0);
}

TEST_CASE("a context's stream is the policy's once its writes have been seen") {
    Recording session;
    trib_client *client = join(session.path);
    REQUIRE(client != nullptr);
    trib_context hot{};
    hot.signature = 77;
    CHECK(trib_client_place(client, &hot) == 0);
    // Two contexts whose lifetimes differ; pcstream gives them streams when it clusters.
    for (unsigned i = 0; i < 60; i++) {
        for (unsigned k = 0; k < 8; k++) {
            trib_event event = event_of(TRIB_EVENT_WRITE, 10, k * 100);
            event.length_bytes = 1 << 20;
            event.offset_bytes = 0;
            event.who = hot;
            while (!trib_client_submit(client, &event))
                std::this_thread::yield();
        }
        trib_pipeline_drain(session.recorder->get());
    }
    trib_context as_recorded = hot;
    const uint16_t expected = trib_pipeline_place(session.recorder->get(), &as_recorded);
    CHECK(expected != 0);
    CHECK(trib_client_place(client, &hot) == expected);
    trib_client_close(client);
}

TEST_CASE("a call path that the session has not met gets what the policy says of its kind") {
    Folder folder;
    const std::string path = folder / "session";
    Pipeline recorder("policy=manual,map=sqlite,drive=none,session=" + path, true); // databases: S2
    REQUIRE(recorder.rc() == 0);
    trib_client *client = join(path);
    REQUIRE(client != nullptr);
    trib_event event = event_of(TRIB_EVENT_WRITE, 3, 0);
    event.who.file_kind = TRIB_FILE_DATABASE;
    CHECK(trib_client_place(client, &event.who) == 0); // nothing was written yet
    REQUIRE(trib_client_submit(client, &event));
    trib_pipeline_drain(recorder.get());
    CHECK(trib_client_place(client, &event.who) == 2);
    event.who.signature = 4242;
    CHECK(trib_pipeline_place(recorder.get(), &event.who) == 2);
    CHECK(trib_client_place(client, &event.who) == 2);
    event.who.file_kind = TRIB_FILE_JOURNAL;
    CHECK(trib_client_place(client, &event.who) == 0);
    trib_client_close(client);
}
