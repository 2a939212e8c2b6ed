/* SPDX-License-Identifier: Apache-2.0 */
#include "innodb/mtr.h"

#include <stdatomic.h>
#include <string.h>

#include "base/likely.h"
#include "base/safe_copy.h"

#define SLOTS_BYTES     512u      /* dyn_buf_t<512>::block_t (dyn0buf.h) begins with them */
#define BLOCK_BYTES_MAX 768u      /* of what is read of one */
#define USED_MASK       0xffffffu /* DYN_BLOCK_FULL_FLAG is above */
#define LOG_NO_REDO     2u
#define LOG_MODES       8u /* more than any release has */
#define RECORDS_MAX     (1u << 24)
#define MEMO_TYPES      0x3ffu /* bits of mtr_memo_type_t; a slot has one */

enum memo_type { MEMO_PAGE_X_FIX = 2, MEMO_PAGE_SX_FIX = 4 };

struct memo_slot {
    const char *block; /* a buf_block_t, for the types above */
    uint64_t type;
};

const struct trib_mtr_layout trib_mtr_layout_8 = {.memo_first = 0x08,
                                                  .memo_last = 0x10,
                                                  .modifications = 0x481,
                                                  .records = 0x490,
                                                  .log_mode = 0x494,
                                                  .state = 0x498,
                                                  .previous = 512,
                                                  .next = 520,
                                                  .used_bytes = 528,
                                                  .space = 0,
                                                  .page = 4};

static const struct {
    const char *build_id;
    const struct trib_mtr_layout *layout;
} builds[] = {
    {"cc8a18826385d7182761a4a8f41044748267244d", &trib_mtr_layout_8}, /* Debian's mysql-server-core 9.7.4-2, amd64 */
};

const struct trib_mtr_layout *trib_mtr_layout_of_build(const char *build_id) {
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
        if (strcmp(builds[i].build_id, build_id) == 0)
            return builds[i].layout;
    return NULL;
}

/* ---- fields ---- */

static uint32_t word_of(const char *object, unsigned at) {
    uint32_t word;

    memcpy(&word, object + at, sizeof word);
    return word;
}

static const char *pointer_of(const char *object, unsigned at) {
    const char *pointer;

    memcpy(&pointer, object + at, sizeof pointer);
    return pointer;
}

static bool dirties_pages(const struct trib_mtr_layout *layout, const char *mtr) {
    if (word_of(mtr, layout->state) != TRIB_MTR_STATE_ACTIVE)
        return false;
    return word_of(mtr, layout->records) ||
           (((const uint8_t *)mtr)[layout->modifications] && word_of(mtr, layout->log_mode) == LOG_NO_REDO);
}

static bool names_page(const struct memo_slot *slot) {
    return slot->block && (slot->type == MEMO_PAGE_X_FIX || slot->type == MEMO_PAGE_SX_FIX);
}

static struct memo_slot slot_at(const char *block, unsigned at) {
    struct memo_slot slot;

    memcpy(&slot, block + at, sizeof slot);
    return slot;
}

/* ---- proven: read where it lies ---- */

static void visit_pages(const struct trib_mtr_layout *layout, const char *mtr, trib_mtr_page *visit, void *arg) {
    const char *block = pointer_of(mtr, layout->memo_last);

    for (unsigned blocks = 0; block && blocks < TRIB_MTR_BLOCKS_MAX; blocks++) {
        uint32_t used_bytes = word_of(block, layout->used_bytes) & USED_MASK;
        for (uint32_t at = 0; at + sizeof(struct memo_slot) <= used_bytes && at < SLOTS_BYTES;
             at += sizeof(struct memo_slot)) {
            struct memo_slot slot = slot_at(block, at);
            if (names_page(&slot))
                visit(arg, word_of(slot.block, layout->space), word_of(slot.block, layout->page));
        }
        block = pointer_of(block, layout->previous);
    }
}

/* ---- not proven: copied, and held against what it must be ---- */

static unsigned last_of(unsigned a, unsigned b) {
    return a > b ? a : b;
}

static bool is_aligned(const char *pointer) {
    return (uintptr_t)pointer % sizeof(void *) == 0;
}

/* Of the mini-transaction itself, in `copy`. NULL: all is as it must be. */
static const char *doubt_fields(const struct trib_mtr_layout *layout, const char *mtr, char copy[TRIB_MTR_BYTES_MAX]) {
    unsigned end = last_of(last_of(layout->state, layout->log_mode), last_of(layout->records, layout->modifications));

    end = last_of(end, last_of(layout->memo_first, layout->memo_last)) + (unsigned)sizeof(void *);
    if (end > TRIB_MTR_BYTES_MAX || !trib_safe_copy(copy, mtr, end))
        return "a mini-transaction is not readable";
    if (word_of(copy, layout->state) != TRIB_MTR_STATE_ACTIVE)
        return "a mini-transaction that commits is not active";
    if (((const uint8_t *)copy)[layout->modifications] > 1)
        return "a mini-transaction's flag is none";
    if (word_of(copy, layout->log_mode) >= LOG_MODES)
        return "a mini-transaction has an unknown log mode";
    if (word_of(copy, layout->records) > RECORDS_MAX)
        return "a mini-transaction has too many records";
    return NULL;
}

static const char *visit_slot(const struct trib_mtr_layout *layout, struct memo_slot slot, trib_mtr_page *visit,
                              void *arg) {
    char block[64];
    unsigned end = last_of(layout->space, layout->page) + (unsigned)sizeof(uint32_t);

    if (slot.type & ~(uint64_t)MEMO_TYPES || slot.type & (slot.type - 1) || (slot.block && !slot.type))
        return "a memo's slot has an unknown type";
    if (!names_page(&slot))
        return NULL;
    if (!is_aligned(slot.block) || end > sizeof block || !trib_safe_copy(block, slot.block, end))
        return "a memo's slot leads nowhere";
    if (visit)
        visit(arg, word_of(block, layout->space), word_of(block, layout->page));
    return NULL;
}

/* The newest block has none behind it, any other that which led to it. */
static const char *doubt_block(const struct trib_mtr_layout *layout, const char *at, const char *came_from,
                               char copy[BLOCK_BYTES_MAX]) {
    unsigned end = last_of(last_of(layout->previous, layout->next), layout->used_bytes) + (unsigned)sizeof(void *);

    if (!is_aligned(at) || end > BLOCK_BYTES_MAX || !trib_safe_copy(copy, at, end))
        return "a memo's block is not readable";
    uint32_t used_bytes = word_of(copy, layout->used_bytes) & USED_MASK;
    if (used_bytes > SLOTS_BYTES || used_bytes % sizeof(struct memo_slot))
        return "a memo's block has no whole slots";
    if (pointer_of(copy, layout->next) != came_from)
        return "a memo's blocks are no list";
    return NULL;
}

/* `mtr` is a copy. */
static const char *try_memo(const struct trib_mtr_layout *layout, const char *mtr, trib_mtr_page *visit, void *arg) {
    const char *at = pointer_of(mtr, layout->memo_last), *came_from = NULL, *doubt = NULL;
    char block[BLOCK_BYTES_MAX];
    unsigned blocks = 0;

    for (; at && !doubt && blocks < TRIB_MTR_BLOCKS_MAX; blocks++) {
        doubt = doubt_block(layout, at, came_from, block);
        uint32_t used_bytes = doubt ? 0 : word_of(block, layout->used_bytes) & USED_MASK;
        for (uint32_t slot = 0; slot < used_bytes && !doubt; slot += sizeof(struct memo_slot))
            doubt = visit_slot(layout, slot_at(block, slot), visit, arg);
        came_from = at;
        at = doubt ? NULL : pointer_of(block, layout->previous);
    }
    if (doubt)
        return doubt;
    return at || came_from != pointer_of(mtr, layout->memo_first) ? "a memo's list has no end" : NULL;
}

static const char *count_clean(struct trib_mtr_proof *proof, bool is_clean) {
    uint32_t clean = is_clean ? atomic_fetch_add(&proof->clean, 1) + 1 : atomic_load(&proof->clean);
    uint32_t seen = is_clean ? atomic_load(&proof->seen) : atomic_fetch_add(&proof->seen, 1) + 1;
    int open = TRIB_MTR_OPEN;

    if (seen >= TRIB_MTR_PROOFS && clean >= TRIB_MTR_CLEAN_PROOFS)
        atomic_compare_exchange_strong(&proof->verdict, &open, TRIB_MTR_PROVEN);
    return seen >= TRIB_MTR_WAITS && clean < TRIB_MTR_CLEAN_PROOFS ? "no mini-transaction only reads" : NULL;
}

/* Twice through the memo: first whether it fits, then, if pages are dirtied, which. NULL: nothing speaks against it. */
static const char *try_out(struct trib_mtr_proof *proof, const char *mtr, trib_mtr_page *visit, void *arg) {
    const struct trib_mtr_layout *layout = &proof->layout;
    char copy[TRIB_MTR_BYTES_MAX];
    const char *doubt = doubt_fields(layout, mtr, copy);

    if (!doubt)
        doubt = try_memo(layout, copy, NULL, NULL);
    if (doubt)
        return doubt;
    bool is_clean = !dirties_pages(layout, copy);
    if (!is_clean)
        (void)try_memo(layout, copy, visit, arg);
    return count_clean(proof, is_clean);
}

enum trib_mtr_verdict trib_mtr_visit(struct trib_mtr_proof *proof, const void *mtr, trib_mtr_page *visit, void *arg,
                                     bool *is_news) {
    int verdict = atomic_load_explicit(&proof->verdict, memory_order_relaxed);

    *is_news = false;
    if (TRIB_LIKELY(verdict == TRIB_MTR_PROVEN)) {
        if (dirties_pages(&proof->layout, mtr))
            visit_pages(&proof->layout, mtr, visit, arg);
        return TRIB_MTR_PROVEN;
    }
    const char *doubt = verdict == TRIB_MTR_OPEN ? try_out(proof, mtr, visit, arg) : NULL, *none = NULL;
    if (doubt && atomic_compare_exchange_strong(&proof->reason, &none, doubt)) {
        atomic_store(&proof->verdict, TRIB_MTR_REFUTED);
        *is_news = true;
    }
    return (enum trib_mtr_verdict)atomic_load_explicit(&proof->verdict, memory_order_relaxed);
}
