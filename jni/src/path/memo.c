/* SPDX-License-Identifier: Apache-2.0 */
#include "path/memo.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#define ENTRIES 8u /* a writer of Cassandra has up to five paths at a time */

struct memo {
    struct memo *next;
    _Atomic(bool) is_owned;
    _Atomic(uint64_t) hits; /* of all its owners; written by the present one */
    struct trib_memo_entry entry[ENTRIES];
};

static _Thread_local struct memo *mine;
static _Atomic(struct memo *) memos; /* grows only, to the most writers that lived at once */

static struct memo *reuse(void) {
    struct memo *memo = atomic_load_explicit(&memos, memory_order_acquire);

    for (; memo; memo = memo->next) {
        bool is_owned = false;
        if (atomic_compare_exchange_strong(&memo->is_owned, &is_owned, true))
            return memo;
    }
    return NULL;
}

static struct memo *create(void) {
    struct memo *memo = mmap(NULL, sizeof *memo, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memo == MAP_FAILED)
        return NULL;
    atomic_store_explicit(&memo->is_owned, true, memory_order_relaxed);
    memo->next = atomic_load(&memos);
    while (!atomic_compare_exchange_weak(&memos, &memo->next, memo)) {
    }
    return memo;
}

void trib_memo_begin(void) {
    if (!mine && !(mine = reuse()))
        mine = create();
}

/* The memory stays for the next thread. */
void trib_memo_end(void) {
    struct memo *memo = mine;

    mine = NULL;
    for (unsigned i = 0; i < ENTRIES && memo; i++)
        memo->entry[i].signature = 0;
    if (memo)
        atomic_store_explicit(&memo->is_owned, false, memory_order_release);
}

struct trib_memo_entry *trib_memo_at(const void *frame) {
    struct memo *memo = mine;
    const uintptr_t *words = frame;
    uintptr_t sum = (uintptr_t)frame ^ words[0] << 8 ^ words[1]; /* where it lies, where the next lies, who called */

    return memo ? &memo->entry[sum * 0x9e3779b97f4a7c15ull >> 32 & (ENTRIES - 1)] : NULL;
}

static _Atomic(uint64_t) hits_without; /* a memo */

void trib_memo_count_hit(void) {
    if (mine)
        atomic_store_explicit(&mine->hits, atomic_load_explicit(&mine->hits, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&hits_without, 1, memory_order_relaxed);
}

uint64_t trib_memo_hits(void) {
    uint64_t hits = atomic_load_explicit(&hits_without, memory_order_relaxed);

    for (const struct memo *memo = atomic_load_explicit(&memos, memory_order_acquire); memo; memo = memo->next)
        hits += atomic_load_explicit(&memo->hits, memory_order_relaxed);
    return hits;
}
