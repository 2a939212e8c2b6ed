// SPDX-License-Identifier: Apache-2.0
// A daemon that does as a test says: it gives each process that joins the memory that the test wants it to have, and
// takes nothing out of it before it is asked to. One thread of its own answers.
#pragma once
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/fake_memory.h"
#include "support/folder.hpp"

namespace trib_test {

constexpr fake_given kSound = {F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_SHRINK | F_SEAL_GROW, 0, 0, 1024};

class FakeDaemon {
  public:
    explicit FakeDaemon(const fake_given &given = kSound) : given_(given) {
        struct sockaddr_un at = {};
        at.sun_family = AF_UNIX;
        strncpy(at.sun_path, address().c_str(), sizeof at.sun_path - 1);
        listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        REQUIRE(bind(listener_, reinterpret_cast<struct sockaddr *>(&at), sizeof at) == 0);
        REQUIRE(listen(listener_, 16) == 0);
        thread_ = std::thread([this] { serve(); });
    }
    ~FakeDaemon() {
        ends_ = true;
        thread_.join();
        close(listener_);
    }
    FakeDaemon(const FakeDaemon &) = delete;
    FakeDaemon &operator=(const FakeDaemon &) = delete;

    std::string address() const {
        return folder_ / "socket";
    }
    unsigned joins() const {
        return joins_;
    }
    // Of each that has joined. When they have ended.
    const std::vector<std::string> &programs() const {
        return programs_;
    }
    // Between a request and its answer. Before anybody joins.
    void before_answer(const std::function<void()> &act) {
        const std::lock_guard<std::mutex> lock(mutex_);
        before_answer_ = act;
    }
    int given_up() const { // the -errno with which a process refused what it got, or 0
        return given_up_;
    }
    void *ring() const { // that the last process got
        return ring_;
    }
    void *table() const {
        return table_;
    }
    // All that waits, by kind.
    std::multimap<int, std::string> take_texts() {
        char body[2049];
        std::multimap<int, std::string> texts;
        for (int kind; (kind = fake_take_text(ring_, given_.events, &text_at_, body)) != 0;)
            texts.emplace(kind, body);
        return texts;
    }
    // What the process has named and nobody has taken, which makes room.
    std::set<std::string> take_names() {
        char body[2049];
        std::set<std::string> names;
        for (int kind; (kind = fake_take_text(ring_, given_.events, &text_at_, body)) != 0;)
            if (kind == 1)
                names.insert(std::string(body).substr(std::string(body).rfind('/') + 1));
        return names;
    }

  private:
    static void giving(void *arg, const char *program, void *ring, void *table) {
        auto *daemon = static_cast<FakeDaemon *>(arg);
        daemon->programs_.emplace_back(program);
        daemon->ring_ = ring;
        daemon->table_ = table;
        daemon->joins_++;
        const std::lock_guard<std::mutex> lock(daemon->mutex_);
        if (daemon->before_answer_)
            daemon->before_answer_();
    }
    void serve() {
        const fake_server server = {listener_, given_, giving, this};
        while (!ends_) {
            const int result = fake_serve(&server, 20);
            if (result < 0)
                given_up_ = result;
        }
    }

    Folder folder_;
    fake_given given_;
    std::mutex mutex_;
    std::function<void()> before_answer_;
    std::vector<std::string> programs_;
    int listener_ = -1;
    std::atomic<bool> ends_{false};
    std::atomic<unsigned> joins_{0};
    std::atomic<int> given_up_{0};
    std::atomic<void *> ring_{nullptr}, table_{nullptr};
    uint64_t text_at_ = 0;
    std::thread thread_;
};

} // namespace trib_test
