// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "signature/thread.h"

#include "support/catch.hpp"
#include "support/signature_oracle.hpp"
#include "support/signature_paths.h"
#include "support/skip.hpp"

namespace {

struct Capture {
    unsigned depth = TRIB_SIGNATURE_DEPTH_DEFAULT;
    uint64_t signature = 0;
    std::vector<oracle::Frame> expected;
};

__attribute__((noinline)) void take(void *arg) {
    auto *capture = static_cast<Capture *>(arg);
    capture->signature = trib_signature_capture(TRIB_FRAME_HERE(), capture->depth);
    capture->expected = oracle::expect(TRIB_FRAME_HERE(), capture->depth);
}

__attribute__((noinline)) Capture along(const std::string &program, unsigned depth = TRIB_SIGNATURE_DEPTH_DEFAULT,
                                        unsigned seed = 0) {
    Capture capture;
    capture.depth = depth;
    signature_path(program.c_str(), seed, take, &capture);
    return capture;
}

struct trib_signature_stats statistics() {
    struct trib_signature_stats stats;
    trib_signature_statistics(&stats);
    return stats;
}

} // namespace

TEST_CASE("a capture is what libunwind sees, at every depth") {
    for (unsigned depth = 1; depth <= TRIB_SIGNATURE_DEPTH_MAX; depth++) {
        const Capture capture = along("abcdefgfedcbafacadafga", depth);
        INFO("depth " << depth);
        CHECK(capture.signature != TRIB_SIGNATURE_UNKNOWN);
        CHECK(oracle::captured(capture.signature) == capture.expected);
    }
}

TEST_CASE("the same path has one signature, hit or miss, whatever the size of its alloca frames") {
    uint64_t first = 0;
    for (unsigned seed = 0; seed < 40; seed++) {
        const Capture capture = along("cbafdce", TRIB_SIGNATURE_DEPTH_DEFAULT, seed % 8);
        first = seed ? first : capture.signature;
        CHECK(capture.signature == first);
        CHECK(oracle::captured(capture.signature) == capture.expected);
    }
}

TEST_CASE("the order of a path matters") {
    CHECK(along("abc").signature != along("cba").signature);
    CHECK(along("aab").signature != along("aba").signature);
    CHECK(along("aba").signature != along("baa").signature);
}

TEST_CASE("bad arguments give no signature") {
    CHECK(trib_signature_capture(TRIB_FRAME_HERE(), 0) == TRIB_SIGNATURE_UNKNOWN);
    CHECK(trib_signature_capture(TRIB_FRAME_HERE(), TRIB_SIGNATURE_DEPTH_MAX + 1) == TRIB_SIGNATURE_UNKNOWN);
    CHECK(trib_signature_capture(static_cast<char *>(TRIB_FRAME_HERE()) + 1, 5) == TRIB_SIGNATURE_UNKNOWN);
    CHECK(trib_signature_frames(TRIB_SIGNATURE_UNKNOWN, nullptr, 0) == 0);
    struct trib_module module;
    CHECK(trib_signature_module(1u << 30, &module) == -ENOENT);
}

TEST_CASE("repeating a path hits the memo") {
    const auto before = statistics();
    for (int i = 0; i < 100; i++)
        along("abab");
    const auto after = statistics();
    CHECK(after.memo_hits - before.memo_hits >= 99);
    CHECK(after.memo_misses - before.memo_misses <= 1);
}

TEST_CASE("errno is kept") {
    Capture capture;
    int after = 0;
    for (int i = 0; i < 3; i++) {
        std::thread([&] {
            errno = EXDEV;
            capture.signature = trib_signature_capture(TRIB_FRAME_HERE(), 3);
            after = errno;
        }).join();
        CHECK(after == EXDEV);
    }
}

TEST_CASE("thread roots are not part of a path") {
    for (const auto &frame : oracle::captured(along("ab", TRIB_SIGNATURE_DEPTH_MAX).signature))
        CHECK_FALSE(oracle::is_runtime(frame.module));
    uint64_t signature = 0;
    std::thread([&] { signature = along("ab", TRIB_SIGNATURE_DEPTH_MAX).signature; }).join();
    const auto frames = oracle::captured(signature);
    REQUIRE(frames.size() >= 3);
    for (const auto &frame : frames)
        CHECK_FALSE(oracle::is_runtime(frame.module));
}

TEST_CASE("exceptions in between leave captures right") {
    struct Guard {
        uint64_t *signature;
        ~Guard() {
            *signature = along("ab").signature;
        }
    };
    uint64_t in_destructor = 0, in_handler = 0;
    for (int i = 0; i < 3; i++) {
        try {
            Guard guard{&in_destructor};
            signature_path(
                "abcf", 1, [](void *) { throw std::runtime_error("on purpose"); }, nullptr);
        } catch (const std::runtime_error &) {
            const Capture capture = along("abd");
            in_handler = capture.signature;
            CHECK(oracle::captured(in_handler) == capture.expected);
        }
    }
    CHECK(in_destructor != TRIB_SIGNATURE_UNKNOWN);
}

TEST_CASE("deep recursion: one path at ever new frame addresses") {
    std::set<uint64_t> signatures;
    for (int levels = 20; levels < 3000; levels++) {
        Capture capture;
        capture.depth = 16;
        signature_path(std::string(levels, 'a').c_str(), 0, take, &capture);
        signatures.insert(capture.signature);
    }
    REQUIRE(signatures.size() == 1); // the 16 innermost frames are all the same recursive call
    CHECK(oracle::captured(*signatures.begin()).size() == 16);
}

namespace {
void take_along(void *arg) {
    *static_cast<Capture *>(arg) = along("ab");
    __asm__ volatile("" : : : "memory");
}
} // namespace

TEST_CASE("JIT code ends a path") {
    // push rbp; mov rbp,rsp; mov rax,rdi; mov rdi,rsi; call rax; pop rbp; ret
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
                                         0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
    void *memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return trib_test::skip("this system refuses writable code");
    memcpy(memory, code, sizeof code);
    auto call = reinterpret_cast<void (*)(void (*)(void *), void *)>(memory);
    Capture outside;
    call(take_along, &outside);
    CHECK(oracle::captured(outside.signature).size() == 5); // b, a, signature_path, along, take_along
    Capture direct;
    direct.signature = 1;
    call(take, &direct);
    CHECK(direct.signature == TRIB_SIGNATURE_UNKNOWN);
    munmap(memory, 4096);
}

namespace {
volatile uint64_t handled;
sigjmp_buf jump;

__attribute__((noinline)) void take_handled(void *) {
    handled = trib_signature_capture(TRIB_FRAME_HERE(), TRIB_SIGNATURE_DEPTH_DEFAULT);
}
void on_signal(int) {
    for (int i = 0; i < 2; i++)
        signature_path("ab", 0, take_handled, nullptr);
    handled = handled; // the last call is not a jump
}
void on_signal_jump(int) {
    signature_path("ab", 0, take_handled, nullptr);
    siglongjmp(jump, 1);
}
} // namespace

TEST_CASE("alternate signal stacks: the caller's frame, and all of them once they are told of") {
    static char memory[1 << 17];
    stack_t stack = {}, before = {};
    stack.ss_sp = memory;
    stack.ss_size = sizeof memory;
    REQUIRE(sigaltstack(&stack, &before) == 0);
    struct sigaction action = {}, old = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    REQUIRE(sigaction(SIGUSR1, &action, &old) == 0);
    raise(SIGUSR1);
    CHECK(oracle::captured(handled).size() == 1);
    trib_signature_alternate_stack(memory, sizeof memory);
    raise(SIGUSR1);
    const auto frames = oracle::captured(handled);
    CHECK(frames.size() == 4); // b, a, signature_path, the handler; its trampoline is a root
    for (const auto &frame : frames)
        CHECK_FALSE(oracle::is_runtime(frame.module));
    trib_signature_alternate_stack(nullptr, 0);
    raise(SIGUSR1);
    CHECK(oracle::captured(handled).size() == 1);
    sigaction(SIGUSR1, &old, nullptr);
    sigaltstack(&before, nullptr);
}

TEST_CASE("a handler that jumps out of a capture does not disable the memo") {
    along("a");
    struct sigaction action = {}, old = {};
    action.sa_handler = on_signal_jump;
    REQUIRE(sigaction(SIGUSR1, &action, &old) == 0);
    if (sigsetjmp(jump, 1) == 0)
        raise(SIGUSR1);
    sigaction(SIGUSR1, &old, nullptr);
    const auto start = statistics();
    for (int i = 0; i < 2; i++)
        along("aba");
    CHECK(statistics().memo_hits > start.memo_hits);
}

TEST_CASE("a capture in the middle of another one of its thread has no part in the memo") {
    uint64_t signature[2];
    for (volatile int turn = 0; turn < 2; turn = turn + 1) { // one call site
        along("abc");
        const auto before = statistics();
        const auto outer = reinterpret_cast<uintptr_t>(TRIB_FRAME_HERE());
        trib_thread_current->busy = turn == 1 ? outer : 0; // as a signal handler finds it
        signature[turn] = along("abcabc").signature;
        const auto after = statistics();
        CHECK(trib_thread_current->busy == (turn == 1 ? outer : 0));
        CHECK(after.memo_hits + after.memo_misses - before.memo_hits - before.memo_misses == (turn == 1 ? 0 : 1));
        trib_thread_current->busy = 0;
    }
    CHECK(signature[0] == signature[1]);
}

TEST_CASE("symbolise names a known function and refuses another build") {
    const Capture capture = along("a");
    struct trib_frame frames[4];
    REQUIRE(trib_signature_frames(capture.signature, frames, 4) >= 3);
    struct trib_module module;
    char text[256];
    REQUIRE(trib_signature_module(frames[0].module, &module) == 0);
    REQUIRE(trib_signature_symbolise(&module, frames[0].offset_bytes, text, sizeof text) < sizeof text);
    CHECK(std::string(text).find("signature_capture_test!shape_a+0x") == 0);
    REQUIRE(trib_signature_module(frames[1].module, &module) == 0);
    trib_signature_symbolise(&module, frames[1].offset_bytes, text, sizeof text);
    CHECK(std::string(text).find("signature_capture_test!signature_path+0x") == 0);
    module.build_id[0] ^= 1;
    trib_signature_symbolise(&module, frames[1].offset_bytes, text, sizeof text);
    CHECK(std::string(text).find("signature_capture_test+0x") == 0);
    CHECK(trib_signature_symbolise(&module, frames[1].offset_bytes, nullptr, 0) == strlen(text));
}

TEST_CASE("many threads agree") {
    std::vector<std::thread> threads;
    std::vector<uint64_t> signatures(8);
    for (size_t i = 0; i < signatures.size(); i++)
        threads.emplace_back([&signatures, i] {
            for (int round = 0; round < 200; round++)
                for (const char *program : {"ab", "ba", "abc", "fed", "gac"})
                    signatures[i] ^= along(program, 4).signature * (round + 1);
        });
    for (auto &thread : threads)
        thread.join();
    for (uint64_t signature : signatures)
        CHECK(signature == signatures[0]);
}
