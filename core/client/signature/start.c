/* SPDX-License-Identifier: Apache-2.0 */
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "loader.h"
#include "modules.h"
#include "own_stack.h"
#include "thread.h"

#define DICTIONARY_SIGNATURES 16384u /* 2.5 MiB of address space; pages are touched as signatures come */
#define DICTIONARY_BYTES_EACH 160u
#define THREADS_IF_COUNTED    64u /* where the kernel counts address space as memory */
#define SHARE_OF_LIMIT        128u

TRIB_ATOMIC(int) trib_start_state;
struct trib_dictionary trib_names;

/* A limited program gets a small part of its limit. */
static rlim_t least_limit_bytes(void) {
    const int resources[] = {RLIMIT_AS, RLIMIT_DATA};
    struct rlimit limit;
    rlim_t least = RLIM_INFINITY;

    for (unsigned i = 0; i < 2; i++)
        if (getrlimit(resources[i], &limit) == 0 && limit.rlim_cur < least)
            least = limit.rlim_cur;
    return least;
}

/* Mode 2 counts what is reserved. */
static bool memory_is_counted(void) {
    char mode = '0';
    int file = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return false;
    if (read(file, &mode, 1) != 1)
        mode = '0';
    close(file);
    return mode == '2';
}

static uint32_t at_most(rlim_t value, uint32_t most) {
    return value < most ? (uint32_t)value : most;
}

static void reserve(void) {
    rlim_t limit = least_limit_bytes();
    rlim_t share = limit == RLIM_INFINITY ? RLIM_INFINITY : limit / SHARE_OF_LIMIT;

    (void)trib_dictionary_open(&trib_names, at_most(share / DICTIONARY_BYTES_EACH, DICTIONARY_SIGNATURES));
    uint32_t threads = at_most(share / sizeof(struct trib_thread), TRIB_THREADS_MAX);
    trib_thread_reserve(memory_is_counted() ? at_most(threads, THREADS_IF_COUNTED) : threads);
}

bool trib_start(void) {
    int state = TRIB_START_NONE, before = errno;

    if (!atomic_compare_exchange_strong_explicit(&trib_start_state, &state, TRIB_START_RUNS, memory_order_acq_rel,
                                                 memory_order_acquire))
        return state == TRIB_START_DONE;
    trib_loader_start();
    trib_own_stack_start();
    reserve();
    if (!trib_loader_can_find())
        trib_modules_refresh();
    errno = before;
    atomic_store_explicit(&trib_start_state, TRIB_START_DONE, memory_order_release);
    return true;
}

/* 101: before the constructors of the adapter that this is part of. */
__attribute__((constructor(101))) static void start_early(void) {
    (void)trib_start();
    trib_own_stack_learn();
    trib_thread_prepare();
}
