// SPDX-License-Identifier: Apache-2.0
// A recorder whose rounds a test drives one at a time; the test is daemon and process at once, so that nothing depends
// on who runs when.
#pragma once
#include "support/catch.hpp"

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "support/client.hpp"
#include "support/recorder_inside.h"

namespace trib_test {

struct Recorder {
    trib_recorder *self = nullptr;
    std::map<uint64_t, std::string> names;
    std::map<uint64_t, unsigned> signatures;
    std::map<uint64_t, uint32_t> modules_of; // each path's first
    std::map<uint32_t, std::string> module_names;
    std::map<std::string, uint32_t> uncovered; // programs, and why
    explicit Recorder(const std::string &address, bool starts = true) {
        REQUIRE(trib_test_recorder_listen(&self, address.c_str()) == 0);
        if (starts)
            REQUIRE(trib_test_recorder_start(self) == 0);
    }
    ~Recorder() {
        trib_test_recorder_close(self);
    }
    Recorder(const Recorder &) = delete;
    std::vector<trib_event> take(unsigned capacity = 4096) {
        std::vector<trib_event> batch(capacity);
        batch.resize(trib_test_recorder_take(self, batch.data(), capacity, &said_));
        return batch;
    }
    std::vector<trib_event> take_all() {
        std::vector<trib_event> all;
        for (auto some = take(); !some.empty(); some = take())
            all.insert(all.end(), some.begin(), some.end());
        return all;
    }
    trib_test_counts counts() const {
        trib_test_counts counts{};
        trib_test_recorder_count(self, &counts);
        return counts;
    }

    // The first of those that are joined, at most `capacity`, and how many there are.
    std::vector<trib_status_producer> producers(uint32_t capacity, uint32_t *total = nullptr) const {
        std::vector<trib_status_producer> rows(capacity);
        const uint32_t all = trib_test_recorder_producers(self, rows.data(), capacity);
        rows.resize(all < capacity ? all : capacity);
        if (total)
            *total = all;
        return rows;
    }
    // A process has its answer before it is counted.
    void wait_for(uint64_t trib_test_counts::*count, uint64_t value) const {
        for (unsigned i = 0; i < 1000 && counts().*count != value; i++)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        REQUIRE(counts().*count == value);
    }

  private:
    static void on_name(void *arg, uint64_t file, const char *path) {
        static_cast<Recorder *>(arg)->names[file] = path;
    }
    static void on_signature(void *arg, uint64_t signature, uint32_t module) {
        static_cast<Recorder *>(arg)->signatures[signature]++;
        static_cast<Recorder *>(arg)->modules_of[signature] = module;
    }
    static void on_module(void *arg, uint32_t number, const char *path) {
        static_cast<Recorder *>(arg)->module_names[number] = path;
    }
    static void on_uncovered(void *arg, uint32_t why, const char *path) {
        static_cast<Recorder *>(arg)->uncovered[path] = why;
    }
    const trib_test_said said_{this, on_name, on_signature, on_module, on_uncovered};
};

inline trib_event write_of(uint64_t file, uint64_t wall_ns, uint64_t length_bytes = 100) {
    trib_event event{};
    event.kind = TRIB_EVENT_WRITE;
    event.file = file;
    event.length_bytes = length_bytes;
    event.stream = TRIB_STREAM_UNDECIDED;
    event.wall_ns = wall_ns;
    return event;
}

inline void sleep_ms(unsigned ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

// A busy machine may let a joining time out.
inline trib_client *join_patiently(const std::string &address) {
    trib_client *client = nullptr;
    for (unsigned i = 0; i < 20 && !(client = join(address)); i++)
        sleep_ms(100);
    return client;
}

} // namespace trib_test
