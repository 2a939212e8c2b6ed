/* SPDX-License-Identifier: Apache-2.0 */
#include "thread.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

#include "modules.h"
#include "own_stack.h"

__thread struct trib_thread *trib_thread_current;

static _Atomic(struct trib_thread *)
    threads; /* grows only, to the most threads that lived at once */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool have_key;

static void give_back(struct trib_thread *thread) {
    thread->arena_used = 0;
    thread->generation = 0;
    atomic_store_explicit(&thread->busy, 0, memory_order_relaxed);
    madvise(&thread->memo, sizeof thread->memo, MADV_DONTNEED); /* zero again: every entry free */
    atomic_store_explicit(&thread->owned, false, memory_order_release);
}

static void thread_ended(void *arg) {
    trib_thread_current = NULL;
    give_back(arg);
}

static void parent_forked(void) {
    trib_modules_after_fork(false);
}

static void child_forked(void) {
    struct trib_thread *thread = atomic_load_explicit(&threads, memory_order_acquire);
    for (; thread; thread = thread->next)
        if (thread != trib_thread_current &&
            atomic_load_explicit(&thread->owned, memory_order_relaxed))
            give_back(thread);
    trib_modules_after_fork(true);
}

static void prepare(void) {
    have_key = pthread_key_create(&key, thread_ended) == 0;
    pthread_atfork(trib_modules_before_fork, parent_forked, child_forked);
}

/* Before any thread captures: a fork must not come between a first capture and its handlers. */
__attribute__((constructor)) static void prepare_early(void) {
    pthread_once(&once, prepare);
}

static struct trib_thread *reuse(void) {
    struct trib_thread *thread = atomic_load_explicit(&threads, memory_order_acquire);
    for (; thread; thread = thread->next) {
        bool owned = false;
        if (atomic_compare_exchange_strong_explicit(&thread->owned, &owned, true,
                                                    memory_order_acquire, memory_order_relaxed))
            return thread;
    }
    return NULL;
}

static struct trib_thread *create(void) {
    struct trib_thread *thread = mmap(NULL, sizeof *thread, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (thread == MAP_FAILED)
        return NULL;
    atomic_store_explicit(&thread->owned, true, memory_order_relaxed);
    thread->next = atomic_load_explicit(&threads, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&threads, &thread->next, thread,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    return thread;
}

struct trib_thread *trib_thread_claim(uintptr_t frame) {
    pthread_once(&once, prepare);
    struct trib_thread *thread = reuse();
    if (!thread)
        thread = create();
    if (!thread)
        return NULL;
    thread->stack = trib_own_stack(frame);
    trib_thread_current = thread;
    if (have_key)
        pthread_setspecific(key, thread);
    return thread;
}

void trib_thread_count(struct trib_signature_stats *stats) {
    const struct trib_thread *thread = atomic_load_explicit(&threads, memory_order_acquire);
    for (; thread; thread = thread->next) {
        stats->memo_hits += atomic_load_explicit(&thread->hits, memory_order_relaxed);
        stats->memo_misses += atomic_load_explicit(&thread->misses, memory_order_relaxed);
        stats->memo_rejected += atomic_load_explicit(&thread->rejected, memory_order_relaxed);
    }
}
