/* SPDX-License-Identifier: Apache-2.0 */
/* The module map: which mapped ELF file an address lies in. A segment is one executable PT_LOAD at its place; a module
 * is a file with a build-id and keeps its index for the life of the process, also after dlclose.
 *
 * The truth is the loader's (loader.h); the map only remembers what was read of a file, so that it is read once.
 * Entries are appended and never change; an entry belongs to whoever sets its key, and nobody waits for it to be
 * written: who comes upon an unfinished one (a signal handler may have interrupted its owner) has read the same from
 * the file.
 *
 * Thread safety: every call from any thread; lock-free; no allocation; async-signal-safe but for
 * trib_modules_refresh. Limits: TRIB_SEGMENTS_MAX segments, places of the same file counted apart; what does not fit
 * is read from its file on every capture, and its paths are in no dictionary. */
#ifndef TRIB_SIGNATURE_MODULES_H
#define TRIB_SIGNATURE_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/signature.h>

#include "base/atomic.h"

TRIB_C_BEGIN

#define TRIB_SEGMENTS_MAX      4096u
#define TRIB_SEGMENT_NONE      UINT16_MAX /* found, but in no map */
#define TRIB_MODULES_KNOWN_MAX 4096u      /* with those that are named, not mapped */

struct trib_segment {
    uintptr_t start, end;         /* executable bytes */
    uintptr_t base;               /* load base: address minus base is the offset in the module */
    uintptr_t map_start, map_end; /* all of the module's mapping; its unwind tables lie inside */
    uintptr_t eh_frame_hdr;       /* PT_GNU_EH_FRAME; 0 = none */
    uint64_t build_id_hash;
    uint32_t module; /* UINT32_MAX: there was no room for its name */
    uint16_t index;  /* in the map; TRIB_SEGMENT_NONE: not there */
    bool runtime;    /* C or C++ runtime: its outermost frames are thread roots */
};

/* Grows whenever a module is known to be gone; memos of an older generation are void, and cached rules are
 * forgotten. */
extern TRIB_ATOMIC(uint32_t) trib_modules_generation;

/* The segment that holds `address`, by the loader's present account; false if there is none (JIT code, anonymous
 * memory, data). */
bool trib_modules_find(uintptr_t address, struct trib_segment *out);

/* Is `address` still in the module that the entry was made from? If not, memos and rules are void. */
bool trib_modules_confirm(uint16_t index, uintptr_t address);

/* The entry; NULL while its owner writes it. It never changes. */
const struct trib_segment *trib_modules_segment(uint16_t index);

/* Start-up, and after dlopen and dlclose: voids what may be stale. Where the loader cannot be asked for an address it
 * takes the loader's lock to read its list. */
void trib_modules_refresh(void);

/* The index of a module; also of one that is in no map: code of a virtual machine. 0, or -ENOSPC. */
int trib_modules_name(const struct trib_module *module, uint32_t *index);

/* 0 if there is no such module. */
uint64_t trib_modules_build_id(uint32_t index);

uint32_t trib_modules_count(void);

TRIB_C_END
#endif
