/* SPDX-License-Identifier: Apache-2.0 */
/* Frames whose unwind rules compilers do not write but assembler programmers do. Each function has
 * the type of signature_odd_frame: it calls leaf(arg) and returns. */
#include "signature_odd_frames.h"

#define FUNCTION(name) ".globl " name "\n.hidden " name "\n.type " name ", @function\n" name ":\n.cfi_startproc\n"
#define END(name)      ".cfi_endproc\n.size " name ", .-" name "\n"

__asm__(".text\n"
        /* CFA = *(rsp + 152) + 8, as OpenSSL's realigned AVX code has it. */
        FUNCTION("odd_deref_sp") "mov %rsp, %rax\n .cfi_def_cfa_register %rax\n"
                                 "sub $200, %rsp\n and $-64, %rsp\n mov %rax, 152(%rsp)\n"
                                 ".cfi_escape 0x0f, 0x06, 0x77, 0x98, 0x01, 0x06, 0x23, 0x08\n"
                                 "call *%rsi\n"
                                 "mov 152(%rsp), %rsp\n .cfi_def_cfa %rsp, 8\n ret\n" END("odd_deref_sp")

        /* The rule at the call is the one that DW_CFA_restore_state brings back. */
        FUNCTION("odd_remember") "sub $24, %rsp\n .cfi_adjust_cfa_offset 24\n"
                                 ".cfi_remember_state\n"
                                 "test %rsi, %rsi\n jne 1f\n"
                                 "add $24, %rsp\n .cfi_adjust_cfa_offset -24\n ret\n"
                                 "1: .cfi_restore_state\n"
                                 "call *%rsi\n"
                                 "add $24, %rsp\n .cfi_adjust_cfa_offset -24\n ret\n" END("odd_remember")

        /* CFA by an expression that chooses by rip, as PLT entries do; DW_CFA_GNU_args_size on top. */
        FUNCTION("odd_by_rip") "sub $8, %rsp\n"
                               ".cfi_escape 0x0f, 0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, "
                               "0x2a, 0x33, 0x24, 0x22\n"
                               ".cfi_escape 0x2e, 0x10\n"

                               ".p2align 4\n .skip 10, 0x90\n" /* the call ends at 12 modulo 16: (rip &
                                                                  15) >= 11, so CFA = rsp + 16 */
                               "call *%rsi\n"
                               "add $8, %rsp\n .cfi_def_cfa %rsp, 8\n ret\n" END("odd_by_rip")

        /* rbp saved where only an expression says, and then used as data. */
        FUNCTION("odd_saved_by_expression") "sub $40, %rsp\n .cfi_adjust_cfa_offset 40\n"
                                            "mov %rbp, 16(%rsp)\n .cfi_escape 0x10, 0x06, 0x02, 0x77, "
                                            "0x10\n" /* at rsp + 16 */
                                            "mov $1, %ebp\n call *%rsi\n"
                                            "mov 16(%rsp), %rbp\n .cfi_restore %rbp\n"
                                            "add $40, %rsp\n .cfi_adjust_cfa_offset -40\n ret\n" END(
                                                "odd_saved_by_expression")

        /* Claims to be a signal trampoline. */
        FUNCTION("odd_signal_frame") ".cfi_signal_frame\n"
                                     "sub $8, %rsp\n .cfi_adjust_cfa_offset 8\n nop\n call *%rsi\n"
                                     "add $8, %rsp\n .cfi_adjust_cfa_offset -8\n ret\n" END("odd_signal_frame")

        /* Its rules lead out of the stack. */
        FUNCTION("odd_wrong_rules") "sub $8, %rsp\n .cfi_def_cfa_offset 0x40000000\n call *%rsi\n"
                                    "add $8, %rsp\n .cfi_def_cfa_offset 8\n ret\n" END("odd_wrong_rules")

        /* No rules at all. */
        ".globl odd_no_rules\n.hidden odd_no_rules\n.type odd_no_rules, @function\nodd_no_rules:\n"
        "sub $8, %rsp\n call *%rsi\n add $8, %rsp\n ret\n"
        ".size odd_no_rules, .-odd_no_rules\n"
        ".section .note.GNU-stack,\"\",@progbits\n.text\n");
