/* SPDX-License-Identifier: Apache-2.0 */
#include "signature_paths.h"

#include <alloca.h>
#include <stdint.h>
#include <string.h>

#define APART      __attribute__((noinline, noclone))
#define PARAMETERS const char *program, unsigned seed, signature_leaf *leaf, void *arg
#define ARGUMENTS  program + 1, seed, leaf, arg

APART static void shape_a(PARAMETERS);
APART static void shape_b(PARAMETERS);
APART static void shape_c(PARAMETERS);
APART static void shape_d(PARAMETERS);
APART static void shape_e(PARAMETERS);
APART static void shape_f(PARAMETERS);
APART static void shape_g(PARAMETERS);

/* Keeps a value or a buffer from being optimised away, and a call from becoming a jump. */
static inline void keep(const void *pointer) {
    __asm__ volatile("" : : "r"(pointer) : "memory");
}

/* Inlined everywhere, so that every shape has call sites of its own. */
__attribute__((always_inline)) static inline void next(PARAMETERS) {
    switch (*program) {
    case 'a':
        shape_a(ARGUMENTS);
        break;
    case 'b':
        shape_b(ARGUMENTS);
        break;
    case 'c':
        shape_c(ARGUMENTS);
        break;
    case 'd':
        shape_d(ARGUMENTS);
        break;
    case 'e':
        shape_e(ARGUMENTS);
        break;
    case 'f':
        shape_f(ARGUMENTS);
        break;
    case 'g':
        shape_g(ARGUMENTS);
        break;
    default:
        leaf(arg);
    }
    keep(program);
}

static void shape_a(PARAMETERS) {
    next(program, seed, leaf, arg);
}

static void shape_b(PARAMETERS) {
    char buffer[1000];
    memset(buffer, 1, sizeof buffer);
    keep(buffer);
    next(program, seed, leaf, arg);
    keep(buffer);
}

static void shape_c(PARAMETERS) {
    char *buffer = alloca(16 + seed % 7 * 48);
    buffer[0] = 1;
    keep(buffer);
    next(program, seed, leaf, arg);
    keep(buffer);
}

static void shape_d(PARAMETERS) {
    _Alignas(64) char aligned[64];
    char *buffer = alloca(16 + seed % 5 * 64);
    aligned[0] = buffer[0] = 1;
    keep(buffer);
    keep(aligned);
    next(program, seed, leaf, arg);
    keep(buffer);
    keep(aligned);
}

#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("no-omit-frame-pointer")))
#endif
static void
shape_e(PARAMETERS) {
    next(program, seed, leaf, arg);
}

/* Six values live over the call: at -O2 without frame pointers one of them is in rbp. */
static void shape_f(PARAMETERS) {
    uintptr_t v[6] = {1, 2, 3, 4, 5, 6};
    for (unsigned i = 0; i < 6; i++)
        __asm__ volatile("" : "+r"(v[i]));
    next(program, seed * 3 + 1, leaf, arg);
    __asm__ volatile("" : : "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]), "r"(v[4]), "r"(v[5]));
}

static void shape_g(PARAMETERS) {
    void (*volatile callee)(PARAMETERS) = shape_a;
    if (*program && *program != 'a')
        next(program, seed, leaf, arg);
    else
        callee(*program ? program + 1 : program, seed, leaf, arg);
    keep(program);
}

void signature_path(const char *program, unsigned seed, signature_leaf *leaf, void *arg) {
    next(program, seed, leaf, arg);
}
