/* SPDX-License-Identifier: Apache-2.0 */
#include "server/module.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "signature/elf_image.h"

struct search {
    uintptr_t address;
    bool writable, sealed;
    char *build_id; /* NULL: not asked */
};

static void write_build_id(const struct dl_phdr_info *object, char *text) {
    static const char digits[] = "0123456789abcdef";
    struct trib_image image;
    uintptr_t at = 0;

    trib_image_measure(&image, object->dlpi_addr, object->dlpi_phdr, object->dlpi_phnum);
    unsigned bytes = trib_image_build_id(&image, object->dlpi_addr, object->dlpi_phdr, object->dlpi_phnum, &at);
    for (unsigned i = 0; i < bytes && 2 * i + 2 < TRIB_BUILD_ID_TEXT; i++) {
        *text++ = digits[((const uint8_t *)at)[i] >> 4];
        *text++ = digits[((const uint8_t *)at)[i] & 15];
    }
    *text = '\0';
}

static int look_at_object(struct dl_phdr_info *object, size_t bytes, void *arg) {
    struct search *search = arg;
    bool is_mine = false;

    (void)bytes;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
        if (search->address < begin || search->address - begin >= segment->p_memsz)
            continue;
        is_mine |= segment->p_type == PT_LOAD;
        search->writable |= segment->p_type == PT_LOAD && (segment->p_flags & PF_W);
        search->sealed |= segment->p_type == PT_GNU_RELRO;
    }
    if (is_mine && search->build_id)
        write_build_id(object, search->build_id);
    return is_mine;
}

void trib_module_build_id(const void *address, char text[TRIB_BUILD_ID_TEXT]) {
    struct search search = {.address = (uintptr_t)address, .build_id = text};

    *text = '\0';
    dl_iterate_phdr(look_at_object, &search);
}

bool trib_module_is_writable(const void *address) {
    struct search search = {.address = (uintptr_t)address};

    dl_iterate_phdr(look_at_object, &search);
    return search.writable && !search.sealed;
}
