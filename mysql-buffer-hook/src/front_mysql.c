/* SPDX-License-Identifier: Apache-2.0 */
/* MySQL 8.0, 8.4, 9.x: the exported mtr_t::commit(). The mini-transaction's memo names the blocks that it latched;
 * those latched for writing are the ones that InnoDB itself is about to put on the flush list (mtr0mtr.cc,
 * Add_dirty_blocks_to_flush_list), so the note is exact. The layout is that of the release builds, the same in 8.0.46,
 * 8.4.13 and 9.7.4; whether it holds here is asked of the code that uses it, then of every mini-transaction's state,
 * then of the first thousand flushes. */
#include "front.h"

#include <errno.h>
#include <string.h>

#include "note.h"
#include "patch/code.h"

/* mtr_t::Impl (mtr0mtr.h) */
enum mtr_layout {
    MTR_MEMO_LAST = 0x10,      /* block *: the newest of the memo's list */
    MTR_MODIFICATIONS = 0x481, /* bool */
    MTR_RECORDS = 0x490,       /* uint32_t */
    MTR_LOG_MODE = 0x494,      /* uint32_t */
    MTR_STATE = 0x498,         /* uint32_t */
};
#define MTR_LOG_NO_REDO      2u
#define MTR_STATE_ACTIVE     12231u
#define MTR_STATE_COMMITTING 56456u /* commit() stores it first */
#define CODE_BYTES           160u   /* of commit(), within which it uses the layout */

/* dyn_buf_t<512>::block_t (dyn0buf.h) */
struct memo_block {
    uint8_t slots[512];
    struct memo_block *previous, *next;
    uint32_t used_bytes;
};
#define USED_MASK 0xffffffu /* DYN_BLOCK_FULL_FLAG is above */

struct memo_slot {
    const uint32_t *block; /* buf_block_t begins with its space id and page number */
    uint64_t type;
};
enum memo_type { MEMO_PAGE_X_FIX = 2, MEMO_PAGE_SX_FIX = 4 };

static struct trib_patch patch;

static uint32_t field32(const void *mtr, enum mtr_layout at) {
    uint32_t value;

    memcpy(&value, (const char *)mtr + at, sizeof value);
    return value;
}

static bool dirties_pages(const void *mtr) {
    if (field32(mtr, MTR_STATE) != MTR_STATE_ACTIVE)
        return false;
    return field32(mtr, MTR_RECORDS) ||
           (((const uint8_t *)mtr)[MTR_MODIFICATIONS] && field32(mtr, MTR_LOG_MODE) == MTR_LOG_NO_REDO);
}

/* A page that was latched twice was dirtied once. */
static bool is_there(const uint64_t *keys, unsigned count, uint64_t key) {
    for (unsigned i = count; i-- > 0;)
        if (keys[i] == key)
            return true;
    return false;
}

/* Adds the pages of one block of the memo to the batch, which is handed over when it is full. Returns its size. */
static unsigned gather(const struct memo_block *block, uint64_t keys[TRIB_NOTE_BATCH_MAX], unsigned count,
                       void *frame) {
    uint32_t used_bytes = block->used_bytes & USED_MASK;

    for (uint32_t at = 0; at + sizeof(struct memo_slot) <= used_bytes && at < sizeof block->slots;
         at += sizeof(struct memo_slot)) {
        const struct memo_slot *slot = (const void *)(block->slots + at);
        if (!slot->block || (slot->type != MEMO_PAGE_X_FIX && slot->type != MEMO_PAGE_SX_FIX))
            continue;
        uint64_t key = trib_page_key(slot->block[0], slot->block[1]);
        if (is_there(keys, count, key))
            continue;
        if (count == TRIB_NOTE_BATCH_MAX) {
            trib_note_pages(keys, count, frame);
            count = 0;
        }
        keys[count++] = key;
    }
    return count;
}

/* Three of four mini-transactions only read: they pay for this test. */
static void on_commit(void *mtr, void *frame) {
    uint64_t keys[TRIB_NOTE_BATCH_MAX];
    const struct memo_block *block;
    unsigned count = 0;

    if (!dirties_pages(mtr))
        return;
    memcpy(&block, (const char *)mtr + MTR_MEMO_LAST, sizeof block);
    for (; block; block = block->previous)
        count = gather(block, keys, count, frame);
    if (count)
        trib_note_pages(keys, count, frame);
}

/* ---- recognition ---- */

static bool mentions(const uint8_t *code, uint32_t first, const uint32_t *second) {
    for (unsigned i = 0; i + 2 * sizeof first <= CODE_BYTES; i++)
        if (memcmp(code + i, &first, sizeof first) == 0 &&
            (!second || memcmp(code + i + sizeof first, second, sizeof *second) == 0))
            return true;
    return false;
}

static const char *refuses(const struct trib_server *server) {
    static const uint32_t committing = MTR_STATE_COMMITTING;
    const uint8_t *code = server->mtr_commit;

    if (!code)
        return "this server does not export mtr_t::commit";
    if (!trib_patch_hook_fits(code))
        return "mtr_t::commit begins with unknown code";
    if (!mentions(code, MTR_MODIFICATIONS, NULL) || !mentions(code, MTR_RECORDS, NULL) ||
        !mentions(code, MTR_LOG_MODE, NULL) || !mentions(code, MTR_STATE, &committing))
        return "mtr_t has another layout in this server";
    return NULL;
}

static int hook(const struct trib_server *server) {
    return trib_patch_hook_put(&patch, server->mtr_commit, on_commit);
}

static void unhook(void) {
    trib_patch_remove(&patch);
}

const struct trib_front trib_front_mysql = {
    .name = "mtr_t::commit", .refuses = refuses, .hook = hook, .unhook = unhook};
