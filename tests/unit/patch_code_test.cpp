// SPDX-License-Identifier: Apache-2.0
// A jump at the entry of a function that others are running, wherever in it they stand.
#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <tributary/signature.h>

#include "patch/code.h"
#include "patch/instruction.h"

#if defined(__x86_64__)

namespace {

using Bytes = std::vector<uint8_t>;
using Function = uint64_t(uint64_t *counter);

// How glibc's write, lseek and _exit have begun from 2.26 to 2.42, with and without -fcf-protection and frame pointers;
// behind that each adds 1 to *counter and returns what was there. `ends` undoes what the beginning did to the stack.
struct Body {
    const char *name;
    Bytes begins, ends;
    std::vector<unsigned> boundaries; // of the instructions that begin in the first 16 bytes
    unsigned at, pinned, moved;
};

const Bytes kFrame = {0x5d}; // pop %rbp
const Bytes kRoom = {0x48, 0x83, 0xc4, 0x10};

const std::vector<Body> kBodies = {
    {"write 2.26, lea",
     {0x48, 0x8d, 0x05, 0, 8, 0x20, 0, 0x8b, 0x00, 0x85, 0xc0, 0x75, 0x00},
     {},
     {0, 7, 9, 11, 13},
     0,
     0,
     7},
    {"write 2.30, mov %fs:",
     {0x64, 0x8b, 0x04, 0x25, 0x18, 0, 0, 0, 0x85, 0xc0, 0x75, 0x00},
     {},
     {0, 8, 10, 12},
     0,
     0,
     8},
    {"write 2.31, endbr64, mov %fs:",
     {0xf3, 0x0f, 0x1e, 0xfa, 0x64, 0x8b, 0x04, 0x25, 0x18, 0, 0, 0, 0x85, 0xc0, 0x75, 0x00},
     {},
     {0, 4, 12, 14},
     4,
     1,
     8},
    {"write 2.36, cmpb", {0x80, 0x3d, 0, 8, 0x20, 0, 0, 0x74, 0x00}, {}, {0, 7, 9}, 0, 0, 7},
    {"write 2.37, endbr64, cmpb",
     {0xf3, 0x0f, 0x1e, 0xfa, 0x80, 0x3d, 0, 8, 0x20, 0, 0, 0x74, 0x00},
     {},
     {0, 4, 11, 13},
     4,
     1,
     7},
    {"write 2.41, sub, xor",
     {0x48, 0x83, 0xec, 0x10, 0x45, 0x31, 0xc9, 0x45, 0x31, 0xc0},
     kRoom,
     {0, 4, 7, 10},
     0,
     1,
     7},
    {"write 2.41, endbr64, sub, xor",
     {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x10, 0x45, 0x31, 0xc9},
     kRoom,
     {0, 4, 8, 11},
     4,
     1,
     7},
    {"write 2.42, endbr64, frame",
     {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x6a, 0x01, 0x58},
     kFrame,
     {0, 4, 5, 8, 10, 11},
     0,
     1,
     5},
    {"write 2.42, frame", {0x55, 0x48, 0x89, 0xe5, 0x6a, 0x01, 0x58}, kFrame, {0, 1, 4, 6, 7}, 0, 4, 6},
    {"lseek", {0xb8, 8, 0, 0, 0, 0x90}, {}, {0, 5, 6}, 0, 0, 5},
    {"lseek, endbr64", {0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 8, 0, 0, 0, 0x90}, {}, {0, 4, 9, 10}, 4, 1, 5},
    {"_exit", {0x4c, 0x8b, 0x05, 0, 8, 0x20, 0, 0xbe, 0xe7, 0, 0, 0}, {}, {0, 7, 12}, 0, 0, 7},
    {"_exit, endbr64",
     {0xf3, 0x0f, 0x1e, 0xfa, 0x4c, 0x8b, 0x05, 0, 8, 0x20, 0, 0xbe, 0xe7, 0, 0, 0},
     {},
     {0, 4, 11},
     4,
     1,
     7},
};

// Where the system puts things by itself, they lie below the 20 MiB that the client reserves for threads: more than a
// jump with one pinned byte can choose from.
void *amid_free_space() {
    static constexpr size_t kHalf = size_t{32} << 20;
    static uint8_t *const middle = [] {
        void *space = mmap(nullptr, 2 * kHalf, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        REQUIRE(space != MAP_FAILED);
        munmap(space, 2 * kHalf);
        return static_cast<uint8_t *>(space) + kHalf;
    }();
    return middle;
}

// The body's code in pages of its own, with the data that its beginning reads behind it.
class Victim {
  public:
    explicit Victim(const Body &body, size_t at = 0) {
        Bytes code = body.begins;
        const Bytes adds = {0xb8, 1, 0, 0, 0, 0xf0, 0x48, 0x0f, 0xc1, 0x07}; // mov $1,%eax; lock xadd %rax,(%rdi)
        code.insert(code.end(), adds.begin(), adds.end());
        code.insert(code.end(), body.ends.begin(), body.ends.end());
        code.push_back(0xc3);
        pages_ = static_cast<uint8_t *>(
            mmap(amid_free_space(), kLength, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        REQUIRE(pages_ != MAP_FAILED);
        entry_ = pages_ + at;
        std::memcpy(entry_, code.data(), code.size());
        REQUIRE(mprotect(pages_, kLength, PROT_READ | PROT_EXEC) == 0);
        code_ = code;
    }
    ~Victim() {
        munmap(pages_, kLength);
    }
    Victim(const Victim &) = delete;
    Victim &operator=(const Victim &) = delete;
    uint8_t *entry() const {
        return entry_;
    }
    uint64_t call(uint64_t *counter) const {
        return reinterpret_cast<Function *>(entry_)(counter);
    }
    bool is_whole() const {
        return std::memcmp(entry_, code_.data(), code_.size()) == 0;
    }

  private:
    static constexpr size_t kLength = (2 << 20) + 8192; // libc's data are as far from its code
    uint8_t *pages_, *entry_;
    Bytes code_;
};

trib_patch patch;
std::atomic<uint64_t> calls_instead{0};

uint64_t instead(uint64_t *counter) {
    calls_instead++;
    return reinterpret_cast<Function *>(patch.go_on)(counter);
}

int put(const Victim &victim, bool may_be_running = true) {
    return trib_patch_put(&patch, victim.entry(), reinterpret_cast<const void *>(instead), may_be_running);
}

// In a process of its own, with one thread; the result of `check`.
template <typename Check> int in_child(Check check) {
    const pid_t child = fork();
    if (child == 0)
        _exit(check());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

} // namespace

TEST_CASE("where a jump goes, what stays, and what moves") {
    for (const Body &body : kBodies) {
        INFO(body.name);
        const Victim victim(body);
        trib_patch_plan plan{};
        REQUIRE(trib_patch_make_plan(victim.entry(), &plan) == 0);
        CHECK(plan.at == body.at);
        CHECK(plan.pinned == body.pinned);
        CHECK(plan.moved == body.moved);
        unsigned at = 0;
        for (unsigned boundary : body.boundaries) { // the test's own list, against the reader of instructions
            CHECK(at == boundary);
            if (boundary >= body.at + body.moved)
                break;
            trib_instruction instruction{};
            REQUIRE(trib_instruction_read(victim.entry() + at, &instruction));
            at += instruction.length;
        }
    }
}

TEST_CASE("branches, calls and unknown instructions are not moved") {
    for (const Bytes &bytes : std::vector<Bytes>{{0xe9, 0, 0, 0, 0},
                                                 {0xe8, 0, 0, 0, 0},
                                                 {0x74, 0x10, 0x90, 0x90, 0x90},
                                                 {0xc3},
                                                 {0x0f, 0x05},
                                                 {0xff, 0x25, 0, 0, 0, 0},
                                                 {0xcc}}) {
        const Victim victim({"", bytes, {}, {}, 0, 0, 0});
        const Victim landing({"",
                              [&] {
                                  Bytes all = {0xf3, 0x0f, 0x1e, 0xfa};
                                  all.insert(all.end(), bytes.begin(), bytes.end());
                                  return all;
                              }(),
                              {},
                              {},
                              0,
                              0,
                              0});
        trib_patch_plan plan{};
        INFO(int(bytes[0]));
        CHECK(trib_patch_make_plan(victim.entry(), &plan) == -ENOTSUP);
        CHECK(trib_patch_make_plan(landing.entry(), &plan) == -ENOTSUP);
        CHECK(put(victim) == -ENOTSUP);
        CHECK(victim.is_whole());
    }
}

namespace {
trib_patch first_of_two, second_of_two;
template <trib_patch *kPatch> uint64_t pass_on(uint64_t *counter) {
    calls_instead++;
    return reinterpret_cast<Function *>(kPatch->go_on)(counter);
}
} // namespace

TEST_CASE("two functions are patched in one change, and each can be restored alone") {
    for (const Body &body : kBodies) {
        INFO(body.name);
        const Victim first(body), second(body);
        trib_patch_batch batch{};
        uint64_t counter = 0;
        const auto add = [&](trib_patch &out, const Victim &victim, Function *replacement) {
            return trib_patch_add(&batch, &out, victim.entry(), reinterpret_cast<const void *>(replacement), true);
        };
        REQUIRE(add(first_of_two, first, pass_on<&first_of_two>) == 0);
        REQUIRE(add(second_of_two, second, pass_on<&second_of_two>) == 0);
        CHECK(first.is_whole()); // nothing changes before the commit
        CHECK(second.is_whole());
        REQUIRE(trib_patch_commit(&batch) == 0);
        CHECK(batch.count == 0);
        const auto page = [](const void *at) { return reinterpret_cast<uintptr_t>(at) / 4096; };
        CHECK((page(first_of_two.stub) == page(second_of_two.stub)) ==
              (body.pinned == 0)); // where a stub may lie anywhere
        calls_instead = 0;
        CHECK(first.call(&counter) == 0);
        CHECK(second.call(&counter) == 1);
        CHECK(calls_instead == 2);
        trib_patch_remove(&first_of_two);
        CHECK(first.is_whole());
        CHECK(first.call(&counter) == 2);
        CHECK(second.call(&counter) == 3);
        CHECK(calls_instead == 3);
        trib_patch_remove(&second_of_two);
        CHECK(second.is_whole());
        CHECK(counter == 4);
    }
}

TEST_CASE("a function that cannot be patched leaves the others of its batch alone; a batch has an end") {
    const Victim good(kBodies[0]), bad({"", {0xe9, 0, 0, 0, 0}, {}, {}, 0, 0, 0});
    trib_patch_batch batch{};
    trib_patch refused{};
    const void *const replacement = reinterpret_cast<const void *>(pass_on<&first_of_two>);
    REQUIRE(trib_patch_add(&batch, &first_of_two, good.entry(), replacement, true) == 0);
    CHECK(trib_patch_add(&batch, &refused, bad.entry(), replacement, true) == -ENOTSUP);
    CHECK(batch.count == 1);
    REQUIRE(trib_patch_commit(&batch) == 0);
    uint64_t counter = 0;
    calls_instead = 0;
    CHECK(good.call(&counter) == 0);
    CHECK(calls_instead == 1);
    CHECK(refused.at == nullptr);
    CHECK(bad.is_whole());
    trib_patch_remove(&first_of_two);
    trib_patch patches[TRIB_PATCH_BATCH_MAX + 1] = {};
    for (unsigned i = 0; i <= TRIB_PATCH_BATCH_MAX; i++)
        CHECK(trib_patch_add(&batch, &patches[i], good.entry(), replacement, true) ==
              (i < TRIB_PATCH_BATCH_MAX ? 0 : -ENOBUFS));
    CHECK(good.is_whole());
}

#if !defined(__SANITIZE_THREAD__)

TEST_CASE("the function goes by the jump, does what it did, and comes back as it was") {
    for (const Body &body : kBodies)
        for (size_t at : {0, 8, 4}) { // 4: the store would cross a word
            INFO(body.name << " at " << at);
            const Victim victim(body, at);
            uint64_t counter = 0;
            calls_instead = 0;
            const int code = put(victim);
            if (code == -EBUSY) { // allowed only where most of the distance is pinned
                trib_patch_plan plan{};
                REQUIRE(trib_patch_make_plan(victim.entry(), &plan) == 0);
                CHECK(plan.pinned >= 2); // 16 MiB always have a free page
                CHECK(victim.is_whole());
                continue;
            }
            REQUIRE(code == 0);
            CHECK(victim.call(&counter) == 0);
            CHECK(victim.call(&counter) == 1);
            CHECK(calls_instead == 2);
            CHECK(put(victim) == -ENOTSUP); // no second jump
            trib_patch_remove(&patch);
            CHECK(victim.is_whole());
            CHECK(victim.call(&counter) == 2);
            CHECK(calls_instead == 2);
        }
}

namespace {

// Steps through a call of the victim, and waits at one boundary until it may go on.
std::atomic<uintptr_t> parks_at{0};
std::atomic<bool> is_parked{false}, may_go{false};

void on_step(int, siginfo_t *, void *context) {
    auto *registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
    if (static_cast<uintptr_t>(registers[REG_RIP]) != parks_at)
        return;
    is_parked = true;
    while (!may_go) {
    }
    registers[REG_EFL] &= ~0x100; // runs on
}

} // namespace

extern "C" uint64_t trib_test_stepped_call(uint64_t *counter, Function *function);
__asm__(".text\n.globl trib_test_stepped_call\n.type trib_test_stepped_call, @function\n"
        "trib_test_stepped_call:\n"
        "  push %rbp\n  pushf\n  orq $0x100, (%rsp)\n  popf\n  call *%rsi\n"
        "  pushf\n  andq $~0x100, (%rsp)\n  popf\n  pop %rbp\n  ret\n"
        ".size trib_test_stepped_call, . - trib_test_stepped_call\n"
        ".section .note.GNU-stack,\"\",@progbits\n.text\n");

TEST_CASE("a thread that stands at any instruction of the beginning goes on as if nothing had changed") {
    struct sigaction action {
    }, before{};
    action.sa_sigaction = on_step;
    action.sa_flags = SA_SIGINFO;
    REQUIRE(sigaction(SIGTRAP, &action, &before) == 0);
    unsigned patched = 0;
    for (const Body &body : kBodies)
        for (size_t at : {0, 8, 4})
            for (unsigned boundary : body.boundaries) {
                INFO(body.name << " at " << at << ", thread at +" << boundary);
                const Victim victim(body, at);
                uint64_t counter = 41, result = 0;
                parks_at = reinterpret_cast<uintptr_t>(victim.entry()) + boundary;
                is_parked = may_go = false;
                std::thread stands(
                    [&] { result = trib_test_stepped_call(&counter, reinterpret_cast<Function *>(victim.entry())); });
                while (!is_parked) {
                }
                const int code = put(victim);
                may_go = true;
                stands.join();
                CHECK((code == 0 || code == -EBUSY));
                CHECK(result == 41);
                CHECK(counter == 42);
                patched += code == 0;
                if (code == 0)
                    trib_patch_remove(&patch);
                CHECK(victim.is_whole());
            }
    sigaction(SIGTRAP, &before, nullptr);
    CHECK(patched > 2 * 3 * kBodies.size()); // refusing everything would be safe, too
}

TEST_CASE("a thread that stands behind the jump, and the jump is taken back, goes on as well") {
    const Victim victim(kBodies[4]);
    uint64_t counter = 0;
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> calls{0};
    std::vector<std::thread> threads;
    REQUIRE(put(victim) == 0);
    trib_patch_remove(&patch);
    for (int i = 0; i < 3; i++)
        threads.emplace_back([&] {
            uint64_t mine = 0;
            for (; !stop; mine++)
                victim.call(&counter);
            calls += mine;
        });
    const auto is_jump = [&] { return victim.entry()[4] == 0xe9 || victim.entry()[0] == 0xe9; };
    for (int i = 0; i < 200; i++) { // one stub for all: each put maps another
        trib_patch once{};
        REQUIRE(trib_patch_put(&once, victim.entry(), patch.go_on, true) == 0);
        CHECK(is_jump());
        std::this_thread::yield();
        trib_patch_remove(&once);
        CHECK(victim.is_whole());
    }
    stop = true;
    for (auto &thread : threads)
        thread.join();
    CHECK(counter == calls);
}

namespace {

// Takes the one page where the jump of a beginning with a pinned distance could lead.
void *take_page(const Victim &victim) {
    int32_t distance;
    std::memcpy(&distance, victim.entry() + 1, sizeof distance);
    const uintptr_t stub = reinterpret_cast<uintptr_t>(victim.entry()) + 5 + static_cast<intptr_t>(distance);
    void *page = reinterpret_cast<void *>(stub / 4096 * 4096);
    return mmap(page, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

} // namespace

TEST_CASE("without a page at a safe distance it is refused, unless nobody can be inside") {
    const Victim victim(kBodies[8]);
    (void)take_page(victim); // or it is taken anyway, or outside of what there is
    CHECK(put(victim) == -EBUSY);
    CHECK(victim.is_whole());
    CHECK(std::string(trib_patch_reason(-EBUSY)).find("threads") != std::string::npos);
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop)
            std::this_thread::yield();
    });
    CHECK(put(victim, false) == -EBUSY); // two threads
    CHECK(victim.is_whole());
    stop = true;
    other.join();
    CHECK(in_child([&] { // one thread
              uint64_t counter = 0;
              calls_instead = 0;
              if (put(victim, false) != 0)
                  return 1;
              return victim.call(&counter) == 0 && victim.call(&counter) == 1 && calls_instead == 2 ? 0 : 2;
          }) == 0);
}

TEST_CASE("where the system lets nobody change code, nothing changes") {
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
    const Victim victim(kBodies[3]), hooked(kBodies[7]);
    const int result = in_child([&] {
        uint64_t counter = 0;
        trib_patch none{};
        calls_instead = 0;
        if (prctl(PR_SET_MDWE, 1ul, 0ul, 0ul, 0ul) != 0)
            return 77;
        const int code = put(victim);
        if (code != -EACCES && code != -EPERM)
            return 1;
        if (!victim.is_whole() || victim.call(&counter) != 0 || counter != 1)
            return 2;
        if (trib_patch_put(&none, hooked.entry(), reinterpret_cast<const void *>(instead), true) == 0 || none.at)
            return 3;
        return victim.call(&counter) == 1 && hooked.call(&counter) == 2 && calls_instead == 0 ? 0 : 4;
    });
    if (result == 77)
        SUCCEED("skipped: needs Linux 6.3");
    else
        CHECK(result == 0);
    CHECK(std::string(trib_patch_reason(-EACCES)).find("lets nobody") != std::string::npos);
}

#endif
#else
TEST_CASE("no jumps into code on this processor") {
    SUCCEED("skipped: needs x86-64");
}
#endif
