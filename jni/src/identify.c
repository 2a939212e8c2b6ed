/* SPDX-License-Identifier: Apache-2.0 */
#include "identify.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <tributary/signature.h>

#include "chain.h"
#include "durations.h"
#include "java_path.h"
#include "life.h"
#include "tally.h"
#include "vm.h"

#define KNOWN_SLOTS   65536u /* chains; Cassandra under YCSB has about 1500 */
#define NATIVE_SLOTS  1024u
#define TIMED_EVERY   61u   /* prime, so that it falls on checks as on others */
#define CHECKS_EARLY  16u   /* one hit in so many is checked, of a thread's first ... */
#define EARLY_HITS    4096u /* ... so many, then */
#define CHECKS_LATE   1024u /* one in so many */

static const struct trib_jvm_options *options;
static _Atomic(bool) is_fast;
static _Atomic(uint64_t) epoch;
static char why_slow[96] = "no Java yet";
static struct {
    _Atomic(uint64_t) java, native, mapped, asked, hits, checked, wrong;
} counts;
static _Thread_local bool is_inside; /* JVMTI may make the VM write, in this very thread */
static _Thread_local unsigned hits_here, writes_here, asked_here;
static struct trib_durations recalled, asked; /* call paths of Java threads, by the way they came */

static void add(_Atomic(uint64_t) *counter) {
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* ---- the native part ---- */

/* What a captured native path means for the Java part, kept by its signature. */
struct native {
    unsigned frames; /* above the first of the JDK's libraries */
    bool in_vm;      /* that one is libjvm */
};

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

static struct native look_at(uint64_t signature) {
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX];
    unsigned count = trib_signature_frames(signature, frames, TRIB_SIGNATURE_DEPTH_MAX);
    struct native found = {0};

    for (; found.frames < count; found.frames++)
        if (is_library_of_jdk(frames[found.frames].module, &found.in_vm))
            break;
    return found;
}

static struct native native_of(uint64_t signature) {
    unsigned slot = (unsigned)(signature >> 32) % NATIVE_SLOTS;
    uint64_t meaning = atomic_load_explicit(&natives[slot].meaning, memory_order_acquire) ^ signature;

    bool is_mine = atomic_load_explicit(&natives[slot].signature, memory_order_relaxed) == signature;

    if (is_mine && meaning <= 2 * TRIB_SIGNATURE_DEPTH_MAX + 1) /* else two threads wrote it at once */
        return (struct native){.frames = (unsigned)(meaning >> 1), .in_vm = meaning & 1};
    struct native found = look_at(signature);
    atomic_store_explicit(&natives[slot].meaning, (found.frames << 1 | found.in_vm) ^ signature, memory_order_relaxed);
    atomic_store_explicit(&natives[slot].signature, signature, memory_order_release);
    return found;
}

/* ---- the whole path ---- */

static uint64_t ask(JNIEnv *env, uint64_t native_signature, unsigned native_frames) {
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX + TRIB_JAVA_PATH_MAX];
    unsigned count = trib_signature_frames(native_signature, frames, TRIB_SIGNATURE_DEPTH_MAX);

    count = count < native_frames ? count : native_frames;
    unsigned java = trib_java_path(env, options, frames + count);
    add(&counts.asked);
    asked_here++;
    return java ? trib_signature_of_frames(frames, count + java) : native_signature;
}

/* Both words at once, or neither: a torn pair fits no key. */
static struct {
    _Atomic(uint64_t) lock, signature; /* lock: key ^ signature */
} known[KNOWN_SLOTS];

static uint64_t recall(uint64_t key) {
    uint64_t signature = atomic_load_explicit(&known[key % KNOWN_SLOTS].signature, memory_order_relaxed);
    uint64_t lock = atomic_load_explicit(&known[key % KNOWN_SLOTS].lock, memory_order_relaxed);

    return (lock ^ signature) == key ? signature : TRIB_SIGNATURE_UNKNOWN;
}

static void remember(uint64_t key, uint64_t signature) {
    atomic_store_explicit(&known[key % KNOWN_SLOTS].signature, signature, memory_order_relaxed);
    atomic_store_explicit(&known[key % KNOWN_SLOTS].lock, key ^ signature, memory_order_relaxed);
}

static bool is_due(void) {
    unsigned hits = ++hits_here;

    return options->check || hits % (hits < EARLY_HITS ? CHECKS_EARLY : CHECKS_LATE) == 0;
}

static void stop_fast(void) {
    add(&counts.wrong);
    if (!atomic_exchange(&is_fast, false))
        return;
    snprintf(why_slow, sizeof why_slow, "a frame-pointer chain disagreed with JVMTI");
    fprintf(stderr, "tributary: %s: every write asks JVMTI from now on\n", why_slow);
}

static uint64_t identify_fast(JNIEnv *env, const void *frame, uint64_t native_signature, unsigned native_frames) {
    uint64_t chain, now = atomic_load_explicit(&epoch, memory_order_acquire);

    if (!trib_chain_key(frame, trib_vm_thread(env), &chain))
        return ask(env, native_signature, native_frames);
    uint64_t key = (chain ^ native_signature ^ now * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
    key ^= key >> 29;
    uint64_t signature = recall(key);
    if (signature && !is_due()) {
        add(&counts.hits);
        return signature;
    }
    uint64_t truth = ask(env, native_signature, native_frames);
    if (signature) {
        add(&counts.checked);
        if (signature != truth && atomic_load(&epoch) == now)
            stop_fast();
    }
    remember(key, truth);
    return truth;
}

static uint64_t identify_java(JNIEnv *env, const struct trib_shim_write *write, uint64_t native_signature) {
    struct native native = native_of(native_signature);

    if (native.in_vm)
        return native_signature;
    if (atomic_load_explicit(&is_fast, memory_order_relaxed))
        return identify_fast(env, write->frame, native_signature, native.frames);
    return ask(env, native_signature, native.frames);
}

/* False: no Java thread, or not one that may be asked. */
static bool identify_thread(const struct trib_shim_write *write, struct trib_context *who) {
    if (write->fd < 0 || is_inside)
        return false;
    trib_life_look_for_vm();
    JNIEnv *env = trib_vm_may_ask();
    if (!env)
        return false;
    is_inside = true;
    who->signature = identify_java(env, write, who->signature);
    is_inside = false;
    return true;
}

static uint64_t identify_timed(const struct trib_shim_write *write, struct trib_context *who) {
    unsigned asked_before = asked_here;
    uint64_t began_ns = trib_duration_now_ns();
    uint64_t native = trib_shim_identify_native(write, who) ? who->signature : 0;

    if (identify_thread(write, who))
        trib_duration_note(asked_here == asked_before ? &recalled : &asked, trib_duration_now_ns() - began_ns);
    return native;
}

uint64_t trib_jvm_identify(const struct trib_shim_write *write, struct trib_context *who) {
    uint64_t taken = write->length_bytes, native;

    if (__builtin_expect(++writes_here % TIMED_EVERY == 0, 0)) {
        native = identify_timed(write, who);
    } else {
        (void)trib_shim_identify_native(write, who);
        native = who->signature;
        (void)identify_thread(write, who);
    }
    add(write->fd < 0 ? &counts.mapped : who->signature != native ? &counts.java : &counts.native);
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
    add(&epoch);
}

void trib_jvm_count(struct trib_jvm_counts *out) {
    *out = (struct trib_jvm_counts){.java = atomic_load(&counts.java),
                                    .native = atomic_load(&counts.native),
                                    .mapped = atomic_load(&counts.mapped),
                                    .asked = atomic_load(&counts.asked),
                                    .hits = atomic_load(&counts.hits),
                                    .checked = atomic_load(&counts.checked),
                                    .wrong = atomic_load(&counts.wrong),
                                    .signatures_lost = trib_tally_lost(),
                                    .is_fast = atomic_load(&is_fast)};
    out->fast_median_ns = trib_duration_quantile_ns(&recalled, 0.5);
    out->fast_p99_ns = trib_duration_quantile_ns(&recalled, 0.99);
    out->asked_median_ns = trib_duration_quantile_ns(&asked, 0.5);
    out->asked_p99_ns = trib_duration_quantile_ns(&asked, 0.99);
    out->writes = out->java + out->native + out->mapped;
    memcpy(out->why_slow, why_slow, sizeof out->why_slow);
}
