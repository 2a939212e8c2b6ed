/* SPDX-License-Identifier: Apache-2.0 */
/* What the dynamic loader says of an address. glibc 2.35 and later answer without a lock (_dl_find_object), from a
 * signal handler and in the middle of a dlopen, too. Elsewhere the loader can only be asked for its whole list, under
 * its lock: at start-up and from trib_signature_modules_changed, never on a capture.
 *
 * Thread safety: any thread; trib_loader_find and trib_loader_is_permanent take no lock and are async-signal-safe. */
#ifndef TRIB_SIGNATURE_LOADER_H
#define TRIB_SIGNATURE_LOADER_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

/* A loaded ELF file. */
struct trib_loaded {
    uintptr_t base;               /* load base */
    uintptr_t map_start, map_end; /* of the mapping, by the loader's account */
    uintptr_t eh_frame_hdr;       /* PT_GNU_EH_FRAME; 0 = none */
    const char *name;             /* never NULL */
};

#define TRIB_PROGRAM_PATH_MAX 1024u

/* Once, before any other call: the program's headers, and the name that it was called by. */
void trib_loader_start(void);

/* Once, before the first capture: the program's path as the kernel has it. Asks /proc: only where somebody captures. */
void trib_loader_name_program(void);
const char *trib_loader_program(void);

/* Can the loader be asked for an address? Else its list is all there is. */
bool trib_loader_can_find(void);

/* Which file holds the address; false if none does. */
bool trib_loader_find(uintptr_t address, struct trib_loaded *out);

/* The program headers in memory of a file that is loaded; 0 if it does not map them. */
unsigned trib_loader_headers(const struct trib_loaded *loaded, const ElfW(Phdr) * *headers);

/* The program, libc and this library are never unloaded. */
bool trib_loader_is_permanent(const struct trib_loaded *loaded);

typedef void trib_loader_visit(const struct trib_loaded *loaded, const ElfW(Phdr) * header, unsigned headers,
                               void *arg);

/* Visits all that is loaded. Takes the loader's lock. */
void trib_loader_list(trib_loader_visit *visit, void *arg);

/* For tests: as if the loader were an old one. */
void trib_loader_forget_find(bool forget);

TRIB_C_END
#endif
