/* SPDX-License-Identifier: Apache-2.0 */
/* Public entry: the hit path (look up, verify, return), and behind it the walk, the id and the
 * dictionary. */
#include <tributary/signature.h>

#include "base/hash.h"
#include "base/likely.h"
#include "dictionary.h"
#include "loader.h"
#include "memo.h"
#include "modules.h"
#include "own_stack.h"
#include "signature/unwind/machine.h"
#include "signature/unwind/unwind.h"
#include "start.h"
#include "thread.h"

#define CHECK_WITHIN_HITS 1024u /* how long a memo may outlive dlclose + dlopen at the same address */
#define SIGNATURE_SEED    0x7472696275746172ull
#define COMPOSED_SEED     0x6a61766170617468ull
#define OUTERMOST_SHOWN   12u /* of a path that is deeper than the dictionary's */

static TRIB_ATOMIC(uint64_t) unwind_failures;

static void count(TRIB_ATOMIC(uint64_t) * counter) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* The caller's two words; the frame's alignment has been checked. */
static inline bool holds_frame(const struct trib_stack *stack, uintptr_t frame) {
    return frame >= stack->low && frame < stack->high && stack->high - frame >= 16;
}

/* ---- the walk ---- */

static uint64_t identify(const struct trib_path *path) {
    uint64_t signature = SIGNATURE_SEED;
    if (path->count == 0 || path->is_broken)
        return TRIB_SIGNATURE_UNKNOWN;
    for (unsigned i = 0; i < path->count; i++)
        signature = trib_hash_mix(signature, path->frame[i].identity);
    return signature == TRIB_SIGNATURE_UNKNOWN ? 1 : signature;
}

/* False if the path is not in the dictionary for now: a later walk records it. */
static bool record(const struct trib_path *path, uint64_t signature) {
    uint64_t frame[TRIB_PATH_MAX];
    if (!trib_names.slot || signature == TRIB_SIGNATURE_UNKNOWN ||
        trib_dictionary_find(&trib_names, signature, NULL, 0))
        return true;
    for (unsigned i = 0; i < path->count; i++) {
        const struct trib_segment *segment = trib_modules_segment(path->frame[i].segment);
        if (!segment)
            return false;
        frame[i] = (uint64_t)segment->module << TRIB_DICTIONARY_OFFSET_BITS | (path->frame[i].address - segment->base);
    }
    (void)trib_dictionary_add(&trib_names, signature, frame, path->count);
    return true;
}

/* Walks until the modules of the path are those that its rules were made from. False if they keep changing: not a path
 * to remember. */
static bool walk(struct trib_path *path, uintptr_t frame, unsigned depth, const struct trib_stack *stack) {
    bool is_certain = false;
    for (unsigned attempt = 0; attempt < 2 && !is_certain; attempt++) {
        trib_unwind(path, frame, depth, stack);
        is_certain = trib_path_confirm(path);
    }
    if (path->end == TRIB_PATH_FAILED)
        atomic_fetch_add_explicit(&unwind_failures, 1, memory_order_relaxed);
    trib_path_trim(path, depth);
    return is_certain;
}

/* ---- captures without memo ---- */

/* Which stack does the frame live on? Nobody knows the bounds of a fibre's, or of an alternate signal stack that no
 * adapter named; of them only the caller's two words are known to be readable. */
static struct trib_stack find_stack(const struct trib_stack *own, const struct trib_stack *alternate, uintptr_t frame) {
    if (holds_frame(own, frame))
        return *own;
    if (holds_frame(alternate, frame))
        return *alternate;
    return (struct trib_stack){frame, frame + 16};
}

/* A nested capture must not touch the memo that it interrupted, and another stack than the thread's own may move. */
__attribute__((noinline)) static uint64_t capture_apart(uintptr_t frame, unsigned depth,
                                                        const struct trib_stack *stack) {
    struct trib_path path;
    (void)walk(&path, frame, depth, stack);
    if (stack->high == frame + 16 && path.end != TRIB_PATH_FAILED)
        atomic_fetch_add_explicit(&unwind_failures, 1, memory_order_relaxed);
    uint64_t signature = identify(&path);
    (void)record(&path, signature);
    return signature;
}

__attribute__((noinline)) static uint64_t capture_elsewhere(const struct trib_thread *thread, uintptr_t frame,
                                                            unsigned depth) {
    struct trib_stack stack = find_stack(&thread->stack, &thread->alternate, frame);
    return capture_apart(frame, depth, &stack);
}

static bool has_started(void) {
    return atomic_load_explicit(&trib_start_state, memory_order_acquire) == TRIB_START_DONE;
}

__attribute__((noinline, cold)) static struct trib_thread *begin_thread(uintptr_t frame) {
    bool may_start = !atomic_load_explicit(&trib_start_by_hand, memory_order_relaxed);

    return has_started() || (may_start && trib_start()) ? trib_thread_claim(frame) : NULL;
}

/* A thread for whom there is no record, or a handler in the middle of its claim or of the start-up. */
__attribute__((noinline, cold)) static uint64_t capture_without_record(uintptr_t frame, unsigned depth) {
    const struct trib_stack none = {0, 0};
    if (!has_started())
        return TRIB_SIGNATURE_UNKNOWN;
    const struct trib_stack own = trib_own_stack(frame);
    struct trib_stack stack = find_stack(&own, &none, frame);
    return capture_apart(frame, depth, &stack);
}

/* ---- the miss path ---- */

static uint64_t next_check(uint64_t hits) {
    uint64_t spread = hits * 0x9E3779B97F4A7C15ull >> 32; /* a program that repeats paths in turn meets each of them */
    return hits + CHECK_WITHIN_HITS / 2 + spread % (CHECK_WITHIN_HITS / 2);
}

__attribute__((noinline)) static uint64_t capture_slowly(struct trib_thread *thread, uintptr_t frame, unsigned depth) {
    struct trib_path path;
    uint32_t generation = atomic_load_explicit(&trib_modules_generation, memory_order_acquire);
    count(&thread->misses);
    if (thread->generation != generation) {
        trib_memo_clear(&thread->memo, &thread->arena_used);
        thread->generation = generation;
    }
    bool is_certain = walk(&path, frame, depth, &thread->stack);
    uint64_t signature = identify(&path);
    if (record(&path, signature) && is_certain && !path.is_wide)
        trib_memo_insert(&thread->memo, &thread->arena_used, trib_memo_key(frame, depth), signature, path.word,
                         path.word_count);
    return signature;
}

/* Every so many hits the path is walked all the same. A memo that is stale voids all of this thread's. */
__attribute__((noinline, cold)) static uint64_t check_hit(struct trib_thread *thread, uintptr_t frame, unsigned depth,
                                                          uint64_t remembered) {
    struct trib_path path;
    thread->check_at = next_check(atomic_load_explicit(&thread->hits, memory_order_relaxed));
    (void)walk(&path, frame, depth, &thread->stack);
    uint64_t signature = identify(&path);
    if (signature != remembered) {
        trib_memo_clear(&thread->memo, &thread->arena_used);
        (void)record(&path, signature);
    }
    return signature;
}

/* ---- the hit path ---- */

static void set_busy(struct trib_thread *thread, uintptr_t frame) {
    atomic_store_explicit(&thread->busy, frame, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

static void clear_busy(struct trib_thread *thread) {
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&thread->busy, 0, memory_order_relaxed);
}

__attribute__((always_inline)) static inline const struct trib_memo_entry *recall(struct trib_thread *thread,
                                                                                  uintptr_t frame, unsigned depth) {
    if (TRIB_UNLIKELY(thread->generation != atomic_load_explicit(&trib_modules_generation, memory_order_relaxed)))
        return NULL;
    uint64_t key = trib_memo_key(frame, depth);
    const struct trib_memo_entry *entry = trib_memo_set(&thread->memo, key, trib_stack_word(frame + 8));
    for (unsigned way = 0; way < TRIB_MEMO_WAYS; way++, entry++) {
        if (entry->key != key)
            continue;
        if (TRIB_LIKELY(trib_memo_verify(&thread->memo, entry, frame)))
            return entry;
        count(&thread->rejected);
    }
    return NULL;
}

/* On the thread's own stack. A signal may interrupt it, and capture: that one's frame lies below. If the frame now
 * capturing does not, then the capture that it finds never came to its end: a handler jumped out of it. */
static inline uint64_t capture_own(struct trib_thread *thread, uintptr_t frame, unsigned depth) {
    uint64_t signature;
    if (TRIB_UNLIKELY(frame < atomic_load_explicit(&thread->busy, memory_order_relaxed)))
        return capture_elsewhere(thread, frame, depth);
    set_busy(thread, frame);
    const struct trib_memo_entry *entry = recall(thread, frame, depth);
    if (TRIB_LIKELY(entry != NULL)) {
        signature = entry->signature;
        count(&thread->hits);
        if (TRIB_UNLIKELY(atomic_load_explicit(&thread->hits, memory_order_relaxed) >= thread->check_at))
            signature = check_hit(thread, frame, depth, signature);
    } else {
        signature = capture_slowly(thread, frame, depth);
    }
    clear_busy(thread);
    return signature;
}

uint64_t trib_signature_capture(void *frame_address, unsigned depth) {
    uintptr_t frame = (uintptr_t)frame_address;
    struct trib_thread *thread = trib_thread_current;
    if (TRIB_UNLIKELY(depth - 1 >= TRIB_SIGNATURE_DEPTH_MAX || frame % 8))
        return TRIB_SIGNATURE_UNKNOWN;
    if (!TRIB_WALK_BY_RULES && !TRIB_WALK_BY_RECORDS)
        return TRIB_SIGNATURE_UNKNOWN;
    if (TRIB_UNLIKELY(!thread) && !(thread = begin_thread(frame)))
        return capture_without_record(frame, depth);
    if (TRIB_UNLIKELY(!holds_frame(&thread->stack, frame)))
        return capture_elsewhere(thread, frame, depth);
    return capture_own(thread, frame, depth);
}

void trib_signature_alternate_stack(const void *low, size_t bytes) {
    struct trib_thread *thread = trib_thread_current;
    uintptr_t start = (uintptr_t)low;
    if (!thread && has_started())
        thread = trib_thread_claim((uintptr_t)__builtin_frame_address(0));
    if (thread)
        thread->alternate = (struct trib_stack){start, low ? start + bytes : start};
}

void trib_signature_prepare(void) {
    (void)trib_start();
}

void trib_signature_prepare_by_hand(void) {
    atomic_store(&trib_start_by_hand, true);
}

void trib_signature_extend(void) {
    if (has_started())
        trib_thread_extend();
}

const char *trib_signature_program(void) {
    (void)trib_start();
    return trib_loader_program();
}

void trib_signature_give_back(void) {
    if (has_started())
        trib_thread_give_back(TRIB_THREADS_KEPT);
}

void trib_signature_give_back_all(void) {
    if (!has_started())
        return;
    trib_dictionary_trim(&trib_names);
    trib_thread_give_back(TRIB_THREADS_FEW);
}

void trib_signature_modules_changed(void) {
    if (has_started() || !trib_loader_can_find()) /* that list was made by the constructor */
        trib_modules_refresh();
}

/* ---- paths that others put together ---- */

static void record_composed(const struct trib_frame *frames, unsigned count, uint64_t signature) {
    uint64_t frame[TRIB_SIGNATURE_DEPTH_MAX];
    unsigned shown = count < TRIB_SIGNATURE_DEPTH_MAX ? count : TRIB_SIGNATURE_DEPTH_MAX;

    if (!trib_names.slot || trib_dictionary_find(&trib_names, signature, NULL, 0))
        return;
    for (unsigned i = 0; i < shown; i++) {
        bool is_outer = i >= TRIB_SIGNATURE_DEPTH_MAX - OUTERMOST_SHOWN;
        const struct trib_frame *from = &frames[is_outer ? count - shown + i : i];
        frame[i] = (uint64_t)from->module << TRIB_DICTIONARY_OFFSET_BITS | from->offset_bytes;
    }
    (void)trib_dictionary_add(&trib_names, signature, frame, shown);
}

uint64_t trib_signature_of_frames(const struct trib_frame *frames, unsigned count) {
    uint64_t signature = COMPOSED_SEED;

    if (count == 0)
        return TRIB_SIGNATURE_UNKNOWN;
    for (unsigned i = 0; i < count; i++)
        signature = trib_hash_mix(trib_hash_mix(signature, frames[i].build_id), frames[i].offset_bytes);
    signature = signature == TRIB_SIGNATURE_UNKNOWN ? 1 : signature;
    if (trib_start())
        record_composed(frames, count, signature);
    return signature;
}

/* ---- for people ---- */

unsigned trib_signature_frames(uint64_t signature, struct trib_frame *frames, unsigned capacity) {
    uint64_t kept[TRIB_SIGNATURE_DEPTH_MAX];
    if (!has_started())
        return 0;
    unsigned total = trib_dictionary_find(&trib_names, signature, kept, TRIB_SIGNATURE_DEPTH_MAX);
    for (unsigned i = 0; i < total && i < capacity; i++) {
        uint32_t index = (uint32_t)(kept[i] >> TRIB_DICTIONARY_OFFSET_BITS);
        frames[i] = (struct trib_frame){
            .build_id = trib_modules_build_id(index),
            .offset_bytes = kept[i] & (((uint64_t)1 << TRIB_DICTIONARY_OFFSET_BITS) - 1),
            .module = index,
        };
    }
    return total;
}

void trib_signature_statistics(struct trib_signature_stats *out) {
    struct trib_signature_stats stats = {0};
    trib_thread_count(&stats);
    stats.unwind_rules = trib_sites_added();
    stats.unwind_failures = atomic_load_explicit(&unwind_failures, memory_order_relaxed) + trib_walks_broken();
    stats.signatures = atomic_load_explicit(&trib_names.signatures, memory_order_relaxed);
    stats.signatures_dropped = atomic_load_explicit(&trib_names.dropped, memory_order_relaxed);
    stats.modules = trib_modules_count();
    *out = stats;
}
