// SPDX-License-Identifier: Apache-2.0
// A hook at the entry of a function that others are running: it sees the argument and the caller, and changes nothing.
#include "support/catch.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include <tributary/signature.h>

#include "patch/code.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

using Function = uint64_t(uint64_t *counter);

extern "C" {
uint64_t trib_test_victim(uint64_t *counter);
uint64_t trib_test_stranger(uint64_t *counter);
}

// As a compiler begins a function that keeps a frame pointer; adds 1 with a saved register's help.
__asm__(".text\n.p2align 4\n.globl trib_test_victim\n.type trib_test_victim, @function\n"
        "trib_test_victim:\n"
        "  endbr64\n  push %rbp\n  mov %rsp, %rbp\n  push %rbx\n  sub $24, %rsp\n"
        "  mov %rdi, %rbx\n  mov $1, %eax\n  lock xadd %rax, (%rbx)\n"
        "  add $24, %rsp\n  pop %rbx\n  pop %rbp\n  ret\n"
        ".size trib_test_victim, . - trib_test_victim\n"
        ".p2align 4\n.globl trib_test_stranger\n.type trib_test_stranger, @function\n"
        "trib_test_stranger:\n  push %rbx\n  mov %rdi, %rbx\n  mov (%rbx), %rax\n  pop %rbx\n  ret\n"
        ".size trib_test_stranger, . - trib_test_stranger\n"
        ".section .note.GNU-stack,\"\",@progbits\n.text\n");

namespace {

uint8_t *code_of(Function *function) {
    return reinterpret_cast<uint8_t *>(function);
}

std::atomic<uint64_t> hooked{0};
std::atomic<void *> last_argument{nullptr};
std::atomic<uint64_t> last_path{0};

void hook(void *first, void *frame) {
    hooked++;
    last_argument = first;
    last_path = trib_signature_capture(frame, 2);
    volatile double busy = 1; // uses registers that a hook may use
    busy = busy * 3;
}

} // namespace

TEST_CASE("the function does what it did, and the hook sees its argument and its caller") {
    trib_patch mine{};
    uint64_t counter = 0;
    const std::vector<uint8_t> before(code_of(trib_test_victim), code_of(trib_test_victim) + 8);
    hooked = 0;
    REQUIRE(trib_patch_hook_fits(code_of(trib_test_victim)));
    REQUIRE(trib_patch_hook_put(&mine, code_of(trib_test_victim), hook) == 0);
    CHECK(trib_test_victim(&counter) == 0);
    CHECK(trib_test_victim(&counter) == 1);
    CHECK(counter == 2);
    CHECK(hooked == 2);
    CHECK(last_argument == &counter);
    trib_frame frames[2];
    CHECK(trib_signature_frames(last_path, frames, 2) == 2); // the caller is found behind the stub
    // Whoever was interrupted between the first two instructions, or after them, finds them.
    CHECK(std::memcmp(code_of(trib_test_victim) + 4, before.data() + 4, 4) == 0);
    CHECK_FALSE(trib_patch_hook_fits(code_of(trib_test_victim))); // no second hook
    trib_patch_remove(&mine);
    CHECK(std::memcmp(code_of(trib_test_victim), before.data(), 8) == 0);
    CHECK(trib_test_victim(&counter) == 2);
    CHECK(hooked == 2);
    trib_patch_remove(&mine); // does nothing
}

TEST_CASE("other beginnings are not hooked and left alone") {
    trib_patch mine{};
    uint64_t counter = 5;
    CHECK(trib_patch_hook_put(&mine, code_of(trib_test_stranger), hook) == -ENOTSUP);
    CHECK(mine.at == nullptr);
    CHECK(trib_test_stranger(&counter) == 5);
    CHECK_FALSE(trib_patch_hook_fits(code_of(trib_test_victim) + 4));
}

TEST_CASE("threads run through the function while it is hooked and unhooked") {
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> calls{0};
    uint64_t counter = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back([&] {
            uint64_t mine = 0;
            while (!stop) {
                trib_test_victim(&counter);
                mine++;
            }
            calls += mine;
        });
    hooked = 0;
    for (int i = 0; i < 200; i++) {
        trib_patch once{};
        REQUIRE(trib_patch_hook_put(&once, code_of(trib_test_victim), hook) == 0);
        std::this_thread::yield();
        trib_patch_remove(&once);
    }
    stop = true;
    for (auto &thread : threads)
        thread.join();
    CHECK(counter == calls);
    CHECK(hooked <= calls);
    CHECK(hooked > 0);
}

#else
TEST_CASE("no hooks at the entry of code on this processor") {
    SUCCEED("nothing to test");
}
#endif
