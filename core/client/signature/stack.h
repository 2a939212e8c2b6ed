/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the calling thread's stack. Thread safety: pure functions on the caller's own stack.
 * Invariant: whoever reads a word has checked trib_stack_holds for it, or the word was so checked
 * when the same frame was captured before (the bounds of a stack do not move while its thread
 * lives; the main thread's only grow downwards). */
#ifndef TRIB_SIGNATURE_STACK_H
#define TRIB_SIGNATURE_STACK_H

#include <stdbool.h>
#include <stdint.h>

struct trib_stack {
    uintptr_t low, high; /* readable words lie in [low, high) */
};

static inline bool trib_stack_holds(const struct trib_stack *stack, uintptr_t address) {
    return address >= stack->low && address < stack->high && stack->high - address >= sizeof(uint64_t) &&
           address % sizeof(uint64_t) == 0;
}

/* A word of a memo entry may be some live variable on another path, which another thread may be
 * writing: hence atomic and hidden from ThreadSanitizer. It may also be a red zone: hence hidden
 * from AddressSanitizer. */
__attribute__((no_sanitize("address", "thread"))) static inline uint64_t trib_stack_word(uintptr_t address) {
    return __atomic_load_n((const uint64_t *)address, __ATOMIC_RELAXED);
}

#endif
