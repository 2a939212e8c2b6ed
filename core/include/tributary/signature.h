/* SPDX-License-Identifier: Apache-2.0 */
/* Call-path signatures: who is writing?  (PCStream, FAST'19 section 3; the paper sums raw return addresses, which
 * neither survives ASLR nor separates A->B from B->A. Here: an ordered hash of (module build-id, offset).)
 *
 * Capture is a verified memo per thread (hit: compare the recorded return-address slots), with an own cache of
 * .eh_frame unwind rules as the miss path. Frame pointers are followed only inside modules known to keep them.
 * Thread safety: every call may be made from any thread. trib_signature_capture never takes a lock on a hit, never
 * allocates after a thread's first call, never reads outside the calling thread's stack, and keeps errno.
 * Not async-signal-safe on a thread's first call; afterwards safe to interrupt and re-enter (a nested capture takes
 * the miss path without touching the memo). Invariant: equal call paths give equal ids across runs and ASLR. */
#ifndef TRIBUTARY_SIGNATURE_H
#define TRIBUTARY_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

#define TRIB_SIGNATURE_DEPTH_MAX 32
#define TRIB_SIGNATURE_DEPTH_DEFAULT 12
#define TRIB_SIGNATURE_UNKNOWN 0u

/* One frame of a call path, innermost first. */
struct trib_frame {
    uint64_t build_id;      /* 64-bit hash of the module's GNU build-id (of its name when it has none) */
    uint64_t offset_bytes;  /* return address minus load base */
    uint32_t module;        /* index for trib_signature_module */
};

struct trib_module {
    char path[256];
    uint8_t build_id[20];
    uint8_t build_id_bytes; /* 0 when the module has none */
    uint64_t build_id_hash;
};

struct trib_signature_stats {
    uint64_t memo_hits, memo_misses, memo_rejected; /* rejected: key matched, a slot did not */
    uint64_t unwind_rules, unwind_failures;         /* failures: stopped early at code without usable rules */
    uint64_t signatures, signatures_dropped;        /* dropped: dictionary full */
    uint64_t modules;
};

/* The caller's frame address; pass it to capture so that the path starts at the caller's return address. */
#define TRIB_FRAME_HERE() __builtin_frame_address(0)

/* Stable id of the path that leads to the function owning `frame` (its return address is the first element).
 * depth: 1..TRIB_SIGNATURE_DEPTH_MAX. Returns TRIB_SIGNATURE_UNKNOWN if nothing could be captured. */
TRIB_EXPORT uint64_t trib_signature_capture(void *frame, unsigned depth);

/* Frames of a captured signature. Returns the number of frames (0 if unknown), writes at most `capacity`. */
TRIB_EXPORT unsigned trib_signature_frames(uint64_t signature, struct trib_frame *frames, unsigned capacity);

/* Module by index. 0, or -ENOENT. */
TRIB_EXPORT int trib_signature_module(uint32_t index, struct trib_module *out);

/* "module!symbol+offset" (or "module+offset" without symbols) for a frame of this or another run: the module is
 * found by path and must have the same build-id. Returns the length as snprintf does. */
TRIB_EXPORT size_t trib_signature_symbolise(const struct trib_module *module, uint64_t offset_bytes, char *text,
                                            size_t capacity);

TRIB_EXPORT void trib_signature_statistics(struct trib_signature_stats *out);

TRIB_C_END
#endif
