/* SPDX-License-Identifier: Apache-2.0 */
/* A hook at the entry of one function of the running program. x86-64.
 *
 * The function must begin with "endbr64; push %rbp; mov %rsp,%rbp" at an address that 8 divides. Its first five bytes become
 * a jump to a stub that does the same push and mov, calls the hook, and goes on behind them: the hook leaves no frame
 * behind, and unwinding works as before.
 *
 * Other threads may be running in it. The jump's last byte lies where "push %rbp" (0x55) was, and stays 0x55: the stub is
 * placed 0x55xxxxxx bytes ahead. So a thread that was interrupted between the first two instructions, or the next two, finds
 * what it expects, and the change is one aligned store. */
#ifndef TRIB_BUFFER_CODE_PATCH_H
#define TRIB_BUFFER_CODE_PATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

#define TRIB_PROLOGUE_BYTES 8u

struct trib_code_patch {
    uint8_t *function; /* NULL: not patched */
    uint64_t original;
    void *stub;
};

/* `first` is the function's first argument; `frame` suits trib_signature_capture and begins with the function's caller. */
typedef void trib_code_hook(void *first, void *frame);

bool trib_code_hook_fits(const uint8_t *function);

/* 0; -ENOTSUP (another beginning, or not x86-64), -ENOMEM (no room at that distance), -EACCES (code may not change). */
int trib_code_hook_put(struct trib_code_patch *patch, uint8_t *function, trib_code_hook *hook);

/* Restores the function. The stub stays: a thread may be in it. */
void trib_code_hook_remove(struct trib_code_patch *patch);

TRIB_C_END
#endif
