/* SPDX-License-Identifier: Apache-2.0 */
#include "chain.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "vm.h"

#define FRAMES_MAX  512u
/* Of an interpreter's frame, in words from its frame pointer: frame::interpreter_frame_method_offset on x86-64, the
 * same from JDK 9 to 25 at least. A key only: what else stood there would make keys differ that need not. */
#define METHOD_WORD (-3)

static uintptr_t vm_start, vm_end; /* libjvm's code */

static int find_vm(struct dl_phdr_info *info, size_t size, void *symbol) {
    uintptr_t at = (uintptr_t)symbol;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X) || at < start || at >= start + header->p_memsz)
            continue;
        vm_start = start;
        vm_end = start + header->p_memsz;
        return 1;
    }
    return 0;
}

static bool refuse(char why[96], const char *text) {
    snprintf(why, 96, "%s", text);
    return false;
}

bool trib_chain_possible(char why[96]) {
#ifdef __x86_64__
    const struct trib_hotspot *hotspot = &trib_vm.hotspot;
    void *jvm = dlopen("libjvm.so", RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = jvm ? dlsym(jvm, "JNI_GetCreatedJavaVMs") : NULL;

    if (!hotspot->has_frame_pointers)
        return refuse(why, "without -XX:+PreserveFramePointer");
    if (!hotspot->interpreter || !hotspot->code || !hotspot->stack_base || !symbol || !dl_iterate_phdr(find_vm, symbol))
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

static uint64_t mix(uint64_t key, uint64_t word) {
    key = (key ^ word) * 0xff51afd7ed558ccdull;
    return key ^ key >> 32;
}

static bool is_within(uintptr_t place, uintptr_t start, uintptr_t end) {
    return place - start < end - start;
}

/* The outermost Java frame is called by libjvm, and a thread's first frame has none before it. */
bool trib_chain_key(const void *frame, const char *thread, uint64_t *key) {
    const struct trib_hotspot *hotspot = &trib_vm.hotspot;
    uintptr_t at = (uintptr_t)frame, high = word_of(thread, hotspot->stack_base) - 2 * sizeof at;
    uint64_t sum = 0x9e3779b97f4a7c15ull;
    bool has_left = false;

    if (hotspot->continuation >= 0 && word_of(thread, hotspot->continuation))
        return false;
    for (unsigned count = 0; count < FRAMES_MAX; count++) {
        const uintptr_t *words = (const uintptr_t *)at;
        uintptr_t next = words[0], place = words[1];
        sum = mix(sum, place);
        if (is_within(place, hotspot->code, hotspot->code_end))
            has_left = false;
        else if (is_within(place, vm_start, vm_end))
            has_left = true;
        if (next <= at || next % sizeof next || next > high) {
            *key = sum;
            return has_left && next == 0;
        }
        if (is_within(place, hotspot->interpreter, hotspot->interpreter_end))
            sum = mix(sum, ((const uintptr_t *)next)[METHOD_WORD]);
        at = next;
    }
    return false;
}
