/* SPDX-License-Identifier: Apache-2.0 */
/* Mini-transactions as InnoDB's release builds lay them out in memory (mysql-buffer-hook/src/mtr.h), made by hand, and
 * the ways in which one can differ from that. Not thread-safe. */
#ifndef TRIB_TEST_MTR_SERVER_H
#define TRIB_TEST_MTR_SERVER_H

#include <stdint.h>
#include <string.h>

struct mtr_block {
    uint8_t slots[512];
    struct mtr_block *previous, *next;
    uint32_t used_bytes;
};

struct mtr_page {
    uint32_t space, page;
};

struct mtr {
    void *heap;
    struct mtr_block *first, *last; /* at 8 and 0x10 */
    uint8_t rest[0x481 - 24];
    uint8_t modifications; /* at 0x481 */
    uint8_t more[0x490 - 0x482];
    uint32_t records, log_mode, state; /* at 0x490, 0x494, 0x498 */
};

/* What of it is wrong. */
enum mtr_fault {
    MTR_SOUND,
    MTR_STATE,     /* another number for "active" */
    MTR_FLAG,      /* the flag's byte is something else */
    MTR_LOG_MODE,  /* so is the log mode */
    MTR_RECORDS,   /* so is the number of records */
    MTR_MEMO_WILD, /* the memo's newest block is not memory */
    MTR_MEMO_NONE, /* there is none */
    MTR_USED,      /* the block says that it holds more than it can */
    MTR_USED_PART, /* or half a slot */
    MTR_LIST,      /* the block before it does not lead back */
    MTR_CIRCLE,    /* and leads to itself */
    MTR_SLOT_TYPE, /* a slot's type is none */
    MTR_SLOT_WILD, /* a slot leads to what is not memory */
    MTR_SLOT_ODD,  /* or between two words */
    MTR_FAULTS,
};

static const char *const mtr_fault_names[MTR_FAULTS] = {"sound",     "state",     "flag",      "log-mode", "records",
                                                        "memo-wild", "memo-none", "used",      "part",     "list",
                                                        "circle",    "slot-type", "slot-wild", "slot-odd"};

/* Not mapped in any process: the kernel's half. */
#define MTR_WILD ((uint64_t)0xffff800000001000)

static inline void mtr_put_slot(struct mtr_block *block, const void *what, uint64_t type) {
    uint64_t slot[2] = {(uint64_t)(uintptr_t)what, type};

    memcpy(block->slots + block->used_bytes, slot, sizeof slot);
    block->used_bytes += sizeof slot;
}

/* Latches `page` for writing and dirties it, in the second of two blocks; the first has a latch of another sort. */
static inline void mtr_begin(struct mtr *mtr, struct mtr_block blocks[2], const struct mtr_page *page) {
    memset(mtr, 0, sizeof *mtr);
    memset(blocks, 0, 2 * sizeof *blocks);
    mtr->state = 12231;
    mtr->modifications = 1;
    mtr->records = 3;
    mtr->first = &blocks[0];
    mtr->last = &blocks[1];
    blocks[0].next = &blocks[1];
    blocks[1].previous = &blocks[0];
    mtr_put_slot(&blocks[0], mtr, 64);
    mtr_put_slot(&blocks[0], NULL, 0); /* released already */
    mtr_put_slot(&blocks[1], page, 4);
    mtr_put_slot(&blocks[1], page, 2); /* twice */
}

static inline void mtr_spoil(struct mtr *mtr, struct mtr_block blocks[2], enum mtr_fault fault) {
    uint64_t wild = MTR_WILD, odd, type = 3;

    switch (fault) {
    case MTR_STATE:
        mtr->state = 12230;
        break;
    case MTR_FLAG:
        mtr->modifications = 0x7f;
        break;
    case MTR_LOG_MODE:
        mtr->log_mode = 77;
        break;
    case MTR_RECORDS:
        mtr->records = 0x7fff0000;
        break;
    case MTR_MEMO_WILD:
        memcpy(&mtr->last, &wild, sizeof wild);
        break;
    case MTR_MEMO_NONE:
        mtr->last = NULL;
        break;
    case MTR_USED:
        blocks[1].used_bytes = 528;
        break;
    case MTR_USED_PART:
        blocks[1].used_bytes = 24;
        break;
    case MTR_LIST:
        blocks[0].next = NULL;
        break;
    case MTR_CIRCLE:
        blocks[0].previous = &blocks[1];
        blocks[1].next = &blocks[0];
        break;
    case MTR_SLOT_TYPE:
        memcpy(blocks[0].slots + 8, &type, sizeof type);
        break;
    case MTR_SLOT_WILD:
        memcpy(blocks[1].slots, &wild, sizeof wild);
        break;
    case MTR_SLOT_ODD:
        memcpy(&odd, blocks[1].slots, sizeof odd);
        odd += 4;
        memcpy(blocks[1].slots, &odd, sizeof odd);
        break;
    default:
        break;
    }
}

#endif
