/* SPDX-License-Identifier: Apache-2.0 */
/* A jump at the entry of a function of the running program, x86-64. What the jump replaces runs in a stub, a page of
 * its own.
 *
 * Other threads may be in the function, at the end of any of its instructions: stopped there, interrupted there by a
 * signal, or swapped out. So the change is one aligned 8-byte store, and a byte that a thread may go on from stays as
 * it is: where the jump is longer than the instruction that it replaces, the bytes behind that instruction are the
 * upper bytes of the jump's distance, and the stub is placed so far away that they already say so. An endbr64 stays the
 * first instruction where that leaves the distance as free. Where no stub can be had at such a distance, the function
 * stays as it was, unless there is nobody to be caught inside.
 *
 * The text's page is made writable for the change and stays executable all the while. Where the system lets nobody do
 * that (SELinux's execmem, PR_SET_MDWE), nothing changes.
 *
 * Not thread-safe for one function; not from signal handlers. */
#ifndef TRIB_PATCH_CODE_H
#define TRIB_PATCH_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

struct trib_patch {
    uint8_t *at; /* where the jump is; NULL: not patched */
    uint8_t original[8];
    unsigned length; /* of what is changed */
    void *stub;      /* stays mapped: a thread may be in it */
    void *go_on;     /* the function as it was */
};

/* Where and how a jump can be put into code that others are running. */
struct trib_patch_plan {
    unsigned at;     /* offset of the jump */
    unsigned pinned; /* how many of its distance's upper bytes have to be those that are there: 0 to 4 */
    unsigned moved;  /* bytes of whole instructions from `at` on, which the stub runs */
};

/* The first that is tried. 0; -ENOTSUP: begins with instructions that cannot be moved, or not x86-64. */
int trib_patch_make_plan(const uint8_t *function, struct trib_patch_plan *out);

/* From now on `function` is `instead`. May be running: otherwise the caller vouches that no thread can be in it, if a
 * question to /proc says that there is but one. 0; -ENOTSUP as above; -EBUSY: no stub at a distance that is safe for
 * threads inside; or what mmap or mprotect says. */
int trib_patch_put(struct trib_patch *out, void *function, const void *instead, bool may_be_running);

/* Several functions at once, for half the system calls: added one by one, then changed in that order.
 * Begins as {.count = 0}. */
#define TRIB_PATCH_BATCH_MAX 4u

struct trib_patch_pending {
    struct trib_patch *out, patch;
    uint8_t code[8];
};
struct trib_patch_batch {
    struct trib_patch_pending pending[TRIB_PATCH_BATCH_MAX];
    unsigned count;
    uint8_t *room; /* for the next stub; NULL: none */
};

/* As trib_patch_put, but nothing changes, and `*out` is written by the commit; -ENOBUFS: the batch is full. */
int trib_patch_add(struct trib_patch_batch *batch, struct trib_patch *out, void *function, const void *instead,
                   bool may_be_running);

/* 0: all are patched. Else what mmap or mprotect says: those whose `*out` was written are. Empties the batch. */
int trib_patch_commit(struct trib_patch_batch *batch);

/* `first` is the function's first argument; `frame` suits trib_signature_capture and begins with the function's
 * caller. */
typedef void trib_patch_hook(void *first, void *frame);

/* Whether the function, which has one argument, begins with "endbr64; push %rbp; mov %rsp,%rbp" at an address that 8
 * divides. */
bool trib_patch_hook_fits(const uint8_t *function);

/* Calls `hook` at the entry of the function, which then goes on. The hook leaves no frame behind, and unwinding works
 * as before. As trib_patch_put of a function that may be running. */
int trib_patch_hook_put(struct trib_patch *out, uint8_t *function, trib_patch_hook *hook);

/* Restores the function. */
void trib_patch_remove(struct trib_patch *patch);

/* Why, as the end of a sentence. */
const char *trib_patch_reason(int code);

TRIB_C_END
#endif
