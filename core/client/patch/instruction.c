/* SPDX-License-Identifier: Apache-2.0 */
#include "instruction.h"

#include <string.h>

#define ENDBR64_BYTES 4u

bool trib_instruction_is_landing(const uint8_t *code) {
    static const uint8_t endbr64[ENDBR64_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa};

    return memcmp(code, endbr64, sizeof endbr64) == 0;
}

/* Bytes of ModRM, SIB and displacement; *distance_at counts from `code`, 0 where nothing is relative to the
 * instruction. */
static unsigned read_operand(const uint8_t *code, unsigned *distance_at) {
    unsigned mode = code[0] >> 6, base = code[0] & 7, length = 1;

    *distance_at = 0;
    if (mode == 3)
        return length;
    if (mode == 0 && base == 5)
        *distance_at = length;
    if (base == 4)
        base = code[length++] & 7;
    if (mode == 1)
        return length + 1;
    return length + (mode == 2 || base == 5 ? 4 : 0);
}

/* How many bytes of a constant follow the operand; -1: not an instruction of ours. */
static int constant_bytes(const uint8_t *opcode) {
    static const uint8_t none[] = {
        0x01, 0x03, 0x09, 0x0b, 0x21, 0x23, 0x29, 0x2b, /* add, or, and, sub */
        0x31, 0x33, 0x38, 0x39, 0x3a, 0x3b,             /* xor, cmp */
        0x63, 0x84, 0x85, 0x88, 0x89, 0x8a, 0x8b, 0x8d, /* movslq, test, mov, lea */
    };

    if (memchr(none, *opcode, sizeof none))
        return 0;
    if (*opcode == 0x80 || *opcode == 0x83 || *opcode == 0xc6) /* arithmetic and mov of a byte */
        return 1;
    return *opcode == 0x81 || *opcode == 0xc7 ? 4 : -1; /* of 32 bits */
}

static bool read_plain(const uint8_t *opcode, bool is_wide, unsigned *length) {
    if (*opcode >= 0x50 && *opcode <= 0x5f) /* push, pop */
        *length = 1;
    else if (*opcode == 0x6a) /* push of a byte */
        *length = 2;
    else if (*opcode == 0x68) /* push of 32 bits */
        *length = 5;
    else if (*opcode >= 0xb8 && *opcode <= 0xbf) /* mov of a constant */
        *length = is_wide ? 9 : 5;
    else
        return false;
    return true;
}

bool trib_instruction_read(const uint8_t *code, struct trib_instruction *out) {
    const uint8_t *opcode = code;
    bool is_wide = false;
    unsigned length;

    if (trib_instruction_is_landing(code)) {
        *out = (struct trib_instruction){ENDBR64_BYTES, 0};
        return true;
    }
    if (*opcode == 0x64) /* %fs: */
        opcode++;
    if ((*opcode & 0xf0) == 0x40) /* REX */
        is_wide = *opcode++ & 8;
    unsigned before = (unsigned)(opcode - code);
    if (read_plain(opcode, is_wide, &length)) {
        *out = (struct trib_instruction){before + length, 0};
        return true;
    }
    int constant = constant_bytes(opcode);
    unsigned distance_at;
    if (constant < 0)
        return false;
    length = before + 1 + read_operand(opcode + 1, &distance_at);
    *out = (struct trib_instruction){length + (unsigned)constant, distance_at ? before + 1 + distance_at : 0};
    return true;
}
