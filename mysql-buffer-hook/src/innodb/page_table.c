/* SPDX-License-Identifier: Apache-2.0 */
#include "innodb/page_table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SPINS_MAX  2000u /* some 50 us: longer than any holder that runs needs */
#define FRAMES_MAX ((size_t)1 << 31)

/* 2.5 frames per set: with three quarters of a pool dirty, 3 pages in 1000 find their set full. */
static size_t sets_for(size_t frames) {
    return frames * 2 / 5 + 1;
}

int trib_page_table_open(struct trib_page_table *table, size_t frames, bool shared) {
    if (frames == 0 || frames > FRAMES_MAX)
        return -EINVAL;
    size_t count = sets_for(frames), bytes = count * sizeof(struct trib_page_set);
    int before = errno;
    void *sets = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);
    if (sets == MAP_FAILED) {
        errno = before;
        return -ENOMEM;
    }
    (void)madvise(sets, bytes, MADV_HUGEPAGE); /* pages come in no order: a miss of the TLB costs as much as the rest */
    errno = before;
    *table = (struct trib_page_table){.sets = sets, .count = (uint32_t)count};
    return 0;
}

void trib_page_table_close(struct trib_page_table *table) {
    if (table->sets)
        munmap(table->sets, table->count * sizeof *table->sets);
    *table = (struct trib_page_table){0};
}

void trib_page_table_clear(struct trib_page_table *table) {
    memset(table->sets, 0, table->count * sizeof *table->sets);
}

/* ---- one set ---- */

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool lock(struct trib_page_table *table, struct trib_page_set *set) {
    for (unsigned spins = 0; spins < SPINS_MAX; spins++) {
        if (atomic_load_explicit(&set->lock, memory_order_relaxed) == 0 &&
            atomic_exchange_explicit(&set->lock, 1, memory_order_acquire) == 0)
            return true;
        relax();
    }
    atomic_fetch_add_explicit(&table->contended, 1, memory_order_relaxed);
    return false;
}

static void unlock(struct trib_page_set *set) {
    atomic_store_explicit(&set->lock, 0, memory_order_release);
}

static int find(const struct trib_page_set *set, uint64_t key) {
    for (int way = 0; way < TRIB_PAGE_WAYS; way++)
        if (set->key[way] == key)
            return way;
    return -1;
}

static int make_room(struct trib_page_table *table, struct trib_page_set *set) {
    int way = find(set, 0);

    if (way < 0) {
        way = set->hand;
        set->hand = (uint16_t)((way + 1) % TRIB_PAGE_WAYS);
        atomic_fetch_add_explicit(&table->evicted, 1, memory_order_relaxed);
    }
    return way;
}

static void begin(struct trib_page_set *set, int way, uint64_t key, const struct trib_page_note *note) {
    uint16_t modifications = (uint16_t)(note->modifications < UINT16_MAX ? note->modifications : UINT16_MAX);

    set->key[way] = key;
    set->signature[way] = note->signature;
    set->modifications[way] = set->votes[way] = modifications;
}

static void vote(struct trib_page_set *set, int way, uint64_t signature) {
    if (set->modifications[way] < UINT16_MAX)
        set->modifications[way]++;
    if (set->signature[way] == signature) {
        if (set->votes[way] < UINT16_MAX)
            set->votes[way]++;
    } else if (set->votes[way] == 0) {
        set->signature[way] = signature;
        set->votes[way] = 1;
    } else {
        set->votes[way]--;
    }
}

/* ---- pages ---- */

void trib_page_table_note(struct trib_page_table *table, uint64_t key, uint64_t signature) {
    struct trib_page_set *set = trib_page_set_of(table, key);

    if (!lock(table, set))
        return;
    int way = find(set, key);
    if (way >= 0)
        vote(set, way, signature);
    else
        begin(set, make_room(table, set), key, &(struct trib_page_note){signature, 1});
    unlock(set);
}

void trib_page_table_put(struct trib_page_table *table, uint64_t key, const struct trib_page_note *note) {
    struct trib_page_set *set = trib_page_set_of(table, key);

    if (!lock(table, set))
        return;
    int way = find(set, key);
    begin(set, way >= 0 ? way : make_room(table, set), key, note);
    unlock(set);
}

bool trib_page_table_take(struct trib_page_table *table, uint64_t key, struct trib_page_note *out) {
    struct trib_page_set *set = trib_page_set_of(table, key);

    if (!lock(table, set))
        return false;
    int way = find(set, key);
    if (way >= 0) {
        *out = (struct trib_page_note){set->signature[way], set->modifications[way]};
        set->key[way] = 0;
    }
    unlock(set);
    return way >= 0;
}

static void forget_in(struct trib_page_table *table, struct trib_page_set *set, uint64_t first, uint64_t last) {
    if (!lock(table, set))
        return;
    for (int way = 0; way < TRIB_PAGE_WAYS; way++) {
        uint64_t page = ~set->key[way]; /* undoes trib_page_key */
        if (set->key[way] && page >= first && page <= last)
            set->key[way] = 0;
    }
    unlock(set);
}

void trib_page_table_forget(struct trib_page_table *table, uint32_t file, uint32_t first, uint64_t count) {
    uint64_t of_file = (uint64_t)file << 32, begin_at = of_file | first, end_at = of_file | UINT32_MAX;
    struct trib_page_note ignored;

    if (count && count <= UINT32_MAX - first)
        end_at = begin_at + count - 1;
    if (count == 0)
        begin_at = of_file;
    if (count && count < table->count) {
        for (uint64_t page = begin_at; page <= end_at; page++)
            (void)trib_page_table_take(table, ~page, &ignored);
        return;
    }
    for (uint32_t i = 0; i < table->count; i++)
        forget_in(table, &table->sets[i], begin_at, end_at);
}
