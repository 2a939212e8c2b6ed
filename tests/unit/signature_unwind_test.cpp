// SPDX-License-Identifier: Apache-2.0
#include <link.h>
#include <sys/mman.h>

#include <cstring>
#include <random>
#include <string>

#include "signature/modules.h"
#include "signature/start.h"
#include "signature/unwind/unwind.h"

#include "support/catch.hpp"
#include "support/signature_odd_frames.h"
#include "support/signature_oracle.hpp"
#include "support/signature_paths.h"

namespace {

const bool started = trib_start(); // a constructor's work, where captures are linked

struct Walk {
    struct trib_path path;
    std::vector<uintptr_t> expected; // by libunwind
    std::vector<uint64_t> stack;     // words from the frame outwards
    uintptr_t frame;
};

struct trib_stack own_stack() {
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    return {reinterpret_cast<uintptr_t>(low), reinterpret_cast<uintptr_t>(low) + bytes};
}

__attribute__((noinline, no_sanitize("address"))) void take(void *arg) {
    auto *walk = static_cast<Walk *>(arg);
    const struct trib_stack stack = own_stack();
    walk->frame = reinterpret_cast<uintptr_t>(TRIB_FRAME_HERE());
    trib_unwind(&walk->path, walk->frame, 12, &stack);
    walk->expected = oracle::walk(TRIB_FRAME_HERE());
    const uintptr_t end = std::min(stack.high, walk->frame + 32768);
    for (uintptr_t at = walk->frame; at < end; at += 8)
        walk->stack.push_back(trib_stack_word(at));
}

struct Odd {
    Walk *walk;
    signature_odd_frame *frame;
};

Walk through(signature_odd_frame *frame, const char *program = "abf") {
    Walk walk;
    Odd odd{&walk, frame};
    signature_path(
        program, 3,
        [](void *arg) {
            auto *from = static_cast<Odd *>(arg);
            from->frame(from->walk, take);
            __asm__ volatile("" : : : "memory");
        },
        &odd);
    return walk;
}

std::vector<uintptr_t> addresses(const struct trib_path &path) {
    std::vector<uintptr_t> found;
    for (unsigned i = 0; i < path.count; i++)
        found.push_back(path.frame[i].address);
    return found;
}

} // namespace

TEST_CASE("hand-written frames are walked as libunwind does") {
    for (signature_odd_frame *frame : {odd_deref_sp, odd_remember, odd_by_rip, odd_saved_by_expression}) {
        for (const char *program : {"abf", "ece", "eeee", "dcd", "fdf"}) {
            Walk walk = through(frame, program);
            INFO(program);
            REQUIRE(walk.path.count >= 12);
            walk.expected.resize(walk.path.count);
            CHECK(addresses(walk.path) == walk.expected);
        }
    }
}

TEST_CASE("a signal frame is a root") {
    const Walk walk = through(odd_signal_frame);
    CHECK(walk.path.count == 1);
    CHECK(walk.path.end == TRIB_PATH_ROOT);
}

TEST_CASE("a path of roots alone keeps the program's entry, and nothing of the runtime") {
    const auto trimmed = [](const std::string &frames, unsigned depth = 12) { // r: runtime, p: program
        struct trib_path path = {};
        for (const char frame : frames) {
            path.frame[path.count].address = 0x1000 + path.count;
            path.frame[path.count++].runtime = frame == 'r';
        }
        path.frame[path.count - 1].rule = TRIB_RULE_ROOT;
        path.end = TRIB_PATH_ROOT;
        trib_path_trim(&path, depth);
        std::string left;
        for (unsigned i = 0; i < path.count; i++)
            left += std::to_string(path.frame[i].address - 0x1000) + " ";
        return left;
    };
    CHECK(trimmed("rrrp") == "3 "); // the flush at exit
    CHECK(trimmed("p") == "0 ");
    CHECK(trimmed("rrrr") == ""); // a thread of the runtime's own
    CHECK(trimmed("rprrp") == "0 1 ");
    CHECK(trimmed("prrp", 2) == "0 ");
}

TEST_CASE("code without rules or with wrong ones ends a path as a failure") {
    for (signature_odd_frame *frame : {odd_wrong_rules, odd_no_rules}) {
        const Walk walk = through(frame);
        CHECK(walk.path.count == 1);
        CHECK(walk.path.end == TRIB_PATH_FAILED);
    }
}

// The words of real stacks, cut and damaged, between two forbidden pages: a read outside of them
// would crash.
TEST_CASE("a walk never reads outside the stack it was given") {
    constexpr size_t page = 4096, room = 64 * 1024;
    auto *memory = static_cast<uint8_t *>(
        mmap(nullptr, room + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(memory != MAP_FAILED);
    REQUIRE(mprotect(memory, page, PROT_NONE) == 0);
    REQUIRE(mprotect(memory + page + room, page, PROT_NONE) == 0);
    const uintptr_t high = reinterpret_cast<uintptr_t>(memory) + page + room;
    std::mt19937_64 random(7);
    uint64_t failures = 0, frames = 0;
    for (const char *program : {"abfabf", "ececec", "dcdbdc", "aaaaaaaaaaaa", "fgfgfgfdef"}) {
        const Walk walk = through(odd_deref_sp, program);
        for (int round = 0; round < 4000; round++) {
            const size_t words = 2 + random() % (std::min(walk.stack.size(), room / 8) - 2);
            const uintptr_t frame = high - words * 8;
            auto *copy = reinterpret_cast<uint64_t *>(frame);
            for (size_t i = 0; i < words; i++) { // saved frame addresses move along
                const uint64_t word = walk.stack[i];
                copy[i] = word - walk.frame < walk.stack.size() * 8 ? word - walk.frame + frame : word;
            }
            for (unsigned damages = round % 4; damages > 0; damages--)
                copy[random() % words] = random() % 2 ? random() : copy[random() % words];
            struct trib_path path;
            const struct trib_stack stack = {frame, high};
            trib_unwind(&path, frame, 1 + random() % TRIB_SIGNATURE_DEPTH_MAX, &stack);
            REQUIRE(path.count <= TRIB_PATH_MAX);
            REQUIRE(path.word_count <= TRIB_PATH_WORDS_MAX);
            for (unsigned i = 0; i < path.word_count; i++)
                REQUIRE(trib_stack_holds(&stack, frame + path.word[i]));
            failures += path.end == TRIB_PATH_FAILED;
            frames += path.count;
        }
    }
    CHECK(failures > 1000); // the cuts were felt
    CHECK(frames > 50000);  // and most walks got somewhere
    munmap(memory, room + 2 * page);
}

TEST_CASE("the words of a path are all that it depends on") {
    for (const char *program : {"abfabf", "ececec", "dcdbdc", "gggeaa", "fgfgfgfdef"}) {
        const Walk walk = through(odd_saved_by_expression, program);
        std::vector<uint64_t> copy(walk.stack.size());
        const uintptr_t frame = reinterpret_cast<uintptr_t>(copy.data());
        const struct trib_stack stack = {frame, frame + copy.size() * 8};
        std::mt19937_64 random(3);
        const auto moved = [&](uint64_t word) {
            return word - walk.frame < walk.stack.size() * 8 ? word - walk.frame + frame : word;
        };
        for (auto &word : copy)
            word = random(); // everything else is noise
        for (unsigned i = 0; i < walk.path.word_count; i++) {
            const size_t at = walk.path.word[i] / 8;
            REQUIRE(at < copy.size());
            copy[at] = moved(walk.stack[at]);
        }
        struct trib_path path;
        trib_unwind(&path, frame, 12, &stack);
        CHECK(addresses(path) == addresses(walk.path));
    }
}

namespace {
bool evaluate(std::vector<uint8_t> code, uintptr_t rip, struct trib_term *out) {
    const auto start = reinterpret_cast<uintptr_t>(code.data());
    return trib_cfi_expression(trib_reader_over(start, start + code.size()), rip, nullptr, out);
}
} // namespace

TEST_CASE("expressions") {
    struct trib_term term;
    const std::vector<uint8_t> plt = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    REQUIRE(evaluate(plt, 0x1006, &term));
    CHECK((term.base == TRIB_TERM_SP && !term.deref && term.offset == 8));
    REQUIRE(evaluate(plt, 0x100b, &term));
    CHECK((term.base == TRIB_TERM_SP && !term.deref && term.offset == 16));
    REQUIRE(evaluate({0x76, 0x78, 0x06}, 0, &term)); // breg6 -8; deref
    CHECK((term.base == TRIB_TERM_BP && term.deref && term.offset == -8 && term.add == 0));
    REQUIRE(evaluate({0x77, 0x98, 0x01, 0x06, 0x23, 0x08}, 0, &term));
    CHECK((term.base == TRIB_TERM_SP && term.deref && term.offset == 152 && term.add == 8));
    REQUIRE(evaluate({0x76, 0x00, 0x09, 0xff, 0x22}, 0, &term)); // breg6 0; const1s -1; plus
    CHECK((term.base == TRIB_TERM_BP && term.offset == -1));
    CHECK_FALSE(evaluate({}, 0, &term));                             // nothing on the stack
    CHECK_FALSE(evaluate({0x22}, 0, &term));                         // plus without operands
    CHECK_FALSE(evaluate({0x77}, 0, &term));                         // operand cut off
    CHECK_FALSE(evaluate({0x73, 0x00}, 0, &term));                   // rbx
    CHECK_FALSE(evaluate({0x77, 0x00, 0x06, 0x06}, 0, &term));       // deref twice
    CHECK_FALSE(evaluate({0x77, 0x00, 0x76, 0x00, 0x22}, 0, &term)); // rsp + rbp
    CHECK_FALSE(evaluate(std::vector<uint8_t>(64, 0x31), 0, &term)); // more than the machine holds
    CHECK_FALSE(evaluate({0xe0}, 0, &term));                         // not an operation
}

TEST_CASE("the module map knows code from data") {
    struct trib_segment segment;
    static int data;
    REQUIRE(trib_modules_find(reinterpret_cast<uintptr_t>(&take), &segment));
    CHECK(segment.start <= reinterpret_cast<uintptr_t>(&take));
    CHECK(segment.end > reinterpret_cast<uintptr_t>(&take));
    CHECK_FALSE(segment.runtime);
    CHECK_FALSE(trib_modules_find(reinterpret_cast<uintptr_t>(&data), &segment));
    CHECK_FALSE(trib_modules_find(0, &segment));
    CHECK_FALSE(trib_modules_find(UINTPTR_MAX, &segment));
    void *runtime = dlsym(RTLD_DEFAULT, "getpid");
    REQUIRE(trib_modules_find(reinterpret_cast<uintptr_t>(runtime), &segment));
    CHECK(segment.runtime);
}

// Every rule of every module of this process: none may read outside the module, and code that
// compilers wrote has rules.
TEST_CASE("rules of all loaded code") {
    uint64_t rules = 0, stops = 0;
    struct trib_segment segment;
    std::vector<uintptr_t> starts;
    dl_iterate_phdr(
        [](struct dl_phdr_info *info, size_t, void *arg) {
            for (int i = 0; i < info->dlpi_phnum; i++)
                if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
                    static_cast<std::vector<uintptr_t> *>(arg)->push_back(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
            return 0;
        },
        &starts);
    for (uintptr_t start : starts) {
        REQUIRE(trib_modules_find(start, &segment));
        for (uintptr_t at = segment.start + 1; at <= segment.end; at += 37) {
            struct trib_rule rule;
            trib_cfi_rule(&segment, at, &rule);
            rules++;
            stops += rule.kind == TRIB_RULE_STOP;
        }
    }
    CHECK(rules > 10000);
    CHECK(stops < rules / 10); // padding, prologues with odd registers
}
