/* SPDX-License-Identifier: Apache-2.0 */
#include "start.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base/memory.h"
#include "base/raw.h"
#include "loader.h"
#include "modules.h"
#include "own_stack.h"
#include "thread.h"

#define DICTIONARY_SIGNATURES 16384u /* 2.5 MiB of address space; pages are touched as signatures come */
#define DICTIONARY_BYTES_EACH 160u
#define WAIT_NS               50000ull /* a look at whether another thread has started */
#define WAIT_TURNS            5000u    /* 250 ms: as long as a join may take; the other may be off its processor */

TRIB_ATOMIC(int) trib_start_state;
TRIB_ATOMIC(bool) trib_start_by_hand;
static TRIB_ATOMIC(int) starter; /* the process whose thread is at it */
struct trib_dictionary trib_names;

static void reserve(void) {
    uint64_t share = trib_memory_share_bytes();

    (void)trib_dictionary_open(&trib_names, trib_memory_fits(share, DICTIONARY_BYTES_EACH, DICTIONARY_SIGNATURES));
    trib_thread_reserve(trib_memory_fits(share, sizeof(struct trib_thread), TRIB_THREADS_MAX));
}

static void first_step(void) {
    static bool is_done; /* constructors run one after the other; one of them may capture before this library's */

    if (is_done)
        return;
    is_done = true;
    trib_loader_start();
    trib_own_stack_start();
    if (!trib_loader_can_find()) { /* its list is made now, and has names */
        trib_loader_name_program();
        trib_modules_refresh();
    }
}

/* The thread that was at it is its parent's. */
static void child_forked(void) {
    trib_thread_child_forked();
    if (atomic_load(&trib_start_state) == TRIB_START_RUNS) /* a store copies the page */
        atomic_store(&trib_start_state, TRIB_START_NONE);
}

/* 101: before the constructors of the adapter that this is part of. */
__attribute__((constructor(101))) static void start_early(void) {
    int before = errno;

    first_step();
    trib_own_stack_learn();
    trib_thread_prepare();
    pthread_atfork(NULL, NULL, child_forked);
    errno = before;
}

/* Where another process is at it (its child, which libc knows nothing of, has a copy of that moment), nobody waits. */
static bool wait_for_other(void) {
    const struct timespec pause = {.tv_nsec = WAIT_NS};
    int state = atomic_load_explicit(&trib_start_state, memory_order_acquire);
    bool is_ours = atomic_load(&starter) == (int)TRIB_RAW(SYS_getpid);

    for (unsigned turn = 0; turn < WAIT_TURNS && state == TRIB_START_RUNS && is_ours; turn++) {
        TRIB_RAW(SYS_nanosleep, &pause, 0);
        state = atomic_load_explicit(&trib_start_state, memory_order_acquire);
    }
    return state == TRIB_START_DONE;
}

/* Signals wait: a handler would find its own thread in its way. */
bool trib_start(void) {
    int none = TRIB_START_NONE;
    uint64_t all = UINT64_MAX, before = 0;

    if (atomic_load_explicit(&trib_start_state, memory_order_acquire) == TRIB_START_DONE)
        return true;
    TRIB_RAW(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof all);
    if (atomic_load_explicit(&trib_start_state, memory_order_acquire) == TRIB_START_NONE)
        atomic_store(&starter, (int)TRIB_RAW(SYS_getpid)); /* before anybody can find that it runs */
    bool is_first = atomic_compare_exchange_strong_explicit(&trib_start_state, &none, TRIB_START_RUNS,
                                                            memory_order_acq_rel, memory_order_acquire);
    if (is_first) {
        first_step();
        if (trib_loader_can_find())
            trib_loader_name_program();
        reserve();
        atomic_store_explicit(&trib_start_state, TRIB_START_DONE, memory_order_release);
    }
    TRIB_RAW(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof before);
    return is_first || wait_for_other();
}
