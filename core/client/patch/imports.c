/* SPDX-License-Identifier: Apache-2.0 */
#include "imports.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "objects.h"

/* What a loaded object says of itself. */
struct module {
    const struct trib_object *object;
    uintptr_t start, end, relro, relro_end;
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *hash;         /* DT_GNU_HASH */
    const ElfW(Rela) * tables[2]; /* DT_RELA, DT_JMPREL */
    size_t counts[2];
};

/* By the number of the symbol in our own table. */
struct export {
    uintptr_t ours, next; /* ours 0: not a function that we stand in front of */
};

struct patching {
    struct module self;
    struct export *exports;
    uint32_t first, count;              /* of symbols that the hash knows */
    uintptr_t libc, loader, page_bytes; /* an address in each */
    int patched, code;
};

/* ---- reading an object ---- */

/* The loader has already added the base to these, but musl and the vdso have not. */
static uintptr_t address(const struct module *module, ElfW(Addr) pointer) {
    return pointer < module->object->base ? module->object->base + pointer : pointer;
}

static void read_dynamic(struct module *module) {
    for (const ElfW(Dyn) *entry = (const ElfW(Dyn) *)module->object->dynamic; entry->d_tag != DT_NULL; entry++) {
        uintptr_t place = address(module, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB:
            module->symbols = (const ElfW(Sym) *)place;
            break;
        case DT_STRTAB:
            module->names = (const char *)place;
            break;
        case DT_GNU_HASH:
            module->hash = (const uint32_t *)place;
            break;
        case DT_RELA:
            module->tables[0] = (const ElfW(Rela) *)place;
            break;
        case DT_RELASZ:
            module->counts[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_JMPREL:
            module->tables[1] = (const ElfW(Rela) *)place;
            break;
        case DT_PLTRELSZ:
            module->counts[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        default:
            break;
        }
    }
}

static void read_module(const struct trib_object *object, uintptr_t page_bytes, struct module *out) {
    *out = (struct module){.object = object, .start = UINTPTR_MAX};
    for (unsigned i = 0; i < object->header_count; i++) {
        const ElfW(Phdr) *header = &object->headers[i];
        uintptr_t start = object->base + header->p_vaddr, end = start + header->p_memsz;
        if (header->p_type == PT_LOAD) {
            out->start = start < out->start ? start : out->start;
            out->end = end > out->end ? end : out->end;
        } else if (header->p_type == PT_GNU_RELRO) {
            out->relro = start / page_bytes * page_bytes;
            out->relro_end = end / page_bytes * page_bytes;
        }
    }
    if (object->dynamic)
        read_dynamic(out);
}

static bool contains(const struct module *module, uintptr_t place) {
    return place >= module->start && place < module->end;
}

static bool is_writable(const struct module *module, uintptr_t place) {
    for (unsigned i = 0; i < module->object->header_count; i++) {
        const ElfW(Phdr) *header = &module->object->headers[i];
        uintptr_t start = module->object->base + header->p_vaddr;
        if (header->p_type == PT_LOAD && place - start < header->p_memsz)
            return header->p_flags & PF_W;
    }
    return false;
}

/* ---- what we export ---- */

static const uint32_t *buckets_of(const uint32_t *hash) {
    return hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / sizeof *hash);
}

/* Symbols in a table without a length: one more than the last that the hash knows. */
static uint32_t count_symbols(const uint32_t *hash) {
    const uint32_t *bucket = buckets_of(hash), *chain = bucket + hash[0];
    uint32_t last = 0;

    for (uint32_t i = 0; i < hash[0]; i++)
        last = bucket[i] > last ? bucket[i] : last;
    while (last >= hash[1] && !(chain[last - hash[1]] & 1))
        last++;
    return last + 1;
}

static uint32_t hash_of(const char *name) {
    uint32_t hash = 5381;

    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static const struct export *find_export(const struct patching *patching, const char *name) {
    const struct module *self = &patching->self;
    const uint32_t *bucket = buckets_of(self->hash), *chain = bucket + self->hash[0];
    uint32_t wanted = hash_of(name), at = bucket[wanted % self->hash[0]];

    for (; at >= patching->first; at++) {
        uint32_t found = chain[at - patching->first];
        if ((found | 1) == (wanted | 1) && strcmp(self->names + self->symbols[at].st_name, name) == 0)
            return &patching->exports[at - patching->first];
        if (found & 1)
            break;
    }
    return NULL;
}

/* Before any object is held: `next` asks the loader. */
static void fill_exports(struct patching *patching, trib_patch_next *next) {
    const struct module *self = &patching->self;

    for (uint32_t i = 0; i < patching->count; i++) {
        const ElfW(Sym) *symbol = &self->symbols[patching->first + i];
        const char *name = self->names + symbol->st_name;
        if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
            strncmp(name, "trib", 4) == 0)
            continue;
        patching->exports[i] = (struct export){self->object->base + symbol->st_value, (uintptr_t)next(name)};
    }
}

/* ---- what others import ---- */

static int put(const struct patching *patching, const struct module *module, uintptr_t *slot, uintptr_t value) {
    void *page = (void *)((uintptr_t)slot / patching->page_bytes * patching->page_bytes);
    bool is_locked = (uintptr_t)slot >= module->relro && (uintptr_t)slot < module->relro_end;

    if (is_locked && mprotect(page, patching->page_bytes, PROT_READ | PROT_WRITE) != 0)
        return -errno;
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    return is_locked && mprotect(page, patching->page_bytes, PROT_READ) != 0 ? -errno : 0;
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

static void patch_import(struct patching *patching, const struct module *module, const ElfW(Rela) * relocation) {
    const ElfW(Sym) *symbol = &module->symbols[ELF64_R_SYM(relocation->r_info)];
    uintptr_t *slot = (uintptr_t *)(module->object->base + relocation->r_offset);

    if (!is_import(ELF64_R_TYPE(relocation->r_info)) || symbol->st_shndx != SHN_UNDEF || !symbol->st_name)
        return;
    const struct export *export = find_export(patching, module->names + symbol->st_name);
    if (!export || !export->ours || !is_writable(module, (uintptr_t)slot))
        return;
    uintptr_t now = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (now == export->ours || (!contains(module, now) && (!now || now != export->next)))
        return;
    int code = put(patching, module, slot, export->ours);
    patching->code = code ? code : patching->code;
    patching->patched += code == 0;
}

static void patch_module(struct patching *patching, const struct trib_object *object) {
    struct module module;

    read_module(object, patching->page_bytes, &module);
    if (!module.symbols || !module.names || contains(&module, patching->self.start) ||
        contains(&module, patching->libc) || contains(&module, patching->loader))
        return;
    for (unsigned table = 0; table < 2; table++)
        for (size_t i = 0; module.tables[table] && i < module.counts[table]; i++)
            patch_import(patching, &module, &module.tables[table][i]);
}

static void patch_all(struct patching *patching, const struct trib_objects *objects) {
    for (size_t i = 0; i < objects->count; i++) {
        void *handle;
        if (!trib_object_hold(objects, &objects->list[i], &handle))
            continue;
        patch_module(patching, &objects->list[i]);
        trib_object_release(handle);
    }
}

/* This library is never unloaded, so it needs no holding. */
static bool find_self(const struct trib_objects *objects, struct patching *patching) {
    for (size_t i = 0; i < objects->count; i++) {
        void *handle;
        if (!trib_object_hold(objects, &objects->list[i], &handle))
            continue;
        read_module(&objects->list[i], patching->page_bytes, &patching->self);
        trib_object_release(handle);
        if (contains(&patching->self, (uintptr_t)trib_patch_imports))
            return patching->self.hash && patching->self.hash[0] && patching->self.symbols && patching->self.names;
    }
    return false;
}

/* Twice: a thread that was binding a slot when we wrote it has written after us. */
static int patch_imports(const struct trib_objects *objects, struct patching *patching, trib_patch_next *next) {
    if (!find_self(objects, patching))
        return -ENOTSUP;
    uint32_t end = count_symbols(patching->self.hash);
    patching->first = patching->self.hash[1];
    if (end <= patching->first)
        return -ENOTSUP;
    patching->count = end - patching->first;
    size_t bytes = patching->count * sizeof *patching->exports;
    patching->exports = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (patching->exports == MAP_FAILED)
        return -ENOMEM;
    fill_exports(patching, next);
    for (unsigned pass = 0; pass < 2; pass++)
        patch_all(patching, objects);
    munmap(patching->exports, bytes);
    return patching->code && !patching->patched ? patching->code : patching->patched;
}

int trib_patch_imports(trib_patch_next *next) {
    struct patching patching = {.libc = (uintptr_t)gnu_get_libc_version,
                                .loader = (uintptr_t)&_r_debug,
                                .page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE)};
    struct trib_objects objects;
    int code = trib_objects_collect(&objects);

    if (code)
        return code;
    code = patch_imports(&objects, &patching, next);
    trib_objects_free(&objects);
    return code;
}
