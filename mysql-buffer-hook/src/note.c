/* SPDX-License-Identifier: Apache-2.0 */
#include "note.h"

#include <errno.h>

#include "base/clock.h"
#include "base/durations.h"
#include "options.h"
#include "path.h"

#define FRAMES_DEFAULT ((size_t)1 << 18) /* 4 GiB of 16 KiB pages: 13 MiB */
#define TIMED_EVERY    128u
#define COUNTED_EVERY  64u /* batches that a thread keeps to itself, so that no counter is shared by all */

/* 40 bytes of static TLS, with path.c's: a library that is loaded late gets no more than glibc kept aside. */
struct thread_part {
    uint64_t tag, adopted;
    uint32_t batches, pages; /* not yet in the totals */
    uint32_t timed_in;
};
static _Thread_local struct thread_part mine __attribute__((tls_model("initial-exec")));

static struct trib_page_table table;
static _Atomic(struct trib_page_table *) opened; /* the same, once it is */
static _Atomic(int) opening;                     /* whoever comes while another opens it goes without */
enum { UNASKED, ASKED, FAILED };

static _Atomic(uint64_t) batches_total, pages_total;
static struct trib_durations timed;

/* ---- the table ---- */

int trib_note_open(size_t frames, bool shared) {
    const struct trib_buffer_options *options = trib_buffer_settings();
    int unasked = UNASKED;

    if (!atomic_compare_exchange_strong(&opening, &unasked, ASKED))
        return unasked == FAILED ? -ENOMEM : 0;
    size_t wanted = options->frames ? options->frames : frames ? frames : FRAMES_DEFAULT;
    int rc = trib_page_table_open(&table, wanted, shared);
    if (rc == 0)
        atomic_store_explicit(&opened, &table, memory_order_release);
    else
        atomic_store(&opening, FAILED);
    return rc;
}

struct trib_page_table *trib_note_table(void) {
    return atomic_load_explicit(&opened, memory_order_acquire);
}

/* ---- who ---- */

uint64_t trib_note_tag(uint64_t tag) {
    uint64_t before = mine.tag;

    mine.tag = tag;
    return before;
}

void trib_note_adopt(uint64_t signature) {
    mine.adopted = signature;
}

static uint64_t with_tag(uint64_t signature, uint64_t tag) {
    uint64_t hash = (signature ^ tag) * 0x9E3779B97F4A7C15ull;

    return hash ^ hash >> 29;
}

uint64_t trib_note_signature(void *frame) {
    uint64_t signature = mine.adopted ? mine.adopted : trib_path_signature(frame, trib_buffer_settings()->depth);

    return __builtin_expect(mine.tag != 0, 0) ? with_tag(signature, mine.tag) : signature;
}

/* ---- what it costs ---- */

static bool is_timed(void) {
    if (mine.timed_in-- > 0)
        return false;
    mine.timed_in = TIMED_EVERY - 1;
    return true;
}

static void count(unsigned pages) {
    mine.pages += pages;
    if (++mine.batches < COUNTED_EVERY)
        return;
    atomic_fetch_add_explicit(&batches_total, mine.batches, memory_order_relaxed);
    atomic_fetch_add_explicit(&pages_total, mine.pages, memory_order_relaxed);
    mine.batches = mine.pages = 0;
}

void trib_note_measure(struct trib_note_cost *out) {
    *out = (struct trib_note_cost){.batches = atomic_load(&batches_total),
                                   .pages = atomic_load(&pages_total),
                                   .median_ns = trib_duration_quantile_ns(&timed, 0.5),
                                   .p99_ns = trib_duration_quantile_ns(&timed, 0.99)};
}

/* ---- notes ---- */

static void note_pages(struct trib_page_table *into, const uint64_t *keys, unsigned pages, void *frame) {
    for (unsigned i = 0; i < pages; i++)
        trib_page_table_expect(into, keys[i]);
    uint64_t signature = trib_note_signature(frame);
    for (unsigned i = 0; i < pages; i++)
        trib_page_table_note(into, keys[i], signature);
    count(pages);
}

void trib_note_pages(const uint64_t *keys, unsigned pages, void *frame) {
    struct trib_page_table *into = atomic_load_explicit(&opened, memory_order_acquire);

    if (__builtin_expect(!into, 0)) {
        if (trib_note_open(0, false) || !(into = trib_note_table()))
            return;
    }
    if (__builtin_expect(!is_timed(), 1)) {
        note_pages(into, keys, pages, frame);
        return;
    }
    uint64_t before_ns = trib_now_ns(), began_ns = trib_now_ns();
    note_pages(into, keys, pages, frame);
    uint64_t lasted_ns = trib_now_ns() - began_ns, clock_ns = began_ns - before_ns;
    trib_duration_note(&timed, lasted_ns > clock_ns ? lasted_ns - clock_ns : 0);
}
