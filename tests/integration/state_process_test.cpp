// SPDX-License-Identifier: Apache-2.0
// State files over processes: kept, used by one at a time, and safe under kill -9 at any moment.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

#include "lifetime/estimate.h"
#include "lifetime/extents.h"
#include "support/catch.hpp"
#include "support/state_file.hpp"

using namespace state_file;

namespace {

constexpr uint32_t kAttributes = 32, kRuns = 4096;

// One handle as a pipeline has it.
class Handle {
  public:
    trib_state *state = nullptr;
    trib_extents *extents = nullptr;
    uint64_t deaths = 0;

    explicit Handle(const std::string &path) {
        trib_state_config config = {path.c_str(), kAttributes, kRuns};
        error = {};
        rc = trib_state_open(&state, &config, &error);
        if (rc == 0)
            rc = trib_extents_open(&extents, state);
    }
    ~Handle() {
        trib_extents_close(extents);
        trib_state_close(state);
    }
    Handle(const Handle &) = delete;

    int write(uint64_t key, uint64_t file, uint64_t offset, uint64_t length) {
        trib_event event = {};
        event.file = file, event.offset_bytes = offset, event.length_bytes = length, event.stream = 1;
        event.who.signature = key;
        trib_attribute_ref ref = trib_state_intern(state, key, &event.who);
        uint64_t clock = trib_state_clock_advance(state, length);
        return trib_extents_write(extents, &event, ref, clock, died, this);
    }
    int kill(uint64_t file, uint64_t offset, uint64_t length) {
        trib_event event = {};
        event.file = file, event.offset_bytes = offset, event.length_bytes = length, event.cause = TRIB_CAUSE_TRIM;
        return trib_extents_kill(extents, &event, trib_state_clock(state), died, this);
    }
    // One random step of a busy engine: appends, overwrites of blocks, holes, deletes, new call
    // paths.
    void step(std::mt19937_64 &random, uint64_t file_base) {
        uint64_t file = file_base + random() % 16, offset = random() % 64 * 4096, length = (1 + random() % 4) * 2048;
        uint64_t key = 1 + random() % (random() % 8 ? 8 : 2 * kAttributes);
        uint64_t what = random() % 16;
        if (what == 0)
            kill(file, 0, TRIB_LENGTH_TO_END);
        else if (what < 3)
            kill(file, offset, length);
        else
            write(key, file, offset, length);
    }

    int rc;
    trib_error error;

  private:
    static void died(void *arg, const trib_death *death) {
        auto *self = static_cast<Handle *>(arg);
        self->deaths++;
        trib_attribute *row = trib_state_attribute(self->state, death->attribute);
        if (row)
            trib_estimate_sample(row, (double)death->age_bytes, 0.5);
    }
};

// What must hold whenever nobody is inside a change.
std::vector<trib_death> require_invariants(Handle &handle) {
    std::vector<trib_death> live;
    trib_state_lock(handle.state);
    trib_extents_visit(
        handle.extents, trib_state_clock(handle.state),
        [](void *arg, const trib_death *run) { static_cast<std::vector<trib_death> *>(arg)->push_back(*run); }, &live);
    std::sort(live.begin(), live.end(), [](const trib_death &a, const trib_death &b) {
        return std::tie(a.file, a.offset_bytes) < std::tie(b.file, b.offset_bytes);
    });
    bool disjoint = true;
    uint64_t bytes = 0;
    std::map<uint32_t, uint64_t> of_row;
    for (size_t i = 0; i < live.size(); i++) {
        bytes += live[i].length_bytes;
        of_row[live[i].attribute] += live[i].length_bytes;
        if (i > 0 && live[i].file == live[i - 1].file)
            disjoint &= live[i - 1].offset_bytes + live[i - 1].length_bytes <= live[i].offset_bytes;
        disjoint &= live[i].length_bytes > 0;
    }
    REQUIRE(disjoint);
    trib_extents_stats stats;
    trib_extents_statistics(handle.extents, &stats);
    REQUIRE(stats.runs == live.size());
    REQUIRE(stats.live_bytes == bytes);
    REQUIRE(stats.slots >= stats.runs);

    uint32_t rows = 0;
    trib_attribute_ref ref;
    for (uint32_t next = 0; (next = trib_state_next(handle.state, next, &ref)); rows++) {
        const trib_attribute *row = trib_state_attribute(handle.state, ref);
        REQUIRE(trib_state_find(handle.state, row->key) == ref);
        REQUIRE(row->live_bytes == of_row[ref]);
    }
    REQUIRE(rows == trib_state_attribute_count(handle.state));
    trib_state_unlock(handle.state);
    return live;
}

// Every byte of every run can still be killed, so the trees lead to all of them.
void require_reachable(Handle &handle, const std::vector<trib_death> &live) {
    trib_state_lock(handle.state);
    uint64_t before = handle.deaths;
    for (const trib_death &run : live)
        REQUIRE(handle.kill(run.file, run.offset_bytes, run.length_bytes) == 0);
    trib_extents_stats stats;
    trib_extents_statistics(handle.extents, &stats);
    trib_state_unlock(handle.state);
    REQUIRE(handle.deaths - before == live.size());
    REQUIRE(stats.runs == 0);
    REQUIRE(stats.live_bytes == 0);
    REQUIRE(stats.slots == 0);
}

void sleep_us(long us) {
    timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, nullptr);
}

// Runs `work(ready)` in a child; `ready` is a byte that both see.
template <class Work> pid_t start_child(volatile char *ready, Work work) {
    *ready = 0;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        work(ready);
        _exit(0);
    }
    return child;
}

volatile char *shared_byte() {
    static void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return static_cast<volatile char *>(page);
}

} // namespace

TEST_CASE("live runs, estimates and the clock survive a restart") {
    Folder folder;
    std::string path = folder / "state";
    std::vector<trib_death> before;
    uint64_t clock;
    double mean;
    {
        Handle handle(path);
        REQUIRE(handle.rc == 0);
        std::mt19937_64 random(1);
        trib_state_lock(handle.state);
        for (int i = 0; i < 3000; i++)
            handle.step(random, 1);
        clock = trib_state_clock(handle.state);
        mean = trib_state_attribute(handle.state, trib_state_find(handle.state, 3))->lifetime_mean;
        trib_state_unlock(handle.state);
        before = require_invariants(handle);
        REQUIRE(before.size() > 100);
    }
    Handle handle(path);
    REQUIRE(handle.rc == 0);
    REQUIRE(trib_state_clock(handle.state) == clock);
    REQUIRE(trib_state_attribute(handle.state, trib_state_find(handle.state, 3))->lifetime_mean == mean);
    auto after = require_invariants(handle);
    REQUIRE(after.size() == before.size());
    for (size_t i = 0; i < after.size(); i++) {
        REQUIRE(after[i].file == before[i].file);
        REQUIRE(after[i].offset_bytes == before[i].offset_bytes);
        REQUIRE(after[i].length_bytes == before[i].length_bytes);
        REQUIRE(after[i].age_bytes == before[i].age_bytes);
        REQUIRE(after[i].attribute == before[i].attribute);
    }
    require_reachable(handle, after);
}

TEST_CASE("of two processes that make the same file at once, one has it") {
    for (int round = 0; round < 20; round++) {
        Folder folder;
        std::string path = folder / "state";
        volatile char *bytes = shared_byte(); // go, then how many have tried
        bytes[1] = bytes[2] = 0;
        std::vector<pid_t> children;
        for (int i = 0; i < 2; i++)
            children.push_back(start_child(bytes, [&](volatile char *start) {
                while (!*start)
                    ;
                Handle handle(path);
                if (handle.rc == 0)
                    trib_state_clock_advance(handle.state, 4096);
                bytes[1 + i] = 1;
                while (!bytes[1] || !bytes[2])
                    sleep_us(50);
                _exit(handle.rc == 0 ? 0 : handle.rc == -EBUSY ? 1 : 2);
            }));
        bytes[0] = 1;
        int sum = 0;
        for (pid_t child : children) {
            int status;
            waitpid(child, &status, 0);
            REQUIRE(WIFEXITED(status));
            REQUIRE(WEXITSTATUS(status) < 2);
            sum += WEXITSTATUS(status);
        }
        REQUIRE(sum == 1);
        Handle handle(path);
        REQUIRE(trib_state_clock(handle.state) == 4096);
        REQUIRE(folder.files() == 1);
    }
}

TEST_CASE("a file survives kill -9 of its only user at any moment") {
    Folder folder;
    std::string path = folder / "state";
    std::mt19937_64 random(7);
    uint64_t clock = 0, rows_seen = 0, runs_seen = 0;
    for (int round = 0; round < 250; round++) {
        pid_t child = start_child(shared_byte(), [&](volatile char *ready) {
            Handle handle(path);
            if (handle.rc)
                _exit(1);
            std::mt19937_64 steps(round);
            trib_state_lock(handle.state);
            *ready = 1;
            for (;;)
                handle.step(steps, 1);
        });
        // Mostly in the middle of changes, now and then while the file is made or opened.
        while (!*shared_byte() && random() % 64)
            sleep_us(50);
        sleep_us((long)(random() % 2000));
        ::kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        REQUIRE(WIFSIGNALED(status));

        Handle handle(path);
        CAPTURE(round, handle.error.text);
        REQUIRE(handle.rc == 0);
        auto live = require_invariants(handle);
        REQUIRE(trib_state_clock(handle.state) >= clock);
        clock = trib_state_clock(handle.state);
        rows_seen += trib_state_attribute_count(handle.state);
        runs_seen += live.size();
        if (round % 10 == 9)
            require_reachable(handle, live);
    }
    REQUIRE(clock > 1000000);
    REQUIRE(rows_seen > 1000);
    REQUIRE(runs_seen > 10000);
}

TEST_CASE("threads of one process share the lock, readers need none") {
    Folder folder;
    Handle handle(folder / "state");
    REQUIRE(handle.rc == 0);
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back([&, i] {
            std::mt19937_64 random(i);
            for (int batch = 0; batch < 200; batch++) {
                trib_state_lock(handle.state);
                for (int n = 0; n < 20; n++)
                    handle.step(random, 1);
                trib_state_unlock(handle.state);
            }
        });
    std::thread reader([&] {
        for (uint64_t key = 1; !stop; key = key % 64 + 1) {
            const trib_attribute *row = trib_state_attribute(handle.state, trib_state_find(handle.state, key));
            if (row && trib_estimate_effective(row, trib_state_clock(handle.state)) < 0)
                wrong++;
        }
    });
    for (auto &thread : threads)
        thread.join();
    stop = true;
    reader.join();
    REQUIRE(wrong == 0);
    require_reachable(handle, require_invariants(handle));
}
