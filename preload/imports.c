/* SPDX-License-Identifier: Apache-2.0 */
/* For a library that comes into a running program, too late for the loader to bind anything to it: every loaded
 * object's import of a function that this library exports is pointed at ours. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "next.h"
#include "shim.h"

#define PAGE_BYTES 4096u

/* What the dynamic section of a loaded object says. */
struct object {
    uintptr_t base, start, end, relro, relro_end;
    const ElfW(Sym) *symbols;
    const char *names;
    const uint32_t *hash; /* DT_GNU_HASH */
    const ElfW(Rela) *tables[2]; /* DT_RELA, DT_JMPREL */
    size_t counts[2];
};

/* The loader has already added the base to these, but musl and the vdso have not. */
static uintptr_t address(const struct object *object, ElfW(Addr) pointer) {
    return pointer < object->base ? object->base + pointer : pointer;
}

static void read_dynamic(struct object *object, const ElfW(Dyn) *entry) {
    for (; entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_SYMTAB:
            object->symbols = (const ElfW(Sym) *)address(object, entry->d_un.d_ptr);
            break;
        case DT_STRTAB:
            object->names = (const char *)address(object, entry->d_un.d_ptr);
            break;
        case DT_GNU_HASH:
            object->hash = (const uint32_t *)address(object, entry->d_un.d_ptr);
            break;
        case DT_RELA:
            object->tables[0] = (const ElfW(Rela) *)address(object, entry->d_un.d_ptr);
            break;
        case DT_RELASZ:
            object->counts[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_JMPREL:
            object->tables[1] = (const ElfW(Rela) *)address(object, entry->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            object->counts[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        default:
            break;
        }
    }
}

static struct object read_object(const struct dl_phdr_info *info) {
    struct object object = {.base = info->dlpi_addr, .start = UINTPTR_MAX};

    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr, end = start + header->p_memsz;
        if (header->p_type == PT_LOAD) {
            object.start = start < object.start ? start : object.start;
            object.end = end > object.end ? end : object.end;
        } else if (header->p_type == PT_GNU_RELRO) {
            object.relro = start / PAGE_BYTES * PAGE_BYTES;
            object.relro_end = end / PAGE_BYTES * PAGE_BYTES;
        } else if (header->p_type == PT_DYNAMIC) {
            read_dynamic(&object, (const ElfW(Dyn) *)start);
        }
    }
    return object;
}

static bool contains(const struct object *object, uintptr_t place) {
    return place >= object->start && place < object->end;
}

/* ---- what we export ---- */

/* Symbols in a table without a length: one more than the last that the hash knows. */
static uint32_t count_symbols(const struct object *object) {
    const uint32_t *hash = object->hash;
    uint32_t buckets = hash[0], first = hash[1], filters = hash[2], last = 0;
    const uint32_t *bucket = hash + 4 + filters * (sizeof(ElfW(Addr)) / sizeof *hash), *chain = bucket + buckets;

    for (uint32_t i = 0; i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    while (last >= first && !(chain[last - first] & 1))
        last++;
    return last + 1;
}

static uintptr_t find_export(const struct object *self, uint32_t count, const char *name) {
    for (uint32_t i = self->hash[1]; i < count; i++) {
        const ElfW(Sym) *symbol = &self->symbols[i];
        if (symbol->st_shndx != SHN_UNDEF && strcmp(self->names + symbol->st_name, name) == 0)
            return self->base + symbol->st_value;
    }
    return 0;
}

/* ---- what others import ---- */

struct patching {
    struct object self;
    uint32_t exports;
    uintptr_t libc, loader; /* an address in each */
    int patched, error;
};

static int put(const struct object *object, uintptr_t *slot, uintptr_t value) {
    uintptr_t page = (uintptr_t)slot / PAGE_BYTES * PAGE_BYTES;
    bool locked = (uintptr_t)slot >= object->relro && (uintptr_t)slot < object->relro_end;

    if (locked && mprotect((void *)page, PAGE_BYTES, PROT_READ | PROT_WRITE) != 0)
        return -errno;
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    return locked && mprotect((void *)page, PAGE_BYTES, PROT_READ) != 0 ? -errno : 0;
}

static bool is_import(unsigned long type) {
#ifdef __x86_64__
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
#elif defined(__aarch64__)
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64;
#else
    return false;
#endif
}

/* Only what leads to where our own calls go, or has not been bound yet: another interposer stays where it is. */
static void patch_import(struct patching *patching, const struct object *object, const ElfW(Rela) *relocation) {
    const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(relocation->r_info)];
    const char *name = object->names + symbol->st_name;
    uintptr_t *slot = (uintptr_t *)(object->base + relocation->r_offset);

    if (!is_import(ELF64_R_TYPE(relocation->r_info)) || symbol->st_shndx != SHN_UNDEF || !*name)
        return;
    uintptr_t ours = find_export(&patching->self, patching->exports, name);
    if (!ours || *slot == ours || strncmp(name, "trib_", 5) == 0)
        return;
    if (!contains(object, *slot) && *slot != (uintptr_t)trib_next_look(name))
        return;
    int rc = put(object, slot, ours);
    patching->error = rc ? rc : patching->error;
    patching->patched += rc == 0;
}

static int patch_object(struct dl_phdr_info *info, size_t size, void *arg) {
    struct patching *patching = arg;
    struct object object = read_object(info);

    (void)size;
    if (!object.symbols || !object.names || contains(&object, patching->self.start) ||
        contains(&object, patching->libc) || contains(&object, patching->loader))
        return 0;
    for (unsigned table = 0; table < 2; table++)
        for (size_t i = 0; object.tables[table] && i < object.counts[table]; i++)
            patch_import(patching, &object, &object.tables[table][i]);
    return 0;
}

static int find_self(struct dl_phdr_info *info, size_t size, void *arg) {
    struct object object = read_object(info);

    (void)size;
    if (!contains(&object, (uintptr_t)find_self))
        return 0;
    *(struct object *)arg = object;
    return 1;
}

int trib_shim_patch_imports(void) {
    struct patching patching = {.loader = (uintptr_t)&_r_debug};
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

    if (!dl_iterate_phdr(find_self, &patching.self) || !patching.self.hash || !libc)
        return -ENOTSUP;
    patching.libc = (uintptr_t)dlsym(libc, "gnu_get_libc_version");
    patching.exports = count_symbols(&patching.self);
    dl_iterate_phdr(patch_object, &patching);
    return patching.error && !patching.patched ? patching.error : patching.patched;
}
