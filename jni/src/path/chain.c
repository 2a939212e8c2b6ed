/* SPDX-License-Identifier: Apache-2.0 */
#include "path/chain.h"

#include <stdio.h>
#include <string.h>

#include "path/recall.h"
#include "vm/libjvm.h"
#include "vm/vm.h"

#define FRAMES_MAX 512u
/* Of an interpreter's frame, in words from its frame pointer: frame::interpreter_frame_method_offset on x86-64, the
 * same from JDK 9 to 25 at least. A key only: what else stood there would make keys differ that need not. */
#define METHOD_WORD (-3)

static uintptr_t vm_start, vm_end; /* libjvm's code */

static bool refuse(char why[96], const char *text) {
    snprintf(why, 96, "%s", text);
    return false;
}

bool trib_chain_possible(char why[96]) {
#ifdef __x86_64__
    const struct trib_hotspot *hotspot = &trib_vm.hotspot;

    trib_libjvm_code(&vm_start, &vm_end);
    if (!hotspot->has_frame_pointers)
        return refuse(why, "without -XX:+PreserveFramePointer");
    if (!hotspot->interpreter || !hotspot->code || !hotspot->stack_base || vm_start == vm_end)
        return refuse(why, "this JVM does not tell where its code is");
    if (hotspot->may_have_virtual_threads && hotspot->continuation < 0)
        return refuse(why, "this JVM does not tell which threads are virtual");
    return true;
#else
    return refuse(why, "only on x86-64");
#endif
}

static uintptr_t word_of(const char *thread, int offset) {
    uintptr_t word;

    memcpy(&word, thread + offset, sizeof word);
    return word;
}

static bool is_within(uintptr_t place, uintptr_t start, uintptr_t end) {
    return place - start < end - start;
}

/* ---- what is kept of a chain ---- */

static void keep_frame(struct trib_chain *kept, unsigned index, uintptr_t at, uintptr_t place) {
    if (!kept || index >= TRIB_CHAIN_FRAMES_MAX)
        return;
    kept->frame[index].at = at;
    kept->frame[index].place = place;
}

static void keep_method(struct trib_chain *kept, uintptr_t at, uintptr_t method) {
    if (!kept || kept->methods >= TRIB_CHAIN_FRAMES_MAX)
        return;
    kept->interpreted[kept->methods].at = at;
    kept->interpreted[kept->methods++].method = method;
}

/* No exit in the middle: the loads wait for nothing. The outermost frame pointer is 0, as the key demands. */
bool trib_chain_is(const struct trib_chain *kept, const void *frame, const char *thread) {
    uintptr_t other = 0;

    if (!kept->count || kept->frame[0].at != (uintptr_t)frame || trib_vm_is_virtual(thread))
        return false;
    for (unsigned i = 0; i < kept->count; i++) {
        const uintptr_t *words = (const uintptr_t *)kept->frame[i].at;
        uintptr_t next = i + 1 < kept->count ? kept->frame[i + 1].at : 0;
        other |= (words[0] ^ next) | (words[1] ^ kept->frame[i].place);
    }
    for (unsigned i = 0; i < kept->methods; i++)
        other |= *(const uintptr_t *)kept->interpreted[i].at ^ kept->interpreted[i].method;
    return other == 0;
}

/* ---- walking ---- */

/* The outermost Java frame is called by libjvm, and a thread's first frame has none before it. */
bool trib_chain_key(const void *frame, const char *thread, uint64_t *key, struct trib_chain *kept) {
    const struct trib_hotspot *hotspot = &trib_vm.hotspot;
    uintptr_t at = (uintptr_t)frame, high = word_of(thread, hotspot->stack_base) - 2 * sizeof at;
    uint64_t sum = 0x9e3779b97f4a7c15ull;
    bool has_left = false;

    if (kept)
        kept->count = kept->methods = 0;
    if (trib_vm_is_virtual(thread))
        return false;
    for (unsigned count = 0; count < FRAMES_MAX; count++) {
        const uintptr_t *words = (const uintptr_t *)at;
        uintptr_t next = words[0], place = words[1];
        sum = trib_recall_mix(sum, place);
        keep_frame(kept, count, at, place);
        if (is_within(place, hotspot->code, hotspot->code_end))
            has_left = false;
        else if (is_within(place, vm_start, vm_end))
            has_left = true;
        if (next <= at || next % sizeof next || next > high) {
            if (kept && next == 0 && count < TRIB_CHAIN_FRAMES_MAX)
                kept->count = count + 1;
            *key = sum;
            return has_left && next == 0;
        }
        if (is_within(place, hotspot->interpreter, hotspot->interpreter_end)) {
            const uintptr_t *method = (const uintptr_t *)next + METHOD_WORD;
            sum = trib_recall_mix(sum, *method);
            keep_method(kept, (uintptr_t)method, *method);
        }
        at = next;
    }
    return false;
}
