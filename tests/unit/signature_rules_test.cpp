// SPDX-License-Identifier: Apache-2.0
// Call-frame instructions, each in a small .eh_frame of its own, against what DWARF 5 section 6.4 says of them.
#include <cstring>
#include <vector>

#include "signature/unwind/cfi.h"

#include "support/catch.hpp"

namespace {

using Bytes = std::vector<uint8_t>;

// One module: code of 256 bytes, its index, one CIE, one FDE.
class Module {
  public:
    explicit Module(const Bytes &fde_instructions, const Bytes &cie_instructions = {0x0c, 7, 8, 0x90, 1}) {
        image_.resize(kCode);
        put({1, 0x1b, 0x03, 0x3b}); // version; encodings: pcrel sdata4, udata4, datarel sdata4
        const size_t frame_pointer = image_.size();
        put32(0);
        put32(1); // one entry
        const size_t entry = image_.size();
        put32(0);
        put32(0);
        set32(frame_pointer, static_cast<int64_t>(image_.size() - frame_pointer));
        const size_t cie = record(0, [&](size_t) {
            put({1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b}); // code by 1, data by -8, return address in 16, pcrel sdata4
            put(cie_instructions);
        });
        const size_t fde = record(cie, [&](size_t) {
            put32(-static_cast<int64_t>(image_.size()));
            put32(kCode);
            put({0});
            put(fde_instructions);
        });
        set32(entry, -static_cast<int64_t>(kCode));
        set32(entry + 4, static_cast<int64_t>(fde - kCode));
        image_.resize(image_.size() + 8);
    }
    struct trib_rule rule(unsigned offset) const {
        struct trib_segment segment = {};
        segment.start = segment.base = segment.map_start = reinterpret_cast<uintptr_t>(image_.data());
        segment.end = segment.start + kCode;
        segment.map_end = segment.start + image_.size();
        segment.eh_frame_hdr = segment.start + kCode;
        struct trib_rule rule;
        trib_cfi_rule(&segment, segment.start + offset, &rule);
        return rule;
    }

  private:
    static constexpr size_t kCode = 256;
    Bytes image_;

    void put(const Bytes &bytes) {
        image_.insert(image_.end(), bytes.begin(), bytes.end());
    }
    void put32(int64_t value) {
        image_.resize(image_.size() + 4);
        set32(image_.size() - 4, value);
    }
    void set32(size_t at, int64_t value) {
        const auto narrow = static_cast<int32_t>(value);
        std::memcpy(&image_[at], &narrow, sizeof narrow);
    }
    template <typename Body> size_t record(size_t cie, Body body) {
        const size_t start = image_.size();
        put32(0);
        put32(cie ? static_cast<int64_t>(start + 4 - cie) : 0);
        body(start);
        while (image_.size() % 8 != 4)
            put({0});
        set32(start, static_cast<int64_t>(image_.size() - start - 4));
        return start;
    }
};

bool is_sp(const struct trib_rule &rule, int offset) {
    return rule.kind == TRIB_RULE_SP && rule.cfa_offset == offset;
}

bool has_bp_at(const struct trib_rule &rule, int offset) {
    return rule.kind == TRIB_RULE_SP && rule.bp == TRIB_BP_AT_CFA && rule.bp_offset == offset;
}

} // namespace

TEST_CASE("the CIE's row holds until the FDE changes it, and a row holds up to the call") {
    const Module module({0x44, 0x0e, 16, 0x48, 0x0e, 32}); // 4 bytes on: 16; 8 further: 32
    CHECK(is_sp(module.rule(1), 8));
    CHECK(is_sp(module.rule(4), 8)); // the call before it is in the first row
    CHECK(is_sp(module.rule(5), 16));
    CHECK(is_sp(module.rule(12), 16));
    CHECK(is_sp(module.rule(13), 32));
    CHECK(is_sp(module.rule(256), 32));
    CHECK(module.rule(257).kind == TRIB_RULE_STOP);
}

TEST_CASE("advances of every width") {
    CHECK(is_sp(Module({0x02, 200, 0x0e, 16}).rule(200), 8));
    CHECK(is_sp(Module({0x02, 200, 0x0e, 16}).rule(201), 16));
    CHECK(is_sp(Module({0x03, 200, 0, 0x0e, 16}).rule(201), 16));
    CHECK(is_sp(Module({0x04, 200, 0, 0, 0, 0x0e, 16}).rule(200), 8));
    CHECK(is_sp(Module({0x04, 200, 0, 0, 0, 0x0e, 16}).rule(201), 16));
    CHECK(is_sp(Module({0x03, 0, 1, 0x0e, 16}).rule(256), 8)); // every byte counts
    CHECK(is_sp(Module({0x04, 0, 0, 1, 0, 0x0e, 16}).rule(256), 8));
    CHECK(is_sp(Module({0x04, 0, 0, 0, 1, 0x0e, 16}).rule(256), 8));
}

TEST_CASE("the size of arguments tells nothing, and its operand is no instruction") {
    CHECK(is_sp(Module({0x2e, 0x0b, 0x44, 0x0e, 16}).rule(5), 16)); // 0x0b alone would restore a state
    CHECK(is_sp(Module({0x2e, 0x90, 0x01, 0x44, 0x0e, 16}).rule(5), 16));
}

TEST_CASE("remembered states come back in turn, each once") {
    // 8, remember, 32, remember, 64, restore: 32, restore: 8
    const Module module({0x0a, 0x0e, 32, 0x0a, 0x0e, 64, 0x44, 0x0b, 0x44, 0x0b});
    CHECK(is_sp(module.rule(1), 64));
    CHECK(is_sp(module.rule(5), 32));
    CHECK(is_sp(module.rule(9), 8));
    CHECK(Module({0x0a, 0x0b, 0x0b}).rule(1).kind == TRIB_RULE_STOP); // nothing left to restore
    CHECK(is_sp(Module(Bytes(8, 0x0a)).rule(1), 8));
    CHECK(Module(Bytes(9, 0x0a)).rule(1).kind == TRIB_RULE_STOP); // deeper than anybody writes
    // the saved registers come back, too
    CHECK(has_bp_at(Module({0x86, 2, 0x0a, 0x08, 6, 0x0b}).rule(1), -16));
}

TEST_CASE("offsets are factored by the data alignment where DWARF says so") {
    CHECK(has_bp_at(Module({0x86, 2}).rule(1), -16));      // offset
    CHECK(has_bp_at(Module({0x05, 6, 3}).rule(1), -24));   // offset_extended
    CHECK(has_bp_at(Module({0x11, 6, 2}).rule(1), -16));   // offset_extended_sf
    CHECK(has_bp_at(Module({0x11, 6, 0x7d}).rule(1), 24)); // -3 of them
    CHECK(has_bp_at(Module({0x2f, 6, 2}).rule(1), 16));    // GNU_negative_offset_extended
    CHECK(is_sp(Module({0x12, 7, 0x7e}).rule(1), 16));     // def_cfa_sf: -2 of -8
    CHECK(is_sp(Module({0x13, 0x7d}).rule(1), 24));        // def_cfa_offset_sf
    CHECK(is_sp(Module({0x0c, 7, 24}).rule(1), 24));       // def_cfa: not factored
    CHECK(Module({0x0d, 6}).rule(1).kind == TRIB_RULE_BP); // def_cfa_register keeps the offset
    CHECK(Module({0x0d, 6}).rule(1).cfa_offset == 8);
}

TEST_CASE("what a register is restored to, and what loses it") {
    const Bytes cie = {0x0c, 7, 8, 0x90, 1, 0x86, 2};
    CHECK(has_bp_at(Module({0x86, 4, 0xc6}, cie).rule(1), -16));       // restore: as in the CIE
    CHECK(has_bp_at(Module({0x86, 4, 0x06, 6}, cie).rule(1), -16));    // restore_extended
    CHECK(Module({0x08, 6}, cie).rule(1).bp == TRIB_BP_SAME);          // same_value
    CHECK(Module({0x09, 6, 3}, cie).rule(1).bp == TRIB_BP_LOST);       // register
    CHECK(Module({0x14, 6, 2}, cie).rule(1).bp == TRIB_BP_LOST);       // val_offset: the value, not where it is
    CHECK(Module({0x16, 6, 1, 0x30}, cie).rule(1).bp == TRIB_BP_LOST); // val_expression
    CHECK(has_bp_at(Module({0x10, 6, 2, 0x77, 0x10}).rule(1), 8));     // expression: rsp + 16 is CFA + 8
    CHECK(is_sp(Module({0x2e, 0x10}).rule(1), 8));                     // GNU_args_size says nothing here
}

TEST_CASE("no return address is the end, another place for it a failure") {
    CHECK(Module({0x07, 16}).rule(1).kind == TRIB_RULE_ROOT);
    CHECK(Module({0x90, 2}).rule(1).kind == TRIB_RULE_STOP);
    CHECK(Module({0x08, 16}).rule(1).kind == TRIB_RULE_STOP);
    CHECK(Module({0x3f}).rule(1).kind == TRIB_RULE_STOP);    // not an instruction
    CHECK(Module({0x0d, 0}).rule(1).kind == TRIB_RULE_STOP); // CFA by rax
}
