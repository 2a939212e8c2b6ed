// SPDX-License-Identifier: Apache-2.0
// Preloaded into an unmodified program that Tributary runs in: stands before
// trib_signature_capture, asks libunwind for the same call path, and tells at exit how often the
// two agreed. Thread safety: any thread; a capture of a signal handler is not expected.
#include "support/signature_oracle.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <mutex>
#include <set>
#include <sstream>

namespace {

std::atomic<uint64_t> captures, agreed;
std::mutex lock;
// Never destroyed: threads may still write when the program's exit handlers run.
std::set<uint64_t> &signatures = *new std::set<uint64_t>;
std::string &first_disagreement = *new std::string;

void describe(std::ostream &out, const char *who, const std::vector<oracle::Frame> &frames) {
    out << who << ":";
    for (const oracle::Frame &frame : frames)
        out << frame;
    out << "\n";
}

void compare(uint64_t signature, void *frame, unsigned depth) {
    const std::vector<oracle::Frame> expected = oracle::expect(frame, depth);
    const std::vector<oracle::Frame> captured = oracle::captured(signature);
    const bool same = !expected.empty() && captured == expected;
    captures++;
    agreed += same;
    std::lock_guard<std::mutex> guard(lock);
    signatures.insert(signature);
    if (same || !first_disagreement.empty())
        return;
    std::ostringstream text;
    describe(text, "libunwind", expected);
    describe(text, "captured", captured);
    first_disagreement = text.str();
}

struct Report {
    ~Report() {
        std::lock_guard<std::mutex> guard(lock);
        if (captures > 0)
            fprintf(stderr, "capture_verifier captures %llu agreed %llu paths %zu\n%s",
                    static_cast<unsigned long long>(captures), static_cast<unsigned long long>(agreed),
                    signatures.size(), first_disagreement.c_str());
    }
} report;

} // namespace

extern "C" uint64_t trib_signature_capture(void *frame, unsigned depth) {
    using Capture = uint64_t (*)(void *, unsigned);
    static const auto next = reinterpret_cast<Capture>(dlsym(RTLD_NEXT, "trib_signature_capture"));
    const uint64_t signature = next(frame, depth);
    const int before = errno;
    compare(signature, frame, depth);
    errno = before;
    return signature;
}
