/* SPDX-License-Identifier: Apache-2.0 */
/* MySQL 8.0, 8.4, 9.x: the exported mtr_t::commit(). The mini-transaction's memo names the blocks that it latched;
 * those latched for writing are the ones that InnoDB itself is about to put on the flush list (mtr0mtr.cc,
 * Add_dirty_blocks_to_flush_list), so the note is exact. Whether the layout of the release builds holds here is asked
 * of the build-id or of the code that uses it, then of the first mini-transactions, which are copied and not followed
 * (mtr.h), then of the first thousand flushes (self_test.h). */
#include "server/front.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/safe_copy.h"
#include "innodb/mtr.h"
#include "note.h"
#include "options.h"
#include "patch/code.h"
#include "quiet.h"
#include "server/module.h"

#define CODE_BYTES 160u /* of commit(), within which it uses the layout */

static struct trib_patch patch;
static struct trib_mtr_proof proof;
static _Atomic(bool) is_off; /* the jump stays: a thread may stand in what it replaced */

struct batch {
    uint64_t keys[TRIB_NOTE_BATCH_MAX];
    unsigned count;
    void *frame;
};

/* A page that was latched twice was dirtied once. */
static bool is_there(const struct batch *batch, uint64_t key) {
    for (unsigned i = batch->count; i-- > 0;)
        if (batch->keys[i] == key)
            return true;
    return false;
}

/* Handed over when it is full. */
static void add_page(void *arg, uint32_t space, uint32_t page) {
    struct batch *batch = arg;
    uint64_t key = trib_page_key(space, page);

    if (is_there(batch, key))
        return;
    if (batch->count == TRIB_NOTE_BATCH_MAX) {
        trib_note_pages(batch->keys, batch->count, batch->frame);
        batch->count = 0;
    }
    batch->keys[batch->count++] = key;
}

/* Three of four mini-transactions only read: they pay for a test. */
static void on_commit(void *mtr, void *frame) {
    struct batch batch;
    bool is_news;

    if (atomic_load_explicit(&is_off, memory_order_relaxed))
        return;
    if (atomic_load_explicit(&proof.verdict, memory_order_relaxed) != TRIB_MTR_PROVEN && !trib_may_ask())
        return;
    batch.count = 0;
    batch.frame = frame;
    (void)trib_mtr_visit(&proof, mtr, add_page, &batch, &is_news);
    if (batch.count)
        trib_note_pages(batch.keys, batch.count, frame);
    if (is_news)
        trib_front_retire(atomic_load(&proof.reason));
}

/* ---- recognition ---- */

static bool mentions(const uint8_t *code, uint32_t first, const uint32_t *second) {
    for (unsigned i = 0; i + 2 * sizeof first <= CODE_BYTES; i++)
        if (memcmp(code + i, &first, sizeof first) == 0 &&
            (!second || memcmp(code + i + sizeof first, second, sizeof *second) == 0))
            return true;
    return false;
}

static bool names_fields(const uint8_t *code, const struct trib_mtr_layout *layout) {
    static const uint32_t committing = TRIB_MTR_STATE_COMMITTING;

    return mentions(code, layout->modifications, NULL) && mentions(code, layout->records, NULL) &&
           mentions(code, layout->log_mode, NULL) && mentions(code, layout->state, &committing);
}

static const char *refuses(const struct trib_server *server) {
    const struct trib_mtr_layout *known;
    enum trib_buffer_layout asked = (enum trib_buffer_layout)trib_buffer_settings()->layout;
    char build_id[TRIB_BUILD_ID_TEXT];
    uint8_t code[CODE_BYTES];

    if (!server->mtr_commit)
        return "this server does not export mtr_t::commit";
    if (!trib_safe_copy(code, server->mtr_commit, sizeof code))
        return "the system lets nobody copy memory, which the self-test needs";
    if (!trib_patch_hook_fits(server->mtr_commit))
        return "mtr_t::commit begins with unknown code";
    trib_module_build_id(server->mtr_commit, build_id);
    known = trib_mtr_layout_of_build(build_id);
    proof.layout = known ? *known : trib_mtr_layout_8;
    if (known || asked == TRIB_LAYOUT_GUESS)
        return NULL;
    if (asked == TRIB_LAYOUT_KNOWN)
        return "layout=known, and this build is not";
    return names_fields(code, &proof.layout) ? NULL : "mtr_t has another layout in this server";
}

static int hook(const struct trib_server *server) {
    return trib_patch_hook_put(&patch, server->mtr_commit, on_commit);
}

static void unhook(void) {
    atomic_store(&is_off, true);
}

const struct trib_front trib_front_mysql = {.name = "mtr_t::commit",
                                            .cannot = "mtr_t::commit cannot be hooked: ",
                                            .refuses = refuses,
                                            .hook = hook,
                                            .unhook = unhook};
