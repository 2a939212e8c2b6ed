/* SPDX-License-Identifier: Apache-2.0 */
/* What differs by processor. x86-64 walks by unwind rules and is what the tests cover. AArch64
 * follows the frame records that its ABI asks of every function (rbp here means x29); a function
 * without one hides its caller. Elsewhere nothing is captured. Thread safety: constants. */
#ifndef TRIB_SIGNATURE_MACHINE_H
#define TRIB_SIGNATURE_MACHINE_H

#include <stdint.h>

#if defined(__x86_64__)
#define TRIB_WALK_BY_RULES   1
#define TRIB_WALK_BY_RECORDS 0
#elif defined(__aarch64__)
#define TRIB_WALK_BY_RULES   0
#define TRIB_WALK_BY_RECORDS 1
#else
#define TRIB_WALK_BY_RULES   0
#define TRIB_WALK_BY_RECORDS 0
#endif

#define TRIB_ADDRESS_BITS 48 /* user addresses; beyond them is no code */

/* AArch64 may sign return addresses in the bits above. */
static inline uintptr_t trib_return_address(uint64_t word) {
    return TRIB_WALK_BY_RECORDS ? word & (((uint64_t)1 << TRIB_ADDRESS_BITS) - 1) : word;
}

#endif
