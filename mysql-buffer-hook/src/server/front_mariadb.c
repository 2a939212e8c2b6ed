/* SPDX-License-Identifier: Apache-2.0 */
/* MariaDB 10.5 and later: InnoDB's functions are hidden, but my_crc32c() is exported and is a jump through a pointer;
 * mtr_t:: crc32c() calls it with each block of a mini-transaction's redo records, on the thread that commits, before
 * the pages are released. Replacing the pointer hooks it without touching code. The pointer serves others, too: which
 * return address is mtr_t::crc32c's is learnt from what it hands over.
 *
 * Not seen: tables without redo (temporary ones), and all of it where the redo log is encrypted. */
#include "server/front.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <tributary/signature.h>

#include "base/safe_copy.h"
#include "innodb/redo_record.h"
#include "note.h"
#include "server/module.h"

typedef uint32_t crc32c_function(uint32_t crc, const void *bytes, size_t length);

#define SITES       16u  /* return addresses that are watched; the server has some ten */
#define GOOD_NEEDED 256u /* readable mini-transactions, with at most one unreadable in 50 */

static _Atomic(crc32c_function *) *slot;
static crc32c_function *original;
static _Atomic(uintptr_t) commit_site; /* 0 = not learnt yet */
static struct {
    _Atomic(uintptr_t) address;
    _Atomic(uint32_t) good, bad;
} sites[SITES];

/* Between the blocks of the mini-transaction that this thread is committing. */
static _Thread_local struct trib_redo_cursor cursor __attribute__((tls_model("initial-exec")));

/* ---- learnt: notes ---- */

static void note_block(const void *bytes, size_t length, void *frame) {
    struct trib_redo_page pages[TRIB_NOTE_BATCH_MAX];
    uint64_t keys[TRIB_NOTE_BATCH_MAX];
    unsigned count = 0;
    int found = trib_redo_read(&cursor, bytes, length, pages, TRIB_NOTE_BATCH_MAX);

    if (found > TRIB_NOTE_BATCH_MAX)
        found = TRIB_NOTE_BATCH_MAX; /* more pages than that in one block of 512 bytes: the rest keeps its older note */
    for (int i = 0; i < found; i++) {
        uint64_t key = trib_page_key(pages[i].space, pages[i].page);
        unsigned before = 0;
        while (before < count && keys[before] != key)
            before++;
        if (before == count)
            keys[count++] = key;
    }
    if (count)
        trib_note_pages(keys, count, frame);
}

/* ---- not learnt: whose address is this? ---- */

static int find_site(uintptr_t address) {
    unsigned at = (unsigned)(address >> 2) % SITES;

    for (unsigned i = 0; i < SITES; i++, at = (at + 1) % SITES) {
        uintptr_t there = 0;
        if (atomic_compare_exchange_strong(&sites[at].address, &there, address) || there == address)
            return (int)at;
    }
    return -1;
}

/* Only the first block of a mini-transaction counts: it must read as records, and name a page. */
static void learn(uintptr_t address, const void *bytes, size_t length) {
    struct trib_redo_cursor trial = {0};
    struct trib_redo_page page;
    int site = find_site(address);

    if (site < 0)
        return;
    if (trib_redo_read(&trial, bytes, length, &page, 1) < 1) {
        atomic_fetch_add_explicit(&sites[site].bad, 1, memory_order_relaxed);
        return;
    }
    uint32_t good = atomic_fetch_add_explicit(&sites[site].good, 1, memory_order_relaxed) + 1;
    if (good >= GOOD_NEEDED && atomic_load_explicit(&sites[site].bad, memory_order_relaxed) < good / 50)
        atomic_store_explicit(&commit_site, address, memory_order_relaxed);
}

static uint32_t on_crc32c(uint32_t crc, const void *bytes, size_t length) {
    uintptr_t site = atomic_load_explicit(&commit_site, memory_order_relaxed);
    uintptr_t caller = (uintptr_t)__builtin_return_address(0);

    if (caller == site) {
        if (crc == 0)
            cursor = (struct trib_redo_cursor){0};
        note_block(bytes, length, TRIB_FRAME_HERE());
    } else if (__builtin_expect(site == 0, 0) && crc == 0 && length) {
        learn(caller, bytes, length);
    }
    return original(crc, bytes, length);
}

/* ---- recognition ---- */

/* Where `jmp *x(%rip)`, perhaps behind endbr64, takes its target from; NULL if the code is something else. */
static void *jump_slot(const uint8_t *function) {
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    uint8_t copy[sizeof endbr64 + 6];
    const uint8_t *code = copy;
    int32_t distance;

    if (!trib_safe_copy(copy, function, sizeof copy))
        return NULL;
    if (memcmp(code, endbr64, sizeof endbr64) == 0)
        code += sizeof endbr64;
    if (code[0] != 0xff || code[1] != 0x25)
        return NULL;
    memcpy(&distance, code + 2, sizeof distance);
    return (void *)(uintptr_t)(function + (code - copy) + 6 + distance);
}

static const char *refuses(const struct trib_server *server) {
    void *found = server->my_crc32c ? jump_slot(server->my_crc32c) : NULL;

    if (!found)
        return server->my_crc32c ? "my_crc32c is no jump through a pointer" : "this server does not export my_crc32c";
    if ((uintptr_t)found % sizeof(void *) || !trib_module_is_writable(found))
        return "the pointer of my_crc32c cannot be replaced";
    return NULL;
}

static int hook(const struct trib_server *server) {
    slot = jump_slot(server->my_crc32c);
    original = atomic_load(slot);
    if (!original) /* its static constructor has not run */
        return -EAGAIN;
    atomic_store(slot, on_crc32c);
    return 0;
}

static void unhook(void) {
    atomic_store(slot, original);
}

const struct trib_front trib_front_mariadb = {.name = "my_crc32c",
                                              .cannot = "my_crc32c cannot be hooked: ",
                                              .refuses = refuses,
                                              .waits = true,
                                              .hook = hook,
                                              .unhook = unhook};
