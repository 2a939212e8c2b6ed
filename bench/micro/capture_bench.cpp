// SPDX-License-Identifier: Apache-2.0
// What one call-path capture costs, by depth and by method, and how often it says the same as
// libunwind. Times are medians over batches of 32 captures, less the cost of reading the clock, at
// the end of a call path of 20 frames of different shapes without frame pointers. Peers run in the
// same process on the same stack.
#include <link.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "support/signature_oracle.hpp"
#include "support/signature_paths.h"

namespace {

constexpr unsigned kBatch = 32;
constexpr unsigned kBatches = 4000;
constexpr const char *kPath = "abcfadbgafcbadfabcfa";

uint64_t sink; // keeps results alive

// ---- the methods: each is a function that an adapter would be, capturing its caller's path ----

#define ADAPTER __attribute__((noinline)) void

ADAPTER ours(unsigned depth) {
    sink += trib_signature_capture(TRIB_FRAME_HERE(), depth);
}

ADAPTER libunwind(unsigned depth) {
    void *address[TRIB_SIGNATURE_DEPTH_MAX];
    sink += static_cast<uint64_t>(unw_backtrace(address, static_cast<int>(depth)));
}

// By handle: libunwind exports a backtrace of its own.
int (*glibc_backtrace)(void **, int) =
    reinterpret_cast<int (*)(void **, int)>(dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "backtrace"));

ADAPTER glibc(unsigned depth) {
    void *address[TRIB_SIGNATURE_DEPTH_MAX];
    sink += static_cast<uint64_t>(glibc_backtrace(address, static_cast<int>(depth)));
}

// PCStream (FAST'19 section 3): every word of the stack that points into code counts as a return
// address.
struct Segment {
    uintptr_t start, end;
};
std::vector<Segment> segments;
uintptr_t stack_end;

bool is_code(uintptr_t word) {
    if (word < segments.front().start || word >= segments.back().end)
        return false;
    auto after = std::upper_bound(segments.begin(), segments.end(), word,
                                  [](uintptr_t value, const Segment &segment) { return value < segment.start; });
    return after != segments.begin() && word < (after - 1)->end;
}

ADAPTER scan(unsigned depth) {
    uint64_t signature = 0;
    const uintptr_t *word = static_cast<uintptr_t *>(TRIB_FRAME_HERE()) + 1;
    for (unsigned found = 0; found < depth && reinterpret_cast<uintptr_t>(word) < stack_end; word++) {
        const bool code = is_code(*word);
        signature += code ? *word : 0;
        found += code;
    }
    sink += signature;
}

void find_code() {
    dl_iterate_phdr(
        [](struct dl_phdr_info *info, size_t, void *) {
            for (int i = 0; i < info->dlpi_phnum; i++) {
                const auto &header = info->dlpi_phdr[i];
                const uintptr_t start = info->dlpi_addr + header.p_vaddr;
                if (header.p_type == PT_LOAD && header.p_flags & PF_X)
                    segments.push_back({start, start + header.p_memsz});
            }
            return 0;
        },
        nullptr);
    std::sort(segments.begin(), segments.end(), [](const Segment &a, const Segment &b) { return a.start < b.start; });
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    stack_end = reinterpret_cast<uintptr_t>(low) + bytes;
}

// ---- timing ----

uint64_t ticks() {
#ifdef __x86_64__
    unsigned processor;
    const uint64_t now = __rdtscp(&processor);
    _mm_lfence();
    return now;
#else
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

double tick_ns() {
    const auto wall = std::chrono::steady_clock::now();
    const uint64_t start = ticks();
    while (std::chrono::steady_clock::now() - wall < std::chrono::milliseconds(50)) {
    }
    const uint64_t end = ticks();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - wall).count() /
           static_cast<double>(end - start);
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

struct Timing {
    void (*adapter)(unsigned);
    unsigned depth;
    bool fresh_frames; // every capture from a frame address not seen lately, which defeats the memo
    std::vector<double> ticks_per_call;
};

__attribute__((noinline)) void call_from_lower_frame(const Timing *timing, unsigned position) {
    volatile char *room = static_cast<char *>(alloca(16 * (position + 1)));
    room[0] = 0;
    timing->adapter(timing->depth);
    room[0] = 1;
}

double clock_overhead() {
    std::vector<double> overhead;
    for (unsigned i = 0; i < 1000; i++) {
        const uint64_t start = ticks();
        overhead.push_back(static_cast<double>(ticks() - start));
    }
    return median(overhead);
}

__attribute__((noinline)) void time_batches(void *arg) {
    auto *timing = static_cast<Timing *>(arg);
    const double overhead = clock_overhead();
    unsigned position = 0;
    for (unsigned i = 0; i < 64; i++)
        timing->adapter(timing->depth);
    for (unsigned batch = 0; batch < kBatches; batch++) {
        const uint64_t start = ticks();
        for (unsigned i = 0; i < kBatch; i++) {
            if (timing->fresh_frames)
                call_from_lower_frame(timing, position++ % 4096);
            else
                timing->adapter(timing->depth);
        }
        timing->ticks_per_call.push_back((static_cast<double>(ticks() - start) - overhead) / kBatch);
    }
}

void print(const std::string &name, double value, const char *unit, size_t samples, const char *note) {
    printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"samples\": %zu, \"note\": "
           "\"%s\"}\n",
           name.c_str(), value, unit, samples, note);
    fflush(stdout);
}

void report_time(const std::string &name, Timing timing, const char *path, const char *note) {
    static const double ns_per_tick = tick_ns();
    timing.ticks_per_call.reserve(kBatches);
    signature_path(path, 0, time_batches, &timing);
    print(name, median(timing.ticks_per_call) * ns_per_tick, "ns", size_t{kBatches} * kBatch, note);
}

// ---- a thread's first capture ----

// Threads stay until all have captured, so that none finds the record of one that ended.
std::vector<double> first_captures_us(unsigned count) {
    std::vector<double> took_us;
    std::vector<std::thread> threads;
    std::atomic<unsigned> done{0};
    std::atomic<bool> stop{false};
    for (unsigned i = 0; i < count; i++) {
        threads.emplace_back([&, i] {
            const auto start = std::chrono::steady_clock::now();
            ours(12);
            const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
            took_us.push_back(took.count());
            done = i + 1;
            while (!stop)
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
        });
        while (done != i + 1)
            std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    stop = true;
    for (auto &thread : threads)
        thread.join();
    return took_us;
}

void report_first(const char *name, const char *note) {
    constexpr unsigned kThreads = 200;
    print(name, median(first_captures_us(kThreads)), "us", kThreads, note);
}

// In a child, so that no record of the measured threads has been used before.
void report_first_with_mappings() {
    const pid_t child = fork();
    if (child != 0) {
        waitpid(child, nullptr, 0);
        return;
    }
    for (unsigned i = 0; i < 60000; i++) // neighbours differ, so that the kernel joins none
        if (mmap(nullptr, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
            break;
    report_first("capture_first_us_60000_mappings", "as capture_first_us in a process of 60,000 mappings");
    _exit(0);
}

// ---- agreement ----

struct Tally {
    uint64_t captures = 0, equal = 0;
};

__attribute__((noinline)) void compare(void *arg) {
    auto *tally = static_cast<Tally *>(arg);
    void *frame = TRIB_FRAME_HERE();
    const uint64_t signature = trib_signature_capture(frame, TRIB_SIGNATURE_DEPTH_DEFAULT);
    tally->captures++;
    tally->equal += oracle::captured(signature) == oracle::expect(frame, TRIB_SIGNATURE_DEPTH_DEFAULT);
}

std::string random_path(std::mt19937_64 &random) {
    std::string path(4 + random() % 20, 'a');
    for (char &shape : path)
        shape = SIGNATURE_SHAPES[random() % (sizeof SIGNATURE_SHAPES - 1)];
    return path;
}

// Paths from a pool, so that hits, misses and paths that share a frame address all occur; some of
// them inside libc.
void compare_many(Tally *tally, unsigned captures, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::string> pool;
    for (unsigned i = 0; i < 500; i++)
        pool.push_back(random_path(random));
    struct Job {
        Tally *tally;
        const std::string *path;
        unsigned seed;
    };
    for (unsigned i = 0; i < captures; i++) {
        Job job{tally, &pool[random() % pool.size()], static_cast<unsigned>(random() % 16)};
        if (i % 8) {
            signature_path(job.path->c_str(), job.seed, compare, tally);
            continue;
        }
        int pair[2] = {2, 1};
        qsort_r(
            pair, 2, sizeof *pair,
            [](const void *a, const void *b, void *arg) {
                auto *in_libc = static_cast<Job *>(arg);
                signature_path(in_libc->path->c_str(), in_libc->seed, compare, in_libc->tally);
                return *static_cast<const int *>(a) - *static_cast<const int *>(b);
            },
            &job);
    }
}

} // namespace

int main() {
    const struct {
        const char *suffix;
        void (*adapter)(unsigned);
    } methods[] = {{"", ours}, {"_libunwind", libunwind}, {"_backtrace", glibc}, {"_scan", scan}};
    find_code();
    for (unsigned depth : {5u, 8u, 12u, 16u})
        for (const auto &method : methods)
            report_time("capture_ns_d" + std::to_string(depth) + method.suffix, {method.adapter, depth, false, {}},
                        kPath, "median over batches of 32; path of 20 frames without frame pointers");
    report_time("capture_ns_d12_frame_pointers", {ours, 12, false, {}}, "eeeeeeeeeeeeeeeeeeee",
                "as capture_ns_d12 where every frame keeps rbp, so twice the words are verified");
    report_time("capture_miss_ns_d12", {ours, 12, true, {}}, kPath,
                "as capture_ns_d12 with every capture from a fresh frame address");

    Tally here, there;
    compare_many(&here, 60000, 1);
    std::thread([&] { compare_many(&there, 60000, 2); }).join();
    const uint64_t captures = here.captures + there.captures;
    print("capture_agreement", static_cast<double>(here.equal + there.equal) / static_cast<double>(captures),
          "fraction", captures, "equal to libunwind unw_step at depth 12, random paths, two threads");
    report_first_with_mappings();
    report_first("capture_first_us", "median over new threads that stay, depth 12");
    return sink == 42 ? 1 : 0;
}
