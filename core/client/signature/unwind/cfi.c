/* SPDX-License-Identifier: Apache-2.0 */
/* The call-frame instructions (DWARF 5 section 6.4) and how a row of theirs becomes a rule. */
#include "signature/unwind/cfi.h"

#include <stddef.h>

#include "signature/unwind/eh_frame.h"

#define REMEMBER_MAX 8u

enum { REGISTER_BP = 6, REGISTER_SP = 7, REGISTER_RA = 16 };

enum {
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    CFA_ADVANCE_LOC = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_HIGH_BITS = 0xc0
};

enum saved_kind { SAVED_SAME, SAVED_AT_CFA, SAVED_EXPRESSION, SAVED_UNDEFINED, SAVED_OTHER };

/* How to get a register of the caller. */
struct saved {
    enum saved_kind kind;
    int64_t offset;                /* AT_CFA */
    struct trib_reader expression; /* EXPRESSION: its value is the address */
};

struct row {
    uint64_t cfa_register;
    int64_t cfa_offset;
    bool cfa_is_expression;
    struct trib_reader cfa_expression;
    struct saved bp, ra;
};

struct interpreter {
    struct trib_reader reader;
    uint64_t code_align;
    int64_t data_align;
    uint8_t pointer_encoding;
    uintptr_t location, target; /* rows apply up to and including target */
    struct row row, initial;    /* initial: after the CIE, what DW_CFA_restore goes back to */
    struct row remembered[REMEMBER_MAX];
    unsigned remembered_count;
    bool unsupported;
};

/* ---- call-frame instructions ---- */

static struct saved *saved_register(struct row *row, uint64_t number) {
    return number == REGISTER_BP ? &row->bp : number == REGISTER_RA ? &row->ra : NULL;
}

static void save_at_cfa(struct interpreter *vm, uint64_t number, int64_t offset) {
    struct saved *saved = saved_register(&vm->row, number);
    if (saved)
        *saved = (struct saved){.kind = SAVED_AT_CFA, .offset = offset};
}

static void save_as(struct interpreter *vm, uint64_t number, enum saved_kind kind) {
    struct saved *saved = saved_register(&vm->row, number);
    if (saved)
        *saved = (struct saved){.kind = kind};
}

static void restore(struct interpreter *vm, uint64_t number) {
    struct saved *saved = saved_register(&vm->row, number);
    if (saved)
        *saved = number == REGISTER_BP ? vm->initial.bp : vm->initial.ra;
}

static int64_t scaled(const struct interpreter *vm, int64_t factored) {
    return (int64_t)((uint64_t)factored * (uint64_t)vm->data_align);
}

static struct trib_reader read_block(struct interpreter *vm) {
    uint64_t bytes = trib_read_uleb(&vm->reader);
    struct trib_reader block = vm->reader;
    trib_read_skip(&vm->reader, bytes);
    block.end = vm->reader.at;
    return block;
}

static void define_cfa(struct interpreter *vm, uint64_t number, int64_t offset) {
    vm->row.cfa_register = number;
    vm->row.cfa_offset = offset;
    vm->row.cfa_is_expression = false;
}

static void remember(struct interpreter *vm) {
    if (vm->remembered_count == REMEMBER_MAX)
        vm->unsupported = true;
    else
        vm->remembered[vm->remembered_count++] = vm->row;
}

static void recall(struct interpreter *vm) {
    if (vm->remembered_count == 0)
        vm->unsupported = true;
    else
        vm->row = vm->remembered[--vm->remembered_count];
}

static void step_cfa(struct interpreter *vm, uint8_t op) {
    struct trib_reader *reader = &vm->reader;
    uint64_t number;
    switch (op) {
    case CFA_DEF_CFA:
        number = trib_read_uleb(reader);
        define_cfa(vm, number, (int64_t)trib_read_uleb(reader));
        break;
    case CFA_DEF_CFA_SF:
        number = trib_read_uleb(reader);
        define_cfa(vm, number, scaled(vm, trib_read_sleb(reader)));
        break;
    case CFA_DEF_CFA_REGISTER:
        define_cfa(vm, trib_read_uleb(reader), vm->row.cfa_offset);
        break;
    case CFA_DEF_CFA_OFFSET:
        define_cfa(vm, vm->row.cfa_register, (int64_t)trib_read_uleb(reader));
        break;
    case CFA_DEF_CFA_OFFSET_SF:
        define_cfa(vm, vm->row.cfa_register, scaled(vm, trib_read_sleb(reader)));
        break;
    case CFA_DEF_CFA_EXPRESSION:
        vm->row.cfa_is_expression = true;
        vm->row.cfa_expression = read_block(vm);
        break;
    default:
        vm->unsupported = true;
    }
}

static void step_register(struct interpreter *vm, uint8_t op) {
    struct trib_reader *reader = &vm->reader;
    uint64_t number = trib_read_uleb(reader);
    struct saved *saved = saved_register(&vm->row, number);
    switch (op) {
    case CFA_OFFSET_EXTENDED:
        save_at_cfa(vm, number, scaled(vm, (int64_t)trib_read_uleb(reader)));
        break;
    case CFA_OFFSET_EXTENDED_SF:
        save_at_cfa(vm, number, scaled(vm, trib_read_sleb(reader)));
        break;
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        save_at_cfa(vm, number, -scaled(vm, (int64_t)trib_read_uleb(reader)));
        break;
    case CFA_RESTORE_EXTENDED:
        restore(vm, number);
        break;
    case CFA_UNDEFINED:
        save_as(vm, number, SAVED_UNDEFINED);
        break;
    case CFA_SAME_VALUE:
        save_as(vm, number, SAVED_SAME);
        break;
    case CFA_REGISTER:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF:
        trib_read_uleb(reader); /* signed or not, the same bytes */
        save_as(vm, number, SAVED_OTHER);
        break;
    case CFA_VAL_EXPRESSION:
        read_block(vm);
        save_as(vm, number, SAVED_OTHER);
        break;
    case CFA_EXPRESSION: {
        struct trib_reader block = read_block(vm);
        if (saved)
            *saved = (struct saved){.kind = SAVED_EXPRESSION, .expression = block};
        break;
    }
    default:
        vm->unsupported = true;
    }
}

/* One instruction. Returns false once the next row begins behind the target. */
static bool step(struct interpreter *vm) {
    struct trib_reader *reader = &vm->reader;
    uint8_t op = trib_read_u8(reader), low = op & ~CFA_HIGH_BITS;
    switch (op & CFA_HIGH_BITS) {
    case CFA_ADVANCE_LOC:
        vm->location += low * vm->code_align;
        return vm->location <= vm->target;
    case CFA_OFFSET:
        save_at_cfa(vm, low, scaled(vm, (int64_t)trib_read_uleb(reader)));
        return true;
    case CFA_RESTORE:
        restore(vm, low);
        return true;
    }
    switch (op) {
    case CFA_NOP:
        return true;
    case CFA_SET_LOC:
        vm->location = trib_eh_pointer(reader, vm->pointer_encoding);
        break;
    case CFA_ADVANCE_LOC1:
        vm->location += trib_read_bytes(reader, 1) * vm->code_align;
        break;
    case CFA_ADVANCE_LOC2:
        vm->location += trib_read_bytes(reader, 2) * vm->code_align;
        break;
    case CFA_ADVANCE_LOC4:
        vm->location += trib_read_bytes(reader, 4) * vm->code_align;
        break;
    case CFA_REMEMBER_STATE:
        remember(vm);
        return true;
    case CFA_RESTORE_STATE:
        recall(vm);
        return true;
    case CFA_GNU_ARGS_SIZE:
        trib_read_uleb(reader);
        return true; /* about landing pads, not about the CFA */
    case CFA_DEF_CFA:
    case CFA_DEF_CFA_SF:
    case CFA_DEF_CFA_REGISTER:
    case CFA_DEF_CFA_OFFSET:
    case CFA_DEF_CFA_OFFSET_SF:
    case CFA_DEF_CFA_EXPRESSION:
        step_cfa(vm, op);
        return true;
    default:
        step_register(vm, op);
        return true;
    }
    return vm->location <= vm->target;
}

static bool run(struct interpreter *vm) {
    while (vm->reader.at < vm->reader.end && !vm->reader.failed && !vm->unsupported)
        if (!step(vm))
            break;
    return !vm->reader.failed && !vm->unsupported;
}

/* ---- from a row to a rule ---- */

static bool fits(int64_t value, unsigned bits) {
    return value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1);
}

static bool pack_cfa(const struct interpreter *vm, uintptr_t return_address, struct trib_rule *rule) {
    struct trib_term cfa = {.offset = vm->row.cfa_offset};
    if (vm->row.cfa_is_expression) {
        if (!trib_cfi_expression(vm->row.cfa_expression, return_address, NULL, &cfa))
            return false;
    } else {
        cfa.base = vm->row.cfa_register == REGISTER_SP   ? TRIB_TERM_SP
                   : vm->row.cfa_register == REGISTER_BP ? TRIB_TERM_BP
                                                         : TRIB_TERM_CONSTANT;
    }
    if ((cfa.base != TRIB_TERM_SP && cfa.base != TRIB_TERM_BP) || !fits(cfa.offset, 32) || !fits(cfa.add, 16))
        return false;
    if (cfa.base == TRIB_TERM_SP)
        rule->kind = cfa.deref ? TRIB_RULE_SP_DEREF : TRIB_RULE_SP;
    else
        rule->kind = cfa.deref ? TRIB_RULE_BP_DEREF : TRIB_RULE_BP;
    rule->cfa_offset = (int32_t)cfa.offset;
    rule->cfa_add = (int16_t)cfa.add;
    return true;
}

static void pack_bp(const struct interpreter *vm, uintptr_t return_address, struct trib_rule *rule) {
    const struct saved *bp = &vm->row.bp;
    struct trib_term at = {.base = TRIB_TERM_CFA, .offset = bp->offset};
    const struct trib_term cfa = {.base = TRIB_TERM_CFA};
    rule->bp = TRIB_BP_LOST;
    if (bp->kind == SAVED_SAME) {
        rule->bp = TRIB_BP_SAME;
        return;
    }
    if (bp->kind == SAVED_EXPRESSION && !trib_cfi_expression(bp->expression, return_address, &cfa, &at))
        return;
    if ((bp->kind != SAVED_AT_CFA && bp->kind != SAVED_EXPRESSION) || at.deref || !fits(at.offset, 32))
        return;
    if (at.base == TRIB_TERM_SP && rule->kind == TRIB_RULE_SP) {
        at.base = TRIB_TERM_CFA;
        at.offset -= rule->cfa_offset;
    }
    if (at.base != TRIB_TERM_CFA && at.base != TRIB_TERM_BP)
        return;
    rule->bp = at.base == TRIB_TERM_CFA ? TRIB_BP_AT_CFA : TRIB_BP_AT_BP;
    rule->bp_offset = (int32_t)at.offset;
}

void trib_cfi_rule(const struct trib_segment *segment, uintptr_t return_address, struct trib_rule *out) {
    struct trib_eh_entry entry = {.start = 0};
    struct trib_rule rule = {.kind = TRIB_RULE_STOP};
    uintptr_t target = return_address - 1; /* inside the call: what follows it may be another function */
    uintptr_t fde = trib_eh_search(segment, target);
    *out = rule;
    if (!fde || !trib_eh_read(&entry, segment, fde, target))
        return;
    if (entry.is_signal_frame) {
        out->kind = TRIB_RULE_ROOT;
        return;
    }
    struct interpreter vm = {
        .reader = entry.cie_instructions,
        .code_align = entry.code_align,
        .data_align = entry.data_align,
        .pointer_encoding = entry.pointer_encoding,
        .target = UINTPTR_MAX,
        .row = {.bp = {.kind = SAVED_SAME}, .ra = {.kind = SAVED_OTHER}},
    };
    if (!run(&vm))
        return;
    vm.initial = vm.row;
    vm.reader = entry.fde_instructions;
    vm.location = entry.start;
    vm.target = target;
    if (!run(&vm))
        return;
    if (vm.row.ra.kind == SAVED_UNDEFINED) {
        out->kind = TRIB_RULE_ROOT;
        return;
    }
    if (vm.row.ra.kind != SAVED_AT_CFA || vm.row.ra.offset != -8 || !pack_cfa(&vm, return_address, &rule))
        return;
    pack_bp(&vm, return_address, &rule);
    *out = rule;
}
