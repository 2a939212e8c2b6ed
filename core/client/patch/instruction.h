/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of x86-64 that functions begin with, as far as moving them elsewhere asks for: how long each is, and
 * which distance in it counts from where it stands. A pure function. */
#ifndef TRIB_PATCH_INSTRUCTION_H
#define TRIB_PATCH_INSTRUCTION_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

struct trib_instruction {
    unsigned length;
    unsigned distance_at; /* of a 32-bit distance from the instruction's end; 0: none */
};

/* False: not among those that are known to do the same elsewhere. No branch or call is. */
bool trib_instruction_read(const uint8_t *code, struct trib_instruction *out);

/* Whether it is endbr64, where an indirect branch may land. */
bool trib_instruction_is_landing(const uint8_t *code);

TRIB_C_END
#endif
