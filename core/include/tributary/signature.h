/* SPDX-License-Identifier: Apache-2.0 */
/* Call-path signatures: who is writing?  (PCStream, FAST'19 section 3; the paper sums raw return addresses, which
 * neither survives ASLR nor separates A->B from B->A. Here: an ordered hash of (module build-id, offset).)
 *
 * Capture is a verified memo per thread (a hit compares every stack word that the path depends on, so it is exact),
 * with an own cache of .eh_frame unwind rules as the miss path. A path ends at the first address outside every mapped
 * ELF file (JIT code), at a signal handler's trampoline, and before thread roots: when a walk reaches the outermost
 * frame, the outermost frames that lie in the C and C++ runtime are dropped, because every libc update moves them; of a
 * path of nothing else (stdio's flush at exit) the program's entry stays.
 *
 * Harmless in its host: a capture takes no lock, allocates nothing, makes no system call, reads no file and never reads
 * outside the stack that it runs on; errno stays. The process's first reserves memory and reads /proc, by raw system
 * calls; or trib_signature_prepare does before it. A signal handler may capture, also first in its thread, in the
 * middle of a capture or of a dlopen (a nested one does without the memo). It takes at most 4 KiB of stack. Costs 8
 * bytes of static TLS, and address space: 40 KiB for each of up to 512 threads and 2.5 MiB for the dictionary (less
 * under RLIMIT_AS, RLIMIT_DATA or strict overcommit), of which paths in use touch a few pages. Threads beyond get no
 * memo and are walked each time. Invariant: equal call paths give equal ids across runs and ASLR.
 *
 * Limits. Fibres, and alternate signal stacks that no adapter named: only the caller's frame is read, and the path
 * has one frame; so also for threads of a libc that does not say where their stack lies (glibc does), and for the first
 * thread deeper than RLIMIT_STACK was at start-up (64 MiB at least). After dlclose and dlopen of other code at the same
 * address up to 1,024 captures of a path that looks the same may still get the old id, unless
 * trib_signature_modules_changed is called. Before glibc 2.35 the loader cannot be asked without its lock: what is
 * opened later is only seen after that call. mlockall(MCL_CURRENT) makes the reserve resident, but for what
 * trib_signature_give_back takes away. x86-64 is what the tests cover; AArch64 follows frame records; elsewhere every
 * signature is TRIB_SIGNATURE_UNKNOWN. Why: docs/decisions/0002-call-path-capture.md.
 *
 * Thread safety: every call may be made from any thread. */
#ifndef TRIBUTARY_SIGNATURE_H
#define TRIBUTARY_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

#define TRIB_SIGNATURE_DEPTH_MAX     32
#define TRIB_SIGNATURE_DEPTH_DEFAULT 12
#define TRIB_SIGNATURE_UNKNOWN       0u

/* One frame of a call path, innermost first. */
struct trib_frame {
    uint64_t build_id;     /* 64-bit hash of the module's GNU build-id (of its name when it has none) */
    uint64_t offset_bytes; /* return address minus load base */
    uint32_t module;       /* index for trib_signature_module */
};

struct trib_module {
    char path[256];
    uint8_t build_id[20];
    uint8_t build_id_bytes; /* 0 when the module has none */
    uint64_t build_id_hash;
};

struct trib_signature_stats {
    uint64_t memo_hits, memo_misses, memo_rejected; /* rejected: key matched, a slot did not */
    uint64_t unwind_rules,
        unwind_failures; /* failures: stopped early at code without usable rules, or outside the stack */
    uint64_t signatures, signatures_dropped; /* dropped: misses that a full dictionary could not keep */
    uint64_t modules;
};

/* The caller's frame address; pass it to capture so that the path starts at the caller's return
 * address. Forces a frame pointer in the caller, which must not realign its stack (no alignas above
 * 16). */
#define TRIB_FRAME_HERE() __builtin_frame_address(0)

/* Stable id of the path that leads to the function owning `frame` (its return address is the first
 * element). depth: 1..TRIB_SIGNATURE_DEPTH_MAX. Returns TRIB_SIGNATURE_UNKNOWN if nothing could be
 * captured. */
TRIB_EXPORT uint64_t trib_signature_capture(void *frame, unsigned depth);

/* dlopen or dlclose returned: forgets what may be stale. For adapters that stand in these calls anyway; with glibc
 * 2.35 and later nobody needs to call it, it closes the window of the limits above and takes no lock. Before, it
 * takes the loader's: to be called from outside of the loader, never on a write path. */
TRIB_EXPORT void trib_signature_modules_changed(void);

/* The calling thread's alternate signal stack is [low, low + bytes), or it has none (NULL): for adapters that stand in
 * sigaltstack, after it succeeded. Paths on it are walked from then on. Asking would be a system call per capture. */
TRIB_EXPORT void trib_signature_alternate_stack(const void *low, size_t bytes);

/* Once for the process, what the first capture does otherwise: reserves memory and asks for the program's name, by raw
 * system calls. For adapters in whose process a time may come that forbids them. Async-signal-safe. */
TRIB_EXPORT void trib_signature_prepare(void);

/* From now on only trib_signature_prepare does that: captures before it know no path. For such adapters, at their
 * start-up. */
TRIB_EXPORT void trib_signature_prepare_by_hand(void);

/* Memory for more threads, where the system does not count it against anybody (vm.overcommit_memory is not 2). */
TRIB_EXPORT void trib_signature_extend(void);

/* The program's path as the kernel has it, prepared or not; what it was called by without /proc. Async-signal-safe. */
TRIB_EXPORT const char *trib_signature_program(void);

/* Gives back what is reserved and not in use, but for some dozens of threads: for adapters that stand in mlockall,
 * before it. */
TRIB_EXPORT void trib_signature_give_back(void);

/* Also what is reserved for paths that nobody has taken yet and for threads beyond a few: what comes later is captured
 * without a name, and more slowly. No other thread may capture meanwhile, nor a signal handler. */
TRIB_EXPORT void trib_signature_give_back_all(void);

/* Frames of a captured signature. Returns the number of frames (0 if unknown), writes at most
 * `capacity`. */
TRIB_EXPORT unsigned trib_signature_frames(uint64_t signature, struct trib_frame *frames, unsigned capacity);

/* For an adapter that knows more of a path than return addresses, such as Java methods. A frame of code that no ELF
 * file holds, as a module of its own: `name` is its identity, "java:" and what people should read, descriptor behind
 * it from '(' on. Equal names give equal frames in every process and run. 0; -EINVAL (no "java:"); -ENOSPC (the
 * frame is right, but its name will not be known). Costs microseconds: keep the frame. */
TRIB_EXPORT int trib_signature_named_frame(const char *name, struct trib_frame *out);

/* Stable id of a path put together from frames, innermost first, and their entry in the dictionary; of more than
 * TRIB_SIGNATURE_DEPTH_MAX frames people see the innermost and the outermost. Never the id of a captured path. Takes no
 * lock, allocates nothing. Returns TRIB_SIGNATURE_UNKNOWN for no frames. */
TRIB_EXPORT uint64_t trib_signature_of_frames(const struct trib_frame *frames, unsigned count);

/* Module by index. 0, or -ENOENT. */
TRIB_EXPORT int trib_signature_module(uint32_t index, struct trib_module *out);

/* "module+offset", "pkg.Class.method" of a named frame. Opens nothing. Returns the length as snprintf does. */
TRIB_EXPORT size_t trib_signature_frame_text(const struct trib_module *module, uint64_t offset_bytes, char *text,
                                             size_t capacity);

/* "module!symbol+offset" (or "module+offset" without symbols, "pkg.Class.method" of a named frame) for a frame of this
 * or another run: the module is found by path and must have the same build-id; separate debug files are used where
 * Debian puts them. C++ names come demangled and without parameters if a C++ runtime can be found. Opens files and
 * allocates: not for write paths. Returns the length as snprintf does. */
TRIB_EXPORT size_t trib_signature_symbolise(const struct trib_module *module, uint64_t offset_bytes, char *text,
                                            size_t capacity);

TRIB_EXPORT void trib_signature_statistics(struct trib_signature_stats *out);

TRIB_C_END
#endif
