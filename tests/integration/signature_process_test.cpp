// SPDX-License-Identifier: Apache-2.0
// Signatures in whole processes: ASLR, dlopen and dlclose, fork, fibres, signals in the middle of a
// capture.
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/signature_oracle.hpp"
#include "support/signature_paths.h"

namespace {

__attribute__((noinline)) void take(void *arg) {
    *static_cast<uint64_t *>(arg) = trib_signature_capture(TRIB_FRAME_HERE(), TRIB_SIGNATURE_DEPTH_DEFAULT);
}

__attribute__((noinline)) uint64_t along(const char *program) {
    uint64_t signature = 0;
    signature_path(program, 1, take, &signature);
    return signature;
}

std::string run(const std::string &command) {
    std::string output;
    char part[256];
    FILE *pipe = popen(command.c_str(), "r");
    REQUIRE(pipe);
    while (fgets(part, sizeof part, pipe))
        output += part;
    REQUIRE(pclose(pipe) == 0);
    return output;
}

bool aslr_is_on() {
    char mode = '0';
    std::ifstream("/proc/sys/kernel/randomize_va_space") >> mode;
    return mode != '0';
}

using PluginCall = void (*)(signature_leaf *, void *);

struct Plugin {
    void *handle;
    PluginCall call;
    explicit Plugin(const char *path) : handle(dlopen(path, RTLD_NOW)) {
        REQUIRE(handle);
        call = reinterpret_cast<PluginCall>(dlsym(handle, "signature_plugin_call"));
    }
    ~Plugin() {
        dlclose(handle);
    }
};

// One call site for every plugin, so that only the plugin's own frame can make a difference.
__attribute__((noinline)) uint64_t through(PluginCall call) {
    uint64_t signature = 0;
    call(take, &signature);
    __asm__ volatile("" : : : "memory");
    return signature;
}

int child_status(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

} // namespace

TEST_CASE("two runs of a program give the same signatures at different addresses") {
    const std::string command = std::string(SIGNATURE_HELPER_PIE) + " " SIGNATURE_PLUGIN_ONE;
    const std::string first = run(command + " 2>/dev/null");
    CHECK(run(command + " 2>/dev/null") == first);
    CHECK(first.find("plugin ") != std::string::npos);
    CHECK(first.find(" 0\n") == std::string::npos); // none unknown
    if (aslr_is_on()) {
        const std::string where = run(command + " 2>&1 >/dev/null");
        bool moved = false;
        for (int i = 0; i < 5; i++)
            moved = moved || run(command + " 2>&1 >/dev/null") != where;
        CHECK(moved);
    }
}

TEST_CASE("a program at a fixed address without build-id has stable signatures too") {
    const std::string command = std::string(SIGNATURE_HELPER_FIXED) + " " SIGNATURE_PLUGIN_ONE " 2>/dev/null";
    const std::string first = run(command);
    CHECK(run(command) == first);
    CHECK(first.find(" 0\n") == std::string::npos);
}

TEST_CASE("a plugin that replaces another at the same address is noticed") {
    uint64_t one = 0, two = 0;
    for (int round = 0; round < 3; round++) {
        {
            const Plugin plugin(SIGNATURE_PLUGIN_ONE);
            for (int i = 0; i < 1500; i++) // a memo may be stale for up to 1024 hits, not longer
                one = through(plugin.call);
        }
        const Plugin plugin(SIGNATURE_PLUGIN_TWO);
        for (int i = 0; i < 1500; i++)
            two = through(plugin.call);
        CHECK(one != two);
        for (uint64_t signature : {one, two}) {
            struct trib_frame frame;
            struct trib_module module;
            REQUIRE(trib_signature_frames(signature, &frame, 1) >= 1);
            REQUIRE(trib_signature_module(frame.module, &module) == 0);
            REQUIRE(module.build_id_bytes == 20);
            CHECK(module.build_id[0] == (signature == one ? 0x11 : 0x22));
        }
    }
}

namespace {
uint8_t first_of_build_id(uint64_t signature) {
    struct trib_frame frame;
    struct trib_module module;
    REQUIRE(trib_signature_frames(signature, &frame, 1) >= 1);
    REQUIRE(trib_signature_module(frame.module, &module) == 0);
    return module.build_id[0];
}

// From one call site, so that words on the stack do not tell the plugins apart.
std::vector<uint64_t> through_both(bool is_told) {
    std::vector<uint64_t> signatures;
    for (volatile int turn = 0; turn < 2; turn = turn + 1) {
        const Plugin plugin(turn == 0 ? SIGNATURE_PLUGIN_ONE : SIGNATURE_PLUGIN_TWO);
        if (is_told)
            trib_signature_modules_changed();
        for (volatile int i = 0; i < 3000; i = i + 1)
            signatures.push_back(through(plugin.call));
    }
    return signatures;
}
} // namespace

TEST_CASE("a memo outlives its plugin by no more than 1024 hits, and by none if somebody tells") {
    std::vector<uint64_t> signatures = through_both(false);
    CHECK(first_of_build_id(signatures[2999]) == 0x11);
    CHECK(first_of_build_id(signatures[3000 + 1024]) == 0x22);
    CHECK(first_of_build_id(signatures[5999]) == 0x22);
    for (int round = 0; round < 3; round++) {
        signatures = through_both(true);
        CHECK(first_of_build_id(signatures[0]) == 0x11);
        CHECK(first_of_build_id(signatures[3000]) == 0x22);
        CHECK(std::count(signatures.begin() + 3000, signatures.end(), signatures[3000]) == 3000);
    }
}

TEST_CASE("a forked child captures as its parent does") {
    pid_t child = -1;
    uint64_t signature[2] = {0, 0};
    for (volatile int turn = 0; turn < 2; turn = turn + 1) { // volatile: one call site, not two
        if (turn == 1)
            child = fork();
        signature[turn] = along("abcdef");
    }
    if (child == 0) {
        bool good = signature[0] == signature[1];
        std::thread([&] { good = good && along("ab") != 0; }).join();
        _exit(good ? 0 : 1);
    }
    CHECK(signature[0] == signature[1]);
    CHECK(child_status(child) == 0);
}

TEST_CASE("forking while other threads capture and load libraries") {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back([&] {
            for (unsigned round = 0; !stop; round++)
                along(round % 2 ? "abc" : "cba");
        });
    threads.emplace_back([&] {
        while (!stop) {
            void *handle = dlopen(SIGNATURE_PLUGIN_ONE, RTLD_NOW);
            uint64_t signature;
            reinterpret_cast<PluginCall>(dlsym(handle, "signature_plugin_call"))(take, &signature);
            dlclose(handle);
        }
    });
    int failures = 0;
    for (int i = 0; i < 100; i++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20); // a lock that nobody holds any more would hang
            uint64_t first = 0;
            bool good = true;
            for (int round = 0; round < 10; round++) { // one call site
                const uint64_t signature = along("fedcba");
                first = round == 0 ? signature : first;
                good = good && signature != 0 && signature == first;
            }
            _exit(good ? 0 : 1);
        }
        failures += child_status(child) != 0;
    }
    stop = true;
    for (auto &thread : threads)
        thread.join();
    CHECK(failures == 0);
}

namespace {
ucontext_t main_context, fibre_context;
uint64_t in_fibre[2];

void fibre() {
    for (uint64_t &signature : in_fibre)
        take(&signature);
}
} // namespace

TEST_CASE("a fibre's stack is not read beyond the caller's frame") {
    constexpr size_t page = 4096, room = 64 * 1024;
    auto *memory =
        static_cast<char *>(mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(memory != MAP_FAILED);
    REQUIRE(mprotect(memory + room, page, PROT_NONE) == 0);
    struct trib_signature_stats before, after;
    trib_signature_statistics(&before);
    getcontext(&fibre_context);
    fibre_context.uc_stack.ss_sp = memory;
    fibre_context.uc_stack.ss_size = room;
    fibre_context.uc_link = &main_context;
    makecontext(&fibre_context, fibre, 0);
    REQUIRE(swapcontext(&main_context, &fibre_context) == 0);
    trib_signature_statistics(&after);
    CHECK(in_fibre[0] != TRIB_SIGNATURE_UNKNOWN);
    CHECK(trib_signature_frames(in_fibre[0], nullptr, 0) == 1);
    CHECK(after.unwind_failures - before.unwind_failures == 2);
    munmap(memory, room + page);
}

namespace {
volatile sig_atomic_t signals;
uint64_t expected_in_handler;
std::atomic<unsigned> wrong_in_handler;

// Only the handler's own frames: ThreadSanitizer calls handlers from wherever it intercepts.
__attribute__((noinline)) void take_in_handler(void *arg) {
    *static_cast<uint64_t *>(arg) = trib_signature_capture(TRIB_FRAME_HERE(), 4);
}

void on_timer(int) {
    uint64_t signature = 0;
    signature_path("aab", 1, take_in_handler, &signature);
    if (expected_in_handler == 0)
        expected_in_handler = signature;
    if (signature != expected_in_handler || signature == 0)
        wrong_in_handler++;
    signals = signals + 1;
}
} // namespace

TEST_CASE("signal handlers that capture in the middle of captures") {
    struct sigaction action = {}, old = {};
    action.sa_handler = on_timer;
    action.sa_flags = SA_RESTART;
    const char *programs[] = {"abc", "cba", "ffa", "dce", "aba"};
    uint64_t expected[5];
    for (int i = 0; i < 5; i++) // from the one call site below
        expected[i] = 0;
    REQUIRE(along("abc") != 0); // a handler in the middle of the process's first look at its modules gets 0
    REQUIRE(sigaction(SIGALRM, &action, &old) == 0);
    const struct itimerval often = {{0, 200}, {0, 200}}, never = {};
    setitimer(ITIMER_REAL, &often, nullptr);
    unsigned wrong = 0;
    for (unsigned round = 0; round < 2000000 && signals < 500; round++) {
        const uint64_t signature = along(programs[round % 5]);
        uint64_t &first = expected[round % 5];
        first = first ? first : signature;
        wrong += signature != first || signature == 0;
    }
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &old, nullptr);
    CHECK(wrong == 0);
    CHECK(wrong_in_handler == 0);
    CHECK(signals >= 20);
}

namespace {
std::atomic<unsigned> first_captures;

void on_poke(int) {
    uint64_t signature = 0;
    take_in_handler(&signature);
    first_captures += signature != 0;
}

// What a handler may interrupt: allocation, stdio, and what the thread library locks for itself.
void work_under_locks(const std::atomic<bool> &stop) {
    while (!stop) {
        std::vector<char> buffer(64 * 1024);
        pthread_attr_t attributes;
        if (pthread_getattr_np(pthread_self(), &attributes) == 0)
            pthread_attr_destroy(&attributes);
        std::ifstream("/proc/self/comm").read(buffer.data(), 8);
    }
}
} // namespace

TEST_CASE("a thread's first capture may come in a handler that interrupted an allocation") {
    struct sigaction action = {}, old = {};
    action.sa_handler = on_poke;
    action.sa_flags = SA_RESTART;
    REQUIRE(sigaction(SIGUSR1, &action, &old) == 0);
    const unsigned threads = 300;
    first_captures = 0;
    for (unsigned i = 0; i < threads; i++) {
        std::atomic<bool> started{false}, stop{false};
        std::thread worker([&] {
            started = true;
            work_under_locks(stop);
        });
        while (!started)
            std::this_thread::yield();
        const unsigned before = first_captures;
        REQUIRE(pthread_kill(worker.native_handle(), SIGUSR1) == 0);
        while (first_captures == before) // for ever, if the handler waits for what it interrupted
            std::this_thread::yield();
        stop = true;
        worker.join();
    }
    sigaction(SIGUSR1, &old, nullptr);
    CHECK(first_captures == threads);
}

TEST_CASE("records of ended threads are used again") {
    for (int i = 0; i < 3; i++) // the allocator's own reservations for threads come first
        std::thread([] { along("abc"); }).join();
    std::ifstream statm_before("/proc/self/statm");
    uint64_t before = 0, after = 0;
    statm_before >> before;
    for (int i = 0; i < 300; i++)
        std::thread([] { along("abc"); }).join();
    std::ifstream("/proc/self/statm") >> after;
    REQUIRE(after > 0);
    CHECK(after < before + 64 * 1024 * 1024 / 4096); // 300 records would be 50 MiB and their stacks 2.4 GiB
}

TEST_CASE("however many threads come and go, each has a memo") {
    constexpr unsigned kThreads = 300, kCaptures = 10;
    struct trib_signature_stats before, after;
    trib_signature_statistics(&before);
    for (unsigned i = 0; i < kThreads; i++)
        std::thread([] {
            for (volatile unsigned k = 0; k < kCaptures; k = k + 1)
                along("abc");
        }).join();
    trib_signature_statistics(&after);
    CHECK(after.memo_hits - before.memo_hits >= kThreads * (kCaptures - 1));
}
