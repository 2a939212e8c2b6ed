/* SPDX-License-Identifier: Apache-2.0 */
/* The module map: which mapped ELF file an address lies in. A segment is one executable PT_LOAD; a
 * module is a file with a build-id and keeps its index for the life of the process, also after
 * dlclose.
 *
 * Thread safety: every call from any thread. Lookups are lock-free (a sequence lock over atomics).
 * Refreshing asks the loader without holding any lock of ours, so a capture inside a
 * dl_iterate_phdr callback cannot deadlock; publishing is a short copy with signals blocked. No
 * call uses malloc. Limits: 2048 modules and segments; what does not fit is treated as unmapped. */
#ifndef TRIB_SIGNATURE_MODULES_H
#define TRIB_SIGNATURE_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/signature.h>

#include "base/atomic.h"

TRIB_C_BEGIN

#define TRIB_MODULES_MAX       2048u
#define TRIB_MODULES_KNOWN_MAX 4096u /* with those that are named, not mapped */

struct trib_segment {
    uintptr_t start, end;         /* executable bytes */
    uintptr_t base;               /* load base: address minus base is the offset in the module */
    uintptr_t map_start, map_end; /* all of the module's mapping; its unwind tables lie inside */
    uintptr_t eh_frame_hdr;       /* PT_GNU_EH_FRAME; 0 = none */
    uint64_t build_id_hash;
    uint32_t module;
    bool runtime; /* C or C++ runtime: its outermost frames are thread roots */
};

/* Grows with every published change; memos of an older generation are void. 0 before the first
 * refresh. */
extern TRIB_ATOMIC(uint32_t) trib_modules_generation;

/* Asks the loader for its counters of dlopen and dlclose and refreshes the map if they moved.
 * Returns true if modules were unloaded since, so that rules cached by address are void too. */
bool trib_modules_check(void);

/* The segment that holds `address`; false if there is none (JIT code, anonymous memory, or the map
 * is being rebuilt by a thread that does not finish). */
bool trib_modules_find(uintptr_t address, struct trib_segment *out);

/* Around fork; signals are blocked between the two. The child of a process with threads never asks the loader again (modules.c says
 * why): what it opens later ends its paths. Other children notice dlopen as their parent does. */
void trib_modules_before_fork(void);
void trib_modules_after_fork(bool in_child);

/* The index of a module that is in no map: code of a virtual machine. 0, or -ENOSPC. */
int trib_modules_name(const struct trib_module *module, uint32_t *index);

uint32_t trib_modules_count(void);

TRIB_C_END
#endif
