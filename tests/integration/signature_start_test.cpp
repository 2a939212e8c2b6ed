// SPDX-License-Identifier: Apache-2.0
// The process's first capture, which reserves memory by system calls: with threads and handlers beside it, and what it
// reserves. ctest starts a process for each case, which has captured nothing.
#include <sys/mman.h>
#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <sstream>
#include <thread>
#include <vector>

#include "support/process.hpp"
#include "support/signature_host.hpp"
#include "support/skip.hpp"

using namespace host;

TEST_CASE("threads that all make the process's first capture get the same signature") {
    constexpr unsigned kThreads = 16;
    std::atomic<unsigned> ready{0};
    std::vector<uint64_t> signatures(kThreads);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreads; i++)
        threads.emplace_back([&, i] {
            ready++;
            while (ready < kThreads)
                std::this_thread::yield();
            signatures[i] = along("abc");
        });
    for (std::thread &thread : threads)
        thread.join();
    const uint64_t expected = along("abc");
    CHECK(expected != TRIB_SIGNATURE_UNKNOWN);
    for (uint64_t signature : signatures)
        CHECK(signature == expected);
}

TEST_CASE("a handler that interrupts the process's first capture captures as well") {
    struct sigaction action = {};
    static std::atomic<unsigned> unknown;
    action.sa_handler = [](int) { unknown += along("aab") == TRIB_SIGNATURE_UNKNOWN; };
    REQUIRE(sigaction(SIGALRM, &action, nullptr) == 0);
    struct itimerval often = {{0, 50}, {0, 50}}; // us: a handler takes a few
    REQUIRE(setitimer(ITIMER_REAL, &often, nullptr) == 0);
    const uint64_t first = along("abc");
    often = {};
    setitimer(ITIMER_REAL, &often, nullptr);
    CHECK(first != TRIB_SIGNATURE_UNKNOWN);
    CHECK(along("abc") == first);
    CHECK(unknown == 0);
}

namespace {
// Captures that a memo answered, of `count` threads that live side by side and make 10 each.
uint64_t hits_of_threads(unsigned count) {
    struct trib_signature_stats before, after;
    std::atomic<unsigned> here{0};
    std::vector<std::thread> threads;
    trib_signature_statistics(&before);
    for (unsigned i = 0; i < count; i++)
        threads.emplace_back([&] {
            for (volatile unsigned k = 0; k < 10; k = k + 1)
                along("abc");
            here++;
            while (here < count)
                usleep(1000);
        });
    for (std::thread &thread : threads)
        thread.join();
    trib_signature_statistics(&after);
    return after.memo_hits - before.memo_hits;
}

uint64_t status_kb(const std::string &field) {
    std::istringstream lines(trib_test::read_file("/proc/self/status"));
    for (std::string line; std::getline(lines, line);)
        if (line.rfind(field + ":", 0) == 0)
            return std::stoul(line.substr(field.size() + 1));
    return 0;
}
} // namespace

// mlockall counts all that is mapped against the limit, and fills what is mapped for use.
TEST_CASE("memory that is locked holds no records for threads that nobody has") {
    if (trib_test::is_sanitized())
        return trib_test::skip("a sanitizer's memory is not to be locked");
    CHECK(in_child([] {
              trib_signature_prepare();
              const uint64_t mapped = status_kb("VmSize");
              trib_signature_give_back();
              const uint64_t kept = status_kb("VmSize");
              if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
                  return true; // its limit does not allow it
              const uint64_t before = status_kb("VmRSS");
              trib_signature_extend();
              return along("abc") != TRIB_SIGNATURE_UNKNOWN && kept + 15000 < mapped &&
                     status_kb("VmRSS") < before + 1024;
          }) == 0);
}

TEST_CASE("memory that may hardly be locked holds what is in use, and a few records") {
    if (trib_test::is_sanitized())
        return trib_test::skip("a sanitizer's memory is not to be locked");
    CHECK(in_child([] {
              const uint64_t before = status_kb("VmSize"), known = along("abc");
              trib_signature_give_back_all();
              struct trib_frame frames[4];
              struct trib_signature_stats stats;
              const uint64_t later = along("cba");
              trib_signature_statistics(&stats);
              return status_kb("VmSize") < before + 1024 && trib_signature_frames(known, frames, 4) > 0 &&
                     later != TRIB_SIGNATURE_UNKNOWN && trib_signature_frames(later, frames, 4) == 0 &&
                     stats.signatures_dropped >= 1 && hits_of_threads(3) > 0;
          }) == 0);
}

// Of a process that nobody has extended.
TEST_CASE("dozens of threads have a memo, hundreds where memory is not counted when it is reserved") {
    along("abc");
    CHECK(hits_of_threads(200) <= 64 * 9);
    trib_signature_extend();
    CHECK(hits_of_threads(200) >= 190 * 9); // two may want the same place
}
