/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/libjvm.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <tributary/error.h>

enum state { UNKNOWN, ASKING, THERE };

static _Atomic(int) state;
static char path[512];
static uintptr_t code_start, code_end;
static struct {
    const char *name;
    void *address;
} symbols[] = {
    {"JNI_GetCreatedJavaVMs", NULL}, /* first: what else is asked about is found by it */
    {"gHotSpotVMStructs", NULL},
    {"gHotSpotVMStructEntryTypeNameOffset", NULL},
    {"gHotSpotVMStructEntryFieldNameOffset", NULL},
    {"gHotSpotVMStructEntryOffsetOffset", NULL},
    {"gHotSpotVMStructEntryAddressOffset", NULL},
    {"gHotSpotVMStructEntryArrayStride", NULL},
    {"gHotSpotVMIntConstants", NULL},
    {"gHotSpotVMTypes", NULL},
    {"gHotSpotVMTypeEntryTypeNameOffset", NULL},
    {"gHotSpotVMTypeEntrySizeOffset", NULL},
    {"gHotSpotVMTypeEntryArrayStride", NULL},
};
#define SYMBOLS (sizeof symbols / sizeof *symbols)

static int find_code(struct dl_phdr_info *info, size_t size, void *symbol) {
    uintptr_t at = (uintptr_t)symbol;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X) || at < start || at >= start + header->p_memsz)
            continue;
        code_start = start;
        code_end = start + header->p_memsz;
        return 1;
    }
    return 0;
}

static bool ask(void) {
    void *jvm = dlopen("libjvm.so", RTLD_LAZY | RTLD_NOLOAD);
    Dl_info info;

    if (!jvm)
        return false;
    for (size_t i = 0; i < SYMBOLS; i++)
        symbols[i].address = dlsym(jvm, symbols[i].name);
    void *symbol = symbols[0].address;
    if (symbol && dladdr(symbol, &info) && strlen(info.dli_fname) < sizeof path)
        snprintf(path, sizeof path, "%s", info.dli_fname);
    if (symbol)
        dl_iterate_phdr(find_code, symbol);
    return true;
}

bool trib_libjvm_resolve(void) {
    int kept = errno, unknown = UNKNOWN;

    if (atomic_compare_exchange_strong(&state, &unknown, ASKING))
        atomic_store_explicit(&state, ask() ? THERE : UNKNOWN, memory_order_release);
    errno = kept;
    return trib_libjvm_is_there();
}

bool trib_libjvm_is_there(void) {
    return atomic_load_explicit(&state, memory_order_acquire) == THERE;
}

void *trib_libjvm_symbol(const char *name) {
    for (size_t i = 0; i < SYMBOLS && trib_libjvm_is_there(); i++)
        if (strcmp(symbols[i].name, name) == 0)
            return symbols[i].address;
    return NULL;
}

const char *trib_libjvm_path(void) {
    return trib_libjvm_is_there() ? path : "";
}

void trib_libjvm_code(uintptr_t *start, uintptr_t *end) {
    *start = trib_libjvm_is_there() ? code_start : 0;
    *end = trib_libjvm_is_there() ? code_end : 0;
}

/* ---- a thread is made ---- */

typedef int thread_maker(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *arg);

static _Atomic(thread_maker *) next;

static thread_maker *look_for_next(void) {
    thread_maker *found;

    *(void **)&found = dlsym(RTLD_NEXT, "pthread_create");
    atomic_store(&next, found);
    return found;
}

__attribute__((constructor)) static void start(void) {
    (void)look_for_next();
}

/* Preloaded, it stands before libc's. */
TRIB_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *arg) {
    thread_maker *make = atomic_load_explicit(&next, memory_order_relaxed);

    if (!make) /* another library's constructor was earlier than ours */
        make = look_for_next();
    if (atomic_load_explicit(&state, memory_order_relaxed) == UNKNOWN)
        (void)trib_libjvm_resolve();
    return make ? make(thread, attributes, run, arg) : EAGAIN;
}
