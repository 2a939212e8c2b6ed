/* SPDX-License-Identifier: Apache-2.0 */
#include "loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "base/atomic.h"
#include "base/raw.h"
#include "elf_image.h"

#define HEADERS_WITHIN 4096u /* of a mapping's start: this page is mapped whatever the file says */

static struct {
    TRIB_ATOMIC(const char *) name; /* never NULL once started */
    char path[TRIB_PROGRAM_PATH_MAX];
    const ElfW(Phdr) * header;
    unsigned headers;
    uintptr_t libc; /* an address in it */
} program;

/* ---- asking for an address ---- */

#ifdef DLFO_STRUCT_HAS_EH_DBASE

extern __typeof(_dl_find_object) _dl_find_object __attribute__((weak));

/* By pointer: a call through the procedure linkage table might be the first one, which resolves it. */
static TRIB_ATOMIC(__typeof(&_dl_find_object)) find_object;

static void start_finding(void) {
    atomic_store_explicit(&find_object, &_dl_find_object, memory_order_release);
}

void trib_loader_forget_find(bool forget) {
    atomic_store_explicit(&find_object, forget ? NULL : &_dl_find_object, memory_order_release);
}

bool trib_loader_can_find(void) {
    return atomic_load_explicit(&find_object, memory_order_acquire) != NULL;
}

bool trib_loader_find(uintptr_t address, struct trib_loaded *out) {
    __typeof(&_dl_find_object) find = atomic_load_explicit(&find_object, memory_order_acquire);
    struct dl_find_object found;

    if (!find || find((void *)address, &found) != 0)
        return false;
    *out = (struct trib_loaded){
        .base = found.dlfo_link_map->l_addr,
        .map_start = (uintptr_t)found.dlfo_map_start,
        .map_end = (uintptr_t)found.dlfo_map_end,
        .eh_frame_hdr = (uintptr_t)found.dlfo_eh_frame,
        .name = found.dlfo_link_map->l_name ? found.dlfo_link_map->l_name : "",
    };
    uintptr_t headers = (uintptr_t)program.header;
    if (!*out->name && headers >= out->map_start && headers < out->map_end)
        out->name = trib_loader_program();
    return true;
}

#else

static void start_finding(void) {
}

void trib_loader_forget_find(bool forget) {
    (void)forget;
}

bool trib_loader_can_find(void) {
    return false;
}

bool trib_loader_find(uintptr_t address, struct trib_loaded *out) {
    (void)address;
    (void)out;
    return false;
}

#endif

/* ---- headers ---- */

static bool lies_in(const struct trib_loaded *loaded, uintptr_t address) {
    return address >= loaded->map_start && address < loaded->map_end;
}

unsigned trib_loader_headers(const struct trib_loaded *loaded, const ElfW(Phdr) * *headers) {
    const ElfW(Ehdr) *elf = (const void *)loaded->map_start;

    if (lies_in(loaded, (uintptr_t)program.header)) {
        *headers = program.header;
        return program.headers;
    }
    if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_phentsize != sizeof(ElfW(Phdr)) ||
        elf->e_phoff > HEADERS_WITHIN || elf->e_phnum > (HEADERS_WITHIN - elf->e_phoff) / sizeof(ElfW(Phdr)))
        return 0;
    *headers = (const void *)(loaded->map_start + elf->e_phoff);
    return elf->e_phnum;
}

bool trib_loader_is_permanent(const struct trib_loaded *loaded) {
    return lies_in(loaded, (uintptr_t)program.header) || lies_in(loaded, program.libc) ||
           lies_in(loaded, (uintptr_t)&program);
}

/* ---- the whole list ---- */

struct listing {
    trib_loader_visit *visit;
    void *arg;
    bool is_first;
};

static int visit_loaded(struct dl_phdr_info *info, size_t size, void *arg) {
    struct listing *listing = arg;
    struct trib_image image;
    (void)size;

    trib_image_measure(&image, info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum);
    struct trib_loaded loaded = {
        .base = info->dlpi_addr,
        .map_start = image.map_start,
        .map_end = image.map_end,
        .eh_frame_hdr = image.eh_frame_hdr,
        .name = info->dlpi_name ? info->dlpi_name : "",
    };
    if (!*loaded.name && listing->is_first)
        loaded.name = trib_loader_program();
    listing->is_first = false;
    listing->visit(&loaded, info->dlpi_phdr, info->dlpi_phnum, listing->arg);
    return 0;
}

void trib_loader_list(trib_loader_visit *visit, void *arg) {
    struct listing listing = {visit, arg, true};
    dl_iterate_phdr(visit_loaded, &listing);
}

/* ---- start-up ---- */

/* `ld.so program`: for the kernel the loader is the program. A program taken for the C runtime would have its frames
 * dropped. */
void trib_loader_name_program(void) {
    long length = TRIB_RAW(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program.path, sizeof program.path - 1);

    if (length > 0) {
        program.path[length] = '\0';
    } else { /* no /proc */
        const char *executed = (const char *)getauxval(AT_EXECFN);
        memcpy(program.path, executed ? executed : "", executed ? strnlen(executed, sizeof program.path - 1) : 0);
    }
    if (*program.path && !trib_image_is_runtime(program.path))
        atomic_store_explicit(&program.name, program.path, memory_order_release);
}

const char *trib_loader_program(void) {
    const char *name = atomic_load_explicit(&program.name, memory_order_acquire);

    return name ? name : "";
}

void trib_loader_start(void) {
    int before = errno;

    atomic_store_explicit(&program.name, (const char *)program_invocation_name, memory_order_release);
    program.header = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    program.headers = (unsigned)getauxval(AT_PHNUM);
#ifdef __GLIBC__
    program.libc = (uintptr_t)gnu_get_libc_version();
#endif
    start_finding();
    errno = before;
}
