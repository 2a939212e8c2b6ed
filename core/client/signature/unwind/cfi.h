/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF call-frame information (.eh_frame) reduced to what a walk over x86-64 return addresses
 * needs: where the caller's stack pointer is, and where its rbp was saved. Every form that GCC,
 * LLVM and the hand-written code of glibc and OpenSSL use at a call site fits: CFA = rsp + n, rbp +
 * n, *(rsp + n) + m, *(rbp + n) + m.
 *
 * Thread safety: pure functions over read-only mapped memory; async-signal-safe; no allocation. */
#ifndef TRIB_SIGNATURE_CFI_H
#define TRIB_SIGNATURE_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "signature/modules.h"
#include "signature/unwind/reader.h"

TRIB_C_BEGIN

enum trib_rule_kind {
    TRIB_RULE_STOP = 0,     /* no usable rule: the path ends here and that counts as a failure */
    TRIB_RULE_ROOT = 1,     /* no caller: a thread's first frame, or a signal handler's trampoline */
    TRIB_RULE_SP = 2,       /* CFA = sp + cfa_offset */
    TRIB_RULE_BP = 3,       /* CFA = bp + cfa_offset */
    TRIB_RULE_SP_DEREF = 4, /* CFA = *(sp + cfa_offset) + cfa_add */
    TRIB_RULE_BP_DEREF = 5, /* CFA = *(bp + cfa_offset) + cfa_add; GCC's realigned frames */
};

enum trib_bp_rule {
    TRIB_BP_SAME = 0,
    TRIB_BP_AT_CFA = 1, /* saved at CFA + bp_offset */
    TRIB_BP_AT_BP = 2,  /* saved at bp + bp_offset */
    TRIB_BP_LOST = 3,   /* somewhere this walk does not follow; only matters if a later CFA needs it */
};

/* The CFA is the value of sp right after the return; the return address is the word below it. */
struct trib_rule {
    uint8_t kind; /* enum trib_rule_kind */
    uint8_t bp;   /* enum trib_bp_rule */
    int16_t cfa_add;
    int32_t cfa_offset, bp_offset;
};

/* The rule in force at the call before `return_address`. Writes TRIB_RULE_STOP if there is none. */
void trib_cfi_rule(const struct trib_segment *segment, uintptr_t return_address, struct trib_rule *out);

/* A DWARF expression evaluated for unknown registers: base + offset, or *(base + offset) + add. */
enum trib_term_base { TRIB_TERM_CONSTANT, TRIB_TERM_SP, TRIB_TERM_BP, TRIB_TERM_CFA };
struct trib_term {
    uint8_t base; /* enum trib_term_base */
    bool deref;
    int64_t offset, add;
};

/* False if the expression uses anything but the registers above, one dereference and constant
 * arithmetic. `initial` is pushed first when not NULL. */
bool trib_cfi_expression(struct trib_reader expression, uintptr_t return_address, const struct trib_term *initial,
                         struct trib_term *out);

TRIB_C_END
#endif
