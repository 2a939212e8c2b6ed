/* SPDX-License-Identifier: Apache-2.0 */
/* The walk: from a frame to its callers by cached unwind rules. A call site (a return address) is
 * looked up once in the module map and the unwind tables; what the walk needs of it then lives in a
 * lock-free open-addressed table of 64-bit words: rule, stable identity, module.
 *
 * Thread safety: any thread, lock-free, no allocation, async-signal-safe. Reads only words inside
 * `stack`. Invariant: trib_path.words are all the stack words that the walk's decisions depended
 * on, so the same frame address with the same words means the same path (core/client/signature/memo.h
 * lives on that). */
#ifndef TRIB_SIGNATURE_UNWIND_H
#define TRIB_SIGNATURE_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/signature.h>

#include "signature/stack.h"
#include "signature/unwind/cfi.h"

TRIB_C_BEGIN

/* Frames looked at behind the asked depth to learn whether the last ones are thread roots: libc has
 * up to three
 * (__libc_start_call_main, __libc_start_main, _start), and libstdc++ adds one. */
#define TRIB_ROOT_LOOKAHEAD 4u
#define TRIB_PATH_MAX       (TRIB_SIGNATURE_DEPTH_MAX + TRIB_ROOT_LOOKAHEAD)
/* Per frame the return address and at most a saved rbp or a dereferenced word; one more for the
 * first rbp. */
#define TRIB_PATH_WORDS_MAX (3u * TRIB_PATH_MAX + 1u)

struct trib_site {
    uint64_t identity; /* ordered hash of build-id hash and offset: the same in every run */
    struct trib_rule rule;
    uint16_t segment; /* in the module map, or TRIB_SEGMENT_NONE */
    bool runtime;     /* lies in the C or C++ runtime */
};

/* What a path keeps of a site. */
struct trib_path_frame {
    uintptr_t address; /* return address */
    uint64_t identity;
    uint16_t segment;
    bool runtime;
    uint8_t rule; /* enum trib_rule_kind */
};

enum trib_path_end {
    TRIB_PATH_DEPTH,    /* as many frames as asked for */
    TRIB_PATH_ROOT,     /* the thread's first frame, or a signal handler's */
    TRIB_PATH_UNMAPPED, /* next return address lies outside every mapped ELF file: JIT code */
    TRIB_PATH_FAILED,   /* a frame without usable rule, or one that leads out of the stack */
};

/* 1.3 KiB: it lies on the host's stack, which may be a small one. */
struct trib_path {
    unsigned count, word_count;
    enum trib_path_end end;
    bool is_wide;                                /* spans 4 GiB of stack or more: its distances do not fit */
    bool is_broken;                              /* an invariant of this room did not hold: no path */
    struct trib_path_frame frame[TRIB_PATH_MAX]; /* innermost first */
    uint32_t word[TRIB_PATH_WORDS_MAX];          /* distances from the captured frame */
};

/* Walks from `frame`, the frame address of a function that keeps rbp (so frame[0] is the caller's
 * rbp and frame[1] the return address), up to `depth` frames and, while those at the end may be
 * roots, a few more. frame and the word above it must lie in `stack`. */
void trib_unwind(struct trib_path *path, uintptr_t frame, unsigned depth, const struct trib_stack *stack);

/* Drops thread roots: if the path reached its root, the outermost frame when it has no caller, then
 * every frame of the C and C++ runtime that is outermost. Their addresses change with every libc
 * update. A path of roots alone keeps the outermost if that is the program's own (_start). Then cuts
 * at `depth`. */
void trib_path_trim(struct trib_path *path, unsigned depth);

/* Is every frame still in the module that its site was made from? If not, sites and memos are void now: walk again. */
bool trib_path_confirm(const struct trib_path *path);

/* Looks a return address up; false if no mapped ELF file holds it. */
bool trib_site_find(uintptr_t return_address, struct trib_site *out);

/* Forgets every site; for when a module was unloaded. Concurrent captures see old or no sites, never mixed ones. */
void trib_sites_clear(void);

uint64_t trib_sites_added(void);

/* Walks that broke an invariant of this room. */
uint64_t trib_walks_broken(void);

TRIB_C_END
#endif
