// SPDX-License-Identifier: Apache-2.0
// The proof of a server's layout: every field that is followed is tried first, each wrong offset is found out, and
// nothing wrong is followed on the way.
#include "support/catch.hpp"

#include <cstring>
#include <sys/mman.h>
#include <vector>

#include "innodb/mtr.h"
#include "support/mtr_server.h"

namespace {

using Pages = std::vector<std::pair<uint32_t, uint32_t>>;

void collect(void *arg, uint32_t space, uint32_t page) {
    static_cast<Pages *>(arg)->emplace_back(space, page);
}

struct Trial {
    trib_mtr_proof proof{};
    Pages pages;
    unsigned news = 0;

    explicit Trial(const trib_mtr_layout &layout = trib_mtr_layout_8) {
        proof.layout = layout;
    }
    trib_mtr_verdict commit(const mtr &object) {
        bool is_news = false;
        const trib_mtr_verdict verdict = trib_mtr_visit(&proof, &object, collect, &pages, &is_news);
        news += is_news;
        return verdict;
    }
};

// One that only reads.
trib_mtr_verdict commit_clean(Trial &trial) {
    mtr object;
    mtr_block blocks[2];
    const mtr_page page = {7, 9};
    mtr_begin(&object, blocks, &page);
    object.records = 0;
    return trial.commit(object);
}

// One commit of a mini-transaction that dirties page (7, 9), with a fault.
trib_mtr_verdict commit_one(Trial &trial, mtr_fault fault = MTR_SOUND) {
    mtr object;
    mtr_block blocks[2];
    const mtr_page page = {7, 9};
    mtr_begin(&object, blocks, &page);
    mtr_spoil(&object, blocks, fault);
    return trial.commit(object);
}

} // namespace

TEST_CASE("a layout is proven by so many mini-transactions that dirty pages, and gives them all") {
    Trial trial;
    for (unsigned i = 1; i < TRIB_MTR_PROOFS; i++)
        REQUIRE(commit_one(trial) == TRIB_MTR_OPEN);
    for (unsigned i = 0; i < TRIB_MTR_CLEAN_PROOFS; i++)
        REQUIRE(commit_clean(trial) == TRIB_MTR_OPEN);
    CHECK(commit_one(trial) == TRIB_MTR_PROVEN);
    CHECK(commit_one(trial) == TRIB_MTR_PROVEN);
    CHECK(trial.pages == Pages(2 * (TRIB_MTR_PROOFS + 1), {7u, 9u})); // latched twice each
    CHECK(trial.news == 0);
}

TEST_CASE("one that dirties nothing is tried, and proves nothing") {
    Trial trial;
    mtr object;
    mtr_block blocks[2];
    const mtr_page page = {7, 9};
    mtr_begin(&object, blocks, &page);
    object.records = 0;
    for (unsigned i = 0; i < 2 * TRIB_MTR_WAITS; i++)
        REQUIRE(trial.commit(object) == TRIB_MTR_OPEN);
    CHECK(trial.pages.empty());
    object.log_mode = 2; // changed without records: a temporary table
    (void)trial.commit(object);
    CHECK(trial.pages.size() == 2);
    object.records = 0;
    object.log_mode = 77;
    CHECK(trial.commit(object) == TRIB_MTR_REFUTED);
}

TEST_CASE("every fault refutes, once and for good, and gives no page") {
    for (int fault = MTR_SOUND + 1; fault < MTR_FAULTS; fault++) {
        Trial trial;
        INFO(mtr_fault_names[fault]);
        CHECK(commit_one(trial, static_cast<mtr_fault>(fault)) == TRIB_MTR_REFUTED);
        CHECK(commit_one(trial, static_cast<mtr_fault>(fault)) == TRIB_MTR_REFUTED);
        CHECK(commit_one(trial) == TRIB_MTR_REFUTED);
        CHECK(trial.pages.empty());
        CHECK(trial.news == 1);
        CHECK(trial.proof.reason.load() != nullptr);
    }
}

// The negative control of every offset in the layout: moved it must be noticed, but for those of the page's
// numbers, whose meaning the first flushes prove, and which need only be there.
TEST_CASE("every offset that is wrong refutes") {
    struct Offset {
        const char *name;
        uint16_t trib_mtr_layout::*field;
        int shift = 8;
    };
    const Offset offsets[] = {{"memo_last", &trib_mtr_layout::memo_last},
                              {"memo_first", &trib_mtr_layout::memo_first},
                              {"modifications", &trib_mtr_layout::modifications},
                              {"log_mode", &trib_mtr_layout::log_mode, 4}, // by 8 there is nothing
                              {"records", &trib_mtr_layout::records},
                              {"state", &trib_mtr_layout::state},
                              {"previous", &trib_mtr_layout::previous},
                              {"next", &trib_mtr_layout::next},
                              {"used_bytes", &trib_mtr_layout::used_bytes}};
    for (const Offset &offset : offsets) {
        INFO(offset.name);
        trib_mtr_layout layout = trib_mtr_layout_8;
        layout.*offset.field = static_cast<uint16_t>(layout.*offset.field + offset.shift);
        Trial trial(layout);
        mtr object;
        mtr_block blocks[2];
        const mtr_page page = {7, 9};
        mtr_begin(&object, blocks, &page);
        std::memset(object.rest, 0xa5, sizeof object.rest); // what lies around the fields is not zero
        std::memset(object.more, 0xa5, sizeof object.more);
        struct {
            mtr object;
            uint8_t behind[64];
        } placed{object, {}};
        std::memset(placed.behind, 0xa5, sizeof placed.behind);
        trib_mtr_verdict verdict = TRIB_MTR_OPEN;
        for (unsigned i = 0; i < 2 * TRIB_MTR_WAITS && verdict == TRIB_MTR_OPEN; i++) {
            placed.object.records = i % 2; // every other one only reads
            verdict = trial.commit(placed.object);
        }
        CHECK(verdict == TRIB_MTR_REFUTED);
    }
}

TEST_CASE("a page whose numbers would lie beyond what is mapped refutes") {
    const size_t bytes = 4096;
    void *mapped = mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(mapped != MAP_FAILED);
    REQUIRE(munmap(static_cast<char *>(mapped) + bytes, bytes) == 0);
    Trial trial;
    mtr object;
    mtr_block blocks[2];
    mtr_begin(&object, blocks, reinterpret_cast<mtr_page *>(static_cast<char *>(mapped) + bytes)); // one past the end
    CHECK(trial.commit(object) == TRIB_MTR_REFUTED);
    CHECK(trial.pages.empty());
    munmap(mapped, bytes);
}

TEST_CASE("builds by their id") {
    CHECK(trib_mtr_layout_of_build("") == nullptr);
    CHECK(trib_mtr_layout_of_build("00") == nullptr);
    CHECK(trib_mtr_layout_of_build("cc8a18826385d7182761a4a8f41044748267244d") == &trib_mtr_layout_8);
}
