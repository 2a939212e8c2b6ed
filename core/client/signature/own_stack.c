/* SPDX-License-Identifier: Apache-2.0 */
#include "own_stack.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "base/atomic.h"

/* Nothing else is mapped in this much below the first thread's stack; a program may raise its limit later. */
#define FIRST_STACK_MIN ((uintptr_t)64 << 20)
#define FIRST_STACK_MAX ((uintptr_t)1 << 30)
#define LEARN_WORDS     256u /* of a control block, which has 2,304 bytes */

static struct {
    struct trib_stack first; /* low == high: unknown */
    TRIB_ATOMIC(uintptr_t) first_control;
    TRIB_ATOMIC(unsigned) block_word; /* where a control block has the stack's place, size and guard; 0 = unknown */
} known;

/* Not by number: the child that a thread forks has its stack, and the process's number. */
static bool is_first_thread(void) {
    return trib_stack_holds(&known.first, (uintptr_t)__builtin_frame_address(0));
}

void trib_own_stack_start(void) {
    struct rlimit limit;
    /* Lies above the entry's arguments, below their strings. */
    uintptr_t high = (uintptr_t)getauxval(AT_RANDOM) & ~(uintptr_t)7;
    uintptr_t bytes = FIRST_STACK_MIN;

    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur > bytes)
        bytes = limit.rlim_cur < FIRST_STACK_MAX ? limit.rlim_cur : FIRST_STACK_MAX;
    if (high > bytes)
        known.first = (struct trib_stack){high - bytes, high};
    if (is_first_thread())
        atomic_store_explicit(&known.first_control, (uintptr_t)pthread_self(), memory_order_release);
}

/* ---- the place of the stack's bounds in a control block ---- */

#ifdef __GLIBC__

extern void *__libc_stack_end __attribute__((weak)); // NOLINT(bugprone-reserved-identifier): glibc's

/* The words `low` and `bytes` behind each other, as the loader fills them in for the first thread, and the guard's size
 * within them. */
static unsigned find_block(uintptr_t low, uintptr_t bytes) {
    const uintptr_t *word = (const uintptr_t *)pthread_self();

    for (unsigned i = 1; i + 2 < LEARN_WORDS; i++)
        if (word[i] + word[i + 2] == low && word[i + 1] - word[i + 2] == bytes && word[i + 1] != 0)
            return i;
    return 0;
}

void trib_own_stack_learn(void) {
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;

    if (is_first_thread()) {
        bytes = &__libc_stack_end ? (size_t)__libc_stack_end : 0;
    } else if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &low, &bytes);
        pthread_attr_destroy(&attributes);
    }
    if (bytes)
        atomic_store_explicit(&known.block_word, find_block((uintptr_t)low, bytes), memory_order_release);
}

static struct trib_stack stack_of(uintptr_t control, unsigned word) {
    const uintptr_t *block = (const uintptr_t *)control + word;
    uintptr_t start = block[0], bytes = block[1], guard = block[2];

    if (start == 0) /* the first thread's */
        return known.first;
    if (guard >= bytes || control - start >= bytes || control < start + guard)
        return (struct trib_stack){0, 0};
    return (struct trib_stack){start + guard, control};
}

#else

void trib_own_stack_learn(void) {
}

static struct trib_stack stack_of(uintptr_t control, unsigned word) {
    (void)control;
    (void)word;
    return (struct trib_stack){0, 0};
}

#endif

struct trib_stack trib_own_stack(uintptr_t frame) {
    uintptr_t control = (uintptr_t)pthread_self();
    unsigned word = atomic_load_explicit(&known.block_word, memory_order_acquire);

    if (control == atomic_load_explicit(&known.first_control, memory_order_acquire))
        return known.first;
    if (word)
        return stack_of(control, word);
    return trib_stack_holds(&known.first, frame) ? known.first : (struct trib_stack){0, 0};
}
