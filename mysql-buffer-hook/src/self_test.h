/* SPDX-License-Identifier: Apache-2.0 */
/* Do the notes fit the flushes? A hook that read the wrong bytes would remember pages that nobody writes. So of the
 * first thousand flushed pages that must have a note, nine tenths must; else the hook is taken out.
 *
 * Which must? Pages that were dirty before the hook was there (a late load, crash recovery) have none. But a page that
 * has one was changed since, at its LSN or before: whatever carries a higher LSN was changed since, too. Thread safety:
 * any thread. */
#ifndef TRIB_BUFFER_SELF_TEST_H
#define TRIB_BUFFER_SELF_TEST_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>

#include "base/atomic.h"

TRIB_C_BEGIN

#define TRIB_SELF_TEST_FLUSHES 1000u
#define TRIB_SELF_TEST_PERCENT 90u

enum trib_verdict {
    TRIB_VERDICT_OPEN,
    TRIB_VERDICT_PASSED,
    TRIB_VERDICT_FAILED,   /* too few of those that must have a note do */
    TRIB_VERDICT_NO_NOTES, /* more pages than the pool can hold were flushed, none with a note */
};

struct trib_self_test {
    TRIB_ATOMIC(uint64_t) base_lsn;       /* 0 = no noted page was flushed yet */
    TRIB_ATOMIC(uint32_t) before;         /* flushes until then */
    TRIB_ATOMIC(uint32_t) flushed, noted; /* above base_lsn */
    TRIB_ATOMIC(int) verdict;
};

/* A page of the pool with this LSN (0: of a temporary table, tells nothing) is written; `frames` is how many there are
 * at most. The verdict is given once, to one caller; everyone else gets TRIB_VERDICT_OPEN. */
enum trib_verdict trib_self_test_flush(struct trib_self_test *test, uint64_t lsn, bool noted, uint64_t frames);

TRIB_C_END
#endif
