/* SPDX-License-Identifier: Apache-2.0 */
#include "elf_image.h"

#include <stddef.h>
#include <string.h>

#include "base/hash.h"

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool trib_image_is_runtime(const char *path) {
    static const char prefixes[][16] = {"libc.so.",    "libc-2.",    "libpthread",   "ld-linux",  "ld-2.",
                                        "ld-musl",     "libc.musl-", "libstdc++.so", "libc++.so", "libc++abi.so",
                                        "libgcc_s.so", "libtsan.so", "libasan.so"};
    const char *name = base_name(path);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

void trib_image_measure(struct trib_image *image, uintptr_t base, const ElfW(Phdr) * header, unsigned headers) {
    *image = (struct trib_image){.map_start = UINTPTR_MAX};
    for (unsigned i = 0; i < headers; i++) {
        uintptr_t start = base + header[i].p_vaddr;
        if (header[i].p_type == PT_GNU_EH_FRAME)
            image->eh_frame_hdr = start;
        if (header[i].p_type != PT_LOAD)
            continue;
        if (start < image->map_start)
            image->map_start = start;
        if (start + header[i].p_memsz > image->map_end)
            image->map_end = start + header[i].p_memsz;
    }
}

bool trib_image_segment(uintptr_t base, const ElfW(Phdr) * header, unsigned headers, uintptr_t address,
                        uintptr_t *start, uintptr_t *end) {
    for (unsigned i = 0; i < headers; i++) {
        uintptr_t first = base + header[i].p_vaddr;
        if (header[i].p_type != PT_LOAD || !(header[i].p_flags & PF_X) || address < first ||
            address - first >= header[i].p_memsz)
            continue;
        *start = first;
        *end = first + header[i].p_memsz;
        return true;
    }
    return false;
}

/* ---- build-id ---- */

static unsigned find_in_notes(uintptr_t note, size_t bytes, size_t align, uintptr_t *at) {
    align = align == 8 ? 8 : 4;
    while (bytes >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *header = (const void *)note;
        size_t name_end = sizeof *header + header->n_namesz;
        size_t data = (name_end + align - 1) & ~(align - 1);
        size_t next = (data + header->n_descsz + align - 1) & ~(align - 1);
        if (next > bytes || data > next || header->n_namesz > bytes)
            return 0;
        if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
            !memcmp((const char *)note + sizeof *header, "GNU", 4)) {
            *at = note + data;
            return header->n_descsz;
        }
        note += next;
        bytes -= next;
    }
    return 0;
}

unsigned trib_image_build_id(const struct trib_image *image, uintptr_t base, const ElfW(Phdr) * header,
                             unsigned headers, uintptr_t *at) {
    unsigned bytes = 0;
    for (unsigned i = 0; i < headers && !bytes; i++) {
        uintptr_t start = base + header[i].p_vaddr;
        if (header[i].p_type == PT_NOTE && start >= image->map_start && start + header[i].p_memsz <= image->map_end)
            bytes = find_in_notes(start, header[i].p_memsz, header[i].p_align, at);
    }
    unsigned most = sizeof((struct trib_module *)0)->build_id;
    return bytes < most ? bytes : most;
}

/* ---- identity ---- */

uint64_t trib_image_name_hash(const char *path) {
    const char *name = base_name(path);
    return trib_hash(name, strlen(name));
}

void trib_image_name(struct trib_module *module, const char *path, uintptr_t at, unsigned bytes) {
    size_t length = strnlen(path, sizeof module->path - 1);
    memset(module, 0, sizeof *module);
    memcpy(module->path, path, length);
    if (bytes)
        memcpy(module->build_id, (const void *)at, bytes);
    module->build_id_bytes = (uint8_t)bytes;
    module->build_id_hash = bytes ? trib_hash(module->build_id, bytes) : trib_image_name_hash(module->path);
}
