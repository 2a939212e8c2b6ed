/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <string.h>
#include <sys/mman.h>

#define OBJECTS_FIRST 256u
#define NAME_BYTES    256u /* room for each, on average */

/* ---- the list ---- */

static uintptr_t find_dynamic(const struct dl_phdr_info *info) {
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    return 0;
}

/* Under the loader's lock: copies, and nothing else. */
static int copy_object(struct dl_phdr_info *info, size_t size, void *arg) {
    struct trib_objects *out = arg;
    size_t name_bytes = strlen(info->dlpi_name) + 1;

    (void)size;
    if (out->count == out->capacity || out->names_bytes + name_bytes > out->names_capacity) {
        out->is_cut = true;
        return 1;
    }
    memcpy(out->names + out->names_bytes, info->dlpi_name, name_bytes);
    out->list[out->count++] = (struct trib_object){.base = info->dlpi_addr,
                                                   .dynamic = find_dynamic(info),
                                                   .headers = info->dlpi_phdr,
                                                   .header_count = info->dlpi_phnum,
                                                   .name_at = (uint32_t)out->names_bytes};
    out->names_bytes += name_bytes;
    return 0;
}

static int reserve(struct trib_objects *out, size_t capacity) {
    size_t bytes = capacity * (sizeof *out->list + NAME_BYTES);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return -ENOMEM;
    *out = (struct trib_objects){.list = memory,
                                 .names = (char *)memory + capacity * sizeof *out->list,
                                 .capacity = capacity,
                                 .names_capacity = capacity * NAME_BYTES};
    return 0;
}

int trib_objects_collect(struct trib_objects *out) {
    struct trib_objects objects;

    for (size_t capacity = OBJECTS_FIRST;; capacity *= 2) {
        int code = reserve(&objects, capacity);
        if (code)
            return code;
        dl_iterate_phdr(copy_object, &objects);
        if (!objects.is_cut)
            break;
        trib_objects_free(&objects);
    }
    *out = objects;
    return 0;
}

void trib_objects_free(struct trib_objects *objects) {
    munmap(objects->list, objects->capacity * (sizeof *objects->list + NAME_BYTES));
    objects->list = NULL;
}

/* ---- one of them ---- */

bool trib_object_hold(const struct trib_objects *objects, const struct trib_object *object, void **handle) {
    const char *name = objects->names + object->name_at;
    struct link_map *map;

    *handle = NULL;
    if (!*name)
        return true;
    if (!strchr(name, '/')) /* the kernel's */
        return false;
    void *held = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (!held)
        return false;
    if (dlinfo(held, RTLD_DI_LINKMAP, &map) != 0 || map->l_addr != object->base ||
        (uintptr_t)map->l_ld != object->dynamic) {
        dlclose(held);
        return false;
    }
    *handle = held;
    return true;
}

void trib_object_release(void *handle) {
    if (handle)
        dlclose(handle);
}

/* ---- order ---- */

struct order {
    uintptr_t libc, self;
    bool is_early;
};

static bool contains(const struct dl_phdr_info *info, uintptr_t place) {
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && place - info->dlpi_addr - header->p_vaddr < header->p_memsz)
            return true;
    }
    return false;
}

static int which_first(struct dl_phdr_info *info, size_t size, void *arg) {
    struct order *order = arg;

    (void)size;
    order->is_early = contains(info, order->self);
    return order->is_early || contains(info, order->libc);
}

bool trib_loaded_early(void) {
    struct order order = {.libc = (uintptr_t)gnu_get_libc_version, .self = (uintptr_t)trib_loaded_early};

    dl_iterate_phdr(which_first, &order);
    return order.is_early;
}
