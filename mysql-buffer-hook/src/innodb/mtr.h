/* SPDX-License-Identifier: Apache-2.0 */
/* A mini-transaction of MySQL's InnoDB (mtr_t) as the release builds lay it out, and the proof that it is laid out so
 * here. Nothing is read where it lies before it is proven: until then the kernel copies every field, so that a wrong
 * offset is a refusal and no fault.
 *
 * Proven is a layout once so many mini-transactions that dirty pages, and all others on the way, have shown each field
 * to hold what it must: the state that commit() finds, flags that are flags, a memo whose blocks lead back to each
 * other, slots of known types, blocks that are there. One that does not refutes it for good. What the pages' numbers
 * mean, the first flushes prove (self_test.h).
 *
 * Thread safety: any thread. No lock, no memory; keeps errno. */
#ifndef TRIB_BUFFER_MTR_H
#define TRIB_BUFFER_MTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

#include "base/atomic.h"

TRIB_C_BEGIN

#define TRIB_MTR_BYTES_MAX        4096u
#define TRIB_MTR_BLOCKS_MAX       4096u /* of a memo, 32 pages each; a longer list goes in a circle */
#define TRIB_MTR_PROOFS           256u  /* mini-transactions that dirty pages */
#define TRIB_MTR_CLEAN_PROOFS     16u   /* ... and that do not: three of four of InnoDB's */
#define TRIB_MTR_WAITS            4096u /* of the former, for as many of the latter */
#define TRIB_MTR_STATE_ACTIVE     12231u
#define TRIB_MTR_STATE_COMMITTING 56456u /* commit() stores it first */

/* Offsets in bytes. */
struct trib_mtr_layout {
    uint16_t memo_first, memo_last;      /* block *: the oldest and the newest of the memo's list */
    uint16_t modifications;              /* bool */
    uint16_t records;                    /* uint32_t */
    uint16_t log_mode;                   /* uint32_t */
    uint16_t state;                      /* uint32_t */
    uint16_t previous, next, used_bytes; /* in a memo's block, behind its slots */
    uint16_t space, page;                /* uint32_t, in the buf_block_t that a slot names */
};

/* Of 8.0.46, 8.4.13 and 9.7.4. */
extern const struct trib_mtr_layout trib_mtr_layout_8;

/* The layout of the build with this id (hexadecimal), which was examined; NULL: not known. */
const struct trib_mtr_layout *trib_mtr_layout_of_build(const char *build_id);

enum trib_mtr_verdict { TRIB_MTR_OPEN, TRIB_MTR_PROVEN, TRIB_MTR_REFUTED };

struct trib_mtr_proof {
    struct trib_mtr_layout layout;
    TRIB_ATOMIC(int) verdict;
    TRIB_ATOMIC(uint32_t) seen, clean; /* that fitted, and dirty pages or do not */
    TRIB_ATOMIC(const char *) reason;  /* why it was refuted */
};

/* Called for each page that the mini-transaction dirties; one that was latched twice comes twice. */
typedef void trib_mtr_page(void *arg, uint32_t space, uint32_t page);

/* What commit() is called with. Returns the verdict after it: the caller to whom REFUTED comes first (*is_news) says
 * so; pages come only while it is not refuted. */
enum trib_mtr_verdict trib_mtr_visit(struct trib_mtr_proof *proof, const void *mtr, trib_mtr_page *visit, void *arg,
                                     bool *is_news);

TRIB_C_END
#endif
