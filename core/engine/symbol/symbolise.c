/* SPDX-License-Identifier: Apache-2.0 */
/* Names for people. Not on any write path: it opens files and allocates. C++ names are demangled by
 * the C++ runtime if the process has one or can open one; core itself depends on none. */
#include <tributary/signature.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_symbols.h"
#include "signature/named.h"

#define ENTRY_BYTES_MAX 64u /* of crt1's _start: 34 on x86-64 */

typedef char *demangle_function(const char *mangled, char *buffer, size_t *length, int *status);

static demangle_function *demangle;
static pthread_once_t demangle_once = PTHREAD_ONCE_INIT;

static void find_demangler(void) {
    void *symbol = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    if (!symbol) {
        void *runtime = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        symbol = runtime ? dlsym(runtime, "__cxa_demangle") : NULL;
    }
    memcpy(&demangle, &symbol, sizeof demangle);
}

/* "ns::f<int>(char const*) const" -> "ns::f<int>": overloads differ by their offset, and paths must
 * fit a screen. */
static void drop_parameters(char *name) {
    unsigned depth = 0;
    for (char *at = name + strlen(name); at > name; at--) {
        if (at[-1] == ')')
            depth++;
        else if (at[-1] == '(' && depth > 0 && --depth == 0) {
            at[-1] = '\0';
            return;
        }
    }
}

/* The name to show; free() it. NULL without memory. */
static char *readable(const char *symbol) {
    int status = -1;
    char *name = NULL;
    pthread_once(&demangle_once, find_demangler);
    if (demangle && !strncmp(symbol, "_Z", 2))
        name = demangle(symbol, NULL, NULL, &status);
    if (!name)
        return strdup(symbol);
    drop_parameters(name);
    return name;
}

static bool is_same_build(const struct trib_elf *elf, const struct trib_module *module) {
    uint8_t build_id[sizeof module->build_id];
    size_t bytes = trib_elf_build_id(elf, build_id, sizeof build_id);
    return bytes == module->build_id_bytes && !memcmp(build_id, module->build_id, bytes);
}

/* Where Debian's -dbgsym packages and debuginfod's clients put what `strip` took away. */
static void debug_file(const struct trib_module *module, char *path, size_t capacity) {
    size_t used = (size_t)snprintf(path, capacity, "/usr/lib/debug/.build-id/%02x/", module->build_id[0]);
    for (unsigned i = 1; i < module->build_id_bytes && used + 8 < capacity; i++)
        used += (size_t)snprintf(path + used, capacity - used, "%02x", module->build_id[i]);
    snprintf(path + used, capacity - used, ".debug");
}

/* A stripped program has no name left for its beginning, but its header has the place. */
static bool is_entry(const struct trib_elf *elf, uint64_t address, uint64_t *start) {
    uint64_t entry = trib_elf_entry(elf);

    if (!entry || address < entry || address - entry >= ENTRY_BYTES_MAX)
        return false;
    *start = entry;
    return true;
}

static char *find_name(const char *path, const struct trib_module *module, uint64_t address, uint64_t *start) {
    struct trib_elf elf;
    const char *symbol;
    char *name = NULL;
    if (trib_elf_open(&elf, path))
        return NULL;
    bool is_same = is_same_build(&elf, module);
    if (is_same && trib_elf_function(&elf, address, &symbol, start) == 0)
        name = readable(symbol);
    else if (is_same && is_entry(&elf, address, start))
        name = strdup("_start");
    trib_elf_close(&elf);
    return name;
}

size_t trib_signature_symbolise(const struct trib_module *module, uint64_t offset_bytes, char *text, size_t capacity) {
    char debug[128];
    uint64_t start = 0;
    char *name = NULL;
    const char *slash = strrchr(module->path, '/');
    const char *file = slash ? slash + 1 : module->path;
    uint64_t address = offset_bytes ? offset_bytes - 1 : 0; /* the call, not what it returns to */
    const char *named = trib_named_text(module);
    if (named)
        return (size_t)snprintf(text, capacity, "%s", named);
    if (module->build_id_bytes) {
        debug_file(module, debug, sizeof debug);
        name = find_name(debug, module, address, &start);
    }
    if (!name)
        name = find_name(module->path, module, address, &start);
    int length = name ? snprintf(text, capacity, "%s!%s+0x%" PRIx64, file, name, offset_bytes - start)
                      : snprintf(text, capacity, "%s+0x%" PRIx64, file, offset_bytes);
    free(name);
    return length < 0 ? 0 : (size_t)length;
}
