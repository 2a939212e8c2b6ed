/* SPDX-License-Identifier: Apache-2.0 */
/* The CFI interpreter (DWARF 5 section 6.4; Linux Standard Base 5, "Exception Frames" for .eh_frame and its header). */
#include "cfi.h"

#include <stddef.h>

#define REMEMBER_MAX 8u

enum { REGISTER_BP = 6, REGISTER_SP = 7, REGISTER_RA = 16 };

enum {
    CFA_NOP = 0x00, CFA_SET_LOC = 0x01, CFA_ADVANCE_LOC1 = 0x02, CFA_ADVANCE_LOC2 = 0x03, CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05, CFA_RESTORE_EXTENDED = 0x06, CFA_UNDEFINED = 0x07, CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09, CFA_REMEMBER_STATE = 0x0a, CFA_RESTORE_STATE = 0x0b, CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d, CFA_DEF_CFA_OFFSET = 0x0e, CFA_DEF_CFA_EXPRESSION = 0x0f, CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11, CFA_DEF_CFA_SF = 0x12, CFA_DEF_CFA_OFFSET_SF = 0x13, CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15, CFA_VAL_EXPRESSION = 0x16, CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    CFA_ADVANCE_LOC = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0, CFA_HIGH_BITS = 0xc0,
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

/* ---- .eh_frame pointers ---- */

enum { PE_OMIT = 0xff, PE_FORMAT = 0x0f, PE_APPLICATION = 0x70, PE_INDIRECT = 0x80, PE_PCREL = 0x10 };

static uintptr_t read_value(struct trib_reader *reader, uint8_t encoding) {
    switch (encoding & PE_FORMAT) {
    case 0x00: case 0x04: case 0x0c: return trib_read_bytes(reader, 8);
    case 0x01: return trib_read_uleb(reader);
    case 0x02: return trib_read_bytes(reader, 2);
    case 0x03: return trib_read_bytes(reader, 4);
    case 0x09: return (uintptr_t)trib_read_sleb(reader);
    case 0x0a: return (uintptr_t)trib_read_signed(reader, 2);
    case 0x0b: return (uintptr_t)trib_read_signed(reader, 4);
    default: reader->failed = true; return 0;
    }
}

/* Absolute and pc-relative pointers; what else the standard knows does not occur in FDE locations. */
static uintptr_t read_pointer(struct trib_reader *reader, uint8_t encoding) {
    uintptr_t here = (uintptr_t)reader->at;
    if (encoding & PE_INDIRECT || ((encoding & PE_APPLICATION) != 0 && (encoding & PE_APPLICATION) != PE_PCREL))
        reader->failed = true;
    uintptr_t value = read_value(reader, encoding);
    return (encoding & PE_APPLICATION) == PE_PCREL ? here + value : value;
}

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
    case CFA_DEF_CFA_REGISTER: define_cfa(vm, trib_read_uleb(reader), vm->row.cfa_offset); break;
    case CFA_DEF_CFA_OFFSET: define_cfa(vm, vm->row.cfa_register, (int64_t)trib_read_uleb(reader)); break;
    case CFA_DEF_CFA_OFFSET_SF: define_cfa(vm, vm->row.cfa_register, scaled(vm, trib_read_sleb(reader))); break;
    case CFA_DEF_CFA_EXPRESSION:
        vm->row.cfa_is_expression = true;
        vm->row.cfa_expression = read_block(vm);
        break;
    default: vm->unsupported = true;
    }
}

static void step_register(struct interpreter *vm, uint8_t op) {
    struct trib_reader *reader = &vm->reader;
    uint64_t number = trib_read_uleb(reader);
    struct saved *saved = saved_register(&vm->row, number);
    switch (op) {
    case CFA_OFFSET_EXTENDED: save_at_cfa(vm, number, scaled(vm, (int64_t)trib_read_uleb(reader))); break;
    case CFA_OFFSET_EXTENDED_SF: save_at_cfa(vm, number, scaled(vm, trib_read_sleb(reader))); break;
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        save_at_cfa(vm, number, -scaled(vm, (int64_t)trib_read_uleb(reader)));
        break;
    case CFA_RESTORE_EXTENDED: restore(vm, number); break;
    case CFA_UNDEFINED: save_as(vm, number, SAVED_UNDEFINED); break;
    case CFA_SAME_VALUE: save_as(vm, number, SAVED_SAME); break;
    case CFA_REGISTER: case CFA_VAL_OFFSET: case CFA_VAL_OFFSET_SF:
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
    default: vm->unsupported = true;
    }
}

/* One instruction. Returns false once the next row begins behind the target. */
static bool step(struct interpreter *vm) {
    struct trib_reader *reader = &vm->reader;
    uint8_t op = trib_read_u8(reader), low = op & ~CFA_HIGH_BITS;
    switch (op & CFA_HIGH_BITS) {
    case CFA_ADVANCE_LOC: vm->location += low * vm->code_align; return vm->location <= vm->target;
    case CFA_OFFSET: save_at_cfa(vm, low, scaled(vm, (int64_t)trib_read_uleb(reader))); return true;
    case CFA_RESTORE: restore(vm, low); return true;
    }
    switch (op) {
    case CFA_NOP: return true;
    case CFA_SET_LOC: vm->location = read_pointer(reader, vm->pointer_encoding); break;
    case CFA_ADVANCE_LOC1: vm->location += trib_read_bytes(reader, 1) * vm->code_align; break;
    case CFA_ADVANCE_LOC2: vm->location += trib_read_bytes(reader, 2) * vm->code_align; break;
    case CFA_ADVANCE_LOC4: vm->location += trib_read_bytes(reader, 4) * vm->code_align; break;
    case CFA_REMEMBER_STATE: remember(vm); return true;
    case CFA_RESTORE_STATE: recall(vm); return true;
    case CFA_GNU_ARGS_SIZE: trib_read_uleb(reader); return true; /* about landing pads, not about the CFA */
    case CFA_DEF_CFA: case CFA_DEF_CFA_SF: case CFA_DEF_CFA_REGISTER: case CFA_DEF_CFA_OFFSET:
    case CFA_DEF_CFA_OFFSET_SF: case CFA_DEF_CFA_EXPRESSION: step_cfa(vm, op); return true;
    default: step_register(vm, op); return true;
    }
    return vm->location <= vm->target;
}

static bool run(struct interpreter *vm) {
    while (vm->reader.at < vm->reader.end && !vm->reader.failed && !vm->unsupported)
        if (!step(vm))
            break;
    return !vm->reader.failed && !vm->unsupported;
}

/* ---- CIE and FDE ---- */

struct entry {
    struct trib_reader cie_instructions, fde_instructions;
    uint64_t code_align;
    int64_t data_align;
    uintptr_t start; /* of the function */
    uint8_t pointer_encoding;
    bool has_augmentation_data, is_signal_frame;
};

static struct trib_reader read_record(const struct trib_segment *segment, uintptr_t address) {
    struct trib_reader reader = {.failed = true};
    if (address < segment->map_start || address >= segment->map_end)
        return reader;
    reader = trib_reader_over(address, segment->map_end);
    uint64_t bytes = trib_read_bytes(&reader, 4); /* 0xffffffff, the 64-bit form, is longer than any module */
    if (bytes < 4 || bytes > (uint64_t)(reader.end - reader.at))
        reader.failed = true;
    else
        reader.end = reader.at + bytes;
    return reader;
}

static void read_augmentation(struct entry *entry, struct trib_reader *reader, const char *augmentation) {
    uint64_t bytes = trib_read_uleb(reader);
    struct trib_reader data = *reader;
    trib_read_skip(reader, bytes);
    data.end = reader->at;
    for (const char *letter = augmentation + 1; *letter; letter++) {
        if (*letter == 'R')
            entry->pointer_encoding = trib_read_u8(&data);
        else if (*letter == 'P')
            read_value(&data, trib_read_u8(&data));
        else if (*letter == 'L')
            trib_read_u8(&data);
        else if (*letter == 'S')
            entry->is_signal_frame = true;
        else
            reader->failed |= *letter != 'B';
    }
    reader->failed |= data.failed;
}

static bool read_cie(struct entry *entry, const struct trib_segment *segment, uintptr_t address) {
    struct trib_reader reader = read_record(segment, address);
    trib_read_skip(&reader, 4); /* its id, 0 */
    uint8_t version = trib_read_u8(&reader);
    const char *augmentation = (const char *)reader.at;
    while (trib_read_u8(&reader)) {
    }
    if (reader.failed || (version != 1 && version != 3))
        return false;
    entry->code_align = trib_read_uleb(&reader);
    entry->data_align = trib_read_sleb(&reader);
    uint64_t return_column = version == 1 ? trib_read_u8(&reader) : trib_read_uleb(&reader);
    entry->has_augmentation_data = augmentation[0] == 'z';
    if (entry->has_augmentation_data)
        read_augmentation(entry, &reader, augmentation);
    else
        reader.failed |= augmentation[0] != '\0';
    entry->cie_instructions = reader;
    return !reader.failed && return_column == REGISTER_RA;
}

static bool read_fde(struct entry *entry, const struct trib_segment *segment, uintptr_t address, uintptr_t target) {
    struct trib_reader reader = read_record(segment, address);
    uintptr_t id_at = (uintptr_t)reader.at;
    uint64_t cie_distance = trib_read_bytes(&reader, 4);
    if (reader.failed || cie_distance == 0 || !read_cie(entry, segment, id_at - cie_distance))
        return false;
    entry->start = read_pointer(&reader, entry->pointer_encoding);
    uintptr_t length = read_value(&reader, entry->pointer_encoding & PE_FORMAT);
    if (entry->has_augmentation_data)
        trib_read_skip(&reader, trib_read_uleb(&reader));
    entry->fde_instructions = reader;
    return !reader.failed && target >= entry->start && target - entry->start < length;
}

/* The FDE with the greatest start <= target, by the linker's sorted table; 0 if there is no such table. */
static uintptr_t search_fde(const struct trib_segment *segment, uintptr_t target) {
    uintptr_t header = segment->eh_frame_hdr;
    if (header < segment->map_start || header >= segment->map_end)
        return 0;
    struct trib_reader reader = trib_reader_over(header, segment->map_end);
    uint8_t version = trib_read_u8(&reader), frame_encoding = trib_read_u8(&reader);
    uint8_t count_encoding = trib_read_u8(&reader), table_encoding = trib_read_u8(&reader);
    if (version != 1 || count_encoding == PE_OMIT || table_encoding != 0x3b) /* all linkers write 0x3b */
        return 0;
    read_value(&reader, frame_encoding);
    uint64_t count = read_value(&reader, count_encoding);
    if (reader.failed || count == 0 || count > (uint64_t)(reader.end - reader.at) / 8)
        return 0;
    int64_t wanted = (int64_t)(target - header);
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int32_t start;
        memcpy(&start, reader.at + 8 * middle, sizeof start);
        if (start <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    int32_t fde;
    if (low == 0)
        return 0;
    memcpy(&fde, reader.at + 8 * (low - 1) + 4, sizeof fde);
    return header + (uintptr_t)(intptr_t)fde;
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
    struct entry entry = {.start = 0};
    struct trib_rule rule = {.kind = TRIB_RULE_STOP};
    uintptr_t target = return_address - 1; /* inside the call: what follows it may be another function */
    uintptr_t fde = search_fde(segment, target);
    *out = rule;
    if (!fde || !read_fde(&entry, segment, fde, target))
        return;
    if (entry.is_signal_frame) {
        out->kind = TRIB_RULE_ROOT;
        return;
    }
    struct interpreter vm = {
        .reader = entry.cie_instructions, .code_align = entry.code_align, .data_align = entry.data_align,
        .pointer_encoding = entry.pointer_encoding, .target = UINTPTR_MAX,
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
