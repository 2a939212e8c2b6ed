/* SPDX-License-Identifier: Apache-2.0 */
/* Call paths to order: a program such as "abd" calls a, which calls b, which calls d, which calls
 * the leaf. The functions differ in the shape of their frames. Thread safety: pure functions on the
 * caller's stack. */
#ifndef TRIB_TESTS_SIGNATURE_PATHS_H
#define TRIB_TESTS_SIGNATURE_PATHS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef void signature_leaf(void *arg);

/* a: small frame   b: large frame   c: alloca, size from `seed`   d: realigned and alloca (GCC: a
 * DRAP frame) e: frame pointer kept   f: uses every callee-saved register, rbp for data   g: as a,
 * through a function pointer */
#define SIGNATURE_SHAPES "abcdefg"

void signature_path(const char *program, unsigned seed, signature_leaf *leaf, void *arg);

#ifdef __cplusplus
}
#endif
#endif
