/* SPDX-License-Identifier: Apache-2.0 */
/* Public entry: the hit path (look up, verify, return), and behind it the walk, the id and the
 * dictionary. */
#include <tributary/signature.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "base/assert.h"
#include "base/hash.h"
#include "dictionary.h"
#include "machine.h"
#include "memo.h"
#include "modules.h"
#include "thread.h"
#include "unwind.h"

#define DICTIONARY_SIGNATURES                                                                      \
    65536u /* 10 MiB of address space; pages are touched as signatures come */
#define CHECK_EVERY_HITS                                                                           \
    1024u /* how long a memo may outlive dlclose + dlopen at the same address */
#define SIGNATURE_SEED 0x7472696275746172ull
#define COMPOSED_SEED  0x6a61766170617468ull
#define OUTERMOST_SHOWN 12u /* of a path that is deeper than the dictionary's */

static struct trib_dictionary dictionary;
static pthread_once_t dictionary_once = PTHREAD_ONCE_INIT;
static TRIB_ATOMIC(uint64_t) unwind_failures;

static void open_dictionary(void) {
    (void)trib_dictionary_open(&dictionary,
                               DICTIONARY_SIGNATURES); /* without memory: ids, but no frames */
}

/* ---- the miss path ---- */

static void count(TRIB_ATOMIC(uint64_t) * counter) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* Brings the module map, the cached rules and this thread's memo up to date. Returns true if the
 * memo was void. */
static bool check_modules(struct trib_thread *thread) {
    if (trib_modules_check())
        trib_sites_clear();
    uint32_t generation = atomic_load_explicit(&trib_modules_generation, memory_order_acquire);
    if (generation == thread->generation)
        return false;
    trib_memo_clear(&thread->memo, &thread->arena_used);
    thread->generation = generation;
    return true;
}

/* Which stack does the frame live on?  Returns true if it is the thread's own. Fibres and
 * coroutines run on memory whose bounds nobody tells; of them only the caller's two words are known
 * to be readable. */
static bool find_stack(const struct trib_thread *thread, uintptr_t frame, struct trib_stack *out) {
    *out = thread->stack;
    if (TRIB_LIKELY(trib_stack_holds(out, frame) && trib_stack_holds(out, frame + 8)))
        return true;
    stack_t alternate;
    if (sigaltstack(NULL, &alternate) == 0 && !(alternate.ss_flags & SS_DISABLE)) {
        *out = (struct trib_stack){(uintptr_t)alternate.ss_sp,
                                   (uintptr_t)alternate.ss_sp + alternate.ss_size};
        if (trib_stack_holds(out, frame) && trib_stack_holds(out, frame + 8))
            return false;
    }
    *out = (struct trib_stack){frame, frame + 16};
    return false;
}

static uint64_t identify(const struct trib_path *path) {
    uint64_t signature = SIGNATURE_SEED;
    if (path->count == 0)
        return TRIB_SIGNATURE_UNKNOWN;
    for (unsigned i = 0; i < path->count; i++)
        signature = trib_hash_mix(signature, path->site[i].identity);
    return signature == TRIB_SIGNATURE_UNKNOWN ? 1 : signature;
}

static void record(const struct trib_path *path, uint64_t signature) {
    uint64_t frame[TRIB_PATH_MAX];
    if (!dictionary.slot || !path->count || trib_dictionary_find(&dictionary, signature, NULL, 0))
        return;
    for (unsigned i = 0; i < path->count; i++) {
        struct trib_segment segment;
        if (!trib_modules_find(path->address[i] - 1, &segment))
            return; /* the map is changing: the next miss records it */
        frame[i] = (uint64_t)segment.module << TRIB_DICTIONARY_OFFSET_BITS |
                   (path->address[i] - segment.base);
    }
    trib_dictionary_add(&dictionary, signature, frame, path->count);
}

/* Walks, and remembers the path if it may: a nested capture must not touch the memo that it
 * interrupted, and other stacks than the thread's own may move. */
static uint64_t walk(struct trib_thread *thread, uintptr_t frame, unsigned depth, bool nested) {
    struct trib_path path;
    struct trib_stack stack;
    bool own = find_stack(thread, frame, &stack);
    trib_unwind(&path, frame, depth, &stack);
    if (path.end == TRIB_PATH_FAILED || (!own && stack.high == frame + 16))
        atomic_fetch_add_explicit(&unwind_failures, 1, memory_order_relaxed);
    trib_path_trim(&path, depth);
    uint64_t signature = identify(&path);
    record(&path, signature);
    if (own && !nested)
        trib_memo_insert(&thread->memo, &thread->arena_used, trib_memo_key(frame, depth), signature,
                         path.word, path.word_count);
    return signature;
}

__attribute__((noinline)) static uint64_t
capture_slowly(struct trib_thread *thread, uintptr_t frame, unsigned depth, bool nested) {
    int before = errno;
    if (!nested) {
        count(&thread->misses);
        check_modules(thread);
    }
    uint64_t signature = walk(thread, frame, depth, nested);
    errno = before;
    return signature;
}

/* Signals wait: a handler that captures in here would claim a second record. */
__attribute__((noinline, cold)) static struct trib_thread *begin_thread(uintptr_t frame) {
    int before = errno;
    sigset_t all, blocked;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &blocked);
    pthread_once(&dictionary_once, open_dictionary);
    struct trib_thread *thread =
        trib_thread_current ? trib_thread_current : trib_thread_claim(frame);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    errno = before;
    return thread;
}

/* Did a signal interrupt a capture of this thread?  If the frame now capturing is not below that
 * capture's, on the same stack, then that one never came to its end: a handler jumped out of it. */
static bool is_nested(const struct trib_thread *thread, uintptr_t busy, uintptr_t frame) {
    return frame < busy || !trib_stack_holds(&thread->stack, frame) ||
           !trib_stack_holds(&thread->stack, busy);
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

static inline const struct trib_memo_entry *recall(struct trib_thread *thread, uintptr_t frame,
                                                   unsigned depth) {
    if (TRIB_UNLIKELY(thread->generation !=
                      atomic_load_explicit(&trib_modules_generation, memory_order_relaxed)))
        return NULL;
    uint64_t key = trib_memo_key(frame, depth);
    const struct trib_memo_entry *entry =
        trib_memo_set(&thread->memo, key, trib_stack_word(frame + 8));
    for (unsigned way = 0; way < TRIB_MEMO_WAYS; way++, entry++) {
        if (entry->key != key)
            continue;
        if (TRIB_LIKELY(trib_memo_verify(&thread->memo, entry, frame)))
            return entry;
        count(&thread->rejected);
    }
    return NULL;
}

/* Every so many hits the loader is asked, too. Returns true if the hit is still good. */
static inline bool still_valid(struct trib_thread *thread) {
    count(&thread->hits);
    if (TRIB_LIKELY(atomic_load_explicit(&thread->hits, memory_order_relaxed) % CHECK_EVERY_HITS !=
                    0))
        return true;
    int before = errno;
    bool changed = check_modules(thread);
    errno = before;
    return !changed;
}

uint64_t trib_signature_capture(void *frame_address, unsigned depth) {
    uintptr_t frame = (uintptr_t)frame_address;
    struct trib_thread *thread = trib_thread_current;
    if (TRIB_UNLIKELY(depth - 1 >= TRIB_SIGNATURE_DEPTH_MAX || frame % 8))
        return TRIB_SIGNATURE_UNKNOWN;
    if (!TRIB_WALK_BY_RULES && !TRIB_WALK_BY_RECORDS)
        return TRIB_SIGNATURE_UNKNOWN;
    if (TRIB_UNLIKELY(!thread) && !(thread = begin_thread(frame)))
        return TRIB_SIGNATURE_UNKNOWN;
    uintptr_t busy = atomic_load_explicit(&thread->busy, memory_order_relaxed);
    if (TRIB_UNLIKELY(busy) && is_nested(thread, busy, frame))
        return capture_slowly(thread, frame, depth, true);
    set_busy(thread, frame);
    const struct trib_memo_entry *entry = recall(thread, frame, depth);
    uint64_t signature = entry ? entry->signature : TRIB_SIGNATURE_UNKNOWN;
    if (TRIB_UNLIKELY(!entry || !still_valid(thread)))
        signature = capture_slowly(thread, frame, depth, false);
    clear_busy(thread);
    return signature;
}

/* ---- paths that others put together ---- */

static void record_composed(const struct trib_frame *frames, unsigned count, uint64_t signature) {
    uint64_t frame[TRIB_SIGNATURE_DEPTH_MAX];
    unsigned shown = count < TRIB_SIGNATURE_DEPTH_MAX ? count : TRIB_SIGNATURE_DEPTH_MAX;

    if (!dictionary.slot || trib_dictionary_find(&dictionary, signature, NULL, 0))
        return;
    for (unsigned i = 0; i < shown; i++) {
        bool is_outer = i >= TRIB_SIGNATURE_DEPTH_MAX - OUTERMOST_SHOWN;
        const struct trib_frame *from = &frames[is_outer ? count - shown + i : i];
        frame[i] = (uint64_t)from->module << TRIB_DICTIONARY_OFFSET_BITS | from->offset_bytes;
    }
    trib_dictionary_add(&dictionary, signature, frame, shown);
}

uint64_t trib_signature_of_frames(const struct trib_frame *frames, unsigned count) {
    uint64_t signature = COMPOSED_SEED;

    if (count == 0)
        return TRIB_SIGNATURE_UNKNOWN;
    for (unsigned i = 0; i < count; i++)
        signature = trib_hash_mix(trib_hash_mix(signature, frames[i].build_id), frames[i].offset_bytes);
    signature = signature == TRIB_SIGNATURE_UNKNOWN ? 1 : signature;
    pthread_once(&dictionary_once, open_dictionary);
    record_composed(frames, count, signature);
    return signature;
}

/* ---- for people ---- */

unsigned trib_signature_frames(uint64_t signature, struct trib_frame *frames, unsigned capacity) {
    uint64_t kept[TRIB_SIGNATURE_DEPTH_MAX];
    pthread_once(&dictionary_once, open_dictionary);
    unsigned total = trib_dictionary_find(&dictionary, signature, kept, TRIB_SIGNATURE_DEPTH_MAX);
    for (unsigned i = 0; i < total && i < capacity; i++) {
        struct trib_module module;
        uint32_t index = (uint32_t)(kept[i] >> TRIB_DICTIONARY_OFFSET_BITS);
        frames[i] = (struct trib_frame){
            .build_id = trib_signature_module(index, &module) ? 0 : module.build_id_hash,
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
    stats.unwind_failures = atomic_load_explicit(&unwind_failures, memory_order_relaxed);
    stats.signatures = atomic_load_explicit(&dictionary.signatures, memory_order_relaxed);
    stats.signatures_dropped = atomic_load_explicit(&dictionary.dropped, memory_order_relaxed);
    stats.modules = trib_modules_count();
    *out = stats;
}
