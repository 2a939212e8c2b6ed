/* SPDX-License-Identifier: Apache-2.0 */
#include "signature/unwind/unwind.h"

#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "base/likely.h"
#include "signature/unwind/machine.h"

#define SITES       4096u /* 128 KiB; RocksDB needs about 300 */
#define SITE_PROBES 8u

/* ---- call sites ---- */

/* key: 0 free, BUSY being written, else the return address. A writer makes the entry BUSY, writes
 * the words, then sets the key; a reader takes the words only if the key was the same before and
 * after. */
struct entry {
    TRIB_ATOMIC(uint64_t) key, identity, offsets, kinds;
};
#define BUSY 1u

static struct entry sites[SITES];
static TRIB_ATOMIC(uint64_t) sites_added, walks_broken;

static uint32_t site_slot(uintptr_t return_address) {
    return (uint32_t)((return_address ^ (return_address >> 12)) * 0x9E3779B97F4A7C15ull >> 40) % SITES;
}

static uint64_t pack_offsets(const struct trib_rule *rule) {
    return (uint64_t)(uint32_t)rule->cfa_offset << 32 | (uint32_t)rule->bp_offset;
}

static uint64_t pack_kinds(const struct trib_site *site) {
    return (uint64_t)site->segment << 48 | (uint64_t)(uint16_t)site->rule.cfa_add << 32 |
           (uint64_t)site->runtime << 16 | (uint64_t)site->rule.bp << 8 | site->rule.kind;
}

static bool read_entry(struct entry *entry, uint64_t key, struct trib_site *out) {
    uint64_t identity = atomic_load_explicit(&entry->identity, memory_order_acquire);
    uint64_t offsets = atomic_load_explicit(&entry->offsets, memory_order_acquire);
    uint64_t kinds = atomic_load_explicit(&entry->kinds, memory_order_acquire);
    if (TRIB_UNLIKELY(atomic_load_explicit(&entry->key, memory_order_relaxed) != key))
        return false;
    *out = (struct trib_site){
        .identity = identity,
        .rule = {.kind = (uint8_t)kinds,
                 .bp = (uint8_t)(kinds >> 8),
                 .cfa_add = (int16_t)(kinds >> 32),
                 .cfa_offset = (int32_t)(offsets >> 32),
                 .bp_offset = (int32_t)offsets},
        .segment = (uint16_t)(kinds >> 48),
        .runtime = kinds >> 16 & 1,
    };
    return true;
}

/* Takes a free slot near its place, else the last one probed; losing a race only costs another
 * look-up later. */
static void insert_entry(uint64_t key, const struct trib_site *site) {
    struct entry *entry = NULL;
    uint64_t present = BUSY;
    for (uint32_t probe = 0; probe < SITE_PROBES; probe++) {
        entry = &sites[(site_slot(key) + probe) % SITES];
        present = atomic_load_explicit(&entry->key, memory_order_relaxed);
        if (present == 0 || present == key)
            break;
    }
    if (present == BUSY || present == key ||
        !atomic_compare_exchange_strong_explicit(&entry->key, &present, BUSY, memory_order_acq_rel,
                                                 memory_order_relaxed))
        return;
    atomic_store_explicit(&entry->identity, site->identity, memory_order_release);
    atomic_store_explicit(&entry->offsets, pack_offsets(&site->rule), memory_order_release);
    atomic_store_explicit(&entry->kinds, pack_kinds(site), memory_order_release);
    atomic_store_explicit(&entry->key, key, memory_order_release);
    atomic_fetch_add_explicit(&sites_added, 1, memory_order_relaxed);
}

__attribute__((noinline, cold)) static bool resolve_site(uintptr_t return_address, struct trib_site *out) {
    struct trib_segment segment;
    if (return_address >> TRIB_ADDRESS_BITS || !trib_modules_find(return_address - 1, &segment))
        return false;
    uint64_t offset = return_address - segment.base;
    struct trib_site site = {
        .identity = trib_hash_mix(trib_hash_mix(0, segment.build_id_hash), offset),
        .segment = segment.index,
        .runtime = segment.runtime,
    };
    if (TRIB_WALK_BY_RULES)
        trib_cfi_rule(&segment, return_address, &site.rule);
    else if (TRIB_WALK_BY_RECORDS)
        site.rule = (struct trib_rule){.kind = TRIB_RULE_BP, .cfa_offset = 16, .bp = TRIB_BP_AT_CFA, .bp_offset = -16};
    if (site.segment != TRIB_SEGMENT_NONE) /* else nobody could ask later whether it still holds */
        insert_entry(return_address, &site);
    *out = site;
    return true;
}

bool trib_site_find(uintptr_t return_address, struct trib_site *out) {
    if (TRIB_UNLIKELY(return_address <= BUSY))
        return false;
    for (uint32_t probe = 0; probe < SITE_PROBES; probe++) {
        struct entry *entry = &sites[(site_slot(return_address) + probe) % SITES];
        uint64_t key = atomic_load_explicit(&entry->key, memory_order_acquire);
        if (key == return_address && read_entry(entry, key, out))
            return true;
        if (key == 0)
            break;
    }
    return resolve_site(return_address, out);
}

void trib_sites_clear(void) {
    for (uint32_t i = 0; i < SITES; i++) {
        uint64_t key = atomic_load_explicit(&sites[i].key, memory_order_relaxed);
        while (key != BUSY && key != 0 &&
               !atomic_compare_exchange_weak_explicit(&sites[i].key, &key, 0, memory_order_acq_rel,
                                                      memory_order_relaxed)) {
        }
    }
}

uint64_t trib_sites_added(void) {
    return atomic_load_explicit(&sites_added, memory_order_relaxed);
}

uint64_t trib_walks_broken(void) {
    return atomic_load_explicit(&walks_broken, memory_order_relaxed);
}

/* ---- the walk ---- */

struct walk {
    struct trib_path *path;
    const struct trib_stack *stack;
    uintptr_t frame, sp, bp;
    uintptr_t bp_word; /* where bp was read from, 0 once that word is in the path's list */
    bool bp_lost;
};

/* There is room for every word that a path can have; false if that were wrong. */
static bool depend_on(struct walk *walk, uintptr_t address) {
    struct trib_path *path = walk->path;
    if (TRIB_UNLIKELY(path->word_count >= TRIB_PATH_WORDS_MAX || address < walk->frame)) {
        atomic_fetch_add_explicit(&walks_broken, 1, memory_order_relaxed);
        path->is_broken = true;
        return false;
    }
    path->is_wide = path->is_wide || address - walk->frame > UINT32_MAX;
    path->word[path->word_count++] = (uint32_t)(address - walk->frame);
    return true;
}

/* The walk is about to decide something by bp's value. */
static bool use_bp(struct walk *walk) {
    if (walk->bp_lost)
        return false;
    if (walk->bp_word && !depend_on(walk, walk->bp_word))
        return false;
    walk->bp_word = 0;
    return true;
}

static bool find_cfa(struct walk *walk, const struct trib_rule *rule, uintptr_t *out) {
    bool by_bp = rule->kind == TRIB_RULE_BP || rule->kind == TRIB_RULE_BP_DEREF;
    if (by_bp && !use_bp(walk))
        return false;
    uintptr_t cfa = (by_bp ? walk->bp : walk->sp) + (uintptr_t)(intptr_t)rule->cfa_offset;
    if (rule->kind == TRIB_RULE_SP_DEREF || rule->kind == TRIB_RULE_BP_DEREF) {
        if (cfa < walk->sp || !trib_stack_holds(walk->stack, cfa) || !depend_on(walk, cfa))
            return false;
        cfa = trib_stack_word(cfa) + (uintptr_t)(intptr_t)rule->cfa_add;
    }
    if (cfa <= walk->sp || !trib_stack_holds(walk->stack, cfa - 8))
        return false;
    *out = cfa;
    return true;
}

static void restore_bp(struct walk *walk, const struct trib_rule *rule, uintptr_t cfa) {
    uintptr_t address;
    if (rule->bp == TRIB_BP_SAME)
        return;
    if (rule->bp == TRIB_BP_AT_CFA)
        address = cfa + (uintptr_t)(intptr_t)rule->bp_offset;
    else if (rule->bp == TRIB_BP_AT_BP && use_bp(walk))
        address = walk->bp + (uintptr_t)(intptr_t)rule->bp_offset;
    else
        address = 0;
    walk->bp_lost = address < walk->sp || !trib_stack_holds(walk->stack, address);
    if (walk->bp_lost)
        return;
    walk->bp = trib_stack_word(address);
    walk->bp_word = address;
}

/* Goes from the frame that `site` returns into to that frame's own caller. */
static bool step(struct walk *walk, const struct trib_site *site, uintptr_t *return_address) {
    uintptr_t cfa;
    if (site->rule.kind < TRIB_RULE_SP || !find_cfa(walk, &site->rule, &cfa) || !depend_on(walk, cfa - 8)) {
        bool no_record = TRIB_WALK_BY_RECORDS && walk->bp == 0;
        walk->path->end = no_record ? TRIB_PATH_ROOT : TRIB_PATH_FAILED;
        return false;
    }
    restore_bp(walk, &site->rule, cfa);
    walk->sp = cfa;
    *return_address = trib_return_address(trib_stack_word(cfa - 8));
    return true;
}

static bool wants_more(const struct trib_path *path, unsigned depth) {
    return path->count < depth || (path->count < depth + TRIB_ROOT_LOOKAHEAD && path->frame[path->count - 1].runtime);
}

void trib_unwind(struct trib_path *path, uintptr_t frame, unsigned depth, const struct trib_stack *stack) {
    struct walk walk = {
        .path = path, .stack = stack, .frame = frame, .sp = frame + 16, .bp = trib_stack_word(frame), .bp_word = frame};
    uintptr_t return_address = trib_return_address(trib_stack_word(frame + 8));
    struct trib_site site;

    depth = depth <= TRIB_SIGNATURE_DEPTH_MAX ? depth : TRIB_SIGNATURE_DEPTH_MAX;
    path->count = 0;
    path->word_count = 0;
    path->is_wide = path->is_broken = false;
    (void)depend_on(&walk, frame + 8);
    for (;;) {
        path->end = return_address ? TRIB_PATH_UNMAPPED : TRIB_PATH_ROOT;
        if (!trib_site_find(return_address, &site))
            return;
        path->frame[path->count++] = (struct trib_path_frame){
            .address = return_address,
            .identity = site.identity,
            .segment = site.segment,
            .runtime = site.runtime,
            .rule = site.rule.kind,
        };
        path->end = site.rule.kind == TRIB_RULE_ROOT ? TRIB_PATH_ROOT : TRIB_PATH_DEPTH;
        if (path->end == TRIB_PATH_ROOT || !wants_more(path, depth) || !step(&walk, &site, &return_address))
            return;
    }
}

bool trib_path_confirm(const struct trib_path *path) {
    unsigned asked = TRIB_SEGMENT_NONE;
    for (unsigned i = 0; i < path->count; i++) {
        if (path->frame[i].segment == asked)
            continue;
        asked = path->frame[i].segment;
        if (!trib_modules_confirm((uint16_t)asked, path->frame[i].address - 1))
            return false;
    }
    return true;
}

/* The flush at exit is libc's alone but for the program's entry: that it was this program is all there is to know. */
static void keep_outermost(struct trib_path *path, unsigned outermost) {
    if (path->frame[outermost].runtime)
        return;
    path->frame[0] = path->frame[outermost];
    path->count = 1;
}

static void drop_roots(struct trib_path *path) {
    unsigned walked = path->count;

    if (walked && path->frame[walked - 1].rule == TRIB_RULE_ROOT)
        path->count--;
    while (path->count && path->frame[path->count - 1].runtime)
        path->count--;
    if (walked && path->count == 0)
        keep_outermost(path, walked - 1);
}

void trib_path_trim(struct trib_path *path, unsigned depth) {
    if (path->end == TRIB_PATH_ROOT)
        drop_roots(path);
    if (path->count > depth)
        path->count = depth;
}
