/* SPDX-License-Identifier: Apache-2.0 */
#include "self_test.h"

static enum trib_verdict give(struct trib_self_test *test, enum trib_verdict verdict) {
    int open = TRIB_VERDICT_OPEN;

    return atomic_compare_exchange_strong(&test->verdict, &open, verdict) ? verdict : TRIB_VERDICT_OPEN;
}

static void lower_base(struct trib_self_test *test, uint64_t lsn) {
    uint64_t base = atomic_load(&test->base_lsn);

    while ((base == 0 || lsn < base) && !atomic_compare_exchange_weak(&test->base_lsn, &base, lsn)) {
    }
}

enum trib_verdict trib_self_test_flush(struct trib_self_test *test, uint64_t lsn, bool noted, uint64_t frames) {
    if (atomic_load_explicit(&test->verdict, memory_order_relaxed) != TRIB_VERDICT_OPEN || lsn == 0)
        return TRIB_VERDICT_OPEN;
    if (noted)
        lower_base(test, lsn);
    uint64_t base = atomic_load(&test->base_lsn);
    if (base == 0) {
        uint32_t before = atomic_fetch_add(&test->before, 1) + 1;
        return before > frames + TRIB_SELF_TEST_FLUSHES ? give(test, TRIB_VERDICT_NO_NOTES) : TRIB_VERDICT_OPEN;
    }
    if (lsn <= base)
        return TRIB_VERDICT_OPEN;
    uint32_t with = noted ? atomic_fetch_add(&test->noted, 1) + 1 : atomic_load(&test->noted);
    uint32_t all = atomic_fetch_add(&test->flushed, 1) + 1;
    if (all < TRIB_SELF_TEST_FLUSHES)
        return TRIB_VERDICT_OPEN;
    return give(test, with * 100u >= all * TRIB_SELF_TEST_PERCENT ? TRIB_VERDICT_PASSED : TRIB_VERDICT_FAILED);
}
