/* SPDX-License-Identifier: Apache-2.0 */
#include "path.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <tributary/signature.h>

#include "shim.h"
#include "signature/own_stack.h"

#define PATHS 8192u /* slots; servers have some hundred front ends. One that lost its slot is captured again */

/* Two words that are written one after the other: only together do they give the path back. */
static struct {
    _Atomic(uint64_t) path_and_signature; /* exclusive or of both */
    _Atomic(uint64_t) signature;
} known[PATHS];

/* End of the thread's stack; 0 = not asked yet, or unknown: then no chain is followed, and every path captured. */
static _Thread_local uintptr_t stack_end __attribute__((tls_model("initial-exec")));

/* The chain from `frame` on: its return addresses' hash, and they themselves if `addresses` is not NULL; *count of
 * them. A frame begins with the caller's frame pointer and the return address. */
__attribute__((no_sanitize("address"))) static inline uint64_t follow(uintptr_t frame, unsigned depth,
                                                                      uintptr_t *addresses, unsigned *count) {
    uint64_t hash = depth;
    unsigned i = 0;

    while (i < depth && frame % sizeof(void *) == 0 && frame < stack_end && stack_end - frame >= 2 * sizeof(void *)) {
        const uintptr_t *words = (const uintptr_t *)frame;
        if (addresses)
            addresses[i] = words[1];
        i++;
        hash = (hash ^ words[1]) * 0x9E3779B97F4A7C15ull; /* only upper bits are mixed well: they name the slot */
        if (words[0] <= frame)                            /* the outermost, or a register that holds something else */
            break;
        frame = words[0];
    }
    *count = i;
    return hash;
}

/* Did the chain find every frame that the capture found? Modules begin on pages: offsets and addresses end alike. */
static bool chain_is_whole(uint64_t signature, const uintptr_t *addresses, unsigned count) {
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX];
    unsigned found = trib_signature_frames(signature, frames, TRIB_SIGNATURE_DEPTH_MAX);

    for (unsigned i = 0; i < found; i++)
        if (i >= count || (frames[i].offset_bytes ^ addresses[i]) % 4096 != 0)
            return false;
    return found > 0;
}

__attribute__((noinline)) static uint64_t learn(void *frame, unsigned depth) {
    uintptr_t addresses[TRIB_SIGNATURE_DEPTH_MAX];
    unsigned count;
    uint64_t path = follow((uintptr_t)frame, depth, addresses, &count);
    uint64_t signature = trib_signature_capture(frame, depth);

    trib_shim_name_signature(signature); /* another process, which knows the number alone, may write the page */
    if (!chain_is_whole(signature, addresses, count))
        return signature;
    uint64_t slot = (path >> 32) % PATHS;
    atomic_store_explicit(&known[slot].path_and_signature, path ^ signature, memory_order_relaxed);
    atomic_store_explicit(&known[slot].signature, signature, memory_order_relaxed);
    return signature;
}

uint64_t trib_path_signature(void *frame, unsigned depth) {
    unsigned count;

    if (__builtin_expect(stack_end == 0, 0))
        stack_end = trib_own_stack((uintptr_t)frame).high;
    uint64_t path = follow((uintptr_t)frame, depth, NULL, &count), slot = (path >> 32) % PATHS;
    uint64_t signature = atomic_load_explicit(&known[slot].signature, memory_order_relaxed);
    uint64_t both = atomic_load_explicit(&known[slot].path_and_signature, memory_order_relaxed);

    return __builtin_expect(signature && (both ^ signature) == path, 1) ? signature : learn(frame, depth);
}
