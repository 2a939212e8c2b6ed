/* SPDX-License-Identifier: Apache-2.0 */
#include "thread.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/raw.h"
#include "own_stack.h"

#define PROBES        64u
#define KEYS_IN_BLOCK 32u /* glibc allocates for keys beyond */

/* An owner is its thread's control block, which no two living threads share; 0 = free. Control blocks are aligned. */
#define CLAIMING ((uintptr_t)1)
#define LEAVING  ((uintptr_t)2)
#define NOBODY   ((uintptr_t)3) /* ever again: the record is unmapped */

__thread struct trib_thread *trib_thread_current __attribute__((tls_model("initial-exec"), visibility("hidden")));

static struct trib_thread *records;
static TRIB_ATOMIC(uint32_t) record_count; /* 0 until there are records */
static TRIB_ATOMIC(uint32_t) claim_count;  /* of them, the first that may be claimed */
static TRIB_ATOMIC(uint32_t) later_count;  /* whose addresses are kept for an extension; 0 = none */
static TRIB_ATOMIC(uintptr_t) owner[TRIB_THREADS_MAX];
static TRIB_ATOMIC(bool) was_used[TRIB_THREADS_MAX]; /* an untouched record stays so */
static TRIB_ATOMIC(bool) have_key;
static pthread_key_t key;

/* ---- start-up ---- */

static bool open_records(uint32_t count) {
    if (TRIB_RAW(SYS_mprotect, records, count * sizeof *records, PROT_READ | PROT_WRITE) != 0)
        return false;
    atomic_store_explicit(&record_count, count, memory_order_release);
    atomic_store_explicit(&claim_count, count, memory_order_release);
    return true;
}

/* Small pages: of a huge one the first touch costs 100 us. */
void trib_thread_reserve(uint32_t count) {
    count = count < TRIB_THREADS_MAX ? count : TRIB_THREADS_MAX;
    for (; count > 0; count /= 2) {
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        long memory = TRIB_RAW(SYS_mmap, 0, count * sizeof *records, PROT_NONE, flags, -1, 0);
        if (memory < 0 && memory > -4096)
            continue;
        TRIB_RAW(SYS_madvise, memory, count * sizeof *records, MADV_NOHUGEPAGE);
        records = (struct trib_thread *)memory;
        if (open_records(count < TRIB_THREADS_KEPT ? count : TRIB_THREADS_KEPT) && count > TRIB_THREADS_KEPT)
            atomic_store_explicit(&later_count, count, memory_order_release);
        return;
    }
}

void trib_thread_extend(void) {
    uint32_t count = atomic_exchange_explicit(&later_count, 0, memory_order_acq_rel);

    if (count)
        (void)open_records(count);
}

static void unmap(uint32_t first, uint32_t end) {
    trib_memory_unmap(records, first * sizeof *records, end * sizeof *records);
}

void trib_thread_give_back(uint32_t kept) {
    uint32_t count = atomic_load_explicit(&record_count, memory_order_acquire), first = kept;
    uint32_t later = atomic_exchange_explicit(&later_count, 0, memory_order_acq_rel);

    if (later)
        unmap(count, later);
    if (atomic_load_explicit(&claim_count, memory_order_relaxed) <= kept)
        return;
    atomic_store_explicit(&claim_count, kept, memory_order_relaxed);
    for (uint32_t i = kept; i < count; i++) {
        uintptr_t free_place = 0;
        if (!atomic_load_explicit(&was_used[i], memory_order_relaxed) &&
            atomic_compare_exchange_strong(&owner[i], &free_place, NOBODY))
            continue;
        unmap(first, i);
        first = i + 1;
    }
    unmap(first, count);
}

/* A signal handler between the steps finds the record still its own, or claims another. */
static void thread_ended(void *arg) {
    struct trib_thread *thread = arg;

    atomic_store_explicit(&owner[thread - records], LEAVING, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    trib_thread_current = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&owner[thread - records], 0, memory_order_release);
}

void trib_thread_child_forked(void) {
    uint32_t count = atomic_load_explicit(&record_count, memory_order_acquire);
    uintptr_t control = count ? (uintptr_t)pthread_self() : 0;

    for (uint32_t i = 0; i < count; i++) {
        uintptr_t now = atomic_load_explicit(&owner[i], memory_order_relaxed);
        if (now != NOBODY && (now & ~(CLAIMING | LEAVING)) != control)
            atomic_store_explicit(&owner[i], 0, memory_order_relaxed);
    }
}

void trib_thread_prepare(void) {
    if (pthread_key_create(&key, thread_ended) == 0) {
        if (key < KEYS_IN_BLOCK)
            atomic_store_explicit(&have_key, true, memory_order_release);
        else
            pthread_key_delete(key);
    }
}

/* ---- claiming ---- */

/* Where `control` may begin a claim; also in `*present` what was there. */
static TRIB_ATOMIC(uintptr_t) * find_place(uintptr_t control, uint32_t count, uintptr_t *present) {
    TRIB_ATOMIC(uintptr_t) *free_place = NULL;
    uint32_t first = (uint32_t)(trib_hash_mix(0, control) >> 32) % count;

    for (uint32_t probe = 0; probe < PROBES && probe < count; probe++) {
        TRIB_ATOMIC(uintptr_t) *place = &owner[(first + probe) % count];
        uintptr_t now = atomic_load_explicit(place, memory_order_relaxed);
        if ((now & ~CLAIMING) == control) { /* left by a thread that is gone, or this one's claim was interrupted */
            *present = now;
            return now == control ? place : NULL;
        }
        if (now == 0 && !free_place)
            free_place = place;
    }
    *present = 0;
    return free_place;
}

/* Words of a thread that had the same stack are judged as those of this one are: its memo stays. */
static void begin(struct trib_thread *thread, uintptr_t frame) {
    struct trib_stack stack = trib_own_stack(frame);

    if (thread->stack.low != stack.low || thread->stack.high != stack.high)
        trib_memo_clear(&thread->memo, &thread->arena_used);
    thread->stack = stack;
    thread->alternate = (struct trib_stack){0, 0};
    atomic_store_explicit(&thread->busy, 0, memory_order_relaxed);
}

struct trib_thread *trib_thread_claim(uintptr_t frame) {
    uint32_t count = atomic_load_explicit(&claim_count, memory_order_acquire);
    uintptr_t control = (uintptr_t)pthread_self(), present;
    TRIB_ATOMIC(uintptr_t) *place = count ? find_place(control, count, &present) : NULL;

    if (!place || !atomic_compare_exchange_strong_explicit(place, &present, control | CLAIMING, memory_order_acq_rel,
                                                           memory_order_relaxed))
        return NULL;
    struct trib_thread *thread = &records[place - owner];
    begin(thread, frame);
    atomic_store_explicit(&was_used[place - owner], true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    trib_thread_current = thread;
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(place, control, memory_order_release);
    if (atomic_load_explicit(&have_key, memory_order_acquire))
        pthread_setspecific(key, thread);
    return thread;
}

void trib_thread_count(struct trib_signature_stats *stats) {
    uint32_t count = atomic_load_explicit(&record_count, memory_order_acquire);

    for (uint32_t i = 0; i < count; i++) {
        const struct trib_thread *thread = &records[i];
        if (!atomic_load_explicit(&was_used[i], memory_order_relaxed))
            continue;
        stats->memo_hits += atomic_load_explicit(&thread->hits, memory_order_relaxed);
        stats->memo_misses += atomic_load_explicit(&thread->misses, memory_order_relaxed);
        stats->memo_rejected += atomic_load_explicit(&thread->rejected, memory_order_relaxed);
    }
}
