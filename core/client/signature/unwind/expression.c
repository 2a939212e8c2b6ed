/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF expressions, symbolically (DWARF 5 section 2.5). Evaluating once per call site instead of
 * once per capture keeps the walk free of an interpreter: PLT entries choose by rip, which is known
 * here; realigned frames dereference once. */
#include "signature/unwind/cfi.h"

#define STACK_MAX 8u

struct machine {
    struct trib_term stack[STACK_MAX];
    unsigned depth;
    bool failed;
};

enum {
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_DUP = 0x12,
    OP_DROP = 0x13,
    OP_AND = 0x1a,
    OP_MINUS = 0x1c,
    OP_MUL = 0x1e,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_SHR = 0x25,
    OP_EQ = 0x29,
    OP_GE = 0x2a,
    OP_GT = 0x2b,
    OP_LE = 0x2c,
    OP_LT = 0x2d,
    OP_NE = 0x2e,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_NOP = 0x96
};

enum { REGISTER_BP = 6, REGISTER_SP = 7, REGISTER_IP = 16 };

static void push(struct machine *machine, struct trib_term term) {
    if (machine->depth == STACK_MAX)
        machine->failed = true;
    else
        machine->stack[machine->depth++] = term;
}

static struct trib_term pop(struct machine *machine) {
    if (machine->depth)
        return machine->stack[--machine->depth];
    machine->failed = true;
    return (struct trib_term){0};
}

static void push_constant(struct machine *machine, int64_t value) {
    push(machine, (struct trib_term){.base = TRIB_TERM_CONSTANT, .offset = value});
}

static void push_register(struct machine *machine, unsigned number, int64_t offset, uintptr_t return_address) {
    if (number == REGISTER_SP)
        push(machine, (struct trib_term){.base = TRIB_TERM_SP, .offset = offset});
    else if (number == REGISTER_BP)
        push(machine, (struct trib_term){.base = TRIB_TERM_BP, .offset = offset});
    else if (number == REGISTER_IP)
        push_constant(machine, (int64_t)((uint64_t)return_address + (uint64_t)offset));
    else
        machine->failed = true;
}

static void add_constant(struct machine *machine, uint64_t value) {
    struct trib_term term = pop(machine);
    int64_t *sum = term.deref ? &term.add : &term.offset;
    *sum = (int64_t)((uint64_t)*sum + value);
    push(machine, term);
}

static int64_t fold(uint8_t op, int64_t left, int64_t right) {
    uint64_t l = (uint64_t)left, r = (uint64_t)right;
    switch (op) {
    case OP_AND:
        return (int64_t)(l & r);
    case OP_OR:
        return (int64_t)(l | r);
    case OP_MUL:
        return (int64_t)(l * r);
    case OP_SHL:
        return r < 64 ? (int64_t)(l << r) : 0;
    case OP_SHR:
        return r < 64 ? (int64_t)(l >> r) : 0;
    case OP_EQ:
        return left == right;
    case OP_GE:
        return left >= right;
    case OP_GT:
        return left > right;
    case OP_LE:
        return left <= right;
    case OP_LT:
        return left < right;
    default:
        return left != right; /* OP_NE */
    }
}

static bool is_constant(const struct trib_term *term) {
    return term->base == TRIB_TERM_CONSTANT && !term->deref;
}

static void binary(struct machine *machine, uint8_t op) {
    struct trib_term right = pop(machine), left = pop(machine);
    if (op == OP_PLUS && is_constant(&left)) { /* commutes: keep the constant on the right */
        struct trib_term other = left;
        left = right;
        right = other;
    }
    if (!is_constant(&right)) {
        machine->failed = true;
    } else if (op == OP_PLUS || op == OP_MINUS) {
        push(machine, left);
        add_constant(machine, op == OP_PLUS ? (uint64_t)right.offset : -(uint64_t)right.offset);
    } else if (is_constant(&left)) {
        push_constant(machine, fold(op, left.offset, right.offset));
    } else {
        machine->failed = true;
    }
}

static void dereference(struct machine *machine) {
    struct trib_term term = pop(machine);
    if (term.deref || term.base == TRIB_TERM_CONSTANT)
        machine->failed = true;
    term.deref = true;
    push(machine, term);
}

static void duplicate(struct machine *machine) {
    struct trib_term term = pop(machine);
    push(machine, term);
    push(machine, term);
}

static void step(struct machine *machine, struct trib_reader *reader, uintptr_t return_address) {
    uint8_t op = trib_read_u8(reader);
    if (op >= OP_LIT0 && op <= OP_LIT31) {
        push_constant(machine, op - OP_LIT0);
        return;
    }
    if (op >= OP_BREG0 && op <= OP_BREG31) {
        push_register(machine, op - OP_BREG0, trib_read_sleb(reader), return_address);
        return;
    }
    if (op >= OP_CONST1U && op <= OP_CONST8S) { /* pairs of unsigned and signed, 1 2 4 8 bytes wide */
        unsigned bytes = 1u << ((op - OP_CONST1U) / 2);
        bool is_signed = (op - OP_CONST1U) % 2;
        push_constant(machine, is_signed ? trib_read_signed(reader, bytes) : (int64_t)trib_read_bytes(reader, bytes));
        return;
    }
    switch (op) {
    case OP_CONSTU:
        push_constant(machine, (int64_t)trib_read_uleb(reader));
        break;
    case OP_CONSTS:
        push_constant(machine, trib_read_sleb(reader));
        break;
    case OP_PLUS_UCONST:
        add_constant(machine, trib_read_uleb(reader));
        break;
    case OP_DEREF:
        dereference(machine);
        break;
    case OP_DROP:
        pop(machine);
        break;
    case OP_DUP:
        duplicate(machine);
        break;
    case OP_NOP:
        break;
    case OP_AND:
    case OP_OR:
    case OP_MUL:
    case OP_SHL:
    case OP_SHR:
    case OP_EQ:
    case OP_GE:
    case OP_GT:
    case OP_LE:
    case OP_LT:
    case OP_NE:
    case OP_PLUS:
    case OP_MINUS:
        binary(machine, op);
        break;
    default:
        machine->failed = true;
    }
}

bool trib_cfi_expression(struct trib_reader expression, uintptr_t return_address, const struct trib_term *initial,
                         struct trib_term *out) {
    struct machine machine = {.depth = 0};
    if (initial)
        push(&machine, *initial);
    while (expression.at < expression.end && !machine.failed && !expression.failed)
        step(&machine, &expression, return_address);
    struct trib_term result = pop(&machine);
    if (machine.failed || expression.failed)
        return false;
    *out = result;
    return true;
}
