/* SPDX-License-Identifier: Apache-2.0 */
#include "identify.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <tributary/signature.h>

#include "base/clock.h"
#include "base/durations.h"
#include "base/line.h"
#include "life.h"
#include "path/chain.h"
#include "path/java_path.h"
#include "path/memo.h"
#include "path/recall.h"
#include "path/tags.h"
#include "tally.h"
#include "vm/vm.h"

#define NATIVE_SLOTS    1024u
#define TIMED_EVERY     61u   /* prime, so that it falls on checks as on others */
#define CHECKS_EARLY    16u   /* one hit in so many is checked, of a thread's first ... */
#define EARLY_HITS      4096u /* ... so many, then */
#define CHECKS_LATE     1024u /* one in so many */
#define PIECE_BYTES_MAX 64u   /* what may be but a piece of what was written before it ... */
#define PIECE_SHARE     8u    /* ... if that had at least so many times its bytes */
#define COUNT_SHARDS    16u

enum count { PIECES, ASKED, ASKED_JAVA, NATIVE, MAPPED, CHECKED, WRONG, COUNTS };

static const struct trib_jvm_options *options;
static _Atomic(bool) is_fast;
static _Atomic(uint64_t) epoch;
static char why_slow[96] = "no Java yet";
/* By thread: two that write at once would take one line of cache from each other with every write. */
static struct { _Alignas(64) _Atomic(uint64_t) count[COUNTS]; } shards[COUNT_SHARDS];
static _Atomic(unsigned) threads;
static _Thread_local unsigned number_here; /* 0 = none yet */
static _Thread_local bool is_inside;       /* JVMTI may make the VM write, in this very thread */
static _Thread_local unsigned hits_here, writes_here, asked_here;
static struct trib_recall chains, stacks;
static struct trib_durations recalled, asked; /* call paths of Java threads, by the way they came */

static void add(enum count what) {
    if (number_here == 0)
        number_here = atomic_fetch_add(&threads, 1) + 1;
    atomic_fetch_add_explicit(&shards[number_here % COUNT_SHARDS].count[what], 1, memory_order_relaxed);
}

static uint64_t sum(enum count what) {
    uint64_t all = 0;

    for (unsigned i = 0; i < COUNT_SHARDS; i++)
        all += atomic_load_explicit(&shards[i].count[what], memory_order_relaxed);
    return all;
}

/* ---- the native part ---- */

/* What a captured native path means for the Java part, kept by its signature. */
struct native {
    unsigned frames; /* above the first of the JDK's libraries */
    bool in_vm;      /* that one is libjvm */
};

/* Places in the JDK's libraries, but libjvm, that call libc themselves: of such a path no native frame counts, so none
 * need be captured. The JDK's libraries stay loaded. */
#define SITES 64u
static _Atomic(uintptr_t) sites[SITES];

static _Atomic(uintptr_t) *site_of(const void *frame) {
    return &sites[((const uintptr_t *)frame)[1] / 4 % SITES];
}

static bool is_called_by_jdk(const void *frame) {
    return atomic_load_explicit(site_of(frame), memory_order_relaxed) == ((const uintptr_t *)frame)[1];
}

static struct {
    _Atomic(uint64_t) signature, meaning; /* meaning: frames << 1 | in_vm, mixed with the signature */
} natives[NATIVE_SLOTS];

static bool is_library_of_jdk(uint32_t module, bool *is_vm) {
    struct trib_module about;
    size_t length = strlen(trib_vm.libraries);

    if (!length || trib_signature_module(module, &about) != 0 || strncmp(about.path, trib_vm.libraries, length) != 0)
        return false;
    const char *name = strrchr(about.path, '/') + 1;
    *is_vm = strcmp(name, "libjvm.so") == 0;
    return true;
}

static struct native look_at(uint64_t signature, const void *frame) {
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX];
    unsigned count = trib_signature_frames(signature, frames, TRIB_SIGNATURE_DEPTH_MAX);
    struct native found = {0};

    for (; found.frames < count; found.frames++)
        if (is_library_of_jdk(frames[found.frames].module, &found.in_vm))
            break;
    if (found.frames == 0 && count > 0 && !found.in_vm)
        atomic_store_explicit(site_of(frame), ((const uintptr_t *)frame)[1], memory_order_relaxed);
    return found;
}

static struct native native_of(uint64_t signature, const void *frame) {
    unsigned slot = (unsigned)(signature >> 32) % NATIVE_SLOTS;
    uint64_t meaning = atomic_load_explicit(&natives[slot].meaning, memory_order_acquire) ^ signature;

    bool is_mine = atomic_load_explicit(&natives[slot].signature, memory_order_relaxed) == signature;

    if (is_mine && meaning <= 2 * TRIB_SIGNATURE_DEPTH_MAX + 1) /* else two threads wrote it at once */
        return (struct native){.frames = (unsigned)(meaning >> 1), .in_vm = meaning & 1};
    struct native found = look_at(signature, frame);
    atomic_store_explicit(&natives[slot].meaning, (found.frames << 1 | found.in_vm) ^ signature, memory_order_relaxed);
    atomic_store_explicit(&natives[slot].signature, signature, memory_order_release);
    return found;
}

/* ---- the whole path ---- */

/* What JVMTI is not to be asked about again. */
struct path {
    uint64_t native; /* signature of its native part */
    unsigned native_frames;
    uint32_t tag;
};

static uint64_t put_together(JNIEnv *env, const struct path *path, const struct trib_java_stack *stack) {
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX + 1 + TRIB_JAVA_PATH_MAX];
    unsigned count = trib_signature_frames(path->native, frames, TRIB_SIGNATURE_DEPTH_MAX);

    count = count < path->native_frames ? count : path->native_frames;
    if (path->tag)
        frames[count++] = trib_tag_frame(path->tag);
    return trib_signature_of_frames(frames, count + trib_java_path(env, options, stack, frames + count));
}

static uint64_t key_of(uint64_t part, const struct path *path, uint64_t more) {
    uint64_t key = trib_recall_mix(part ^ more * 0x9e3779b97f4a7c15ull, path->native);

    return trib_recall_mix(key, path->tag);
}

static uint64_t ask(JNIEnv *env, const struct path *path) {
    struct trib_java_stack stack;

    trib_java_stack(&stack);
    add(ASKED);
    asked_here++;
    if (stack.count == 0)
        return path->native;
    uint64_t key = key_of(trib_java_stack_key(&stack), path, path->native_frames);
    uint64_t signature = trib_recall(&stacks, key);
    if (!signature) {
        signature = put_together(env, path, &stack);
        trib_remember(&stacks, key, signature);
    }
    return signature;
}

/* ---- the fast way ---- */

static bool is_due(void) {
    unsigned hits = ++hits_here;

    return options->check || hits % (hits < EARLY_HITS ? CHECKS_EARLY : CHECKS_LATE) == 0;
}

static void stop_fast(void) {
    add(WRONG);
    if (!atomic_exchange(&is_fast, false))
        return;
    snprintf(why_slow, sizeof why_slow, "a frame-pointer chain disagreed with JVMTI");
    (void)trib_line((const char *[]){why_slow, ": every write asks JVMTI from now on", NULL});
}

/* What is known of the chain that begins at `frame`; where it is kept: in `memo`, by `key`. */
struct known {
    uint64_t signature, key, epoch; /* signature 0: nothing */
    struct trib_memo_entry *memo;
    bool has_key; /* else `memo` is as it should be, or there is no such chain */
};

static bool recall(struct known *known, const void *frame, const char *thread, const struct path *path) {
    struct trib_memo_entry *memo = trib_memo_at(frame);

    *known = (struct known){.epoch = atomic_load_explicit(&epoch, memory_order_acquire), .memo = memo};
    if (!memo || !memo->signature || memo->native != path->native || memo->tag != path->tag ||
        memo->epoch != known->epoch || !trib_chain_is(&memo->chain, frame, thread))
        return false;
    known->signature = memo->signature;
    return true;
}

static void walk(struct known *known, const void *frame, const char *thread, const struct path *path) {
    struct trib_memo_entry *memo = known->memo;
    uint64_t chain;

    if (memo)
        memo->signature = 0;
    known->has_key = trib_chain_key(frame, thread, &chain, memo ? &memo->chain : NULL);
    if (!known->has_key)
        return;
    known->key = key_of(chain, path, known->epoch);
    known->signature = trib_recall(&chains, known->key);
}

static void keep(const struct known *known, const struct path *path, uint64_t signature) {
    if (!known->has_key)
        return;
    trib_remember(&chains, known->key, signature);
    if (known->memo) {
        known->memo->epoch = known->epoch;
        known->memo->native = path->native;
        known->memo->tag = path->tag;
        known->memo->signature = signature;
    }
}

static uint64_t ask_and_keep(JNIEnv *env, const struct path *path, const struct known *known) {
    uint64_t truth = ask(env, path);

    if (known->signature) {
        add(CHECKED);
        if (known->signature != truth && atomic_load(&epoch) == known->epoch)
            stop_fast();
    }
    keep(known, path, truth);
    if (truth != path->native)
        add(ASKED_JAVA);
    return truth;
}

static uint64_t identify_by_chain(JNIEnv *env, const void *frame, const struct path *path) {
    const char *thread = trib_vm_thread(env);
    struct known known;

    if (recall(&known, frame, thread, path) && !is_due()) {
        trib_memo_count_hit();
        return known.signature;
    }
    if (!known.signature) {
        walk(&known, frame, thread, path);
        if (known.signature && !is_due()) {
            keep(&known, path, known.signature);
            trib_memo_count_hit();
            return known.signature;
        }
    }
    return ask_and_keep(env, path, &known);
}

/* The native path, left in `who`, if that is all there is; UNKNOWN likewise where it was not captured. */
static uint64_t identify_java(JNIEnv *env, const struct trib_shim_write *write, struct trib_context *who) {
    struct path path = {.tag = trib_tag_here};
    bool is_direct = is_called_by_jdk(write->frame);

    if (!is_direct) {
        (void)trib_shim_identify_native(write, who);
        struct native native = native_of(who->signature, write->frame);
        if (native.in_vm)
            return who->signature;
        path.native = who->signature;
        path.native_frames = native.frames;
    }
    if (!atomic_load_explicit(&is_fast, memory_order_relaxed))
        return ask_and_keep(env, &path, &(struct known){.signature = 0});
    return identify_by_chain(env, write->frame, &path);
}

/* Whether it has Java frames; else `who` has the native path. */
static bool identify(const struct trib_shim_write *write, struct trib_context *who) {
    if (!trib_vm_lives())
        trib_life_look_for_vm();
    JNIEnv *env = write->fd < 0 || is_inside ? NULL : trib_vm_may_ask();
    if (env) {
        is_inside = true;
        uint64_t signature = identify_java(env, write, who);
        is_inside = false;
        if (signature != who->signature) {
            who->signature = signature;
            return true;
        }
    }
    if (!who->signature)
        (void)trib_shim_identify_native(write, who);
    add(write->fd < 0 ? MAPPED : NATIVE);
    return false;
}

/* ---- pieces ---- */

/* A drive places pages. A few bytes behind what this thread has just written to the file share a page with it and
 * cannot go elsewhere, whoever wrote them: Cassandra's checksum of 4 bytes behind every chunk of a table. */
static _Thread_local struct {
    uint64_t file, end_bytes, length_bytes, signature;
    uint32_t tag;
} last;

static bool is_piece(const struct trib_shim_write *write) {
    return write->length_bytes < PIECE_BYTES_MAX && write->file == last.file && write->offset_bytes == last.end_bytes &&
           write->length_bytes * PIECE_SHARE <= last.length_bytes && trib_tag_here == last.tag && write->fd >= 0 &&
           !options->full;
}

static void remember_last(const struct trib_shim_write *write, uint64_t signature) {
    last.file = write->file;
    last.end_bytes = write->offset_bytes + write->length_bytes;
    last.length_bytes = write->length_bytes;
    last.signature = signature;
    last.tag = trib_tag_here;
}

/* ---- what the shim calls ---- */

static void identify_timed(const struct trib_shim_write *write, struct trib_context *who) {
    unsigned asked_before = asked_here;
    uint64_t began_ns = trib_now_ns();

    if (!identify(write, who))
        return;
    trib_duration_note(asked_here == asked_before ? &recalled : &asked, trib_now_ns() - began_ns);
    remember_last(write, who->signature);
}

uint64_t trib_jvm_identify(const struct trib_shim_write *write, struct trib_context *who) {
    uint64_t taken = write->length_bytes;

    if (is_piece(write)) {
        last.end_bytes += taken;
        who->signature = last.signature;
        add(PIECES);
    } else if (__builtin_expect(++writes_here % TIMED_EVERY == 0, 0)) {
        identify_timed(write, who);
    } else if (identify(write, who)) {
        remember_last(write, who->signature);
    }
    trib_tally_add(who->signature, taken);
    return taken;
}

/* ---- around it ---- */

void trib_jvm_identify_as(const struct trib_jvm_options *these) {
    options = these;
}

void trib_jvm_identify_fast(void) {
    if (!options->fast)
        snprintf(why_slow, sizeof why_slow, "switched off by fast=off");
    else if (trib_chain_possible(why_slow))
        atomic_store(&is_fast, true);
}

void trib_jvm_identify_forget(void) {
    atomic_fetch_add(&epoch, 1);
}

void trib_jvm_count(struct trib_jvm_counts *out) {
    *out = (struct trib_jvm_counts){.java = trib_memo_hits() + sum(PIECES) + sum(ASKED_JAVA),
                                    .native = sum(NATIVE),
                                    .mapped = sum(MAPPED),
                                    .pieces = sum(PIECES),
                                    .asked = sum(ASKED),
                                    .hits = trib_memo_hits(),
                                    .checked = sum(CHECKED),
                                    .wrong = sum(WRONG),
                                    .signatures_lost = trib_tally_lost(),
                                    .is_fast = atomic_load(&is_fast)};
    out->fast_median_ns = trib_duration_quantile_ns(&recalled, 0.5);
    out->fast_p99_ns = trib_duration_quantile_ns(&recalled, 0.99);
    out->asked_median_ns = trib_duration_quantile_ns(&asked, 0.5);
    out->asked_p99_ns = trib_duration_quantile_ns(&asked, 0.99);
    out->writes = out->java + out->native + out->mapped;
    memcpy(out->why_slow, why_slow, sizeof out->why_slow);
}
