/* SPDX-License-Identifier: Apache-2.0 */
/* Private to core/engine/lifetime: the two kinds of search tree in the arena, files by identity and
 * the runs of one file by offset. Treaps (Seidel & Aragon, Algorithmica 1996) whose priority is a
 * hash of the slot's number, so that nothing but two links is stored: expected depth 2 ln n for any
 * order of writes. A tree is named by its owner: 0 the tree of files, else the HEAD slot of a file.
 * Thread safety: trib_state_lock. Damage (a link out of range, a path longer than any honest one)
 * ends a walk and sets x->damaged. */
#ifndef TRIB_LIFETIME_TREE_H
#define TRIB_LIFETIME_TREE_H

#include "lifetime/slot.h"

#define TRIB_TREE_OF_FILES 0u

uint32_t trib_tree_root(struct trib_extents *x, uint32_t owner);
void trib_tree_insert(struct trib_extents *x, uint32_t owner, uint32_t slot);
void trib_tree_remove(struct trib_extents *x, uint32_t owner, uint32_t slot);

/* The last slot with a key below `key` and the first with a key at or above it; 0 = none. Returns
 * the levels walked. */
uint32_t trib_tree_around(struct trib_extents *x, uint32_t owner, uint64_t key, uint32_t *below, uint32_t *above);

/* Slot with exactly this key, or 0. */
uint32_t trib_tree_find(struct trib_extents *x, uint32_t owner, uint64_t key);

/* Takes the whole tree apart in key order: every slot is handed to `take`, which may release it. */
void trib_tree_drain(struct trib_extents *x, uint32_t owner, void (*take)(void *arg, uint32_t slot), void *arg);

#endif
